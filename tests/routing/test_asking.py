"""What nodes ask and separate, in words: planes of any family, columns and classes of samples."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch
from pictures import grown
from scipy.sparse import csr_matrix
from toy_tree import ToyTree

from structnet import LabelTreeClassifier, SoftmaxTreeClassifier
from structnet.neural_tree import NeuralTree, presets
from structnet.routing import Reading, Samples, reach
from structnet.routing.asking import all_questions, class_lines, contrasts, questions, sides
from structnet.routing.sides import side_of
from structnet.softmax_tree import SoftmaxTreeSettings, train

NAMES = ["age", "height", "weight", "income", "debt", "rent"]


def asking(weights: list[float], bias: float = 0.0) -> NeuralTree:
    """A tree of one linear router of its inputs."""
    tree = NeuralTree(presets.table(num_outputs=2), shape=(len(weights),))
    tree.split(0)
    tree.nodes[0].router.weight.data = torch.tensor([weights])
    tree.nodes[0].router.bias.data = torch.tensor([bias])
    return tree


def in_units(x: np.ndarray) -> np.ndarray:
    return 100 + 10 * x


@pytest.mark.parametrize(
    ("weights", "bias", "units", "said"),
    [
        ([0.0, 2.0], 1.0, None, "left: height > -0.5"),
        ([0.0, -2.0], 1.0, None, "left: height < 0.5"),
        ([0.0, -2.0], 1.0, in_units, "left: height < 105"),
        ([0.1, -2.0], 1.0, in_units, "left: height < about 105"),
        ([0.1, -2.0], 1.0, None, "left: low height"),
        ([1.0, -2.0], 1.0, in_units, "left: low height, high age"),
        ([1.0] * 6, 0.0, None, "left: high age, high height, high weight, …"),
        ([0.0, 0.0], 1.0, None, ""),
    ],
)
def test_planes_in_words(weights: list, bias: float, units: object, said: str) -> None:
    assert questions(asking(weights, bias), NAMES, units) == {0: said}


def test_thresholds_are_where_routers_change_their_mind() -> None:
    tree = asking([0.0, -1.7], 0.6)
    edge = float(questions(tree)[0].split("< ")[1])
    x = torch.tensor([[0.0, edge - 0.01], [0.0, edge + 0.01]])
    assert tuple(tree.apply_path(x).tolist()) == tree.topology.children_of(0)


def test_hyperplanes_of_softmax_trees_are_told() -> None:
    x = np.random.default_rng(0).normal(size=(80, 3))
    tree = train(x, (x[:, 1] > 0.3).astype(int), SoftmaxTreeSettings(depth=1, k=1)).tree
    said = questions(tree, NAMES)[0]
    assert "height" in said
    weight, bias = tree.plane(0)
    left = x @ weight + bias > 0
    first = tree.topology.children_of(0)[0]
    assert (tree.leaves_of(x) == first).tolist() == left.tolist()
    assert tree.plane(first) is None


def cut(column: int, at: float, columns: int = 3) -> ToyTree:
    """A tree that no plane is known of: below the cut a sample goes to the first branch."""
    values = np.full((3, 2), 0.5)
    return ToyTree([(1, 2), (), ()], [column] * 3, [np.array([at]), (), ()], values, (columns,))


def test_columns_that_differ_are_named() -> None:
    x = np.random.default_rng(0).normal(size=(400, 3))
    x[:, 2] = -x[:, 1] + 0.3 * x[:, 2]
    tree = cut(1, 0.0)
    assert questions(tree) == {0: ""}
    assert contrasts(tree, x, NAMES) == {0: "< 0 has lower height, higher weight"}
    weights = torch.ones(400)
    weights[x[:, 1] > 0] = 0  # nobody goes to the right
    assert contrasts(tree, Samples(x, torch.zeros(400), weights), NAMES) == {0: ""}


def test_classes_that_part_are_named() -> None:
    tree = cut(0, 0.5)
    x = np.zeros((100, 3))
    x[:, 0] = np.arange(100) % 2
    y = torch.arange(100) % 2  # 0 to the left, 1 to the right
    y[:20] = 2  # goes to both
    tree.num_classes, tree.values = 3, np.full((3, 3), 1 / 3)
    found = reach(tree, Samples(x, y))
    assert sides(tree, found, ["ape", "bee", "cow"]) == {0: "ape | bee"}


def test_many_classes_are_counted() -> None:
    tree = cut(0, 0.5)
    tree.num_classes, tree.values = 20, np.full((3, 20), 1 / 20)
    x = np.zeros((40, 3))
    y, names = torch.arange(40) % 20, [str(i) for i in range(20)]
    assert sides(tree, reach(tree, Samples(x, y)), names) == {0: ""}  # all go one way
    x[y == 7] = 1
    assert sides(tree, reach(tree, Samples(x, y)), names) == {0: "0, 1, 2, 3, 4, 14 more | 7"}


def test_what_is_asked_comes_before_what_is_separated() -> None:
    x = torch.randn(60, 2, generator=torch.Generator().manual_seed(0))
    y = (x[:, 0] > 0).long()
    samples, names = Samples(x, y), ("no", "yes")
    asked = asking([9.0, 0.0])
    told = Reading(asked, samples, names, NAMES)
    assert all_questions(told, reach(asked, samples)) == {0: "left: age > 0"}
    assert all_questions(told) == {0: "left: age > 0"}
    behind = cut(0, 0.0, columns=2)
    told = Reading(behind, samples, names, NAMES)
    assert all_questions(told, reach(behind, samples)) == {0: "< 0 has lower age"}
    without = told._replace(feature_names=None)
    assert all_questions(without, reach(behind, samples)) == {0: "no | yes"}


def test_three_classes_are_named_below_what_is_asked() -> None:
    x = torch.randn(60, 2, generator=torch.Generator().manual_seed(0))
    samples = Samples(x, (x[:, 0] > 0).long())
    tree = NeuralTree(presets.table(num_outputs=3), shape=(2,))
    tree.split(0)
    tree.nodes[0].router.weight.data = torch.tensor([[99.0, 0.0]])
    tree.nodes[0].router.bias.data.zero_()
    told = Reading(tree, samples, ("a", "b", "c"), NAMES)
    assert all_questions(told, reach(tree, samples)) == {0: "left: age > 0\nb | a"}


def test_images_are_no_rows() -> None:
    tree = NeuralTree(presets.mlp(num_outputs=2), shape=(2, 2))
    samples = Samples(torch.rand(6, 2, 2), torch.arange(6) % 2)
    tree.split(0)
    told = Reading(tree, samples, ("a", "b"), NAMES)
    assert "has" not in all_questions(told, reach(tree, samples))[0]
    assert questions(grown(3)) == dict.fromkeys(np.flatnonzero(grown(3).topology.inner), "")


def test_columns_of_zeros_and_ones_are_told_as_such() -> None:
    """As an estimator standardizes them: a fifth of the rows are in Oslo, half have a garage."""
    names, sd = ["city = Oslo", "garage", "age"], np.array([0.4, 0.5, 9.0])

    def units(x: np.ndarray) -> np.ndarray:
        return x * sd + [0.2, 0.5, 30.0]

    for weight, said in (
        ([-1.0, 0.0, 0.0], "city is not Oslo"),
        ([1.0, 0.3, 0.0], "mostly city is Oslo"),
        ([0.0, -2.0, 0.1], "garage = 0"),
        ([-1.0, 1.0, 1.0], "city is not Oslo, garage = 1, high age"),
    ):
        assert side_of(np.array(weight), 0.0, names, units) == said
    far = "city = Oslo > 2.2"  # no value of the column is on that side
    assert side_of(np.array([1.0, 0.0, 0.0]), -5.0, names, units) == far


@pytest.mark.parametrize("arity", [3, 4])
def test_a_softmax_over_all_labels_tells_what_speaks_for_each(arity: int) -> None:
    x, y = three_classes()
    model = LabelTreeClassifier(arity=arity, max_depth=1, epochs=2, random_state=0).fit(x, y)
    inputs = np.asarray(model.samples(x, y).x)
    speaks_as_predicted(model.tree_, inputs)
    assert re.search(r"class b: .*\n.*class c: .*\n.*child 0", model.export_text())


@pytest.mark.parametrize("sparse", [False, True])
def test_a_leaf_of_all_classes_tells_what_speaks_for_each(sparse: bool) -> None:
    x, y = three_classes()
    model = SoftmaxTreeClassifier(depth=0, k=3, random_state=0)
    model.fit(csr_matrix(x) if sparse else x, y)
    speaks_as_predicted(model.tree_, x.astype(np.float32))
    assert re.search(r"class a: .*\n.*class b: .*\n.*class c: ", model.export_text())


def three_classes() -> tuple[np.ndarray, np.ndarray]:
    x = np.random.default_rng(0).normal(size=(90, 4))
    return x, np.array([*"abc"])[x[:, :3].argmax(1)]


def speaks_as_predicted(tree: Any, x: np.ndarray) -> None:
    log_p = tree.predicted(x)
    for k, column in enumerate(["first", "second", "third"]):
        weight, bias = tree.class_plane(k)
        odds = log_p[:, k] - np.delete(log_p, k, axis=1).mean(1)
        np.testing.assert_allclose(x @ weight + bias, odds, atol=1e-4)
        line = class_lines(tree, ["first", "second", "third", "none"], None, [*"abc"])[k]
        assert line.startswith(f"class {'abc'[k]}: ") and f"high {column}" in line


def test_of_many_classes_eight_are_told_and_of_two_the_second() -> None:
    x = np.repeat(np.eye(11), 9, axis=0)
    tree = train(x, np.arange(99) // 9, SoftmaxTreeSettings(depth=0, k=11)).tree
    lines = class_lines(tree, class_names=[f"k{i}" for i in range(11)])
    assert [line[:9] for line in lines[:8]] == [f"class k{i}:" for i in range(8)]
    assert lines[8:] == ["… 3 more classes"]
    tree = train(x, np.arange(99) // 9 % 2, SoftmaxTreeSettings(depth=0, k=2)).tree
    assert [line[:9] for line in class_lines(tree, class_names=["k0", "k1"])] == ["class k1:"]


def test_trees_with_branches_or_of_some_classes_speak_for_no_class() -> None:
    x = np.random.default_rng(0).normal(size=(80, 3))
    y = (x[:, 1] > 0.3) + 2 * (x[:, 0] > 0)
    tree = train(x, y, SoftmaxTreeSettings(depth=1, k=4)).tree
    assert tree.topology.num_nodes == 3 and class_lines(tree, class_names=[*"abcd"]) == []
    some = train(x, y, SoftmaxTreeSettings(depth=0, k=2)).tree
    assert some.class_plane(0) is None and class_lines(some, class_names=[*"abcd"]) == []
    deep = LabelTreeClassifier(arity=2, epochs=1, random_state=0).fit(x, y)
    assert "class 1:" not in deep.export_text()
