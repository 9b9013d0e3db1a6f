"""Bends columns along their curves, which ``tails.py`` explains. Compiled by numba."""

from __future__ import annotations

import numpy as np

from structnet.trees._kernels import compiled

FAR = 1.0  # how much farther a number is, bent, for each factor e beyond the range of those seen


@compiled
def bend(rows, columns, starts, x, y):
    """Bends some columns of rows in place.

    Beyond its ends a curve goes on as a logarithm: heavy tails have numbers many times as far out
    as any seen before, and a line there would give them all the say.

    Shapes: rows ``[n, D]``; columns ``[b]``; starts ``[b + 1]``; x, y ``[all points]``.
    """
    for i in range(len(rows)):
        for c in range(len(columns)):
            low, high = starts[c], starts[c + 1] - 1
            first, last, number = x[low], x[high], rows[i, columns[c]]
            inside = min(max(number, first), last)
            beyond = (number - inside) / (last - first)
            while high - low > 1:
                middle = (low + high) // 2
                if x[middle] <= inside:
                    low = middle
                else:
                    high = middle
            share = (inside - x[low]) / (x[high] - x[low])
            bent = y[low] + share * (y[high] - y[low])
            rows[i, columns[c]] = bent + FAR * np.sign(beyond) * np.log1p(abs(beyond))
