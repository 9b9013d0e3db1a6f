"""The information criterion by which the number of regions or of steps is chosen, in nats.

    n k log(squares that are left / squares before) + price of each parameter

where n is the number of samples, and k the number of outputs. Residuals of twelve classes are
twelve numbers: if a cut explains a tenth of their squares, that is less likely chance than if it
explains a tenth of those of one number. But outputs that vary together are not several: those of
two classes are the same number with two signs. So k is the number of independent outputs of equal
variance that would be as spread out, by their covariance C (its participation ratio):

    k = (tr C)^2 / tr C^2

Reference:
    Schwarz, "Estimating the Dimension of a Model", Annals of Statistics, 1978; Chen and Chen,
    "Extended Bayesian Information Criteria", Biometrika, 2008.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

TINY = 1e-12  # sum of squares below which nothing is left to explain


class Criterion(NamedTuple):
    """The criterion for some residuals; a line, a constant or a height has k numbers.

    Attributes:
        number: number of samples, or the sum of their weights.
        outputs: number k of outputs, from 1 to that of the residuals' columns.

    Example:
        >>> sides = np.random.default_rng(0).normal(size=(1000, 1)) * [1, -1]
        >>> round(Criterion.of(sides, np.ones(1000)).outputs, 2)
        1.0
    """

    number: float
    outputs: float

    @classmethod
    def of(cls, residuals: np.ndarray, weights: np.ndarray) -> Criterion:
        """The criterion for residuals ``[n, outputs]`` with weights ``[n]``."""
        products = (residuals.T * weights) @ residuals
        squares = float(np.square(products).sum())
        outputs = np.trace(products) ** 2 / squares if squares > 0 else 1.0
        return cls(float(weights.sum()), float(outputs))

    def values(self, left: Sequence[float] | np.ndarray) -> np.ndarray:
        """The first term, for sums of squares of which the first is that before. ``[m]``."""
        logs = np.log(np.maximum(left, TINY))
        return self.number * self.outputs * (logs - logs[0])

    def price_of_line(self, axes: int) -> float:
        """The price of one more region with a linear fit along some axes, and of its border."""
        return (self.outputs * (axes + 1) + 1) * self._log

    def price_of_constant(self, columns: int) -> float:
        """The price of one more region with a constant, and of its border among the columns."""
        return (self.outputs + 1) * self._log + 2 * math.log(columns)

    def price_of_step(self, columns: int) -> float:
        """The price of one more step in a sum, which is chosen among the columns."""
        return self.outputs * self._log + 2 * math.log(columns)

    @property
    def _log(self) -> float:
        return math.log(max(self.number, 2.0))
