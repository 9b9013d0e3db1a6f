"""Logistic regression with an L1 penalty, for leaves and for decisions.

    min over W, c of  sum_n a_n log_loss(y_n, softmax(W x_n + c)) + penalty ||W||_1

by FISTA: accelerated proximal gradient steps that begin anew whenever the speed points uphill, of a
length found by backtracking. As scores are linear in the weights, those of a point between two
steps cost no product. The features are taken to mean 0 (those of sparse rows stay where they are)
and mean square 1 among the rows at hand, which lie close together in one part of the space, and the
penalty with them: it is the same problem, and takes far fewer steps. Two classes with one weight
vector are the binary form.

Reference:
    Beck and Teboulle, A Fast Iterative Shrinkage-Thresholding Algorithm, SIAM J. Imaging Sciences
    2009; O'Donoghue and Candes, Adaptive Restart for Accelerated Gradient Schemes, 2015.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

POWER_STEPS = 6
FIRST = 0.25  # share of the curvature's bound to begin with
PATIENCE = 5  # steps over which the objective must fall
TOLERANCE = 5e-4  # by which share
STEEPEST = 1e30  # curvature, within single precision
Solution = tuple[np.ndarray, np.ndarray]  # weights [D, k] and biases [k], float32
# Scores [k, n] -> the sum of the losses and, in the scores' place, its derivatives.
Losses = Callable[[np.ndarray], float]


def multinomial(
    x: Any, y: np.ndarray, counts: np.ndarray, start: Solution, penalty: float, steps: int
) -> Solution:
    """Weights of a softmax over k classes.

    Args:
        x: rows, in full or CSR.
        y: classes, numbers from 0 to k - 1.
        counts: count of each row.
        start: weights and biases to begin with.
        penalty: weight of the L1 norm.
        steps: most steps.

    Shapes:
        x ``[n, D]``, float32; y, counts ``[n]``; weights ``[D, k]``, biases ``[k]``.

    Example:
        >>> x, y = np.float32([[-1], [1]]), np.array([0, 1])
        >>> begin = np.zeros((1, 2), np.float32), np.zeros(2, np.float32)
        >>> weights, biases = multinomial(x, y, np.ones(2), begin, 0.1, 100)  # log(19) / 2
        >>> weights.round(1).tolist(), biases.round(1).tolist()
        ([[-1.5, 1.5]], [0.0, 0.0])
    """
    own, counts = (y, np.arange(len(y))), counts.astype(np.float32)

    def losses(scores: np.ndarray) -> float:
        scores -= scores.max(axis=0)
        loss = -float(counts @ scores[own])
        np.exp(scores, out=scores)
        total = scores.sum(axis=0)
        scores *= counts / total
        scores[own] -= counts
        return loss + float(counts @ np.log(total))

    return _fista(_Scaled.of(x, counts), losses, 0.5, start, penalty, steps)


def binary(
    x: Any, signs: np.ndarray, counts: np.ndarray, start: Solution, penalty: float, steps: int
) -> Solution:
    """Weights of a logistic regression on signs, -1 and 1.

    Args:
        x, counts, start, penalty, steps: the same as of :func:`multinomial`.
        signs: classes.

    Shapes:
        signs ``[n]``; weights ``[D, 1]``, biases ``[1]``.
    """
    signs, counts = signs.astype(np.float32), counts.astype(np.float32)

    def losses(scores: np.ndarray) -> float:
        scores *= signs
        loss = float((np.log1p(np.exp(-np.abs(scores))) - np.minimum(scores, 0))[0] @ counts)
        np.minimum(scores, 80, out=scores)  # the exponential stays a float32
        np.exp(scores, out=scores)
        scores += 1
        np.divide(-signs * counts, scores, out=scores)  # d/ds log(1 + exp(-y s))
        return loss

    return _fista(_Scaled.of(x, counts), losses, 0.25, start, penalty, steps)


@dataclass(frozen=True, eq=False)
class _Scaled:
    """Rows as the solver takes them.

    Attributes:
        x, x_t: scaled rows and their transpose.
        counts: count of each row.
        mean, sd: numbers subtracted from each feature, and divided by.
    """

    x: Any
    x_t: Any
    counts: np.ndarray
    mean: np.ndarray
    sd: np.ndarray

    @classmethod
    def of(cls, x: Any, counts: np.ndarray) -> _Scaled:
        """Scaled rows, in full or CSR. ``[n, D], [n]``."""
        share = counts / counts.sum()
        mean = np.zeros(x.shape[1], np.float32) if issparse(x) else share @ x
        z = x.copy() if issparse(x) else x - mean
        squares = z.power(2) if issparse(x) else z * z
        sd = np.sqrt(np.asarray(share @ squares).ravel(), dtype=np.float32)
        sd[sd <= 1e-6 * np.abs(mean)] = 1  # rounding alone makes a constant deviate
        sd[sd == 0] = 1
        if issparse(z):
            z.data /= sd[z.indices]
            return cls(z, z.T.tocsr(), counts, mean, sd)
        z /= sd
        return cls(z, z.T, counts, mean, sd)

    def scores(self, weights: np.ndarray, biases: np.ndarray) -> np.ndarray:
        """``W x_n + c`` of each row. ``[k, n]``."""
        product = (self.x @ weights).T if issparse(self.x) else weights.T @ self.x_t
        return np.ascontiguousarray(product) + biases[:, None]

    def curvature(self) -> float:
        """About the largest eigenvalue of ``sum_n a_n (z_n, 1) (z_n, 1)^T``: the power method."""
        vector = np.asarray(abs(self.x).sum(axis=0), np.float32).ravel()
        bias, value = np.float32(self.counts.sum()), 0.0
        for _ in range(POWER_STEPS):
            norm = np.float32(np.sqrt(vector @ vector + bias**2))
            vector, bias = vector / norm, bias / norm
            pull = (self.x @ vector + bias) * self.counts
            vector, bias = self.x_t @ pull, pull.sum()
            value = float(np.sqrt(vector @ vector + bias**2))
        return value


@dataclass(frozen=True, eq=False)
class _State:
    """Weights and biases in one array, ``[D + 1, k]``, and their scores."""

    weights: np.ndarray
    scores: np.ndarray

    def beyond(self, before: _State, pace: np.float32) -> _State:
        """As far past this one as a share of the way from the one before."""
        if not pace:
            return self
        weights = self.weights + pace * (self.weights - before.weights)
        return _State(weights, self.scores + pace * (self.scores - before.scores))


def _fista(
    data: _Scaled, losses: Losses, factor: float, start: Solution, penalty: float, steps: int
) -> Solution:
    """FISTA for losses whose curvature by the scores is at most a factor."""
    sd = data.sd[:, None]
    threshold = np.float32(penalty) / sd
    begin = np.vstack([start[0] * sd, start[1] + data.mean @ start[0]]).astype(np.float32)
    curvature = FIRST * factor * data.curvature()

    def at(weights: np.ndarray) -> _State:
        return _State(weights, data.scores(weights[:-1], weights[-1]))

    here = ahead = best = at(begin)
    speed, values = 1.0, [np.inf]
    for _ in range(steps):
        slopes = ahead.scores.copy()
        loss = losses(slopes)
        gradient = np.vstack([data.x_t @ slopes.T, slopes.sum(axis=1)])
        while True:
            new = at(
                _shrunk(ahead.weights - gradient / np.float32(curvature), threshold / curvature)
            )
            way = (new.weights - ahead.weights).astype(np.float64)
            found = losses(new.scores.copy())
            bound = loss + np.vdot(gradient, way) + curvature / 2 * np.vdot(way, way)
            # Where next to nothing is lost, rounding is larger than what is compared.
            slack = 1e-6 * (abs(loss) + 1.0)
            if found <= bound + slack or not np.isfinite(bound) or curvature > STEEPEST:
                break
            curvature *= 2
        value = found + float((threshold * np.abs(new.weights[:-1])).sum())
        uphill = np.vdot(ahead.weights - new.weights, new.weights - here.weights) > 0
        faster = 1.0 if uphill else (1 + (1 + 4 * speed**2) ** 0.5) / 2
        pace = np.float32(0 if uphill else (speed - 1) / faster)
        here, ahead, speed = new, new.beyond(here, pace), faster
        if value < min(values):
            best = new
        values.append(value)
        curvature *= 0.95
        if len(values) > PATIENCE and min(values) > min(values[:-PATIENCE]) * (1 - TOLERANCE):
            break
    weights = best.weights[:-1] / sd
    return weights, best.weights[-1] - data.mean @ weights


def _shrunk(weights: np.ndarray, threshold: np.ndarray) -> np.ndarray:
    """Weights that are nearer to 0 by a threshold, all but the last row."""
    inner = weights[:-1]
    inner[...] = np.sign(inner) * np.maximum(np.abs(inner) - threshold, 0)
    return weights
