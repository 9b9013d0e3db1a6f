"""The training data of a softmax tree: rows, dense or sparse, with classes and weights."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import issparse

from structnet.estimators.checked import Checked
from structnet.estimators.temperature import few_enough
from structnet.routing.samples import stacked
from structnet.softmax_tree import _kernels


def whole_classes(y: Any) -> np.ndarray:
    """Classes as int64, ``[n]``.

    Raises:
        ValueError: they are not whole numbers.
    """
    y = np.asarray(y)
    is_whole = y.dtype.kind in "iub"
    if y.dtype.kind == "f":
        is_whole = bool((np.abs(y) < 2**53).all() and not (y % 1).any())
    if not is_whole or y.ndim != 1:
        shape = "" if y.ndim == 1 else f" of shape {list(y.shape)}"
        raise ValueError(f"classes must be whole numbers, one per row. Got {y.dtype}{shape}.")
    return y.astype(np.int64)


@dataclass(frozen=True, eq=False)
class Points:
    """Samples to learn from, whose classes are some of all K.

    Args:
        x: rows: a C-ordered array, or a CSR matrix with ascending columns.
        y: classes, numbers from 0 to K - 1.
        weights: number of times that each row counts.
        num_classes: number of classes K.
        groups: group of each row, as a number; rows are held out in whole groups. None if each is
            a group by itself.

    Shapes:
        x ``[n, D]``, float32; y ``[n]``, int64; weights ``[n]``, float64; groups ``[n]``.
    """

    x: Any
    y: np.ndarray
    weights: np.ndarray
    num_classes: int
    groups: np.ndarray | None = None

    @classmethod
    def made(
        cls,
        x: Any,
        y: Any,
        num_classes: int | None,
        weights: Any = None,
        groups: np.ndarray | None = None,
    ) -> Points:
        """Points from rows ``[n, D]``, with classes and weights of any number type.

        None for the number of classes is the largest class plus one.

        Raises:
            ValueError: the classes are not whole numbers, or there are too many columns.
        """
        y = whole_classes(y)
        if num_classes is None:
            num_classes = int(y.max(initial=0)) + 1
        if issparse(x) and x.shape[1] > LARGEST:
            raise ValueError(f"x has {x.shape[1]} columns; expected at most {LARGEST}")
        x = narrow(x.astype(np.float32)) if issparse(x) else np.ascontiguousarray(x, np.float32)
        weights = np.ones(len(y)) if weights is None else np.asarray(weights, np.float64)
        return cls(x, y, weights, num_classes, groups)

    def check(self) -> None:
        """Refuses points from which nothing can be learned.

        Raises:
            ValueError: the lengths differ or are 0, classes or weights are out of their ranges, or
                the rows are not finite in single precision.
        """
        sizes = self.x.shape[0], len(self.y), len(self.weights)
        if not sizes[0] or len(set(sizes)) > 1:
            raise ValueError(f"x, y and weights must have one length, above 0. Got {sizes}.")
        if self.y.min() < 0 or self.y.max() >= self.num_classes:
            raise ValueError(
                f"classes must be numbers from 0 to {self.num_classes - 1}. Got "
                f"{self.y.min()} to {self.y.max()}."
            )
        if not (np.isfinite(self.weights) & (self.weights >= 0)).all() or not self.weights.any():
            raise ValueError("weights must be finite, at least 0, and not all 0")
        if not np.isfinite(parts(self.x)[0]).all():
            raise ValueError("x must have finite numbers in the range of single precision")

    def __len__(self) -> int:
        return len(self.y)

    @property
    def num_features(self) -> int:
        """The number of features D."""
        return self.x.shape[1]

    @property
    def products(self) -> int:
        """The number of products of all rows with a row of weights for each class."""
        return len(self) * self.num_features * self.num_classes

    @cached_property
    def sparse(self) -> bool:
        """True if the rows are sparse."""
        return issparse(self.x)

    def facts(self, name: str) -> dict[str, Any]:
        """Facts that identify the points; see :meth:`.Checked.facts`."""
        return self.checked.facts(name)

    @property
    def checked(self) -> Checked:
        """The rows, classes, weights and groups."""
        return Checked(self.x, self.y, self.weights, self.groups)

    def few(self, seed: int, most: int | None = None) -> Points:
        """The samples, or few enough of them to find a temperature; see :func:`.few_enough`."""
        return self.take(few_enough(len(self), self.num_classes, seed, most))

    def take(self, rows: np.ndarray) -> Points:
        """The points of some rows, ``[m]``."""
        groups = None if self.groups is None else self.groups[rows]
        return Points(self.x[rows], self.y[rows], self.weights[rows], self.num_classes, groups)

    def joined(self, other: Points) -> Points:
        """These points, followed by others; with groups if both have some."""
        x = stacked(self.x, other.x)
        y, weights = np.append(self.y, other.y), np.append(self.weights, other.weights)
        groups = [each.groups for each in (self, other) if each.groups is not None]
        both = np.concatenate(groups) if len(groups) == 2 else None
        return Points(x, y, weights, self.num_classes, both)

    def counts(self, rows: np.ndarray) -> np.ndarray:
        """The weight of each class among some rows. ``[classes]``."""
        return np.bincount(self.y[rows], self.weights[rows], self.num_classes)

    def projections(self, rows: np.ndarray, weight: np.ndarray, bias: float) -> np.ndarray:
        """``w.x + b`` for some rows, summed as in predictions. ``[len(rows)]``, float32."""
        out, constant = np.empty(len(rows), np.float32), np.float32(bias)
        _kernels.projections(*parts(self.x), rows, weight, constant, out)
        return out


LARGEST = np.iinfo(np.int32).max  # in 32 bits


def narrow(x: Any) -> Any:
    """Sparse rows, whose columns and starts are in 32 bits if they fit; that is faster.

    Shapes:
        CSR ``[n, D]`` -> the same rows, in the same type.
    """
    if max(x.nnz, x.shape[1]) > LARGEST or x.indices.dtype == x.indptr.dtype == np.int32:
        return x
    places = (x.indices.astype(np.int32, copy=False), x.indptr.astype(np.int32, copy=False))
    return type(x)((x.data, *places), shape=x.shape)


def parts(x: Any) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """Rows as compiled loops take them: a dense table; or values, columns, and starts of rows.

    Shapes:
        x ``[n, D]`` -> ``[n, D]``, None, None; or ``[entries]``, ``[entries]``, ``[n + 1]``.
    """
    return (x.data, x.indices, x.indptr) if issparse(x) else (x, None, None)


def used_columns(x: Any) -> tuple[Any, np.ndarray | None]:
    """Sparse rows without empty columns, and the columns that are left.

    Dense rows are returned unchanged, with None.

    Shapes:
        x ``[n, D]`` -> ``[n, used]``, columns ``[used]``.
    """
    if not issparse(x):
        return x, None
    columns, places = np.unique(x.indices, return_inverse=True)
    kept = (x.data, places.astype(np.int32), x.indptr)
    return type(x)(kept, shape=(x.shape[0], len(columns))), columns.astype(np.int32)
