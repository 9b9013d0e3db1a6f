"""A sweep in parts: the values and gradients of one, bit by bit whatever the number of threads."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from configurations import (
    CONFIGURATIONS,
    Configuration,
    assert_equal,
    forest_for,
    values_and_gradients,
)
from random_trees import VOCABULARY, chain, doubled, random_tree, random_trees

from structnet.message_passing.scheduling import Layout
from structnet.tensor_tree import TreeLSTM
from structnet.tensor_tree.compiled import parts, tree_sweep
from structnet.tensor_tree.compiled.kernels.steps import share_of
from structnet.tensor_tree.compiled.plan import Order, Plan, make_plan
from structnet.trees._kernels import grouped
from structnet.trees.forest import Forest
from structnet.trees.tree import Tree

COVERED = [c for c in CONFIGURATIONS if not c.inner]


def cut_into(model: TreeLSTM, forest: Forest) -> np.ndarray:
    """The first level of each part."""
    plan, _, _ = tree_sweep._planned(forest, model.layout, whole=False)
    return plan.parts[:-1]


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(parts, "_NODES", 5)
    monkeypatch.setattr(tree_sweep, "REPEATED", 3.0)
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize("configuration", COVERED, ids=str)
def test_parts_are_the_whole(configuration: Configuration, monkeypatch: pytest.MonkeyPatch):
    model, forest = configuration.model(), forest_for(configuration, 0)
    assert len(cut_into(model, forest)) > 1
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
    assert np.array_equal(np.concatenate(parts.cut(forest)), np.arange(len(forest)))


def test_parts_have_about_equally_many_nodes(monkeypatch: pytest.MonkeyPatch):
    """Also where the trees differ in size: those of the first half are small."""
    monkeypatch.setattr(parts, "_NODES", 300)
    trees = [random_tree(random.Random(seed), 1 + 4 * (seed >= 100), 3) for seed in range(200)]
    forest = Forest.from_trees(trees, VOCABULARY, share=False)
    sizes = [forest[roots].num_nodes for roots in parts.cut(forest)]
    assert len(sizes) == forest.num_nodes // 300 > 2
    assert max(sizes) < 1.5 * min(sizes)


def test_one_large_tree_is_one_part():
    trees = [chain(100), Tree("x"), Tree("y")]
    first, *_ = parts.cut(Forest.from_trees(trees, VOCABULARY, share=False))
    assert first.tolist() == [0]


@pytest.mark.parametrize("shares", [1, 2, 3, 7])
def test_shares_of_keys_are_all_rows_once(shares: int):
    """And what a share has of a key that another begins is added up apart, and then to it."""
    rng = np.random.default_rng(0)
    keys = rng.choice(5, 40, p=[0.1, 0.6, 0, 0.2, 0.1])
    order = Order(*grouped(keys, 5))
    counts = np.zeros(5 + shares - 1, np.int64)
    for share in range(shares):
        for key in range(5):
            lo, hi, place = share_of(order, key, share, shares)
            assert (keys[order.rows[lo:hi]] == key).all()
            counts[place] += max(hi - lo, 0)
    for place, key in order.begun_before(shares):
        assert place >= 5
        counts[key] += counts[place]
    assert np.array_equal(counts[:5], np.bincount(keys, minlength=5))


def test_trees_that_share_most_of_their_nodes_are_not_cut(monkeypatch: pytest.MonkeyPatch):
    model, trees = COVERED[0].model(), [Tree("A", [doubled(20, "B"), Tree(x)]) for x in "xyz"]
    forest = Forest.from_trees(trees, VOCABULARY)
    assert len(cut_into(model, forest)) > 1
    monkeypatch.setattr(tree_sweep, "REPEATED", 1.25)
    planned = []

    def plan(own: Forest, layout: Layout) -> Plan:
        planned.append(own)
        return make_plan(own, layout)

    monkeypatch.setattr(tree_sweep, "make_plan", plan)
    assert len(cut_into(model, forest)) == 1
    assert planned == [forest]  # and no part of it before


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
