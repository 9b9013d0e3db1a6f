"""Wide rows as coordinates in the space that they span, in which linear models are the same.

The weights of a linear model with a squared penalty are a combination of its training rows (the
representer theorem: Kimeldorf and Wahba 1971; Schoelkopf, Herbrich, Smola 2001). So 200 rows of
20,000 columns can be replaced by 200 coordinates each, and centred if the model has an intercept.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf
from scipy.sparse import csr_matrix

# Columns times outputs per entry of the rows' Gram matrix, above which a solver's own vectors, as
# long as all weights, cost more than that matrix.
WIDE = 1 / 16
# Share of the rows that have a column, above which it is multiplied as dense; and largest number of
# entries of all these, 80 MB.
COMMON, DENSE = 0.05, 10_000_000
MOST = 3000  # rows, whose Gram matrix is decomposed within a second or two


class RowSpace(NamedTuple):
    """Rows as coordinates in the space that they span, and the way back.

    Attributes:
        coordinates: coordinates of each row; their inner products are those of the centred rows.
        rows: the rows.
        mean: mean of the rows.
        basis: places of the rows that span all rows; their coordinates are triangular.

    Shapes:
        coordinates ``[n, rank]``; rows ``[n, columns]``; mean ``[columns]``; basis ``[rank]``.

    Example:
        >>> rows = csr_matrix(np.repeat(np.eye(3), 100, axis=1)[[0, 1, 0]])
        >>> space = space_of(rows)
        >>> space.coordinates.shape
        (3, 1)
        >>> weights, intercept = space.model(np.array([[2.0]]), np.array([1.0]))
        >>> np.allclose(rows @ weights.T + intercept, 2 * space.coordinates + 1)
        True
        >>> rows = rows.toarray()
        >>> space = space_of(rows)
        >>> np.allclose(space.of(rows), space.coordinates)
        True
    """

    coordinates: np.ndarray
    rows: csr_matrix | np.ndarray
    mean: np.ndarray
    basis: np.ndarray

    def of(self, rows: np.ndarray) -> np.ndarray:
        """The coordinates of other dense rows, without what is outside of the space.

        Shapes:
            rows ``[m, columns]`` -> ``[m, rank]``.
        """
        products = (rows - self.mean) @ (self.rows[self.basis] - self.mean).T
        return solve_triangular(self.coordinates[self.basis], products.T, lower=True).T

    def model(self, coef: np.ndarray, intercept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The linear model on rows that equals one on their coordinates.

        Shapes:
            coef ``[outputs, rank]``, intercept ``[outputs]`` -> ``[outputs, columns]``,
            ``[outputs]``.
        """
        share = np.zeros(
            (len(self.coordinates), len(coef))
        )  # coefficient of each row in the weights
        triangle = self.coordinates[self.basis]
        share[self.basis] = solve_triangular(triangle, coef.T, trans="T", lower=True)
        weights = (self.rows.T @ share).T - np.outer(share.sum(axis=0), self.mean)
        return weights, intercept - weights @ self.mean


def gram_of(rows: csr_matrix | np.ndarray) -> np.ndarray:
    """The inner products of centred rows, ``[n, columns] -> [n, n]``.

    What many sparse rows have in common is centred and multiplied as a dense matrix: a sparse
    product would add it up pair by pair of rows.
    """
    if isinstance(rows, np.ndarray):
        centred = rows - rows.mean(axis=0)
        return centred @ centred.T
    counts = np.bincount(rows.indices, minlength=rows.shape[1])
    most = max(1, DENSE // rows.shape[0])  # columns
    least = np.partition(counts, -most - 1)[-most - 1] if len(counts) > most else 0
    common = counts > max(COMMON * rows.shape[0], least)
    dense, rest = rows[:, common].toarray(), rows[:, ~common]
    dense -= dense.mean(axis=0)
    products = (rest @ rest.T).toarray()
    shift = products.mean(axis=0)
    products += shift.mean() - shift - shift[:, None]
    return products + dense @ dense.T


def space_of(rows: csr_matrix | np.ndarray, outputs: float = 1) -> RowSpace | None:
    """The coordinates of rows, if a linear model is fitted faster to coordinates.

    They come from a pivoted Cholesky decomposition of the rows' Gram matrix.

    Args:
        rows: training rows, sparse or dense, ``[n, columns]``, in double precision.
        outputs: number of outputs of the model; inf takes rows for wide enough in any case.

    Returns:
        None if the rows are not wide enough, too many, or all the same.

    Example:
        >>> space_of(csr_matrix((200, 20_000))), space_of(csr_matrix(np.eye(200)))
        (None, None)
    """
    number, columns = rows.shape
    if not 0 < number**2 * WIDE < columns * outputs or number > MOST:
        return None
    mean = np.asarray(rows.mean(axis=0)).ravel()
    products = gram_of(rows)
    squares = rows * rows if isinstance(rows, np.ndarray) else rows.multiply(rows)
    rounding = number * np.finfo(float).eps * squares.sum(axis=1).max()
    if not products.diagonal().max() > rounding:  # dpstrf compares its first pivot only to 0
        return None
    triangle, order, rank, _ = dpstrf(products, lower=1, tol=rounding)
    order -= 1  # Fortran counts from 1
    coordinates = np.empty((number, rank))
    coordinates[order] = np.tril(triangle)[:, :rank]
    return RowSpace(coordinates, rows, mean, order[:rank])
