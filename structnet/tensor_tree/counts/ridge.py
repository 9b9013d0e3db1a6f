"""Ridge regression whose penalty is chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold, KFold

FOLDS = 5
PENALTIES = tuple(10.0**power for power in range(4, -3, -1))
PAST = 2  # penalties in a row worse than an earlier one, after which weaker ones are not tried


def folds_of(y: np.ndarray, seed: int, groups: np.ndarray | None = None) -> list[Any]:
    """The places to learn from, and those held out, of each fold.

    Args:
        y: numbers of each example.
        seed: seed of the folds.
        groups: group of each example, each within one fold; None if each example is a group by
            itself.

    Shapes:
        y ``[n, outputs]``; groups ``[n]``.
    """
    different = 0 if groups is None else len(np.unique(groups))
    if different > 1:
        kind: Any = GroupKFold(min(FOLDS, different), shuffle=True, random_state=seed)
        return list(kind.split(y, groups=groups))
    return list(KFold(min(FOLDS, len(y)), shuffle=True, random_state=seed).split(y))


def new_ridge(penalty: float) -> Ridge:
    """The regression with a penalty, not fitted yet."""
    return Ridge(penalty, solver="sparse_cg")


def best_ridge(
    given: csr_matrix | np.ndarray, y: np.ndarray, count: np.ndarray, folds: Sequence[Any]
) -> tuple[float, float, np.ndarray]:
    """The least squared error over folds, the penalty that has it, and the held-out predictions.

    Shapes:
        given ``[n, columns]``; y ``[n, outputs]``; count ``[n]``; predictions ``[n, outputs]``.
    """
    found: list[tuple[float, float, np.ndarray]] = []
    for penalty in PENALTIES:
        model, predicted = new_ridge(penalty), np.empty(y.shape)
        for learn, held in folds:
            model.fit(given[learn], y[learn], count[learn])
            predicted[held] = model.predict(given[held]).reshape(len(held), -1)
        found.append((float((count[:, None] * (predicted - y) ** 2).sum()), penalty, predicted))
        errors = [error for error, *_ in found]
        if min(errors[-PAST:]) > min(errors):
            break
    return min(found, key=lambda each: each[0])
