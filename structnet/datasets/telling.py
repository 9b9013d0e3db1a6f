"""Whether some columns of a table tell more of its target than chance would."""

from __future__ import annotations

import numpy as np

ROWS = 5000  # rows that are looked at
DRAWS = 99  # orders of the targets at random, of which one may tell as much: a level of 2 %
ROUNDING = 1e-10  # share of the largest singular value up to which one is 0


def tell(x: np.ndarray, y: np.ndarray) -> bool:
    """True if a linear model of the columns explains more of the targets than in random orders.

    Args:
        x: columns.
        y: codes of classes, or numbers in columns.

    Shapes:
        x ``[n, columns]``; y ``[n]``, or ``[n, targets]`` for numbers.

    Reference:
        Freedman, Lane, "A Nonstochastic Interpretation of Reported Significance Levels", Journal of
        Business & Economic Statistics 1, 1983, on tests by random orders.

    Example:
        >>> x = np.random.default_rng(1).normal(size=(200, 3))
        >>> tell(x, (x[:, 0] > 0).astype(int)), tell(x, np.arange(200) % 2)
        (True, False)
    """
    rng = np.random.default_rng(0)
    some = rng.permutation(len(y))[:ROWS]
    x, y = x[some] - x[some].mean(0), y[some]
    unit = np.sqrt(np.square(x).mean(0))
    left, values, _ = np.linalg.svd(x / np.where(unit > 0, unit, 1), full_matrices=False)
    axes = left[:, values > ROUNDING * values.max(initial=0.0)]

    def explained(order: np.ndarray) -> float:
        if y.dtype.kind == "i":
            return sum(np.square(np.bincount(y[order], axis)).sum() for axis in axes.T)
        return float(np.square(axes.T @ y[order]).sum())

    own = explained(np.arange(len(y)))
    return bool(sum(explained(rng.permutation(len(y))) >= own for _ in range(DRAWS)) <= 1)
