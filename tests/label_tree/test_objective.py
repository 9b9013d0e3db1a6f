"""The objective of a node: its bounds, its gradient, and what the paper's lemmas hold of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.label_tree import balancedness, gradient, objective, purity

from structnet.label_tree._kernels import scores_of
from structnet.label_tree.reassignment import GAINS, best_objective

SEEDS = st.integers(0, 2**32 - 1)


def split(seed: int, pure: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Shares of labels and their mean probabilities, at random."""
    rng = np.random.default_rng(seed)
    labels, arity = rng.integers(1, 12), rng.integers(2, 7)
    q = rng.dirichlet(np.ones(labels))
    p = rng.dirichlet(np.full(arity, rng.choice([0.1, 1.0])), size=labels)
    return q, np.eye(arity)[p.argmax(1)] if pure else p


@given(SEEDS)
def test_bounds(seed: int) -> None:
    q, p = split(seed)
    assert -1e-12 <= objective(q, p) <= best_objective(p.shape[1]) + 1e-12


@pytest.mark.parametrize("arity", range(2, 9))
def test_balanced_and_pure_splits_alone_are_best(arity: int) -> None:
    q, p = np.full(2 * arity, 1 / (2 * arity)), np.tile(np.eye(arity), (2, 1))
    assert objective(q, p) == pytest.approx(best_objective(arity))
    assert balancedness(q, p) == pytest.approx(0) and purity(q, p) == 0
    torn = p.copy()
    torn[0] = 0.9 * p[0] + 0.1 * p[1]
    uneven = q.copy()
    uneven[0] *= 2
    assert objective(q, torn) < best_objective(arity) - 1e-3
    assert objective(uneven / uneven.sum(), p) < best_objective(arity) - 1e-4


@given(SEEDS)
def test_two_children_are_the_tree_of_the_authors_before(seed: int) -> None:
    q, p = split(seed)
    right = p[:, 0]
    p = np.stack([right, 1 - right], 1)
    mean = q @ right
    assert objective(q, p) == pytest.approx(2 * (q * np.abs(mean - right)).sum(), abs=1e-12)


def differences(q: np.ndarray, p: np.ndarray, step: float = 1e-7) -> np.ndarray:
    found = np.zeros_like(p)
    for place in np.ndindex(p.shape):
        ends = []
        for sign in (1, -1):
            moved = p.copy()
            moved[place] += sign * step
            ends.append(objective(q, moved))
        found[place] = (ends[0] - ends[1]) / (2 * step)
    return found


def test_the_exact_gradient_is_that_of_finite_differences_and_eq_10_is_not() -> None:
    gaps = []
    for seed in range(50):
        q, p = split(seed)
        if (np.abs(p - q @ p) < 1e-5).any():
            continue  # no gradient
        true = differences(q, p)
        np.testing.assert_allclose(gradient(q, p), true, atol=1e-6)
        np.testing.assert_allclose(scores_of(GAINS["exact"], q, p), true, atol=1e-6)
        gaps.append(np.abs(scores_of(GAINS["eq10"], q, p) - true).max() / np.abs(true).max())
    # What Eq. (10) leaves out is as large as the gradient itself, in the median.
    assert len(gaps) > 20 and np.median(gaps) > 0.3


def test_the_gains() -> None:
    q, p = np.array([0.25, 0.75]), np.array([[0.8, 0.2], [0.4, 0.6]])
    mean = np.array([0.5, 0.5])
    sign = np.sign(p - mean)
    np.testing.assert_allclose(scores_of(GAINS["margin"], q, p), q[:, None] * (p - mean))
    np.testing.assert_allclose(scores_of(GAINS["paper"], q, p), (q * (1 - q))[:, None] * sign * p)
    np.testing.assert_allclose(scores_of(GAINS["eq10"], q, p), (q * (1 - q))[:, None] * sign)


@given(SEEDS)
def test_lemma_4_pure_splits_are_nearly_balanced_where_they_are_nearly_best(seed: int) -> None:
    q, p = split(seed, pure=True)
    arity = p.shape[1]
    lacks = best_objective(arity) - objective(q, p)
    square = ((q @ p - 1 / arity) ** 2).sum()
    assert square == pytest.approx(arity * lacks / 4, abs=1e-12)
    assert balancedness(q, p) <= arity * np.sqrt(max(lacks, 0)) / 2 + 1e-9


def test_lemma_5_is_false_as_printed_and_what_holds() -> None:
    q = np.array([0.5, 0.5])
    p = np.array([[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]])
    lacks = best_objective(4) - objective(q, p)
    assert balancedness(q, p) == 0
    assert purity(q, p) > lacks / 2 + 0.1  # the printed bound
    assert purity(q, p) <= 4 * lacks / 4 + 1e-12
    rng = np.random.default_rng(0)
    for _ in range(300):  # balanced: every label has a twin for each turn of its row
        arity = int(rng.integers(2, 6))
        row = rng.dirichlet(np.full(arity, 0.3))
        p = np.stack([np.roll(row, k) for k in range(arity)])
        q = np.full(arity, 1 / arity)
        assert purity(q, p) <= arity * (best_objective(arity) - objective(q, p)) / 4 + 1e-12
