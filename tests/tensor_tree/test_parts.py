"""A sweep in parts: the values and gradients of one, bit by bit whatever the number of threads."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator

import pytest
import torch
from configurations import (
    CONFIGURATIONS,
    Configuration,
    assert_equal,
    forest_for,
    values_and_gradients,
)
from random_trees import VOCABULARY, doubled, random_trees

from structnet.tensor_tree.compiled import parts
from structnet.trees.forest import Forest
from structnet.trees.tree import Tree

COVERED = [c for c in CONFIGURATIONS if not c.inner]


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(parts, "_NODES", 5)
    monkeypatch.setattr(parts, "_REPEATED", 3.0)
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize("configuration", COVERED, ids=str)
def test_parts_are_the_whole(configuration: Configuration, monkeypatch: pytest.MonkeyPatch):
    model, forest = configuration.model(), forest_for(configuration, 0)
    assert len(parts.cut(forest)) > 1
    cut = values_and_gradients(model, forest)
    monkeypatch.setattr(parts, "_MOST", 1)
    assert_equal(cut, values_and_gradients(model, forest), 1e-12)


@pytest.mark.parametrize("configuration", COVERED[::4], ids=str)
def test_the_number_of_threads_changes_no_bit(configuration: Configuration):
    model, forest = configuration.model(dtype=torch.float32), forest_for(configuration, 1)
    found = []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        found.append(values_and_gradients(model, forest))
    for other in found[1:]:
        assert all(torch.equal(x, other[name]) for name, x in found[0].items())


def test_the_roots_keep_their_order():
    forest = Forest.from_trees(random_trees(random.Random(0)), VOCABULARY)
    trees = [part.tree(i) for part in parts.cut(forest) for i in range(len(part))]
    assert trees == [forest.tree(i) for i in range(len(forest))]


def test_trees_that_share_most_of_their_nodes_are_not_cut(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(parts, "_REPEATED", 1.25)
    trees = [Tree("A", [doubled(20, "B"), Tree(x)]) for x in "xyz"]
    assert len(parts.cut(Forest.from_trees(trees, VOCABULARY))) == 1


def test_calls_run_side_by_side_and_what_they_give_keeps_their_order():
    torch.set_num_threads(2)
    barrier = threading.Barrier(2, timeout=60)

    def call(number: int) -> int:
        barrier.wait()  # for the other thread
        return number

    assert parts.in_parallel([lambda: call(0), lambda: call(1)]) == [0, 1]


def test_an_error_in_another_thread_is_raised():
    torch.set_num_threads(2)

    def broken() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        parts.in_parallel([int, broken])
