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
    with_gradients,
)
from random_trees import TOKENS, TYPES, VOCABULARY, chain, doubled, random_tree, random_trees
from torch import Tensor

from structnet.tensor_tree import ChildSumTreeLSTM, TreeLSTM
from structnet.tensor_tree.compiled import parts, tree_sweep
from structnet.tensor_tree.compiled.kernels.steps import share_of
from structnet.tensor_tree.compiled.plan import Order, make_plan
from structnet.trees._kernels import grouped
from structnet.trees.forest import Forest
from structnet.trees.tree import Tree

COVERED = [c for c in CONFIGURATIONS if not c.inner]


NODES = parts._NODES  # before the fixture below


def cut_into(model: TreeLSTM, forest: Forest) -> np.ndarray:
    """The first level of each part."""
    plan, _, _ = tree_sweep._planned(forest, model.layout)
    return plan.parts[:-1]


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(parts, "_NODES", 1)
    monkeypatch.setattr(parts, "_REPEATED", 3.0)
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


def of_child_sums(options: dict, share: bool, dtype: torch.dtype) -> dict[str, Tensor]:
    """The states of all nodes, and the gradients of a sum of them."""
    torch.manual_seed(0)
    model = ChildSumTreeLSTM(5, len(TYPES), len(TOKENS), 4, **options).to(dtype)
    forest = Forest.from_trees(random_trees(random.Random(1), True), VOCABULARY, share=share)
    assert (len(parts.split(forest).nodes) > 1) == (parts._MOST > 1)
    return with_gradients(model, {"h": model.node_states(forest)})


CHILD_SUMS = pytest.mark.parametrize("options", [{}, {"dropout": 0.5}, {"order": False}], ids=str)


@CHILD_SUMS
@pytest.mark.parametrize("share", [True, False])
def test_parts_of_child_sums_are_the_whole(
    options: dict, share: bool, monkeypatch: pytest.MonkeyPatch
):
    """Of all nodes, also of those that several parts have."""
    found = of_child_sums(options, share, torch.float64)
    monkeypatch.setattr(parts, "_MOST", 1)
    assert_equal(found, of_child_sums(options, share, torch.float64), 1e-12)


@CHILD_SUMS
def test_the_number_of_threads_changes_no_bit_of_child_sums(options: dict):
    found = []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        found.append(of_child_sums(options, True, torch.float32))
    for other in found[1:]:
        assert all(torch.equal(x, other[name]) for name, x in found[0].items())


def test_nodes_below_no_root_are_swept_too():
    forest = Forest.from_trees(random_trees(random.Random(0)), VOCABULARY, share=False)
    assert len(parts.split(forest).nodes) > 1
    forest.roots = forest.roots[1:]
    cut = parts.split(forest)
    assert len(cut.nodes) == 1
    assert cut.forest(forest) is forest
    assert np.array_equal(cut.rows, np.arange(forest.num_nodes))


@pytest.mark.parametrize("configuration", COVERED[::4], ids=str)
def test_the_plan_of_parts_is_those_of_the_parts(configuration: Configuration):
    """Row by row, behind what stands in the parts before."""
    layout, forest = configuration.model().layout, forest_for(configuration, 0)
    plan, _, _ = tree_sweep._planned(forest, layout)
    cut = parts.split(forest)
    assert len(plan.parts) == len(cut.nodes) + 1 > 2
    levels, rows, messages, slots = 0, 0, 0, 0
    for part, nodes in enumerate(cut.nodes):
        own = make_plan(forest.copied(nodes), layout)
        count = own.parts[1]
        assert plan.parts[part] == levels
        at, bottom = slice(rows, rows + len(nodes)), plan.types.size + part
        assert np.array_equal(plan.types[at], own.types)
        sources = np.where(own.sources == len(nodes), bottom, own.sources + rows)
        assert np.array_equal(plan.sources[messages : messages + len(sources)], sources)
        inbox = plan.inbox[slots : slots + len(own.inbox)]
        assert np.array_equal(inbox, own.inbox + messages)
        first = plan.node_levels[levels]
        runs = plan.nodes[first : plan.node_levels[levels + count]]
        assert np.array_equal(runs, own.nodes[:-1] + rows)
        levels, rows = levels + count, rows + len(nodes)
        messages, slots = messages + len(sources), slots + len(own.inbox)
    assert (levels, rows) == (plan.parts[-1], plan.types.size)


def test_the_roots_keep_their_order():
    forest = Forest.from_trees(random_trees(random.Random(0)), VOCABULARY)
    assert np.array_equal(np.concatenate(parts.cut(forest)), np.arange(len(forest)))


def test_parts_have_about_equally_many_nodes(monkeypatch: pytest.MonkeyPatch):
    """Also where the trees differ in size: those of the first half are small."""
    trees = [random_tree(random.Random(seed), 1 + 4 * (seed >= 100), 3) for seed in range(200)]
    forest = Forest.from_trees(trees, VOCABULARY, share=False)
    for nodes, count in ((forest.num_nodes // 16, 4), (forest.num_nodes // 16 + 1, 2)):
        monkeypatch.setattr(parts, "_NODES", nodes)
        sizes = [forest[roots].num_nodes for roots in parts.cut(forest)]
        assert len(sizes) == count
        assert max(sizes) < 1.5 * min(sizes)


def test_how_many_parts_there_are(monkeypatch: pytest.MonkeyPatch):
    """As the guide to speed says."""
    monkeypatch.setattr(parts, "_NODES", NODES)
    forest = Forest.from_trees([Tree("A", [Tree("x")] * 3)] * 20_000, VOCABULARY, share=False)
    for nodes, count in (
        (3_996, 1),
        (4_000, 2),
        (15_996, 2),
        (16_000, 4),
        (63_996, 4),
        (80_000, 8),
    ):
        assert len(parts.split(forest[: nodes // 4]).nodes) == count


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
    monkeypatch.setattr(parts, "_REPEATED", 1.25)
    assert len(cut_into(model, forest)) == 1


def test_calls_run_side_by_side_and_what_they_give_keeps_their_order():
    torch.set_num_threads(2)
    barrier = threading.Barrier(2, timeout=60)

    def call(number: int) -> int:
        barrier.wait()  # for the other thread
        return number

    assert parts.in_parallel([lambda: call(0), lambda: call(1)]) == [0, 1]


def test_no_thread_waits_while_there_are_calls_that_none_has_begun():
    torch.set_num_threads(2)
    done = threading.Event()

    def second() -> bool:
        return done.wait(60)  # the other thread is at it until all else is done

    calls = [lambda: True, second, lambda: done.set() is None, lambda: True]
    assert parts.in_parallel(calls) == [True] * 4


def test_an_error_in_another_thread_is_raised():
    torch.set_num_threads(2)

    def broken() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        parts.in_parallel([int, broken])
