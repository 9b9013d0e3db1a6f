"""How many independent outputs some residuals are, by the variances along their main axes."""

from __future__ import annotations

import numpy as np


def effective(residuals: np.ndarray, weights: np.ndarray) -> float:
    """``(sum v)^2 / sum v^2``, with the variance v along each axis. ``[n, outputs], [n] -> []``."""
    along = np.linalg.svd(residuals * np.sqrt(weights)[:, None], compute_uv=False) ** 2
    return float(along.sum() ** 2 / (along**2).sum())
