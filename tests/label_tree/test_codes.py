"""Trees as arrays, and those that are not learned."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from structnet.label_tree import LabelCodes, clustered, complete, grouped, huffman, random_tree
from structnet.label_tree.codes import least_nodes
from structnet.label_tree.shapes import least_depth


def slow_huffman(counts: np.ndarray, arity: int) -> float:
    """The expected depth of merging the least weights, with empty ones to begin with."""
    weights = [0.0] * ((1 - len(counts)) % (arity - 1)) + sorted(counts.tolist())
    total = 0.0
    while len(weights) > 1:
        weights.sort()
        merged = sum(weights[:arity])
        total += merged
        weights = [*weights[arity:], merged]
    return total


@pytest.mark.parametrize("labels", [1, 2, 3, 5, 17, 200])
@pytest.mark.parametrize("arity", [2, 3, 4, 7, 20])
def test_fixed_trees(labels: int, arity: int) -> None:
    counts = np.random.default_rng(labels).zipf(1.5, labels).astype(float)
    vectors = np.random.default_rng(arity).normal(size=(labels, 3))
    for codes in (
        huffman(counts, arity),
        complete(counts, arity),
        random_tree(labels, arity, seed=1),
        clustered(vectors, arity),
        grouped(counts, vectors, arity),
    ):
        assert codes.num_nodes == least_nodes(labels, arity)
        assert (
            LabelCodes.from_nested(codes.to_nested(), arity).depth.tolist() == codes.depth.tolist()
        )
    expected = huffman(counts, arity).depth @ counts
    assert expected == pytest.approx(slow_huffman(counts, arity))
    near = grouped(counts, vectors, arity).depth @ counts
    assert expected <= near <= 1.3 * expected
    assert complete(counts, arity).depth.max() == least_depth(labels, arity)


def slow_grouped(counts: np.ndarray, vectors: np.ndarray, arity: int, slack: float) -> list:
    """The nested tree; all that waits is sorted and looked at again at each step."""
    waiting = [(n, v, label) for label, (n, v) in enumerate(zip(counts, vectors, strict=True))]
    room = arity - (1 - len(counts)) % (arity - 1)
    while len(waiting) > 1:
        waiting.sort(key=lambda each: each[0])
        window = [each for each in waiting if each[0] <= slack * waiting[room - 1][0]]
        window.sort(key=lambda each: np.linalg.norm(each[1] - waiting[0][1]))
        taken = sorted(window[:room], key=lambda each: -each[0])
        weight = sum(each[0] for each in taken)
        middle = sum(each[0] * each[1] for each in taken) / weight
        waiting = [each for each in waiting if not any(each is other for other in taken)]
        waiting.append((weight, middle, [each[2] for each in taken]))
        room = arity
    return waiting[0][2]


@pytest.mark.parametrize("slack", [1.0, 1.5, 4.0])
@pytest.mark.parametrize("arity", [2, 3, 5])
@pytest.mark.parametrize("labels", [2, 6, 31, 150])
def test_groups_are_those_of_the_rule(labels: int, arity: int, slack: float) -> None:
    rng = np.random.default_rng(labels)
    counts, vectors = rng.exponential(9, labels), rng.normal(size=(labels, 3))
    expected = slow_grouped(counts, vectors, arity, slack)
    assert grouped(counts, vectors, arity, slack).to_nested() == expected


def test_equal_and_zero_counts() -> None:
    assert huffman(np.zeros(9), 3).depth.tolist() == [2] * 9
    assert huffman(np.ones(4), 2).depth.tolist() == [2] * 4


def test_clusters_find_groups() -> None:
    rng = np.random.default_rng(0)
    group = rng.permutation(np.repeat(range(4), 4))
    vectors = 10 * np.eye(4)[group] + 0.1 * rng.normal(size=(16, 4))
    codes = clustered(vectors, 4)
    first = [codes.code(label)[0][1] for label in range(16)]
    assert len(set(zip(first, group.tolist(), strict=True))) == 4


def test_what_is_alike_shares_a_node_where_it_is_as_frequent() -> None:
    rng = np.random.default_rng(0)
    kind = rng.permutation(np.repeat(np.arange(27), 3))
    vectors = rng.normal(size=(27, 5))[kind] + 0.01 * rng.normal(size=(81, 5))
    codes = grouped(rng.uniform(10, 12, 81), vectors, 3)
    last = codes.nodes[codes.offsets[1:] - 1]
    assert all(len(set(kind[last == node])) == 1 for node in set(last))
    frequent = grouped(np.where(np.arange(81) == 5, 1e4, 10.0), vectors, 3)
    assert frequent.depth[5] == 1


def test_many_rare_labels() -> None:
    """More than are compared at once."""
    vectors = np.random.default_rng(0).normal(size=(3000, 2))
    codes = grouped(np.zeros(3000), vectors, 2)
    assert codes.depth.max() < 24  # 12 where all leaves are as deep; a comb has 2999
    beside = grouped(np.ones(3000), vectors, 1200)
    assert beside.num_nodes == 3


def test_trees_of_the_user() -> None:
    codes = LabelCodes.from_nested([[0, 3], 1, [2, [4, 5]]])
    graph = nx.DiGraph([("r", "a"), ("r", 1), ("r", "b"), ("a", 0), ("a", 3)])
    graph.add_edges_from([("b", 2), ("b", "c"), ("c", 4), ("c", 5)])
    for label in range(6):
        graph.nodes[label]["label"] = label
    slots = [[slot for _, slot in codes.code(label)] for label in range(6)]
    for other in (
        LabelCodes.from_networkx(graph),
        LabelCodes.from_codes(slots),
        LabelCodes.from_codes([codes.code(label) for label in range(6)]),
    ):
        assert other.to_nested() == codes.to_nested() == [[0, 3], 1, [2, [4, 5]]]
    wide = LabelCodes.from_networkx(graph, arity=5)
    assert wide.children.shape == (4, 5) and wide.to_nested() == codes.to_nested()
    with pytest.raises(ValueError, match=r"slots must be between 0 and 1\. Got 0 to 2"):
        LabelCodes.from_networkx(graph, arity=2)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: LabelCodes(np.array([[1, 1]]), 1), "label 0 is in 2 slots"),
        (lambda: LabelCodes(np.array([[1, 1, 1]]), 1), "label 0 is in 3 slots"),
        (lambda: LabelCodes(np.array([[1, -1]]), 2), "label 1 is in no slot"),
        (lambda: LabelCodes(np.array([[1, 9]]), 2), "children must be -1 or between 1 and 2"),
        (lambda: LabelCodes(np.zeros((1, 1)), 1), "an arity of 2 or more"),
        (lambda: LabelCodes.from_codes([[0], [0, 1]]), "is the beginning of another one"),
        (lambda: LabelCodes.from_nested([0, [0]]), "label 0 is in 2 places"),
        (lambda: LabelCodes.from_nested([0, [2]]), "labels must be the numbers 0 to 1"),
        (lambda: huffman(np.array([1.0, -1]), 2), "'counts' parameter must be 0 or more"),
        (lambda: grouped(np.ones(3), np.ones((2, 1))), r"finite numbers \[3, size\]"),
        (lambda: grouped(np.ones(2), np.ones((2, 1)), slack=0.5), "'slack' parameter of grouped"),
        (lambda: huffman(np.ones(3), 1), "'arity' parameter must be an int"),
        (lambda: random_tree(0), r"one number for each label, \[labels\]"),
        (lambda: clustered(np.array([[np.nan]])), "must be finite numbers"),
    ],
)
def test_what_is_no_tree_of_labels(make, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        make()


def test_the_numbering_of_a_large_tree() -> None:
    numbering = random_tree(30_000, 7).numbering
    assert sorted(numbering.label[numbering.topology.leaves]) == list(range(30_000))
    assert (numbering.topology.parent[1:] < np.arange(1, numbering.topology.num_nodes)).all()
