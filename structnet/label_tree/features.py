"""Examples in the form of the compiled loops: rows of a table, or bags of numbered features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse

from structnet.label_tree._sgd_kernels import take_rows
from structnet.trees.end_to_end import offsets_of


@dataclass(frozen=True)
class Features:
    """Dense rows, or bags of features; ``features[rows]`` selects examples.

    Args:
        table: numbers of each example; empty for bags.
        offsets, ids: features of each bag, ``ids[offsets[i]:offsets[i + 1]]``.
        weights: weight of each feature in its bag; empty for equal weights with the sum 1, which
            give the mean.
        size: number of columns of the table, or of possible features.

    Shapes:
        table ``[n, size]``, float32; offsets ``[n + 1]``, int64; ids, weights ``[entries]``, int32
        and float32.

    Example:
        >>> bags = Features.from_lists([[3, 1], [0]], size=4)
        >>> len(bags), bags[np.array([1, 0])].ids.tolist()
        (2, [0, 3, 1])
    """

    table: np.ndarray
    offsets: np.ndarray
    ids: np.ndarray
    weights: np.ndarray
    size: int

    @classmethod
    def from_table(cls, table: np.ndarray) -> Features:
        """The features of dense rows, ``[n, size]``."""
        table = np.ascontiguousarray(table, np.float32)
        nothing = np.zeros(0, np.float32)
        return cls(table, np.zeros(1, np.int64), np.zeros(0, np.int32), nothing, table.shape[1])

    @classmethod
    def from_csr(cls, matrix: csr_matrix) -> Features:
        """The features of a sparse matrix, whose values are the weights, ``[n, size]``."""
        matrix = matrix.tocsr()
        return cls(
            np.zeros((0, 0), np.float32),
            matrix.indptr.astype(np.int64),
            matrix.indices.astype(np.int32),
            matrix.data.astype(np.float32),
            matrix.shape[1],
        )

    @classmethod
    def from_bags(cls, offsets: np.ndarray, ids: np.ndarray, size: int) -> Features:
        """The features of bags, all with the same weight.

        Args:
            offsets: place where each bag begins, and where the last one ends.
            ids: features of all bags.
            size: number of possible features.

        Shapes:
            offsets ``[n + 1]``; ids ``[entries]``.

        Raises:
            ValueError: a feature is negative, or not below the size; or the size is above 2**31.
        """
        if size > 2**31:
            raise ValueError(
                f"features must be numbers below 2**31, which is 2,147,483,648. Got {size - 1}."
            )
        offsets, ids = np.asarray(offsets, np.int64), np.asarray(ids)
        outside = (ids < 0) | (ids >= size)  # before they are stored in 32 bits
        if outside.any():
            example = int(np.searchsorted(offsets, outside.argmax(), side="right")) - 1
            raise ValueError(
                f"example {example} has the feature {ids[outside.argmax()]}; expected one from 0 "
                f"to {size - 1}"
            )
        ids = ids.astype(np.int32, copy=False)
        return cls(np.zeros((0, 0), np.float32), offsets, ids, np.zeros(0, np.float32), size)

    @classmethod
    def from_lists(cls, lists: Sequence[Sequence[int]], size: int | None = None) -> Features:
        """The features of lists of numbers.

        Args:
            lists: numbers of each example's features.
            size: number of possible features; by default the highest one plus one.

        Raises:
            ValueError: a feature is not a whole number, is negative, or is not below the size.
        """
        lengths = np.fromiter(map(len, lists), np.int64, len(lists))
        flat = [each for one in lists for each in one]
        ids = np.array(flat) if flat else np.zeros(0, np.int64)
        if ids.dtype.kind not in "iu":
            raise ValueError(f"features must be whole numbers. Got {ids.dtype}.")
        size = int(ids.max(initial=0)) + 1 if size is None else size
        return cls.from_bags(offsets_of(lengths), ids, size)

    @property
    def is_table(self) -> bool:
        """Are these dense rows?"""
        return self.table.shape[1] > 0

    @property
    def shape(self) -> tuple[int, int]:
        """The number of examples, and the size."""
        return len(self), self.size

    @property
    def values(self) -> np.ndarray:
        """The numbers of all rows, in order: those of the table, or the weights in bags."""
        if self.is_table or len(self.weights):
            return self.table.ravel() if self.is_table else self.weights
        lengths = np.diff(self.offsets)
        return np.repeat(np.float32(1) / np.maximum(lengths, 1).astype(np.float32), lengths)

    @property
    def sum_of_squares(self) -> float:
        """The sum of the squares of all numbers, in double precision, without a copy of them."""
        values = self.values
        return float(np.einsum("i,i", values, values, dtype=np.float64))

    @property
    def parts(self) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
        """The values, offsets and ids for the compiled loops; for a table, only the values."""
        return self.values, *((None, None) if self.is_table else (self.offsets, self.ids))

    def __len__(self) -> int:
        return len(self.table) if self.is_table else len(self.offsets) - 1

    def __getitem__(self, rows: Any) -> Features:
        if self.is_table:
            return replace(self, table=self.table[rows])
        rows = np.arange(len(self))[rows]
        offsets, ids = take_rows(self.offsets, self.ids, rows)
        weights = self.weights
        if len(weights):
            _, weights = take_rows(self.offsets, weights, rows)
        return replace(self, offsets=offsets, ids=ids, weights=weights)

    def to_csr(self) -> csr_matrix:
        """The bags as a sparse matrix, ``[n, size]``."""
        return csr_matrix((self.values, self.ids, self.offsets), shape=self.shape)

    def for_tree(self, size: int, embedded: bool) -> Features:
        """These features in the form of the compiled loops: bags if features have vectors.

        Args:
            size: number of features that the tree knows.
            embedded: do they have vectors?

        Raises:
            ValueError: a table has another number of columns, or bags have features above that
                number.
        """
        if self.size != size and (self.is_table or self.size > size):
            raise ValueError(f"the samples have {self.size} features; expected {size}")
        return self.from_csr(csr_matrix(self.table)) if embedded and self.is_table else self


def as_features(x: Any) -> Features:
    """Features from any input of a model: a table, a tensor, a sparse matrix, or lists."""
    if isinstance(x, Features):
        return x
    if issparse(x):
        return Features.from_csr(x)
    if hasattr(x, "detach"):
        x = x.detach().cpu().numpy()
    return Features.from_table(x) if isinstance(x, np.ndarray) else Features.from_lists(x)
