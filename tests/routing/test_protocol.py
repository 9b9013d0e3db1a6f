"""What is said of model trees, through the protocol alone: a tree that knows nothing of torch."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch
from torch import nn
from toy_tree import MANY, ToyTree, toy_chain, toy_tree

from structnet.neural_tree import NeuralTree, presets
from structnet.routing import Samples, explain, export_text, leaf_of, reach, shares, summary
from structnet.routing.visits import BINS
from structnet.trees.networkx_graph import to_networkx


def draw(number: int = 50, classes: int = 3) -> Samples:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(number, 2, generator=generator, dtype=torch.float64)
    weights = torch.rand(number, generator=generator) + 0.5
    return Samples(x, torch.arange(number) % classes, weights)


def walk(tree: ToyTree, x: np.ndarray) -> list[int]:
    """The nodes of one sample's path."""
    path = [0]
    while tree.topology.children_of(path[-1]):
        v = path[-1]
        place = sum(x[tree.feature[v]] >= cut for cut in tree.cuts[v])
        path.append(tree.topology.children_of(v)[place])
    return path


@pytest.mark.parametrize("path", ["multi", "greedy"])
@pytest.mark.parametrize("seed", range(3))
def test_what_reaches_the_nodes(path: str, seed: int) -> None:
    tree, data = toy_tree(MANY, seed), draw()
    counts, weights = np.zeros((7, 3)), data.weights.double().numpy()
    for x, target, weight in zip(data.x.numpy(), data.targets, weights, strict=True):
        for v in walk(tree, x):
            counts[v, target] += weight
    found = reach(tree, data, path)
    np.testing.assert_allclose(found.classes, counts)
    np.testing.assert_allclose(found.share, counts.sum(axis=1) / weights.sum())
    np.testing.assert_allclose(shares(tree, data, path), found.share)
    # Branches are certain: all that goes on is in the last bin, all that does not in the first.
    parent = tree.topology.parent[1:]
    np.testing.assert_allclose(found.going[1:, BINS - 1], counts[1:].sum(axis=1))
    np.testing.assert_allclose(found.going[1:, 0], (counts[parent] - counts[1:]).sum(axis=1))


def test_the_leaf_of_each_sample() -> None:
    tree, data = toy_tree(MANY), draw()
    expected = [walk(tree, x)[-1] for x in data.x.numpy()]
    assert len(set(expected)) > 2
    assert leaf_of(tree, data.x).tolist() == leaf_of(tree, data.x.numpy()).tolist() == expected


def by_hand() -> ToyTree:
    cuts = [[0.0, 1.0], [], [0.5], [], [], [], []]
    values = 0.25 + 0.25 * np.eye(3)[np.arange(7) % 3]
    return ToyTree(MANY, [0, 0, 1, 0, 0, 0, 0], cuts, values)


def test_an_explanation() -> None:
    found = explain(by_hand(), np.array([0.5, 2.0]), ["ape", "bee", "cow"])
    assert str(found).splitlines() == [
        "node 0: < 1, 100.0 %",
        "node 2: >= 0.5, 100.0 %",
        "leaf 5, reached with 100.0 %",
        "its prediction: class cow, 50.0 %",
        "of all leaves: class cow, 50.0 %",
    ]
    assert explain(by_hand(), np.array([2.0, 0.0])).choices[1].side == "all"  # an only child
    with pytest.raises(
        ValueError, match=r"x must be \[2\], one sample of the tree's shape\. Got \[3\]"
    ):
        explain(by_hand(), np.zeros(3))


def test_numbers_have_no_classes() -> None:
    tree, data = toy_tree(MANY, outputs=1, classes=False), draw()
    found = explain(tree, np.zeros(2), to_units=lambda means: 10 * means)
    assert found.class_names is None
    leaf = walk(tree, np.zeros(2))[-1]
    assert found.prediction == found.mixture == pytest.approx(10 * tree.values[leaf])
    numbers = Samples(data.x, data.x[:, :1])
    lines = export_text(tree, numbers).splitlines()
    assert lines[0].endswith(f"mean {data.x[:, 0].mean():.4g}")
    assert reach(tree, numbers).mean[0, 0] == pytest.approx(
        np.average(data.x[:, 0], weights=np.ones(50))
    )


def test_text() -> None:
    assert export_text(by_hand()).splitlines() == [
        "|--- node 0: number 0 cut at [0.0, 1.0]",
        "|   |--- < 0, node 1: vote",
        "|   |--- < 1, node 2: number 1 cut at [0.5]",
        "|   |   |--- < 0.5, node 4: vote",
        "|   |   |--- >= 0.5, node 5: vote",
        "|   |--- >= 1, node 3: number 0 cut at []",
        "|   |   |--- all, node 6: vote",
    ]
    text = export_text(by_hand(), Samples(torch.zeros(4, 2), torch.tensor([1, 1, 1, 0])))
    assert "< 1, node 2: number 1 cut at [0.5], 100.0 % of samples, 75.0 % of them" in text


def test_text_to_a_depth() -> None:
    assert export_text(by_hand(), max_depth=1).splitlines() == [
        "|--- node 0: number 0 cut at [0.0, 1.0]",
        "|   |--- < 0, node 1: vote",
        "|   |--- < 1, node 2: number 1 cut at [0.5]",
        "|   |   |--- … 2 leaves",
        "|   |--- >= 1, node 3: number 0 cut at []",
        "|   |   |--- … 1 leaf",
    ]


def test_a_summary() -> None:
    found = summary(by_hand(), torch.zeros(8, 2))
    assert (found.leaves, found.depth, found.parameters, found.flops) == (4, 2, 2 + 1 + 12, 3)
    assert found.path_parameters == (5 + 6 + 6 + 5) / 4
    assert found.visited_parameters == 2 + 1 + 3  # all go to leaf 4
    assert str(found).splitlines()[6:9] == [
        "node  parent  kind  parameters  FLOPs  visits",
        "   0       -   cut           2      2       8",
        "   1       0  vote           3      0       0",
    ]


def test_the_networkx_graph() -> None:
    tree = by_hand()
    digraph = to_networkx(tree)
    assert nx.is_arborescence(digraph)
    assert {(v, u): place for v, u, place in digraph.edges(data="pos")} == {
        (v, u): place for v, each in enumerate(MANY) for place, u in enumerate(each)
    }
    assert digraph.nodes[2] == {
        "type": 1,
        "token": -1,
        "kind": "cut",
        "words": "number 1 cut at [0.5]",
        "parameters": 1,
        "transformers": 0,
    }


@pytest.mark.parametrize("path", ["multi", "greedy", "stochastic", "most_likely", "least_likely"])
def test_what_arrives_goes_on(path: str) -> None:
    torch.manual_seed(1)
    tree = NeuralTree(presets.mlp(num_outputs=3, width=4), shape=(2,))
    deep, _ = tree.split(tree.split(0)[1])
    tree.deepen(deep, [nn.Linear(4, 5), nn.Linear(5, 3)])  # leaves may differ in shape
    visits = {each.node: each for each in tree.visits(draw().x.float(), path)}
    for v, visit in visits.items():
        below = [u for u in tree.topology.children_of(v) if u in visits]
        if below:
            np.testing.assert_allclose(
                sum(visits[u].arriving for u in below), visit.arriving, atol=1e-12
            )
        here = visit.arriving > 0
        if visit.branch is not None:
            np.testing.assert_allclose(visit.branch[here].sum(axis=1), 1)
        if path == "multi" and visit.branch is not None:
            for place, u in enumerate(tree.topology.children_of(v)):
                expected = visit.arriving * visit.branch[:, place]
                np.testing.assert_allclose(visits[u].arriving, expected)


def test_a_neural_tree_answers_in_numpy_and_stays_as_it_is() -> None:
    torch.manual_seed(2)
    tree = NeuralTree(presets.mlp(num_outputs=3, width=4), shape=(2,))
    left, _ = tree.split(0)
    x = draw().x
    assert tree.training
    found = tree.predicted(x.numpy())  # an array is taken in the tree's own precision
    np.testing.assert_array_equal(found, tree.output(x.float()).detach().numpy())
    alone = tree.predicted_at(x.float(), left)
    output = tree.nodes[left].solver(tree.nodes[0].transformers(x.float()))
    np.testing.assert_array_equal(alone, output.log_softmax(1).detach().numpy())
    assert tree.training and torch.is_grad_enabled()


def test_chains_of_any_length() -> None:
    """Nothing recurses, and nothing is quadratic, which would take minutes."""
    tree = toy_chain(10_000)
    data = Samples(torch.tensor([[1.0, 0.0], [-1.0, 0.0]]), torch.tensor([0, 1]))
    found = reach(tree, data, "greedy")
    assert found.share[[0, 1, 2, 20_000]].tolist() == [1.0, 0.5, 0.5, 0.5]
    assert leaf_of(tree, data.x).tolist() == [20_000, 1]
    told = explain(tree, data.x[0])
    assert (told.leaf, len(told.choices), told.probability) == (20_000, 10_000, 1.0)
    assert summary(tree, data).depth == 10_000
    assert export_text(tree, data, max_depth=2).splitlines()[-1].endswith("… 9,999 leaves")
    assert nx.is_arborescence(to_networkx(tree))
    left, nodes = tree.topology.survivors(found.share, 0.1)
    assert left.to_lists() == [(1, 2), (), ()]
    assert list(map(len, nodes)) == [1, 1, 10_000]


def test_what_survives_of_many_branches() -> None:
    topology = toy_tree(MANY).topology
    share = np.array([1, 0.5, 0.45, 0.05, 0.45, 0.0, 0.05])
    left, nodes = topology.survivors(share, 0.1)
    assert left.to_lists() == [(1, 2), (), ()]
    assert nodes == [[0], [1], [2, 4]]  # node 2 decides nothing any more
    assert topology.survivors(share, 0)[1] == [[v] for v in range(7)]
    left, nodes = topology.survivors(share, 0.5)
    assert (left.num_nodes, nodes) == (1, [[0, 1]])
    left, nodes = topology.survivors(share, 0.05)
    assert left.to_lists() == [(1, 2, 3), (), (), (4,), ()]  # an only child stays below its parent
    assert nodes == [[0], [1], [2, 4], [3], [6]]
