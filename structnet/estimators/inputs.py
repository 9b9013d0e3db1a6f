"""What scikit-learn's users give an estimator, checked: samples, labels, weights."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
import torch
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, validate_data

from structnet.estimators.checked import Checked

FLOATS = (np.float64, np.float32)
# Numbers that are not finite are refused here: scikit-learn would not say where they are.
OF_X = {"dtype": FLOATS, "allow_nd": True, "ensure_all_finite": False}
AXES = {2: ("row", "column"), 4: ("sample", "channel", "row", "column")}
KINDS = (str, (bool, np.bool_), Real)  # of labels; True is a Real too, so the order counts


def check_inputs(estimator: BaseEstimator, X: Any) -> np.ndarray:
    """The inputs of a fitted estimator, in float64 or, if they come so, float32. ``[n, *shape]``.

    Raises:
        ValueError: NaN, infinity, or samples of another shape than those it was fitted on.
    """
    X = off_torch(X)
    _check_image_shape(estimator, X)
    X = validate_data(estimator, X, reset=False, **OF_X)
    _check_finite(X)
    return X


def check_sample(estimator: BaseEstimator, x: Any) -> np.ndarray:
    """One sample for a fitted estimator, checked as in :func:`check_inputs`.

    Args:
        x: a row or an image, or several of which there is one.

    Shapes:
        ``[*shape]`` or ``[1, *shape]`` -> ``[1, *shape]``.

    Raises:
        ValueError: NaN, infinity, or another shape.
    """
    x, shape = off_torch(x), estimator.sample_shape_
    found = tuple(np.shape(x))
    if found not in (shape, (1, *shape)):
        raise ValueError(
            f"x must be one sample, {list(shape)} or {[1, *shape]}. Got shape {list(found)}."
        )
    return check_inputs(estimator, np.asarray(x)[None] if found == shape else x)


def check_training(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    reset: bool,
    **of_y: bool,
) -> Checked:
    """Samples to fit on. Those of weight 0 are left out, as if they had not been given.

    Args:
        estimator: gets ``n_features_in_`` (of images, the channels), ``sample_shape_`` and, from a
            data frame, ``feature_names_in_``.
        X, y, sample_weight: data from the user.
        reset: False compares with what the estimator was fitted on instead, and takes one sample;
            to fit on there must be two.
        of_y: options of ``sklearn.utils.check_X_y`` for the targets, as ``y_numeric=True``.

    Raises:
        ValueError: NaN or infinity, lengths or shapes that do not fit, weights below 0, too few
            samples.
    """
    X, y, sample_weight = map(off_torch, (X, y, sample_weight))
    least = 1 + reset
    if not reset:
        _check_image_shape(estimator, X)
    X, y = validate_data(estimator, X, y, reset=reset, ensure_min_samples=least, **OF_X, **of_y)
    if X.ndim not in (2, 4):
        raise ValueError(
            "X must be [samples, features] or images [samples, channels, height, width]. Got an "
            f"array of shape {list(X.shape)}."
        )
    _check_finite(X)
    if reset:
        estimator.sample_shape_ = X.shape[1:]
    arrays = Checked(X, y, check_weights(sample_weight, len(X)))
    if arrays.weights is None or arrays.weights.all():
        return arrays
    arrays = arrays.take(np.flatnonzero(arrays.weights))
    if len(arrays.x) < least:
        raise ValueError(
            f"all but {len(arrays.x)} of {len(X)} samples have the weight zero; expected at least "
            f"{least} above it"
        )
    return arrays


def _check_image_shape(estimator: BaseEstimator, X: Any) -> None:
    """For tables scikit-learn does it; of images it would compare the channels alone."""
    fitted = estimator.sample_shape_
    found = tuple((X if hasattr(X, "shape") else np.asarray(X)).shape)[1:]
    if found != fitted and max(len(found), len(fitted)) > 1:
        raise ValueError(
            f"X has samples of shape {list(found)}; {type(estimator).__name__} was fitted on "
            f"samples of shape {list(fitted)}"
        )


def _check_finite(X: np.ndarray) -> None:
    bad = ~np.isfinite(X)
    if get_config()["assume_finite"] or not bad.any():
        return
    found = {"NaN": np.isnan(X), "infinity": np.isinf(X)}
    names = " and ".join(name for name, places in found.items() if places.any())
    first = np.unravel_index(bad.argmax(), X.shape)
    place = ", ".join(f"{axis} {i}" for axis, i in zip(AXES[X.ndim], first, strict=True))
    count = f"{bad.sum():,} values, the first" if bad.sum() > 1 else "1 value,"
    raise ValueError(
        f"Input X contains {names}: {count} in {place} (counted from 0); expected finite numbers"
    )


def off_torch(values: Any) -> Any:
    """A tensor as numpy takes it, without gradients and on the CPU; others as they are."""
    return values.detach().cpu() if isinstance(values, torch.Tensor) else values


def check_weights(sample_weight: Any, size: int) -> np.ndarray | None:
    """Weights as the user gave them, in float64; a number counts for all samples. ``[size]``.

    Raises:
        ValueError: there is not one a sample, one is below 0, or one is no finite number.
    """
    if sample_weight is None:
        return None
    if isinstance(sample_weight, Real):
        sample_weight = np.full(size, float(sample_weight))
    weights = check_array(
        sample_weight, dtype=np.float64, ensure_2d=False, input_name="sample_weight"
    )
    if weights.shape != (size,):
        raise ValueError(
            f"sample_weight must have one number a sample, [{size}]. Got shape "
            f"{list(weights.shape)}."
        )
    if weights.min() < 0:
        raise ValueError(
            f"sample_weight must be at least 0. Got {weights.min():g} for sample "
            f"{weights.argmin()}."
        )
    return weights


def plain_labels(y: Any) -> Any:
    """Labels that numpy holds as objects, in its own type of numbers; others as they are.

    Raises:
        ValueError: they are not all text, all numbers, or all True and False; or one is missing.

    Example:
        >>> plain_labels(np.array([3, 7], dtype=object))
        array([3, 7])
        >>> plain_labels(["spam", None])
        Traceback (most recent call last):
        ValueError: y must be all text, all numbers, or all True and False, and none missing. Got
        'spam' for sample 0 and None for sample 1.
    """
    y = off_torch(y)
    labels = np.asarray(y)
    if labels.dtype != object or labels.shape[:1] != (labels.size,):
        return y
    kinds = [_kind(label) for label in labels.flat]
    other = next((i for i, kind in enumerate(kinds) if kind is None or kind != kinds[0]), None)
    if other is not None:
        found = [f"{labels.flat[i]!r} for sample {i}" for i in sorted({0, other})]
        raise ValueError(
            "y must be all text, all numbers, or all True and False, and none missing. Got "
            f"{' and '.join(found)}."
        )
    return labels if kinds[:1] == [str] else np.array(labels.tolist())


def _kind(label: Any) -> type | tuple | None:
    known = (kind for kind in KINDS if isinstance(label, kind) and label == label)  # NaN is not
    return next(known, None)


def plain_numbers(y: Any) -> Any:
    """Numbers that numpy holds as objects, in float64, None as NaN; others as they are.

    Example:
        >>> plain_numbers([1, None])
        array([ 1., nan])
    """
    y = off_torch(y)
    numbers = np.asarray(y)
    return numbers.astype(np.float64) if numbers.dtype == object and numbers.ndim else y
