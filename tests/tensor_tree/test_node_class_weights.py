"""Classes of nodes, nodes and trees that count more or less than the number of their nodes."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import numpy as np
import pytest
import torch
from random_trees import TOKENS, TYPES, VOCABULARY, random_trees
from sklearn.base import clone

from structnet import Tree, TreeLSTMNodeClassifier
from structnet.tensor_tree import ChildSumTreeLSTM, NodePredictor
from structnet.tensor_tree.counts.beside import BesideNodeBag
from structnet.tensor_tree.counts.label_table import LabelTable
from structnet.tensor_tree.counts.node_bag import NodeBag
from structnet.trees.examples import NodeExamples
from structnet.trees.forest import Forest

WEIGHTS = torch.tensor([0.5, 1.0, 3.0])
FEW = {"hidden_size": 8, "epochs": 8, "random_state": 0}


def predictor(**given: torch.Tensor) -> NodePredictor:
    torch.manual_seed(0)
    return NodePredictor(ChildSumTreeLSTM(4, len(TYPES), len(TOKENS)), 3, **given)


def examples(repeated: bool) -> NodeExamples:
    """Random trees, each of them twice as often as the weights say if ``repeated``."""
    rng, trees, labels = random.Random(0), [], []
    for tree in random_trees(rng):
        classes = [rng.randrange(-1, 3) for _ in tree.preorder()]
        for place, of in enumerate(classes):
            number = int(2 * WEIGHTS[of]) if repeated and of >= 0 else int(of >= 0)
            trees += [tree] * number
            labels += [[of if i == place else -1 for i in range(len(classes))]] * number
    return NodeExamples(Forest.from_trees(trees, VOCABULARY), labels)


def assert_equal(tables: list[LabelTable]) -> None:
    torch.testing.assert_close(tables[0].count, tables[1].count)
    torch.testing.assert_close(tables[0].of_all, tables[1].of_all)


def test_a_weight_is_a_number_of_nodes():
    once, repeated = examples(repeated=False), examples(repeated=True)
    plain, weighed = predictor(), predictor(class_weight=WEIGHTS)
    total = repeated.counted / 2 / once.counted
    torch.testing.assert_close(weighed.loss(once), plain.loss(repeated) * total)
    assert weighed.accuracy(once) == pytest.approx(plain.accuracy(repeated))
    bags = [NodeBag(len(TYPES), len(TOKENS), 3) for _ in range(2)]
    doubled = BesideNodeBag(predictor(class_weight=2 * WEIGHTS), bags[0]).eval()
    doubled.refit_bag(once, 0)
    BesideNodeBag(plain, bags[1]).refit_bag(repeated, 0)
    assert_equal([bag.table for bag in bags])
    mixed = BesideNodeBag(plain, bags[0]).eval()
    doubled.choose(once)
    mixed.choose(repeated)
    torch.testing.assert_close(doubled.shares, mixed.shares, atol=1e-3, rtol=0)


def test_weights_of_another_shape_are_refused():
    with pytest.raises(ValueError, match=r"must have shape \[3\], one per output; got \[2\]"):
        predictor(class_weight=torch.ones(2))


def rare(number: int) -> tuple[list[Tree], list[list[str | None]]]:
    """A node x is rare in one of eight cases, which nothing tells."""
    rng = random.Random(0)
    X = [Tree("f", [Tree("x"), Tree(rng.choice("ab"))]) for _ in range(number)]
    return X, [[None, rng.choice(["rare"] + ["often"] * 7), "leaf"] for _ in X]


@pytest.mark.parametrize("bag", [True, False])
def test_classes_that_weigh_more_are_predicted_more(bag: bool, tmp_path: Path):
    X, y = rare(400)
    share = {}
    for asked in (None, "balanced", {"rare": 50}):
        model = TreeLSTMNodeClassifier(class_weight=asked, bag=bag, **FEW).fit(X, y)
        found = model.predict_proba(X[:1])[0][1]
        share[str(asked)] = found[list(model.classes_).index("rare")]
    assert share["None"] < 0.25 < 0.35 < share["balanced"] < 0.65 < 0.75 < share["{'rare': 50}"]
    model.save(tmp_path / "model.safetensors")
    again = TreeLSTMNodeClassifier.load(tmp_path / "model.safetensors")
    assert again.class_weight == {"rare": 50} == clone(model).class_weight
    np.testing.assert_array_equal(again.predict_proba(X[:1])[0], model.predict_proba(X[:1])[0])
    torch.testing.assert_close(
        again.model_.weights_of(torch.arange(3)), model.model_.weights_of(torch.arange(3))
    )


def test_nodes_of_a_class_that_weighs_nothing_are_as_if_they_had_none():
    X, y = rare(60)
    without = [[None if of == "leaf" else of for of in row] for row in y]
    same = [[*row[:2], "leaf" if i == 0 else None] for i, row in enumerate(without)]
    model = TreeLSTMNodeClassifier(class_weight={"leaf": 0}, **FEW)
    found = [model.fit(X, each, X_val=X, y_val=y).predict_proba(X) for each in (y, same)]
    np.testing.assert_array_equal(found[0], found[1])
    assert model.classes_.tolist() == ["leaf", "often", "rare"]


def test_a_weight_of_a_node_is_a_number_of_nodes():
    once, repeated = examples(repeated=False), examples(repeated=True)
    flat = [2 * WEIGHTS[of].item() if of >= 0 else 0 for of in once.labels.tolist()]
    sizes = once.order.offsets
    rows = [flat[a:b] for a, b in itertools.pairwise(sizes.tolist())]
    parts = np.split(once.labels.numpy(), sizes[1:-1])
    once = NodeExamples(once.forest, [each.tolist() for each in parts], rows)
    model = predictor()
    total = repeated.counted / once.counted
    torch.testing.assert_close(model.loss(once), model.loss(repeated) * total)
    assert model.accuracy(once) == pytest.approx(model.accuracy(repeated))
    bags = [NodeBag(len(TYPES), len(TOKENS), 3) for _ in range(2)]
    mixed = [BesideNodeBag(model, bag).eval() for bag in bags]
    for one, given in zip(mixed, (once, repeated), strict=True):
        one.refit_bag(given, 0)
    assert_equal([bag.table for bag in bags])
    mixed[1].bag = bags[0]
    for one, given in zip(mixed, (once, repeated), strict=True):
        one.choose(given)
    torch.testing.assert_close(mixed[0].shares, mixed[1].shares, atol=1e-3, rtol=0)


@pytest.mark.parametrize("bag", [True, False])
def test_trees_and_nodes_have_weights(bag: bool):
    X, y = rare(400)
    of_nodes = [[1, 7 if row[1] == "rare" else 1, 1] for row in y]
    of_trees = [7 if row[1] == "rare" else 1 for row in y]
    found = []
    for weights in (None, of_trees, of_nodes):
        model = TreeLSTMNodeClassifier(bag=bag, **FEW).fit(X, y, weights)
        found.append(model.predict_proba(X[:1])[0][1][list(model.classes_).index("rare")])
    assert found[0] < 0.25 < 0.3 < min(found[1:]) and max(found[1:]) < 0.65
    held = {"X_val": X[:40], "y_val": y[:40]}
    model.set_params(epochs=2)
    said = [
        model.fit(X, y, **held, **given).predict_proba(X)
        for given in (
            {"sample_weight": np.full(400, 3), "sample_weight_val": 2},
            {"sample_weight": [np.ones(3)] * 400},
            {},
        )
    ]
    np.testing.assert_array_equal(said[0], said[1])
    np.testing.assert_array_equal(said[0], said[2])
    right = [said[1] == row[1] for said, row in zip(model.predict(X), y, strict=True)]
    expected = np.average(right, weights=of_trees)
    assert model.score(X, y, [[0, weight, 0] for weight in of_trees]) == pytest.approx(expected)


def test_what_weighs_nothing_is_as_if_it_were_not_given():
    X, y = rare(60)
    other = [*X, Tree("g", [Tree("x"), Tree("new")])], [*y, ["leaf", "often", "leaf"]]
    without = [[None if of == "leaf" else of for of in row[:2]] + row[2:] for row in y]
    model = TreeLSTMNodeClassifier(**FEW)
    weights = [[float(of is not None) for of in row] for row in without]
    found = [
        model.fit(*data, given, X_val=X, y_val=y).predict_proba(X)
        for data, given in (((X, without), None), (other, [*weights, [0, 0, 0]]))
    ]
    np.testing.assert_array_equal(found[0], found[1])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1], r"one number for each sample, \[2\]. Got shape \[1\]"),
        ([[1, 1, 1]], "sample_weight must have weights for each tree, 2. Got 1 lists of them"),
        ([[1, 1, 1], [1, 1]], r"for each node of tree 1, \[3\]. Got shape \[2\]"),
        ([[1, 1, 1], [1, 1, -2]], "at least 0. Got -2 for node 2 of tree 1"),
        ([0, 0], "all .* have the weight zero; expected at least 2"),
        ([1, 0], "expected at least 2 above it"),
    ],
)
def test_wrong_weights_of_trees_and_nodes(weights: object, message: str):
    X, y = rare(2)
    y = [["often", "rare", "leaf"]] * 2
    with pytest.raises(ValueError, match=message):
        TreeLSTMNodeClassifier(**FEW).fit(X, y, weights)


def test_loading_weights_of_classes_changes_no_other_model():
    given = WEIGHTS.clone()
    one, other = predictor(class_weight=given), predictor(class_weight=given)
    other.load_state_dict(predictor(class_weight=2 * WEIGHTS).state_dict())
    assert given.equal(WEIGHTS) and one.class_weight.equal(WEIGHTS)
    assert other.class_weight.equal(2 * WEIGHTS)
