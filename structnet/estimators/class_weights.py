"""Classes that count more or less than they are many."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from structnet.checks import wrong
from structnet.estimators.checked import Checked


def weighed(samples: Checked, given: Checked, classes: np.ndarray, asked: Any) -> Checked:
    """Samples whose weights are times those of their classes.

    Args:
        samples: samples to weigh, their targets places in the classes.
        given: samples to learn from, by which classes are balanced.
        classes: names of the classes.
        asked: class -> weight, 1 where none is said; or "balanced", by which all count alike.

    Shapes:
        classes ``[classes]``.

    Raises:
        ValueError: the weights are none of these, not above 0, or of unknown classes.

    Example:
        >>> rows = Checked(np.zeros((4, 1)), np.array([0, 1, 1, 1]), None)
        >>> weighed(rows, rows, np.array(["no", "yes"]), "balanced").weights.round(2).tolist()
        [2.0, 0.67, 0.67, 0.67]
    """
    each = weights_by_class(asked, given.y, classes, given.weights)
    weights = 1.0 if samples.weights is None else samples.weights
    return samples._replace(weights=each[samples.y] * weights)


def weights_by_class(
    asked: Any, codes: np.ndarray, classes: np.ndarray, weights: np.ndarray | None = None
) -> np.ndarray:
    """What each class counts.

    Args:
        asked: class -> weight, 1 where none is said; "balanced", by which all count alike; or None,
            1 for each.
        codes: places in the classes of the samples to learn from, by which classes are balanced.
        classes: names of the classes.
        weights: count of each sample; 1 by default.

    Shapes:
        codes, weights ``[n]``; classes ``[classes]`` -> ``[classes]``, float64.

    Raises:
        ValueError: the weights are none of these, not above 0, or of unknown classes.

    Example:
        >>> weights_by_class({"yes": 3}, np.array([0, 1, 1]), np.array(["no", "yes"]))
        array([1., 3.])
    """
    names = classes.tolist()
    if asked is None:
        return np.ones(len(names))
    if isinstance(asked, Mapping):
        if set(asked) - set(names):
            raise wrong("class_weight", f"of the classes {names}", asked)
        each = np.array([float(asked.get(name, 1)) for name in names])
    elif isinstance(asked, str) and asked == "balanced":
        counts = np.bincount(codes, weights, len(names))
        each = counts.sum() / (len(names) * np.where(counts > 0, counts, 1))
    else:
        raise wrong("class_weight", "a dict, 'balanced' or None", asked)
    if not (each > 0).all():
        raise wrong("class_weight", "made of numbers above 0", asked)
    return each
