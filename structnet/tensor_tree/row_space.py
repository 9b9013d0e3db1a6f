"""Wide rows as coordinates in the space that they span, where linear models are the same.

The weights of a linear model with a penalty of their squares are a sum of the rows that it learns
from (the representer theorem: Kimeldorf and Wahba 1971; Schoelkopf, Herbrich, Smola 2001). So of
200 rows in 20,000 columns, 200 coordinates a row do, and what has an intercept may be centred.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf
from scipy.sparse import csr_matrix

# Columns times outputs for each entry of the square of the rows, from which a solver's own vectors,
# as long as all weights, cost more than that square does.
WIDE = 1 / 24
MOST = 3000  # rows, whose square is decomposed within a second or two


class RowSpace(NamedTuple):
    """Rows as coordinates in the space that they span, and the way back from there.

    Attributes:
        coordinates: those of each row; their inner products are those of the centred rows.
        rows: the rows.
        mean: their mean.
        basis: places of the rows that span the others; of these the coordinates are triangular.

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
    """

    coordinates: np.ndarray
    rows: csr_matrix
    mean: np.ndarray
    basis: np.ndarray

    def model(self, coef: np.ndarray, intercept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A linear model of the rows, from one of their coordinates.

        Shapes:
            coef ``[outputs, rank]``, intercept ``[outputs]`` -> ``[outputs, columns]``,
            ``[outputs]``.
        """
        share = np.zeros((len(self.coordinates), len(coef)))  # of each row in the weights
        triangle = self.coordinates[self.basis]
        share[self.basis] = solve_triangular(triangle, coef.T, trans="T", lower=True)
        weights = (self.rows.T @ share).T - np.outer(share.sum(axis=0), self.mean)
        return weights, intercept - weights @ self.mean


def space_of(rows: csr_matrix, outputs: int = 1) -> RowSpace | None:
    """The coordinates of rows where a linear model is fitted faster to these.

    They come from a pivoted Cholesky decomposition of the products of the rows.

    Args:
        rows: ``[n, columns]``, in double precision.
        outputs: numbers that the model says of a row.

    Returns:
        None where the rows are not wide enough, too many, or all the same.

    Example:
        >>> space_of(csr_matrix((200, 20_000))), space_of(csr_matrix(np.eye(200)))
        (None, None)
    """
    number, columns = rows.shape
    if not 0 < number**2 * WIDE < columns * outputs or number > MOST:
        return None
    mean = np.asarray(rows.mean(axis=0)).ravel()
    products = (rows @ rows.T).toarray()
    shift = products.mean(axis=0)
    rounding = number * np.finfo(float).eps * products.diagonal().max()
    products += shift.mean() - shift - shift[:, None]
    if not products.diagonal().max() > rounding:  # dpstrf holds its first pivot against 0 alone
        return None
    triangle, order, rank, _ = dpstrf(products, lower=1, tol=rounding)
    order -= 1  # as Fortran counts
    coordinates = np.empty((number, rank))
    coordinates[order] = np.tril(triangle)[:, :rank]
    return RowSpace(coordinates, rows, mean, order[:rank])
