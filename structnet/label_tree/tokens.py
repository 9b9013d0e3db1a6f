"""Lists of token ids from a user, checked and as bags."""

from __future__ import annotations

import math
from operator import index
from typing import Any

import numpy as np
from scipy.sparse import issparse

from structnet.estimators.checked import Checked
from structnet.estimators.inputs import off_torch, one_label_each
from structnet.label_tree.features import Features

MOST = 2**31  # ids are stored in 32 bits


def bags_of(X: Any, size: int | None = None) -> Features:
    """Lists of tokens as bags.

    Args:
        X: lists of token ids, or an array of integers, each row of which is such a list.
        size: number of tokens known so far; ids from there on are left out. None knows all.

    Shapes:
        X ``[n]`` lists, or ``[n, tokens]``.

    Raises:
        ValueError: there are no samples, one is something else, as text or a row of fractions, or
            an id is negative or, if all are to be known, 2**31 or more.

    Example:
        >>> bags_of([[3, 1], [0]]).ids.tolist(), bags_of(np.array([[3, 1]]), size=2).ids.tolist()
        ([3, 1, 0], [1])
    """
    lists = _lists(X)
    if not len(lists):
        raise ValueError("X has 0 samples; expected at least 1")
    for place, one in enumerate(lists):
        _check_range(one, place, math.inf if size is not None else MOST)
    if size is not None:
        lists = [[token for token in one if token < size] for one in lists]
    return Features.from_lists(lists, size)


def checked_bags(X: Any, y: Any, size: int | None = None) -> Checked:
    """Lists of tokens as bags, with one label each.

    Args:
        X, size: lists, and number of tokens known so far, see :func:`bags_of`.
        y: labels.

    Shapes:
        X, y ``[n]``.

    Raises:
        ValueError: there is not one label for each sample, or as for :func:`bags_of`.
    """
    bags, labels = bags_of(X, size), np.asarray(one_label_each(y))
    if labels.shape != (len(bags),):
        raise ValueError(
            f"y must be [{len(bags)}], one class for each sample. Got {list(labels.shape)}."
        )
    return Checked(bags, labels, None)


def check_learnable(bags: Features, weights: np.ndarray | None) -> None:
    """Refuses bags without a token among those that count.

    Args:
        bags: bags of all samples.
        weights: weights of the samples; 0 leaves one out.

    Shapes:
        weights ``[n]``.

    Raises:
        ValueError: a sample that counts has no token.
    """
    empty = np.diff(bags.offsets) == 0
    empty &= weights is None or weights > 0
    if empty.any():
        raise ValueError(
            f"sample {empty.argmax()} has no token; expected at least one to learn from"
        )


def _check_range(ids: list[int], place: int, most: float) -> None:
    outside = next((each for each in ids if not 0 <= each < most), None)
    if outside is not None:
        raise ValueError(
            "token ids must be at least 0 and below 2**31, and should have no gaps, as each number "
            f"up to the highest has its own weights. Got {outside} for sample {place}."
        )


def _lists(X: Any) -> list[list[int]]:
    X = off_torch(X)
    what = "with tokens=True the samples must be lists of token ids, which are whole numbers. Got "
    if issparse(X) or isinstance(X, str | bytes) or not hasattr(X, "__iter__"):
        raise ValueError(f"{what}{type(X).__name__}.")
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "iu":
        return X.tolist()
    lists = []
    for place, one in enumerate(X):
        if not hasattr(one, "__iter__"):
            raise ValueError(f"{what}{_shown(one)} for sample {place}, which is no list.")
        try:
            if isinstance(one, str | bytes):  # whose characters or bytes would be taken for ids
                raise TypeError
            lists.append(list(map(index, one)))
        except TypeError:
            raise ValueError(f"{what}{_shown(one)} for sample {place}.") from None
    return lists


def _shown(value: Any, most: int = 60) -> str:
    text = repr(value)
    return text if len(text) <= most else text[:most] + "..."
