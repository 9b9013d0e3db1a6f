"""Trees with targets, alone or in pairs."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from forests import PAIR, exactly, forest_of, trees_of
from random_trees import chain, random_trees

from structnet.trees.examples import TreeExamples


def test_examples_of_single_trees():
    trees = random_trees(random.Random(1))
    examples = TreeExamples(forest_of(trees), range(len(trees)))
    assert (len(examples), examples.roots_per_example) == (len(trees), 1)
    part = examples[[2, 0, 2]]
    assert part.targets.tolist() == [2, 0, 2]
    assert trees_of(part.forest) == [trees[2], trees[0], trees[2]]


@pytest.mark.parametrize(
    "indices",
    [
        [2, 0],
        np.array([2, 0]),
        slice(1, None),
        np.array([True, False, True]),
        slice(2, None, -2),
    ],
)
def test_examples_of_pairs(indices: object):
    trees = [chain(n) for n in range(1, 7)]
    examples = TreeExamples(forest_of(trees), [5, 6, 7])
    part = examples[indices]
    chosen = np.arange(3)[indices].tolist()
    assert part.roots_per_example == 2
    assert part.targets.tolist() == [[5, 6, 7][i] for i in chosen]
    assert trees_of(part.forest) == [trees[2 * i + side] for i in chosen for side in (0, 1)]


def test_examples_move_to_a_device():
    examples = TreeExamples(forest_of(PAIR), torch.tensor([1, 0])).to("meta")
    assert examples.targets.device.type == examples.forest.device.type == "meta"


@pytest.mark.parametrize("count", [0, 3, 4])
def test_examples_need_equal_shares(count: int):
    message = f"2 trees cannot be shared evenly by {count} targets"
    with pytest.raises(ValueError, match=exactly(message)):
        TreeExamples(forest_of(PAIR), [0] * count)


def test_no_examples():
    examples = TreeExamples(forest_of(PAIR), [0, 1])[[]]
    assert (len(examples), len(examples.forest)) == (0, 0)


def test_a_tuple_of_indices():
    assert len(TreeExamples(forest_of(PAIR), [0, 1])[(1, 0)]) == 2
