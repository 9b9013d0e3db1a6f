"""Penalised linear models of numbers, of all strengths at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structnet.estimators.checked import Checked

ROUNDING = 1e-12  # share of the largest square of a singular value up to which one is 0


class Ridge(NamedTuple):
    """The linear models of all strengths, with ``x - mean = left * values @ right`` of each row.

    Attributes:
        mean, level: means of the columns and of the targets.
        values, right: singular values and right vectors of the rows, by the roots of their shares.
        along: targets along the left vectors.
        spread: variance of each column.

    Shapes:
        mean, spread ``[columns]``; level ``[outputs]``; values ``[rank]``; right ``[rank,
        columns]``; along ``[rank, outputs]``.
    """

    mean: np.ndarray
    level: np.ndarray
    values: np.ndarray
    right: np.ndarray
    along: np.ndarray
    spread: np.ndarray

    @classmethod
    def of(cls, rows: Checked) -> Ridge:
        """The models of rows with weights."""
        assert rows.weights is not None
        shares = rows.weights / rows.weights.sum()
        mean, level, root = shares @ rows.x, shares @ rows.y, np.sqrt(shares)[:, None]
        x = root * (rows.x - mean)
        if len(x) < x.shape[1]:  # far faster than by the wide matrix itself
            squares, left = np.linalg.eigh(x @ x.T)
            there = squares > ROUNDING * squares[-1]
            values, left = np.sqrt(squares[there]), left[:, there]
            right = (left / values).T @ x
        else:
            left, values, right = np.linalg.svd(x, full_matrices=False)
        along = left.T @ (root * (rows.y - level))
        return cls(mean, level, values, right, along, np.square(x).sum(0))

    def losses(self, held: Checked, strengths: np.ndarray) -> np.ndarray:
        """The mean squared error of each row, ``[strengths, m]``."""
        return np.square(self.predict(held.x, strengths[:, None]) - held.y).mean(-1)

    def predict(self, x: np.ndarray, strength: np.ndarray | float) -> np.ndarray:
        """The outputs for rows, ``[m, columns] -> [m, outputs]``, or ``[strengths, m, outputs]``.

        Args:
            x: rows.
            strength: strength of the penalty, or several.

        Shapes:
            strength ``[]`` or ``[strengths, 1]``.
        """
        factors = self._factors(strength)[..., None, :]
        return ((x - self.mean) @ self.right.T * factors) @ self.along + self.level

    def explained(self, strength: float) -> np.ndarray:
        """The variance that each column's weights explain, ``[columns]``."""
        weights = self.right.T @ (self._factors(strength)[:, None] * self.along)
        return np.square(weights).sum(1) * self.spread

    def _factors(self, strengths: np.ndarray | float) -> np.ndarray:
        outputs = len(self.level)  # over which the loss is a mean
        return self.values / (self.values**2 + outputs / 2 * strengths)
