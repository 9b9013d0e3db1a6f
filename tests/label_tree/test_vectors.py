"""The instructions of a training step beside numpy, and what they leave untouched."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError
from scipy.special import log_softmax

from structnet.label_tree._vectors import WIDTH, add, error, logits, prefetch, softmax, step

SIZES = [1, 2, 7, 8, 15, 16, 17, 31, 50, 67]


@njit
def added(a, at, scale, other, start, size):
    prefetch(a, at, size)
    add(a, at, scale, other, start, size)


@njit
def probabilities(weight, bias, node, r, p, at):
    arity, size = weight.shape[1:]
    logits(weight, bias, node * arity, arity, size, r, 0, p, at)
    softmax(p, at, arity)


@njit
def stepped(weight, node, slot, rate, r, p, at, back):
    arity, size = weight.shape[1:]
    error(p, at, arity, slot, rate)
    step(weight, node * arity, arity, size, r, p, at, back)


def drawn(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("size", SIZES)
def test_a_multiple_is_added(size: int) -> None:
    a, other = drawn(size + 9), drawn(size + 5, seed=1)
    expected = a.astype(np.float64)
    expected[4 : 4 + size] += 0.3 * other[2 : 2 + size].astype(np.float64)
    added(a, 4, np.float32(0.3), other, 2, size)
    np.testing.assert_allclose(a, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("arity", [2, 5, 16, 21])
def test_a_node_s_step(size: int, arity: int) -> None:
    weight, bias, r = drawn(3, arity, size), drawn(3, arity, seed=1), drawn(size, seed=2)
    bias[1, arity - 1] = -np.inf  # an empty slot
    room = -(-arity // WIDTH) * WIDTH
    p, back, rate = np.full(2 * room, 7, np.float32), drawn(size, seed=3), np.float32(0.25)
    old, x, before = (each.astype(np.float64) for each in (weight, r, back))
    expected = np.exp(log_softmax(old[1] @ x + bias[1]))
    probabilities(weight, bias, 1, r, p, room)
    np.testing.assert_allclose(p[room : room + arity], expected, rtol=2e-6 * size, atol=1e-30)
    assert p[room + arity - 1] == 0
    assert (p[:room] == 7).all()
    stepped(weight, 1, 0, rate, r, p, room, back)
    g = 0.25 * (expected - np.eye(arity)[0])
    np.testing.assert_allclose(back, before + g @ old[1], rtol=1e-4, atol=1e-5)
    old[1] -= g[:, None] * x
    np.testing.assert_allclose(weight, old, rtol=1e-4, atol=1e-5)


def test_probabilities_are_as_exact_as_single_precision_is() -> None:
    bias = np.sort(np.random.default_rng(0).uniform(-80, 0, (1, 4001)).astype(np.float32))
    bias[0, -1], bias[0, :3] = 0, (-np.inf, -200, -88)
    p = np.zeros(4016, np.float32)
    weight, r = np.zeros((1, 4001, 1), np.float32), np.zeros(1, np.float32)
    probabilities(weight, bias, 0, r, p, 0)
    exact = np.exp(bias[0].astype(np.float64))
    np.testing.assert_allclose(p[3:4001], (exact / exact.sum())[3:], rtol=5e-7)
    assert (p[:3] == 0).all()
    bias[0, 5] = np.nan
    probabilities(weight, bias, 0, r, p, 0)
    assert np.isnan(p[:4001]).all()  # whoever trains sees it in the loss


def test_other_arrays_are_refused() -> None:
    for wrong in (np.zeros(8), np.zeros((8, 2), np.float32)[:, 0]):
        with pytest.raises(TypingError, match="arrays must be float32 and contiguous"):
            added(wrong, 0, np.float32(1), wrong, 0, 4)
