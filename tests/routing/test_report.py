"""What is said of a neural tree: tables, text, graphs, against counts by hand."""

from __future__ import annotations

import dataclasses
import math

import networkx as nx
import numpy as np
import pytest
import torch
from forests import exactly
from reference import neural_tree as reference
from reports import by_sign, deep, draw, tree_of
from torch import nn
from tree_shapes import LEFT_LEAF, SMALL, small_primitives

from structnet.neural_tree import presets
from structnet.neural_tree.cost import count_flops, count_parameters
from structnet.neural_tree.likelihood import SquaredError
from structnet.neural_tree.tree import NeuralTree
from structnet.routing import batches as batched
from structnet.routing.explanation import explain
from structnet.routing.report import export_text, summary
from structnet.routing.samples import Samples
from structnet.routing.topology import Topology
from structnet.trees.networkx_graph import to_networkx


@pytest.mark.parametrize("shape", SMALL[::5], ids=str)
def test_summaries_are_sums_over_paths(shape: tuple) -> None:
    tree, x = tree_of(shape), draw()
    found = summary(tree, x)
    own = [count_parameters(node) for node in tree.nodes]
    own_flops = [row.flops for row in found.rows]
    per_leaf, flops_per_leaf = (
        {leaf: sum(each[v] for v in tree.topology.path(leaf)) for leaf in tree.topology.leaves}
        for each in (own, own_flops)
    )
    paths = [reference.greedy(tree, each) for each in x]
    assert (found.leaves, found.depth) == (tree.num_leaves, tree.topology.depth.max())
    assert found.parameters == sum(own) == count_parameters(tree)
    assert found.flops == count_flops(tree, x[:1])
    assert found.path_parameters == pytest.approx(np.mean(list(per_leaf.values())))
    assert found.path_flops == pytest.approx(np.mean(list(flops_per_leaf.values())))
    visited = np.mean([per_leaf[path[-1]] for path in paths])
    assert found.visited_parameters == pytest.approx(visited)
    visited = np.mean([flops_per_leaf[path[-1]] for path in paths])
    assert found.visited_flops == pytest.approx(visited)
    for v, row in enumerate(found.rows):
        node, inner = tree.nodes[v], bool(tree.topology.children_of(v))
        assert (row.node, row.kind) == (v, "router" if inner else "solver")
        assert row.parent == (None if v == 0 else tree.topology.parent[v])
        assert (row.transformers, row.shape) == (len(node.transformers), node.shape)
        assert row.parameters == own[v]
        assert row.visits == sum(v in path for path in paths)


def test_flops_of_one_path_are_those_of_one_run() -> None:
    """The greedy path runs its own modules alone, so that the counter sees just these."""
    tree, x = tree_of((LEFT_LEAF, LEFT_LEAF)), draw(5)

    class Greedy(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tree = tree

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.tree.output(x, "greedy")

    assert summary(tree, x).visited_flops == count_flops(Greedy(), x) / 5


def test_a_summary_over_what_is_no_sample() -> None:
    tree = NeuralTree(presets.mlp(num_outputs=3, width=8), shape=(4,))
    with pytest.raises(TypeError, match=r"Samples.from_dataset\(dataset\). Got list"):
        summary(tree, [(torch.zeros(4), 0)])


def test_a_summary_without_samples() -> None:
    found = summary(tree_of())
    assert found.visited_parameters is None
    assert found.visited_flops is None
    assert {row.visits for row in found.rows} == {None}
    assert "visits" not in str(found)


def test_a_summary_as_a_table() -> None:
    tree = NeuralTree(presets.mlp(num_outputs=3, width=30), shape=(40,))
    tree.split(0)
    tree = constant_router(tree, 1.0)
    assert str(summary(tree, torch.zeros(1200, 40))).splitlines() == [
        f"2 leaves, depth 1; 2 FLOPs a multiply-add; routers decided {sure(1.0)}",
        "",
        "                all leaves  one path  one path, by visits",
        "parameters           1,447     1,354                1,354",
        "FLOPs a sample       2,820     2,640                2,640",
        "",
        "node  parent  transformers    kind  shape  parameters  FLOPs  visits",
        "   0       -             1  router   [30]       1,261  2,460   1,200",
        "   1       0             0  solver   [30]          93    180   1,200",
        "   2       0             0  solver   [30]          93    180       0",
    ]


def sure(*logits: float) -> str:
    """How probable the likelier branches are, on average."""
    return f"{100 * np.mean([1 / (1 + math.exp(-abs(logit))) for logit in logits]):.1f} %"


def constant_router(tree: NeuralTree, logit: float) -> NeuralTree:
    nn.init.zeros_(tree.nodes[0].router.weight)
    nn.init.constant_(tree.nodes[0].router.bias, logit)
    return tree


def test_a_summary_stays_as_it_is() -> None:
    found = summary(tree_of())
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.leaves = 7
    assert found == summary(tree_of())


def test_samples_may_be_more_than_one_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    tree, x = tree_of((LEFT_LEAF, LEFT_LEAF)), draw(40)
    at_once = summary(tree, x)
    monkeypatch.setattr(batched, "BATCH", 7)
    found = summary(tree, x)
    assert found == summary(tree, Samples(x, torch.zeros(40)))
    assert found.decided == pytest.approx(at_once.decided)
    assert dataclasses.replace(found, decided=at_once.decided) == at_once


def test_a_weight_counts_as_so_many_samples() -> None:
    tree, x = tree_of((LEFT_LEAF, LEFT_LEAF)), draw(40)
    targets, times = torch.arange(40) % 4, torch.arange(40) % 3  # some of them never
    weighted = Samples(x, targets, times * 40.0 / times.sum())
    repeated = Samples(x.repeat_interleave(times, 0), targets.repeat_interleave(times))
    assert export_text(tree, weighted) == export_text(tree, repeated) != export_text(tree)
    assert export_text(tree, weighted) != export_text(tree, Samples(x, targets))
    found, expected = summary(tree, weighted), summary(tree, repeated)
    assert found.visited_flops == pytest.approx(expected.visited_flops)
    assert found.visited_flops != pytest.approx(summary(tree, x).visited_flops)
    visits = [row.visits / 40 for row in found.rows]
    assert visits == pytest.approx([row.visits / len(repeated) for row in expected.rows])
    tree.likelihood, numbers = SquaredError(), draw(40)[:, :2]
    weighted = Samples(x, numbers, weighted.weights)
    repeated = Samples(repeated.x, numbers.repeat_interleave(times, 0))
    assert export_text(tree, weighted) == export_text(tree, repeated)


def test_a_root_alone() -> None:
    tree = tree_of(())
    found = summary(tree, draw())
    assert (found.leaves, found.depth) == (1, 0)
    assert found.parameters == found.path_parameters == found.visited_parameters
    assert export_text(tree).count("\n") == 0
    assert explain(tree, draw()[0]).choices == ()
    assert explain(tree, draw()[0]).probability == 1.0


def test_looking_changes_nothing() -> None:
    tree = NeuralTree(presets.sarcos(), (21,))
    tree.split(0)
    x = torch.randn(30, 21)
    before = {name: value.clone() for name, value in tree.state_dict().items()}
    state = torch.get_rng_state()
    summary(tree, x)
    export_text(tree, Samples(x, torch.zeros(30, dtype=torch.int64)))
    to_networkx(tree)
    explain(tree, x[0])
    assert torch.equal(torch.get_rng_state(), state)
    assert all(module.training for module in tree.modules())
    assert all(torch.equal(value, before[name]) for name, value in tree.state_dict().items())


def test_text_without_samples() -> None:
    tree = NeuralTree(small_primitives(4), (3,))
    left, right = tree.split(0)
    tree.split(right)
    tree.deepen(left)
    tree.deepen(left)
    assert export_text(tree).splitlines() == [
        "|--- node 0: 1 transformer, router",
        "|   |--- left, node 1: 2 transformers, solver",
        "|   |--- right, node 2: router",
        "|   |   |--- left, node 3: solver",
        "|   |   |--- right, node 4: solver",
    ]


def test_left_comes_first_whatever_its_number() -> None:
    tree = NeuralTree(small_primitives(4), (3,))
    tree.split(0)
    tree.topology = Topology([(2, 1), (), ()])
    assert export_text(tree).splitlines()[1:] == [
        "|   |--- left, node 2: solver",
        "|   |--- right, node 1: solver",
    ]


def test_text_with_classes() -> None:
    tree, x = by_sign()
    samples = Samples(x, torch.tensor([0, 1, 0, 2, 2]))
    assert export_text(tree, samples, ["cat", "dog", "eel"]).splitlines() == [
        f"|--- node 0: router (left: feature 0 > 0), decided {sure(*x)}, 100.0 % of samples, "
        "40.0 % of them class cat",
        "|   |--- left, node 1: solver, 40.0 % of samples, 100.0 % of them class cat",
        "|   |--- right, node 2: solver, 60.0 % of samples, 66.7 % of them class eel",
    ]
    assert export_text(tree, samples).endswith("66.7 % of them class 2")


def test_text_with_numbers_and_of_nobody() -> None:
    tree, x = by_sign()
    tree.likelihood = SquaredError()
    targets = torch.tensor([[1.0, 0.0], [9.0, 9.0], [3.0, 1.0], [9.0, 9.0], [9.0, 9.0]])
    assert export_text(tree, Samples(x, targets)[torch.tensor([0, 2])]).splitlines() == [
        f"|--- node 0: router (left: feature 0 > 0), decided {sure(1.0, 2.0)}, "
        "100.0 % of samples, mean 2, 0.5",
        "|   |--- left, node 1: solver, 100.0 % of samples, mean 2, 0.5",
        "|   |--- right, node 2: solver, 0.0 % of samples",
    ]


def test_augmentation_is_not_looked_at() -> None:
    tree, x = by_sign()
    samples = Samples(x, torch.tensor([0, 1, 0, 2, 2]), augment=torch.neg)
    assert "40.0 % of samples" in export_text(tree, samples).splitlines()[1]
    assert [row.visits for row in summary(tree, samples).rows] == [5, 2, 3]


def test_the_networkx_graph() -> None:
    tree = tree_of((LEFT_LEAF, LEFT_LEAF))
    digraph = to_networkx(tree)
    assert nx.is_arborescence(digraph)
    assert list(digraph) == list(range(len(tree.nodes)))
    for v, node in enumerate(tree.nodes):
        children = tree.topology.children_of(v)
        places = sorted((digraph.edges[v, u]["pos"], u) for u in digraph.successors(v))
        assert places == list(enumerate(children))
        about = digraph.nodes[v]
        assert about["kind"] == ("router" if children else "solver")
        assert (about["type"] >= 0, about["token"] >= 0) == (bool(children), not children)
        assert about["shape"] == str(node.shape)  # a text, as files take it
        assert about["parameters"] == count_parameters(node)
        assert about["transformers"] == len(node.transformers)


def test_trees_deeper_than_python_recurses() -> None:
    depth = 1050
    tree = deep(depth)
    x = torch.zeros(3, 3)
    lines = export_text(tree, Samples(x, torch.tensor([1, 1, 3]))).splitlines()
    assert len(lines) == 2 * depth + 1
    assert lines[-1].startswith("|   " * depth + f"|--- right, node {2 * depth}: solver, 100.0 %")
    found = explain(tree, x[0])
    assert len(found.choices) == depth
    assert found.leaf == 2 * depth
    assert found.probability == pytest.approx(math.exp(-depth * math.log1p(math.exp(-1))))
    assert nx.dag_longest_path_length(to_networkx(tree)) == depth


def test_a_summary_of_a_deep_tree() -> None:
    tree = deep(200)
    found = summary(tree, torch.zeros(3, 3))
    assert (found.depth, found.leaves) == (200, 201)
    assert found.visited_parameters == 200 * 4 + 16
    assert len(str(found).splitlines()) == 401 + 7


def test_samples_that_do_not_fit() -> None:
    tree = tree_of()
    message = exactly("x must be [n, 3], samples of the tree's shape. Got [5, 4].")
    wrong = torch.zeros(5, 4).double()
    with pytest.raises(ValueError, match=message):
        summary(tree, wrong)
    with pytest.raises(ValueError, match=message):
        export_text(tree, Samples(wrong, torch.zeros(5, dtype=torch.int64)))
    for x in (draw(1), draw(1)[0, :2]):
        message = f"x must be [3], one sample of the tree's shape. Got {list(x.shape)}."
        with pytest.raises(ValueError, match=exactly(message)):
            explain(tree, x)
    with pytest.raises(ValueError, match=exactly("original must be [3], as x. Got [2].")):
        explain(tree, draw(1)[0], original=np.zeros(2))
    with pytest.raises(ValueError, match="there are no data to evaluate: got 0 examples"):
        summary(tree, draw(0))


def test_names_that_do_not_fit() -> None:
    tree, x = tree_of(), draw(1)[0]
    for call in (
        lambda names: explain(tree, x, names),
        lambda names: export_text(tree, None, names),
    ):
        with pytest.raises(
            ValueError, match=exactly("there are 2 class_names for 4 classes; expected one each")
        ):
            call(["a", "b"])
    with pytest.raises(
        ValueError,
        match=exactly("there are to_units for a tree that predicts classes, not numbers"),
    ):
        explain(tree, x, to_units=lambda means: means)
    tree.likelihood = SquaredError()
    message = "there are class_names for a tree that predicts numbers, not classes"
    with pytest.raises(ValueError, match=exactly(message)):
        explain(tree, x, ["a", "b", "c", "d"])


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        (torch.tensor([0.0, 1.0]), "targets must be classes [n], int64. Got float32 [2]."),
        (
            torch.tensor([0, 7]),
            "targets must be classes from 0 to 3; example 1 of the samples has 7",
        ),
    ],
)
def test_targets_that_do_not_fit(targets: torch.Tensor, message: str) -> None:
    with pytest.raises(ValueError, match=exactly(message)):
        export_text(tree_of(), Samples(draw(2), targets))


def test_targets_that_are_no_numbers_of_columns() -> None:
    tree = tree_of(likelihood=SquaredError())
    message = "targets must be numbers [2, columns]. Got float32 [2]."
    with pytest.raises(ValueError, match=exactly(message)):
        export_text(tree, Samples(draw(2), torch.zeros(2)))
