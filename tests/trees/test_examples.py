"""Trees with targets, alone or in pairs."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest
import torch
from forests import PAIR, exactly, forest_of, trees_of
from random_trees import VOCABULARY, chain, random_trees
from torch.utils.data import ConcatDataset, DataLoader, Subset

from structnet.trees.examples import NodeExamples, TreeExamples
from structnet.trees.forest import Forest
from structnet.trees.tree import Tree


def test_examples_of_single_trees():
    trees = random_trees(random.Random(1))
    examples = TreeExamples(forest_of(trees), range(len(trees)))
    assert (len(examples), examples.roots_per_example) == (len(trees), 1)
    part = examples[[2, 0, 2]]
    assert part.targets.tolist() == [2, 0, 2]
    assert trees_of(part.forest) == [trees[2], trees[0], trees[2]]


@pytest.mark.parametrize(
    "indices",
    [[2, 0], np.array([2, 0]), slice(1, None), np.array([True, False, True]), slice(2, None, -2)],
)
def test_examples_of_pairs(indices: object):
    trees = [chain(n) for n in range(1, 7)]
    examples = TreeExamples(forest_of(trees), [5, 6, 7], roots_per_example=2)
    part = examples[indices]
    chosen = np.arange(3)[indices].tolist()
    assert part.roots_per_example == 2
    assert part.targets.tolist() == [[5, 6, 7][i] for i in chosen]
    assert trees_of(part.forest) == [trees[2 * i + side] for i in chosen for side in (0, 1)]


def test_examples_move_to_a_device():
    pair = TreeExamples(forest_of(PAIR), torch.tensor([1]), roots_per_example=2).to("meta")
    assert pair.roots_per_example == 2
    examples = TreeExamples(forest_of(PAIR), torch.tensor([1, 0])).to("meta")
    assert examples.targets.device.type == examples.forest.device.type == "meta"


@pytest.mark.parametrize(
    "roots, count, each",
    [
        (1, 0, "each tree"),
        (1, 1, "each tree"),
        (1, 4, "each tree"),
        (2, 2, "2 trees"),
        (3, 1, "3 trees"),
    ],
)
def test_examples_have_a_target_for_so_many_trees(roots: int, count: int, each: str):
    message = f"got 2 trees and {count} targets; expected one target for {each}"
    with pytest.raises(ValueError, match=exactly(f"{message}, as roots_per_example says")):
        TreeExamples(forest_of(PAIR), [0] * count, roots_per_example=roots)
    with pytest.raises(ValueError, match="'roots_per_example' parameter of TreeExamples must be"):
        TreeExamples(forest_of(PAIR), [0], roots_per_example=0)


@pytest.mark.parametrize("targets", [["a", "b"], np.array(["a", "b"]), [None, 1], [[1], [1, 2]], 3])
def test_targets_are_numbers(targets: object):
    with pytest.raises(
        ValueError, match=f"rows of numbers of one length; got {re.escape(repr(targets))}"
    ):
        TreeExamples(forest_of(PAIR), targets)


def test_arrays_in_another_order():
    numbers = np.array([0, 3])
    examples = TreeExamples(forest_of(PAIR), numbers[::-1], numbers[::-1] / 2)
    assert examples.targets.tolist() == [3, 0]
    assert examples.weights.tolist() == [1.5, 0.0]


def test_no_examples():
    examples = TreeExamples(forest_of(PAIR), [0, 1])[[]]
    assert (len(examples), len(examples.forest)) == (0, 0)


def test_a_tuple_of_indices():
    assert len(TreeExamples(forest_of(PAIR), [0, 1])[(1, 0)]) == 2


def test_weights_go_with_their_examples():
    forest = Forest.from_trees([Tree("x"), Tree("y"), Tree("z")], VOCABULARY)
    examples = TreeExamples(forest, [[0.5, 1], [1.5, 2], [2.5, 3]], np.array([0.5, 1, 1.5]))
    batch = examples[[2, 0]]
    assert batch.weights.tolist() == [1.5, 0.5]
    assert batch.targets.tolist() == [[2.5, 3], [0.5, 1]]


@pytest.mark.parametrize("part", [lambda data: data, lambda data: Subset(data, range(1, 6))])
def test_a_data_loader_gives_batches(part):
    trees = [chain(n) for n in range(1, 13)]
    pairs = part(TreeExamples(forest_of(trees), range(6), roots_per_example=2))
    found = list(DataLoader(pairs, batch_size=4, shuffle=True))
    assert [len(batch) for batch in found] == [4, len(pairs) - 4]
    assert (
        sorted(i for batch in found for i in batch.targets.tolist())
        == list(range(6))[-len(pairs) :]
    )
    for batch in found:
        sizes = [trees[2 * i + side].size for i in batch.targets for side in (0, 1)]
        assert batch.forest.sizes().tolist() == sizes
    nodes = part(NodeExamples(forest_of(trees), [range(tree.size) for tree in trees]))
    batch = next(iter(DataLoader(nodes, batch_size=2)))
    assert len(batch) == 2 and batch.labels.tolist() == [
        i for each in (nodes[0], nodes[1]) for i in each.labels
    ]


def test_examples_of_several_forests_are_no_batch():
    one = TreeExamples(forest_of(PAIR), [0, 1])
    with pytest.raises(TypeError, match="cut from one TreeExamples; got a list of 3 of them"):
        next(iter(DataLoader(ConcatDataset([one, one]), batch_size=3)))


def test_labels_go_with_their_nodes():
    for seed in range(10):
        rng = random.Random(seed)
        trees = random_trees(rng)
        labels = [[rng.randint(-1, 4) for _ in range(tree.size)] for tree in trees]
        examples = NodeExamples(Forest.from_trees(trees, VOCABULARY), labels)
        chosen = [rng.randrange(len(trees)) for _ in range(4)]
        batch = examples[chosen]
        assert batch.labels.tolist() == [label for i in chosen for label in labels[i]]
        nodes = [node for i in chosen for node in trees[i].preorder()]
        found = zip(batch.forest.types[batch.nodes], batch.forest.tokens[batch.nodes], strict=True)
        assert [tuple(pair) for pair in found] == [VOCABULARY.encode(node) for node in nodes]


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ([[0], [0, 1]], "tree 0 has 3 nodes; got 1 labels"),
        ([[0, 1, 2]], "2 trees; got 1 lists"),
        ([[0, 1, 2], [0], [0]], "2 trees; got 3 lists"),
    ],
)
def test_another_number_of_labels_than_of_nodes_is_refused(labels: list, words: str):
    forest = Forest.from_trees([Tree("A", [Tree("x"), Tree("y")]), Tree("x")], VOCABULARY)
    with pytest.raises(ValueError, match=words):
        NodeExamples(forest, labels)
