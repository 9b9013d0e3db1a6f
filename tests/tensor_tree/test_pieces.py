"""A sweep in pieces: the values and gradients of one, bit by bit whatever the number of threads."""

from __future__ import annotations

import random
import threading
import time
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

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
from hypothesis import given, settings
from hypothesis import strategies as st
from random_trees import TOKENS, TYPES, VOCABULARY, random_trees
from torch import Tensor

from structnet.tensor_tree import ChildSumTreeLSTM
from structnet.tensor_tree.compiled import child_sum_sweep, pieces, tree_sweep
from structnet.tensor_tree.compiled.kernels.gates import compiled
from structnet.tensor_tree.compiled.kernels.steps import share_of
from structnet.tensor_tree.compiled.kernels.turns import WIDTH, take_down, take_up, wait
from structnet.tensor_tree.compiled.pieces import (
    Neighbours,
    at_once,
    cut,
    in_parallel,
    side_by_side,
)
from structnet.tensor_tree.compiled.plan import Lists
from structnet.trees._kernels import grouped
from structnet.trees.forest import Forest

COVERED = [c for c in CONFIGURATIONS if not c.inner]
LARGE = 1 << 25  # multiplications of a row: any four rows are worth two pieces


@pytest.fixture(autouse=True)
def threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Calls that wait, here and in other tests, are not taken for a busy machine."""
    monkeypatch.setattr(pieces, "NEIGHBOURS", Neighbours())
    number = torch.get_num_threads()
    yield
    torch.set_num_threads(number)


@pytest.fixture
def rows_are_large(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Has how many pieces of each sweep can be computed side by side."""
    found: list[int] = []

    def seen(sweep: np.ndarray, work: int) -> int:
        found.append(at_once(sweep, work))
        return found[-1]

    monkeypatch.setattr(tree_sweep._Call, "work", lambda *_: (LARGE, LARGE))
    monkeypatch.setattr(child_sum_sweep, "_OF_A_NODE", LARGE)
    for module in (tree_sweep, child_sum_sweep):
        monkeypatch.setattr(module, "at_once", seen)
    return found


# ---- sweeps


@pytest.mark.parametrize("configuration", COVERED, ids=str)
def test_pieces_are_the_whole(configuration: Configuration, request: pytest.FixtureRequest):
    model, forest = configuration.model(), forest_for(configuration, 0)
    whole = values_and_gradients(model, forest)
    found = request.getfixturevalue("rows_are_large")
    assert_equal(values_and_gradients(model, forest), whole, 1e-12)
    assert min(found) > 1


@pytest.mark.parametrize("configuration", COVERED[::4], ids=str)
def test_the_number_of_threads_changes_no_bit(
    configuration: Configuration, rows_are_large: list[int]
):
    model, forest = configuration.model(dtype=torch.float32), forest_for(configuration, 1)
    found = []
    for number in (1, 2, 3, 2, 3):
        torch.set_num_threads(number)
        found.append(values_and_gradients(model, forest))
    for other in found[1:]:
        assert all(torch.equal(x, other[name]) for name, x in found[0].items())
    assert min(rows_are_large) > 1


def of_child_sums(options: dict, share: bool, dtype: torch.dtype) -> dict[str, Tensor]:
    """The states of all nodes, and the gradients of a sum of them."""
    torch.manual_seed(0)
    model = ChildSumTreeLSTM(5, len(TYPES), len(TOKENS), 4, **options).to(dtype)
    forest = Forest.from_trees(random_trees(random.Random(1), True), VOCABULARY, share=share)
    return with_gradients(model, {"h": model.node_states(forest)})


CHILD_SUMS = pytest.mark.parametrize("options", [{}, {"dropout": 0.5}, {"order": False}], ids=str)


@CHILD_SUMS
@pytest.mark.parametrize("share", [True, False])
def test_pieces_of_child_sums_are_the_whole(
    options: dict, share: bool, request: pytest.FixtureRequest
):
    whole = of_child_sums(options, share, torch.float64)
    found = request.getfixturevalue("rows_are_large")
    assert_equal(of_child_sums(options, share, torch.float64), whole, 1e-12)
    assert min(found) > 1


@CHILD_SUMS
def test_the_number_of_threads_changes_no_bit_of_child_sums(
    options: dict, rows_are_large: list[int], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(pieces, "_WORTH_A_CALL", 0)  # products that are made in parallel, too
    found = []
    for number in (1, 2, 3, 2, 3):
        torch.set_num_threads(number)
        found.append(of_child_sums(options, True, torch.float32))
    for other in found[1:]:
        assert all(torch.equal(x, other[name]) for name, x in found[0].items())
    assert min(rows_are_large) > 1


# ---- where a sweep is cut

LEVELS = st.lists(st.tuples(st.integers(0, 700), st.integers(0, 40)), min_size=1, max_size=12)


@settings(max_examples=50, deadline=None)
@given(LEVELS, st.sampled_from([0, 100, 5_000, LARGE]), st.sampled_from([0, 100, LARGE]))
def test_each_row_is_in_one_piece_behind_those_it_needs(
    levels: list[tuple[int, int]], of_node: int, of_message: int
):
    """A level's nodes before its messages, and both behind all that is below."""
    ends = np.concatenate([np.zeros((1, 2), np.int64), np.cumsum(levels, 0)])
    found = cut(ends[:, 0].copy(), ends[:, 1].copy(), of_node, of_message)
    row, message = 0, 0
    for number, p in enumerate(found):
        assert p["first"] <= number < p["last"]
        assert (p["node"], p["message"]) == (row, message)
        row, message = p["node_end"], p["message_end"]
        assert ends[p["level"]][0] <= p["node"] <= p["node_end"] <= ends[p["end"]][0]
        assert ends[p["level"]][1] <= p["message"] <= p["message_end"] <= ends[p["end"]][1]
        alone = p["last"] - p["first"] == 1
        assert alone or p["end"] == p["level"] + 1
        assert alone or p["node"] == p["node_end"] or p["message"] == p["message_end"]
        if p["message"] < p["message_end"]:
            assert row == ends[p["end"]][0]  # all nodes that they are sent from stand before
        same = found[p["first"] : p["last"]]
        assert (same["first"] == p["first"]).all()
        assert (same["last"] == p["last"]).all()
        assert len(set(same["level"])) == 1
    assert (row, message) == tuple(ends[-1])
    assert list(found["level"]) == sorted(found["level"])


def test_a_chain_is_one_piece():
    levels = np.arange(1001)
    (piece,) = cut(levels, levels, LARGE, LARGE)
    assert (piece["level"], piece["end"]) == (0, 1000)


def test_how_many_pieces_a_level_has():
    """Few rows, or light ones, are not cut; many are cut into more than four."""
    for rows, work, count in (
        (1000, 1, 1),
        (3, LARGE, 1),
        (4, LARGE, 2),
        (7, LARGE, 3),
        (1000, LARGE, 7),
        (400, 1 << 9, 4),
        (400, 1 << 8, 3),
        (2_560, LARGE, 20),
        (12_800, LARGE, 32),
    ):
        assert pieces.shares_of(rows, work) == count


@pytest.mark.parametrize("shares", [1, 2, 3, 7])
def test_shares_of_keys_are_all_rows_once(shares: int):
    """And what a share has of a key that another begins is added up apart, and then to it."""
    rng = np.random.default_rng(0)
    keys = rng.choice(5, 40, p=[0.1, 0.6, 0, 0.2, 0.1])
    order = Lists(*grouped(keys, 5))
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


# ---- threads


@compiled
def _walk(sweep, up, clock, began, ended, turns):
    """Notes when each piece is begun and done; the clock is nobody's, so it only grows."""
    number = take_up(turns, sweep, -1) if up else take_down(turns, sweep, -1)
    while number >= 0:
        clock[0] += 1
        began[number] += 1
        for other in range(len(sweep)):
            before = other < sweep[number].first if up else other >= sweep[number].last
            if before and ended[other] != 1:
                clock[1] += 1  # a piece that had to be done before this one is not
        ended[number] += 1
        number = take_up(turns, sweep, number) if up else take_down(turns, sweep, number)


@pytest.mark.parametrize("number", [1, 2, 5])
@pytest.mark.parametrize("up", [True, False])
def test_every_piece_is_computed_once_and_in_its_turn(number: int, up: bool):
    """More threads than processors, some of which come late."""
    levels = np.arange(0, 4 * 60, 4)
    sweep = cut(levels, np.zeros_like(levels), LARGE, 0)
    assert at_once(sweep, LARGE * len(levels)) == 2
    for _ in range(20):
        clock, turns = np.zeros(2, np.int64), np.zeros((1, WIDTH), np.int64)
        began, ended = (np.zeros(len(sweep), np.int64) for _ in range(2))
        with ThreadPoolExecutor(number) as pool:
            for _ in range(number):
                pool.submit(_walk, sweep, up, clock, began, ended, turns)
        assert set(began) == set(ended) == {1}
        assert clock[1] == 0


def test_several_threads_take_part():
    """The first of two pieces waits until the other one is begun, too."""
    torch.set_num_threads(2)
    barrier, names = threading.Barrier(2, timeout=60), []

    def function(turns: np.ndarray) -> None:
        names.append(threading.current_thread().name)
        barrier.wait()

    side_by_side(function, at_once=2)
    assert len(set(names)) == 2
    barrier = threading.Barrier(1)
    side_by_side(function, at_once=1)  # with one piece at a time, nobody else is asked
    assert len(names) == 3


def test_no_other_thread_is_asked_for_little():
    sweep = cut(np.array([0, 400]), np.array([0, 0]), 1 << 12, 0)
    assert at_once(sweep, 400 << 12) == 1
    assert at_once(sweep, 1 << 23) == 2
    assert at_once(sweep, LARGE) == len(sweep) == 4


@compiled
def _wait_for_all(turns):
    wait(turns, 0, 10)


@pytest.mark.parametrize("failing", ["caller", "helper"])
def test_an_error_in_one_thread_ends_the_others_and_is_raised(failing: str):
    torch.set_num_threads(2)
    barrier, caller = threading.Barrier(2, timeout=60), threading.current_thread()

    def function(turns: np.ndarray) -> None:
        barrier.wait()  # both have begun
        if (threading.current_thread() is caller) == (failing == "caller"):
            raise MemoryError(failing)
        _wait_for_all(turns)

    with pytest.raises(MemoryError, match=failing):
        side_by_side(function, at_once=2)


def test_who_comes_too_late_keeps_no_arrays():
    torch.set_num_threads(2)
    begun, free = threading.Event(), threading.Event()
    (busy,) = pieces._submit([lambda: begun.set() or free.wait(60)])
    begun.wait(60)
    kept = np.zeros(3)
    reference, calls = weakref.ref(kept), []
    side_by_side(lambda array, turns: calls.append(len(array)), kept, at_once=2)
    del kept
    assert calls == [3]
    assert reference() is None
    free.set()
    assert busy.result(60)


def test_without_more_threads_one_does_it_all(monkeypatch: pytest.MonkeyPatch):
    torch.set_num_threads(2)
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    monkeypatch.setattr(pieces, "_pool", lambda *_: pool)
    calls: list[int] = []
    side_by_side(lambda turns: calls.append(1), at_once=2)
    assert calls == [1]
    assert in_parallel([lambda: 1, lambda: 2], LARGE) == [1, 2]


def test_where_the_caller_was_held_up_it_goes_on_alone_for_ever_longer():
    neighbours = Neighbours()

    def calls_until_helpers_are_asked() -> int:
        return next(n for n in range(1000) if neighbours.leave_a_core())

    assert calls_until_helpers_are_asked() == 0
    for alone in (1, 3, 7, 15, 31, 63, 127, 255, 255):
        neighbours.saw(seconds=0.002, computed=0.001)
        assert calls_until_helpers_are_asked() == alone
    neighbours.saw(seconds=0.001, computed=0.001)  # others have gone
    assert calls_until_helpers_are_asked() == 0
    neighbours.saw(seconds=0.002, computed=0.001)  # they are not forgotten at once
    assert calls_until_helpers_are_asked() == 255
    for _ in range(10):
        neighbours.saw(seconds=0.001, computed=0.001)
    neighbours.saw(seconds=0.002, computed=0.001)
    assert calls_until_helpers_are_asked() == 1


def test_threads_that_take_the_last_call_at_once_do_not_end_all_help():
    neighbours = Neighbours()
    neighbours.alone = -1  # both had seen that there is one
    assert neighbours.leave_a_core()


def test_a_call_that_was_held_up_is_followed_by_one_alone():
    torch.set_num_threads(2)
    names: list[str] = []

    def function(turns: np.ndarray) -> None:
        names.append(threading.current_thread().name)
        time.sleep(0.1)

    side_by_side(function, at_once=2)
    assert len(set(names)) == 2
    names.clear()
    side_by_side(function, at_once=2)
    assert len(names) == 1
    assert in_parallel([lambda: 1, lambda: 2], LARGE) == [1, 2]  # asks helpers again
    assert pieces.NEIGHBOURS.alone == 0


def test_calls_run_side_by_side_and_what_they_give_keeps_their_order():
    torch.set_num_threads(2)
    barrier = threading.Barrier(2, timeout=60)

    def call(number: int) -> int:
        barrier.wait()  # for the other thread
        return number

    assert in_parallel([lambda: call(0), lambda: call(1)], LARGE) == [0, 1]


def test_no_thread_waits_while_there_are_calls_that_none_has_begun():
    torch.set_num_threads(2)
    done = threading.Event()

    def second() -> bool:
        return done.wait(60)  # the other thread is at it until all else is done

    calls = [lambda: True, second, lambda: done.set() is None, lambda: True]
    assert in_parallel(calls, LARGE) == [True] * 4


def test_small_calls_stay_in_one_thread():
    torch.set_num_threads(2)
    calls = [lambda: threading.current_thread().name] * 2
    assert set(in_parallel(calls, 1000)) == {threading.current_thread().name}


def test_an_error_in_another_thread_is_raised():
    torch.set_num_threads(2)

    def broken() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        in_parallel([int, broken], LARGE)
