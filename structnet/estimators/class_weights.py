"""Weights of classes, which count more or less than the number of their samples."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any, TypeVar

import numpy as np

from structnet.checks import wrong

S = TypeVar("S")


def weighed(
    samples: Any, learn: Any, classes: np.ndarray, class_weight: Any, least: int = 1
) -> Any:
    """The samples, with their weights multiplied by the weights of their classes.

    As with ``sample_weight``, those that weigh 0 are left out; their classes stay known.

    Args:
        samples: samples to weigh, :class:`.Checked` or like them; their targets are places in
            ``classes``. Of several targets, the weights of all are multiplied.
        learn: samples to learn from, whose counts balance the classes.
        classes: names of the classes.
        class_weight: a dict class -> weight, 1 for a class that is not in it; or "balanced", which
            makes all classes count the same in total.
        least: smallest number of samples that must weigh more than 0.

    Shapes:
        ``samples.y``, ``learn.y`` ``[n]`` or ``[n, targets]``; classes ``[classes]``.

    Raises:
        ValueError: ``class_weight`` is something else, or lacks a class while it has one that is
            unknown; or too few samples have a weight above 0.

    Example:
        >>> from structnet.estimators.checked import Checked
        >>> rows = Checked(np.zeros((4, 1)), np.array([0, 1, 1, 1]), None)
        >>> weighed(rows, rows, np.array(["no", "yes"]), "balanced").weights.round(2).tolist()
        [2.0, 0.67, 0.67, 0.67]
    """
    weights = 1.0 if samples.weights is None else samples.weights
    for codes, of in zip(np.atleast_2d(samples.y.T), np.atleast_2d(learn.y.T), strict=True):
        weights = weights_by_class(class_weight, of, classes, learn.weights)[codes] * weights
    return samples._replace(weights=weights).counting(least)


def both_weighed(
    learn: S, held_out: S | None, classes: np.ndarray, class_weight: Any
) -> tuple[S, S | None]:
    """The samples to learn from and those to choose by, both :func:`weighed` by their classes.

    Args:
        learn: samples to learn from, at least two of which must weigh more than 0.
        held_out: samples to choose by; None for none.
        classes: names of the classes.
        class_weight: weights of the classes; None leaves the samples as they are.

    Shapes:
        classes ``[classes]``.

    Raises:
        ValueError: ``class_weight`` does not fit, or too few samples have a weight above 0.
    """
    if class_weight is None:
        return learn, held_out
    how = learn, classes, class_weight
    return weighed(learn, *how, least=2), held_out and weighed(held_out, *how)


def weights_by_class(
    class_weight: Any, codes: np.ndarray, classes: np.ndarray, weights: np.ndarray | None = None
) -> np.ndarray:
    """The weight of each class.

    Args:
        class_weight: a dict class -> weight, 1 for a class that is not in it; "balanced", which
            makes all classes count the same in total; or None for a weight of 1 each.
        codes: class of each sample to learn from, as a place in ``classes``; "balanced" counts
            these.
        classes: names of the classes.
        weights: weight of each sample; 1 by default.

    Shapes:
        codes, weights ``[n]``; classes ``[classes]`` -> ``[classes]``, float64.

    Raises:
        ValueError: ``class_weight`` is something else, has a weight that is not a finite number of
            at least 0, or lacks a class while it has one that is unknown; or all weights are 0.

    Example:
        >>> weights_by_class({"yes": 3}, np.array([0, 1, 1]), np.array(["no", "yes"]))
        array([1., 3.])
    """
    names = classes.tolist()
    if class_weight is None:
        return np.ones(len(names))
    if isinstance(class_weight, Mapping):
        # As in scikit-learn: a class more is one that this part of the samples may lack.
        if set(class_weight) - set(names) and set(names) - set(class_weight):
            raise wrong("class_weight", f"of the classes {names}", class_weight)
        numbers = [class_weight.get(name, 1) for name in names]
        if not all(isinstance(n, Real) and 0 <= float(n) < math.inf for n in numbers):
            raise wrong("class_weight", "made of finite numbers of at least 0", class_weight)
        if not any(numbers):
            raise wrong("class_weight", "above 0 for at least one class", class_weight)
        by_class = np.array(numbers, np.float64)
    elif isinstance(class_weight, str) and class_weight == "balanced":
        counts = np.bincount(codes, weights, len(names))
        # Of classes whose samples all weigh 0 there is none to balance.
        by_class = counts.sum() / (np.count_nonzero(counts) * np.where(counts > 0, counts, 1))
    else:
        raise wrong("class_weight", "a dict, 'balanced' or None", class_weight)
    return by_class
