"""Logistic regression on counts, as if all columns had mean 0 and the same curvature of the loss.

L-BFGS starts as if the loss had the same curvature in all weights, and takes many steps to find
that it does not. Counts of what all trees have act together with the bias, and the curvature of the
loss in them is a thousand times that in counts of what two trees have. So columns are centred here,
without making sparse rows dense, and each weight is in units of 1 / sqrt(its curvature near the
minimum).
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

# Curvature of the loss for well-learned examples, relative to those of which nothing is known.
LEARNT = 1 / 16
# Ends when a step gains a millionth: scikit-learn's, with its own tolerance, ends no lower.
SOLVER = {"maxiter": 200, "ftol": 1e-6, "gtol": 1e-6, "maxcor": 5, "maxls": 50}


def logistic_regression(
    x: csr_matrix | np.ndarray,
    y: np.ndarray,
    penalty: float,
    count: np.ndarray | None = None,
    start: np.ndarray | None = None,
    offset: np.ndarray | None = None,
) -> np.ndarray:
    """The weights and, in the last row, the biases that minimise cross-entropy plus penalty.

    ``sum_i count_i * -log softmax(x_i W + b)[y_i] + penalty / 2 * |W|^2``

    Args:
        x: rows to learn from.
        y: classes from 0; each class has a row.
        penalty: penalty of the squared weights, above 0; the biases have none.
        count: weight of each row; None for equal weights.
        start: weights and biases to start from, such as those fitted to most of the rows.
        offset: logits to which the model's are added; None for zeros.

    Shapes:
        x ``[n, columns]``; y, count ``[n]``; offset ``[n, classes]``; start and output ``[columns +
        1, classes]``.

    Reference:
        Liu, Nocedal, On the limited memory BFGS method for large scale optimization, 1989.

    Example:
        >>> w = logistic_regression(np.array([[0.0], [1.0]]), np.array([0, 1]), penalty=0.1)
        >>> w.round(1).tolist()
        [[-1.6, 1.6], [0.8, -0.8]]
    """
    count = np.ones(len(y)) if count is None else count
    size, rows = count.sum(), np.arange(len(y))
    share, mean = np.bincount(y, count) / size, x.T @ count / size
    squares = x * x if isinstance(x, np.ndarray) else x.multiply(x)
    spread = squares.T @ count - size * mean**2
    rest, most = 1 - share, share.argmax()
    rest[most] = np.delete(share, most).sum()  # as a share may be rounded to 1
    bends = LEARNT * np.outer(np.append(spread.clip(0), size), share * rest)
    penalties = np.append(np.full(len(mean), penalty), 0.0)[:, None]
    unit = (penalties + bends) ** -0.5

    def loss(scaled: np.ndarray) -> tuple[float, np.ndarray]:
        w = scaled.reshape(unit.shape) * unit
        logits = x @ w[:-1] + (w[-1] - mean @ w[:-1])
        if offset is not None:
            logits += offset
        logits -= logits.max(axis=1, keepdims=True)
        own = logits[rows, y]
        error = np.exp(logits, out=logits)  # scipy's log_softmax takes several times as long
        sums = error.sum(axis=1)
        total = (penalties * w * w).sum() / 2 + count @ (np.log(sums) - own)
        error /= sums[:, None]
        error[rows, y] -= 1
        error *= count[:, None]
        slope, whole = penalties * w, error.sum(axis=0)
        slope[:-1] += x.T @ error - np.outer(mean, whole)
        slope[-1] += whole
        return total / size, (slope * unit).ravel() / size

    begin = np.zeros(unit.shape) if start is None else start.copy()
    begin[-1] += mean @ begin[:-1]  # the output at the mean of the rows
    options = {"method": "L-BFGS-B", "jac": True, "options": SOLVER}
    w = minimize(loss, (begin / unit).ravel(), **options).x.reshape(unit.shape) * unit
    w[-1] -= mean @ w[:-1]
    return w
