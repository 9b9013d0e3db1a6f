"""The compiled solver beside scipy's minimum in double precision, and its parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from scipy.special import logsumexp, softmax

from structnet.softmax_tree import _solver_kernels
from structnet.softmax_tree.solver import Solution, multinomial

PENALTY = 2.0


@njit
def losses_of(scores, y, counts, slopes):  # type: ignore[no-untyped-def]
    """What compiled loops alone can call, as the next."""
    return _solver_kernels.losses_of(scores, y, counts, slopes)


@njit
def exponential(x):  # type: ignore[no-untyped-def]
    return _solver_kernels.exponential(x)


def problem(classes: int, number: int = 600, features: int = 7) -> tuple[np.ndarray, ...]:
    """Rows with many zeros and a constant feature, classes and counts."""
    rng = np.random.default_rng(classes)
    x = rng.normal(0.5, 2, size=(number, features)).astype(np.float32)
    x[x < 0] = 0
    x[:, 2] = 3
    y = (
        x @ rng.normal(0, 0.3, size=(features, classes)) + rng.gumbel(size=(number, classes))
    ).argmax(1)
    return x, y, rng.uniform(0.5, 2, number)


def zeros(x: np.ndarray, columns: int) -> Solution:
    return np.zeros((x.shape[1], columns), np.float32), np.zeros(columns, np.float32)


def value(
    x: np.ndarray, y: np.ndarray, counts: np.ndarray, found: Solution, ridge: float = 0
) -> float:
    """The objective, of weights for each class, in double precision."""
    scores = x.astype(np.float64) @ found[0] + found[1]
    losses = logsumexp(scores, axis=1) - scores[np.arange(len(y)), y]
    penalty = PENALTY * np.abs(found[0]).sum() + ridge / 2 * np.square(found[0]).sum()
    return float(counts @ losses + penalty)


def least(x: np.ndarray, y: np.ndarray, counts: np.ndarray, columns: int, ridge: float) -> float:
    """The lowest value, by L-BFGS on weights as differences of two that are not negative."""
    x = np.column_stack([x.astype(np.float64), np.ones(len(x))])
    hot, shape = np.eye(max(2, columns))[y][:, -columns:], (2, x.shape[1], columns)
    penalties = np.full(shape, PENALTY)
    penalties[:, -1] = 0

    def told(parts: np.ndarray) -> tuple[float, np.ndarray]:
        weights = np.subtract(*parts.reshape(shape))
        found = as_classes(weights[:-1], weights[-1])
        probs = softmax(x[:, :-1] @ found[0] + found[1], axis=1)[:, -columns:]
        slope = x.T @ (counts[:, None] * (probs - hot))
        slope[:-1] += ridge * weights[:-1]
        loss = value(x[:, :-1], y, counts, found, ridge) - PENALTY * np.abs(weights[:-1]).sum()
        total = loss + penalties.ravel() @ parts
        return total, (np.stack([slope, -slope]) + penalties).ravel()

    start, how = np.zeros(penalties.size), {"maxiter": 5000, "maxfun": 10_000, "ftol": 1e-12}
    bounds = [(0, None)] * penalties.size
    return minimize(told, start, jac=True, method="L-BFGS-B", bounds=bounds, options=how).fun


def as_classes(weights: np.ndarray, biases: np.ndarray) -> Solution:
    """The weights of each class, also where one column stands for two."""
    if len(biases) > 1:
        return weights, biases
    return np.column_stack([0 * weights, weights]), np.append(0, biases)


@pytest.mark.parametrize(("columns", "ridge"), [(1, 0), (2, 0), (5, 0), (1, 30), (5, 30)])
def test_the_lowest_value(columns: int, ridge: float) -> None:
    x, y, counts = problem(max(2, columns))
    best, found = least(x, y, counts, columns, ridge), []
    for rows in (x, csr_matrix(x)):
        given: Any = (counts, zeros(x, columns), PENALTY, 500)
        solved = multinomial(rows.copy(), y, *given, ridge)
        assert solved[0].dtype == np.float32
        found.append(value(x, y, counts, as_classes(*solved), ridge))
    # It ends where five steps gain 5e-4; of sparse rows, the constant feature stays where it is.
    assert best * (1 - 1e-6) <= found[0] <= best * 1.002 and best <= found[1] <= best * 1.02


def test_it_starts_where_it_is_told() -> None:
    x, y, counts = problem(3)
    first = multinomial(x.copy(), y, counts, zeros(x, 3), PENALTY, 500)
    again = multinomial(x.copy(), y, counts, first, PENALTY, 1)
    assert value(x, y, counts, again) <= value(x, y, counts, first) * (1 + 1e-5)


def test_many_classes_take_few_steps() -> None:
    """Unsure of all 200 of them, the losses are a hundredth as curved as they may be elsewhere."""
    rng = np.random.default_rng(0)
    centres, y = rng.normal(size=(200, 20)), np.arange(4000) % 200
    x, counts = (centres[y] + 0.5 * rng.normal(size=(4000, 20))).astype(np.float32), np.ones(4000)
    few, many = (
        value(x, y, counts, multinomial(x.copy(), y, counts, zeros(x, 200), PENALTY, steps))
        for steps in (15, 500)
    )
    assert many <= few < 1.1 * many


@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
def test_a_feature_whose_squares_no_float_holds(form: Any) -> None:
    x, y, counts = problem(3)
    found, counts[0] = [], 0
    for scale in (2.0**10, 2.0**100):
        scales = np.array([scale] + [1] * (x.shape[1] - 1), np.float32)
        weights, biases = multinomial(form(x * scales), y, counts, zeros(x, 3), PENALTY, 500)
        found.append((weights * scales[:, None], biases))
    for few, many in zip(*found, strict=True):
        assert np.abs(few).max() > 0.1 and np.allclose(few, many, atol=0.01)


def test_what_single_precision_cannot_tell_from_a_constant_is_not_learned() -> None:
    """Beside a mean of 1, deviations of half a millionth; of two millionths they are."""
    y = np.arange(200) % 2
    begin = np.zeros((1, 2), np.float32), np.zeros(2, np.float32)
    few, many = (
        multinomial(np.float32(1 + y[:, None] * 2.0**-power), y, np.ones(200), begin, 0, 100)[0]
        for power in (20, 18)
    )
    assert np.abs(few).max() < 1 < 1e5 < np.abs(many).max()


@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
def test_a_ridge_on_a_feature_that_hardly_deviates(form: Any) -> None:
    """Its quadratic penalty is beyond single precision; the others are learned beside it."""
    x, y, counts = problem(3)
    for tiny in (1e-18, 1e-25, 1e-36):
        rows = x * np.array([tiny] + [1] * (x.shape[1] - 1), np.float32)
        given: Any = (counts, zeros(x, 3), 0.1, 100, 10)
        weights, _ = multinomial(form(rows), y, *given)
        assert np.abs(weights[0]).max() < 1e-6 < 0.1 < np.abs(weights[1:]).max()


def test_losses_and_slopes() -> None:
    rng = np.random.default_rng(0)
    scores = (20 * rng.normal(size=(4, 700))).astype(np.float32)  # more rows than a block
    y, counts = rng.integers(0, 4, 700).astype(np.int32), np.ones(700, np.float32)
    slopes, exact = np.empty_like(scores), scores.astype(np.float64)
    loss = losses_of(scores, y, counts, slopes)
    own = exact[y, np.arange(700)]
    assert loss == pytest.approx((logsumexp(exact, axis=0) - own).sum(), rel=1e-6)
    assert np.allclose(slopes, softmax(exact, axis=0) - np.eye(4)[y].T, atol=1e-6)
    alone = np.empty(700)
    _solver_kernels.own_losses(np.ascontiguousarray(scores.T), y.astype(np.int64), alone)
    assert np.allclose(alone, logsumexp(exact, axis=0) - own, rtol=1e-6, atol=1e-6)
    two = (y % 2).astype(np.int32)
    margin = (2 * two - 1) * exact[0]
    loss = losses_of(scores[:1], two, counts, slopes[:1])
    assert loss == pytest.approx(np.logaddexp(0, -margin).sum(), rel=1e-6)
    assert np.allclose(slopes[0], (1 - 2 * two) / (1 + np.exp(margin)), atol=1e-6)


def test_exponentials() -> None:
    x = np.linspace(-87, 0, 5001, dtype=np.float32)
    ours = np.array([exponential(number) for number in x])
    assert np.allclose(ours, np.exp(x.astype(np.float64)), rtol=2.5e-7, atol=0)
    assert exponential(np.float32(-1000)) < 1e-37
