"""The decision of one node of a label tree, from the definitions.

The notation is the paper's: ``q[i]`` is the share of label i among the examples that come to the
node, ``p[i, j]`` the mean probability of child j over the examples of label i, M the arity.
"""

from __future__ import annotations

import numpy as np


def objective(q, p):
    """Eq. 6: ``J = 2/M sum_i q_i sum_j |p_j - p_{j|i}|``."""
    return float(2 / p.shape[1] * (q @ np.abs(p - q @ p)).sum())


def balancedness(q, p):
    """Definition 1: ``beta = sum_j |p_j - 1/M|``, 0 if all children get the same share."""
    return float(np.abs(q @ p - 1 / p.shape[1]).sum())


def purity(q, p):
    """Definition 2: ``alpha = 1/M sum_j sum_i q_i min(p_{j|i}, 1 - p_{j|i})``.

    It is 0 if no label is divided between children.
    """
    return float((q @ np.minimum(p, 1 - p)).sum() / p.shape[1])


def gradient(q, p):
    """``dJ/dp_{j|i} = 2/M q_i (s_ij - sum_l q_l s_lj)`` with ``s_ij = sign(p_{j|i} - p_j)``."""
    s = np.sign(p - q @ p)
    return 2 / p.shape[1] * q[:, None] * (s - q @ s)
