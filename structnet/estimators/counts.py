"""The scaler of sparse counts, such as those of words: logarithms, more for what is rare.

A word that occurs ten times tells little more than one that occurs twice, and one that few rows
have tells more than one that all have. So a count c of a column that a share s of the rows has
becomes ``log(1 + c) (1 - log s)``. What a text is about does not depend on its length, so that all
rows are then scaled to the same l2 norm.

Reference:
    Salton, Buckley, "Term-Weighting Approaches in Automatic Text Retrieval", Information Processing
    and Management, 1988.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse

from structnet.estimators.scale import Standardizer
from structnet.estimators.tails import BentStandardizer

WORDS = 0.02  # largest share of the columns that rows have for ones to be taken for words
LOGARITHMS = "logarithms"  # marks the scaler in a file


@dataclass(frozen=True, eq=False)
class CountStandardizer(Standardizer):
    """Scales counts by logarithms and by how rare their columns are, and rows to one length.

    Zeros stay zeros.

    Args:
        mean: 0.
        sd: number to divide the logarithms of each column by.
        length: l2 norm of every row that is not 0.

    Shapes:
        mean ``[1]``; sd ``[columns]``.

    Example:
        >>> scale = CountStandardizer.learned(csr_matrix([[1.0, 1.0], [9.0, 0.0]]))
        >>> scale(csr_matrix([[9.0, 1.0], [0.0, 7.0]])).toarray().round(2)
        array([[1.09, 0.56],
               [0.  , 1.22]])
    """

    length: float

    @classmethod
    def learned(cls, rows: csr_matrix, weights: np.ndarray | None = None) -> CountStandardizer:
        """The scaler fitted to rows of counts.

        Args:
            rows: sparse rows, with at least one entry that is not 0.
            weights: weight of each row.

        Shapes:
            rows ``[n, columns]``; weights ``[n]``.
        """
        there, counts = rows.data != 0, np.ones(rows.shape[0]) if weights is None else weights
        of = rows.indices[there]
        shares = np.repeat(counts / counts.sum(), np.diff(rows.indptr))[there]
        share = np.bincount(of, shares, rows.shape[1])
        rare = 1 - np.log(np.clip(share, shares.min(), 1))  # at least one row has what is not there
        common = np.average((_logarithms(rows.data[there]) * rare[of]) ** 2, weights=shares) ** 0.5
        full = counts[np.unique(rows.nonzero()[0])].sum() / counts.sum()
        length = (shares.sum() / full) ** 0.5  # so that entries have mean square 1
        return cls(np.zeros(1), common / rare, float(length))

    @property
    def linear(self) -> bool:
        """False, as logarithms are taken first."""
        return False

    def to_lists(self) -> list[list]:
        """The numbers as lists, and a mark of the logarithms with the length."""
        return [*super().to_lists(), [LOGARITHMS, self.length]]

    def __call__(self, values: Any) -> Any:
        """Scaled values, in the precision of the values. ``[n, columns] -> [n, columns]``."""
        if not issparse(values):
            scaled = super().__call__(_logarithms(values))
            return scaled * self._factors(np.square(scaled).sum(1))[:, None].astype(scaled.dtype)
        parts = _logarithms(values.data), values.indices, values.indptr
        scaled = super().__call__(type(values)(parts, shape=values.shape))
        factors = self._factors(np.asarray(scaled.multiply(scaled).sum(1)).ravel())
        scaled.data *= np.repeat(factors, np.diff(scaled.indptr)).astype(scaled.dtype)
        return scaled

    def _factors(self, squares: np.ndarray) -> np.ndarray:
        """The factors that give rows with these sums of squares their length. ``[n] -> [n]``."""
        return self.length / np.sqrt(np.where(squares, squares, self.length**2))

    def inverse(self, values: np.ndarray) -> np.ndarray:
        """NaN, as the length that a row had is not known. ``[n, columns] -> [n, columns]``."""
        return np.full_like(values, np.nan)


def learned_scale(
    x: np.ndarray | csr_matrix, y: np.ndarray, weights: np.ndarray | None = None
) -> Standardizer:
    """The scaler of a table or of sparse rows for models that are linear in their columns.

    Tables are scaled by :class:`.BentStandardizer`, sparse rows by :class:`CountStandardizer` if
    they are counts: whole numbers from 1, mostly ones. Ones alone are taken for words that occur if
    rows differ in their number and have a fiftieth of the columns at most; they may also be codes
    of categories, of which all rows have as many. Other sparse rows are scaled as by
    :meth:`.Standardizer.of_entries`.

    Args:
        x: dense or sparse rows.
        y: codes of classes.
        weights: weight of each row.

    Shapes:
        x ``[n, columns]``; y, weights ``[n]``.
    """
    if isinstance(x, np.ndarray):
        return BentStandardizer.learned(x, y, weights)
    if _are_counts(x):
        return CountStandardizer.learned(x, weights)
    return Standardizer.of_entries(x, weights)


def scale_of_lists(lists: list[list] | None) -> Standardizer | None:
    """The scaler of :func:`learned_scale` that ``to_lists`` wrote; None for None."""
    if lists is not None and lists[2:] and lists[2][0] == LOGARITHMS:
        mean, sd, (_, length) = lists
        return CountStandardizer(np.array(mean), np.array(sd), length)
    return BentStandardizer.from_lists(lists)


def _are_counts(rows: csr_matrix) -> bool:
    """True for whole numbers from 1, mostly ones; if only ones, for rows like those of words."""
    numbers = rows.data[rows.data != 0]
    whole = len(numbers) > 0 and (numbers >= 1).all() and (numbers == np.floor(numbers)).all()
    if not whole or (numbers == 1).mean() < 0.5:
        return False
    if numbers.max() > 1:
        return True
    return (
        len(numbers) <= WORDS * rows.shape[0] * rows.shape[1] and np.ptp(np.diff(rows.indptr)) > 0
    )


def _logarithms(numbers: np.ndarray) -> np.ndarray:
    """``log(1 + c)``, in at least the precision of float32; the same below 0, with a minus."""
    return np.sign(numbers) * np.log1p(np.abs(numbers))
