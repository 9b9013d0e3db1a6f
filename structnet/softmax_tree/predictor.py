"""Predictions for one sample at a time, in one compiled call."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import issparse

from structnet.estimators.scale import Standardizer
from structnet.softmax_tree import _kernels
from structnet.softmax_tree.arrays import Packed
from structnet.softmax_tree.points import parts
from structnet.softmax_tree.probabilities import Choices, Outside, choices_of

# Types that the loops for a single row read directly; others are copied.
QUICK = {np.dtype(np.float32), np.dtype(np.float64)}
COLUMNS = {np.dtype(np.int32), np.dtype(np.int64)}


class Predictor:
    """Predictions for one sample at a time, in one compiled call, for low latency.

    Args:
        tree: arrays of the tree, whose weights are read.
        outside: probabilities of the classes that its leaves lack.
        num_features: number of features D.
        inputs: scaler for dense rows; None leaves them as they are, like sparse ones.
    """

    def __init__(
        self,
        tree: Packed,
        outside: Outside,
        num_features: int,
        inputs: Standardizer | None = None,
    ):
        self._arrays, self._outside = tree, outside
        self._inputs, self._width = inputs, num_features
        arrays = tree.as_arguments
        scale = [None, None] if inputs is None else inputs.of(self._width)
        self._of_full: Callable[[Any], int]
        has_parts = self._arrays.has_parts
        class_of = _kernels.class_of_parts if has_parts else _kernels.class_of_scaled
        self._of_full = partial(class_of, *arrays, *scale, self._width)
        if inputs is None and arrays[2] is None and not has_parts:
            self._of_full = partial(_kernels.class_of_full, *arrays[:2])  # faster with fewer
        if inputs is not None and not inputs.linear:
            unscaled = partial(class_of, *arrays, None, None, self._width)
            self._of_full = lambda x: unscaled(self._scaled(x))
        self._of_sparse: Callable[..., int]
        self._of_sparse = partial(_kernels.class_of_sparse, *arrays, self._width)
        if has_parts:
            self._of_sparse = lambda *row: int(self.choices(*row).likeliest()[0])

    def class_of(self, x: np.ndarray) -> int:
        """The class of a dense row.

        Args:
            x: numbers of the row, in any precision; float32 is fastest.

        Shapes:
            x ``[D]``.

        Raises:
            ValueError: x is of another type or shape.
        """
        plain = type(x) is np.ndarray and x.dtype in QUICK and x.shape == (self._width,)
        return self._of_full(x if plain else self._full(x))

    def class_of_sparse(self, columns: np.ndarray, values: np.ndarray) -> int:
        """The class of a sparse row.

        Args:
            columns: features that are not 0, ascending.
            values: values of these features.

        Shapes:
            both ``[entries]``.

        Raises:
            ValueError: they are of another type or shape, or there are no such features.
        """
        plain = type(values) is type(columns) is np.ndarray and values.dtype in QUICK
        if plain and columns.dtype in COLUMNS and values.ndim == columns.ndim == 1:
            try:
                return self._of_sparse(columns, values)
            except ValueError:  # contextlib.suppress would take as long as half a row
                pass  # _sparse below raises the error that says what is wrong
        return self._of_sparse(*self._sparse(columns, values))

    def probabilities(self, *row: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The classes in the leaf of a row, dense or sparse, and their probabilities. ``[k]``."""
        found = self.choices(*row)
        return found.classes, np.exp(found.log_prob)

    def choices(self, *row: np.ndarray) -> Choices:
        """The same with the probability of all other classes."""
        return self.choices_of(self.taken(*row))

    def taken(self, *row: np.ndarray) -> tuple:
        """A row as all trees of its estimator take it: checked, and scaled if it is dense."""
        dtype = self._arrays.weights.dtype
        if len(row) == 2:
            columns, values = self._sparse(*row)
            return values.astype(dtype), columns, np.array([0, len(values)])
        return parts(self._scaled(self._full(*row)).astype(dtype)[None])

    def choices_of(self, taken: tuple) -> Choices:
        """The choices about a row that :meth:`taken` has made ready."""
        return choices_of(taken, 1, self._arrays, self._outside)

    def _scaled(self, x: np.ndarray) -> np.ndarray:
        """A dense row as the tree takes it, in the precision of the batches."""
        return x if self._inputs is None else self._inputs(x[None])[0]

    def _full(self, x: np.ndarray) -> np.ndarray:
        """A dense row in double precision, after checks."""
        x = np.array(x) if isinstance(x, (list, tuple)) else x
        if not (_numbers(x, "buif") and x.shape == (self._width,)):
            raise ValueError(
                f"x must be an array [{self._width}], with as many numbers as rows in training. "
                f"Got {_in_words(x)}."
            )
        return x.astype(np.float64)

    def _sparse(self, columns: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The columns and values of a sparse row in 64 bits, after checks."""
        there = _numbers(columns, "ui") and _numbers(values, "buif")
        if not there or len(columns) != len(values):
            raise ValueError(
                "columns must be an array of integers, and values one of as many numbers. Got "
                f"{_in_words(columns)} and {_in_words(values)}."
            )
        ends = np.append(columns.astype(np.int64), self._width)
        if (np.diff(ends, prepend=-1) <= 0).any():
            raise ValueError(
                f"columns must ascend, from 0 to {self._width - 1} at most. Got {columns.tolist()}."
            )
        return ends[:-1], values.astype(np.float64)

    def timed(self, x: Any) -> tuple[Callable[..., int], list[tuple[np.ndarray, ...]]]:
        """The function that predicts a row, and rows in its form, for timing. ``[n, D]``."""
        if not issparse(x):
            rows = np.ascontiguousarray(x, np.float32)
            return self.class_of, [(row,) for row in rows]
        ends = zip(x.indptr, x.indptr[1:], strict=False)
        data = x.data.astype(np.float32)
        return self.class_of_sparse, [(x.indices[a:b], data[a:b]) for a, b in ends]


def _numbers(x: Any, kinds: str) -> bool:
    """True for an array of one axis whose dtype is of one of these kinds."""
    return isinstance(x, np.ndarray) and x.ndim == 1 and x.dtype.kind in kinds


def _in_words(x: Any) -> str:
    """An argument in the words of an error message."""
    return f"{list(x.shape)} of {x.dtype}" if isinstance(x, np.ndarray) else type(x).__name__
