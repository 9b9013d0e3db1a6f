"""Ridge regression whose penalty is chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold, KFold

from structnet.trees.examples import TreeExamples

FOLDS = 5
PENALTIES = tuple(10.0**power for power in range(4, -3, -1))
SMALL = 200  # rows or columns up to which the equations of a fold are solved at once
ROOM = 2**24  # numbers in a table that is written out for it
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
    small = min(given.shape) <= SMALL and np.prod(given.shape) <= ROOM
    answers = _solved if small else _searched
    of_folds = [(held, answers(given, y, count, learn, held)) for learn, held in folds]
    for penalty in PENALTIES:
        predicted = np.empty(y.shape)
        for held, told in of_folds:
            predicted[held] = told(penalty)
        found.append((float((count[:, None] * (predicted - y) ** 2).sum()), penalty, predicted))
        errors = [error for error, *_ in found]
        if min(errors[-PAST:]) > min(errors):
            break
    return min(found, key=lambda each: each[0])


_Answers = Callable[[float], np.ndarray]  # of a penalty, the predictions for what is held out


def _searched(
    given: csr_matrix | np.ndarray, y: np.ndarray, count: np.ndarray, learn: Any, held: Any
) -> _Answers:
    """The predictions of a fold, searched for anew with each penalty."""
    x, rest = given[learn], given[held]

    def told(penalty: float) -> np.ndarray:
        model = new_ridge(penalty).fit(x, y[learn], count[learn])
        return model.predict(rest).reshape(len(held), -1)

    return told


def _solved(
    given: csr_matrix | np.ndarray, y: np.ndarray, count: np.ndarray, learn: Any, held: Any
) -> _Answers:
    """The same, solved for all penalties at once, by the eigenvectors of the smaller product.

    ``(X'X + penalty) w = X'y`` or, of fewer rows than columns, ``w = X'(XX' + penalty)^-1 y``.
    """
    x, rest = (_dense(given[some]) for some in (learn, held))
    root = np.sqrt(count[learn])[:, None]
    x_mean, y_mean = (np.average(each, axis=0, weights=count[learn]) for each in (x, y[learn]))
    x, rest, right = root * (x - x_mean), rest - x_mean, root * (y[learn] - y_mean)
    if x.shape[1] <= x.shape[0]:
        product, left, right = x.T @ x, rest, x.T @ right
    else:
        product, left = x @ x.T, rest @ x.T
    values, vectors = np.linalg.eigh(product)
    left, right = left @ vectors, vectors.T @ right
    return lambda penalty: (left / (np.maximum(values, 0) + penalty)) @ right + y_mean


def _dense(rows: csr_matrix | np.ndarray) -> np.ndarray:
    return rows.astype(np.float64) if isinstance(rows, np.ndarray) else rows.toarray()


def numbers_of(examples: TreeExamples) -> tuple[np.ndarray, np.ndarray]:
    """The targets of examples and their weights, float64. ``[n, outputs]``, ``[n]``."""
    y, count = (each.cpu().double().numpy() for each in (examples.targets, examples.counts()))
    return y, count
