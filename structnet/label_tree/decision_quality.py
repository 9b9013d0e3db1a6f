"""Measures of a node's decision, and the value of moving a label to a child.

The notation is the paper's: ``q[i]`` is the share of label i among the examples that come to the
node, ``p[i, j]``, or ``p_{j|i}``, the mean probability of child j over the examples of label i, and
``p_j`` its mean over all examples. M is the arity.
"""

from __future__ import annotations

import numpy as np

from structnet.label_tree import settings
from structnet.label_tree._kernels import EQ10, EXACT, MARGIN, PAPER, scores_of

GAINS = dict(zip(settings.GAINS, (MARGIN, EXACT, PAPER, EQ10), strict=True))


def objective(q: np.ndarray, p: np.ndarray) -> float:
    """How well a node tells its labels apart, Eq. (6).

    ``J = 2/M sum_i q_i sum_j |p_j - p_{j|i}|``

    Shapes:
        q ``[labels]``, with the sum 1; p ``[labels, arity]``, in rows with the sum 1.

    Example:
        >>> objective(np.array([0.5, 0.5]), np.eye(2)), best_objective(2)
        (1.0, 1.0)
    """
    return float(2 / p.shape[1] * (q @ np.abs(p - q @ p)).sum())


def best_objective(arity: int) -> float:
    """The maximum of the objective, ``J* = 4/M (1 - 1/M)``, of balanced and pure splits alone."""
    return 4 / arity * (1 - 1 / arity)


def balancedness(q: np.ndarray, p: np.ndarray) -> float:
    """``beta = sum_j |p_j - 1/M|``, 0 if all children get the same share; Definition 1.

    Shapes:
        q ``[labels]``; p ``[labels, arity]``.
    """
    return float(np.abs(q @ p - 1 / p.shape[1]).sum())


def purity(q: np.ndarray, p: np.ndarray) -> float:
    """``alpha = 1/M sum_j sum_i q_i min(p_{j|i}, 1 - p_{j|i})``, 0 if no label is divided between
    children; Definition 2.

    Shapes:
        q ``[labels]``; p ``[labels, arity]``.
    """
    return float((q @ np.minimum(p, 1 - p)).sum() / p.shape[1])


def gradient(q: np.ndarray, p: np.ndarray) -> np.ndarray:
    """The gradient of the objective with respect to p.

    ``dJ/dp_{j|i} = 2/M q_i (s_ij - sum_l q_l s_lj)`` with ``s_ij = sign(p_{j|i} - p_j)``.

    Shapes:
        q ``[labels]``; p ``[labels, arity]`` -> ``[labels, arity]``.
    """
    s = np.sign(p - q @ p)
    return 2 / p.shape[1] * q[:, None] * (s - q @ s)


def gains(q: np.ndarray, p: np.ndarray, kind: str = "margin") -> np.ndarray:
    """The value of moving each label to each child.

    Args:
        q: shares of the labels.
        p: mean probabilities of the children for each label.
        kind: "margin", ``q_i (p_{j|i} - p_j)``; "paper", Eq. (12),
            ``q_i (1 - q_i) sign(p_{j|i} - p_j) p_{j|i}``; "eq10", Eq. (10),
            ``2/M q_i (1 - q_i) sign(p_{j|i} - p_j)``, which ignores the effect of a label on the
            others through ``p_j``; "exact", the :func:`gradient`, which includes it.

    Shapes:
        q ``[labels]``; p ``[labels, arity]`` -> ``[labels, arity]``.

    Raises:
        KeyError: the kind is unknown.
    """
    return scores_of(GAINS[kind], np.asarray(q, np.float64), np.asarray(p, np.float64))
