"""Checks of what users give an estimator: samples, labels, weights.

Only estimators whose scikit-learn tags say so (``input_tags.sparse``) accept sparse samples, which
they get as CSR whatever the format given.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_matrix, issparse
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags
from sklearn.utils.validation import check_array, validate_data

from structnet.estimators.checked import Checked, encode_labels, numbered
from structnet.estimators.numeric import check_numeric

FLOATS = (np.float64, np.float32)
# Numbers that are not finite are refused here, as scikit-learn's error does not say where they are.
OF_X = {"dtype": FLOATS, "allow_nd": True, "ensure_all_finite": False}
MISSING = ": put SimpleImputer(add_indicator=True) before it in a pipeline"
AXES = {2: ("row", "column"), 4: ("sample", "channel", "row", "column")}
SEVERAL = (list, tuple, set, frozenset)
KINDS = (str, (bool, np.bool_), Real)  # of labels; True is a Real too, so the order counts


def check_inputs(estimator: BaseEstimator, X: Any) -> np.ndarray | csr_matrix:
    """The inputs of a fitted estimator, ``[n, *shape]``, as float64, or as float32 if given so.

    Sparse inputs are CSR, with ascending columns in each row and none twice.

    Raises:
        ValueError: NaN, infinity, or samples of another shape than in ``fit``.
    """
    X = off_torch(X)
    _check_image_shape(estimator, X)
    names = check_numeric(X)
    X = validate_data(estimator, X, reset=False, **OF_X, accept_sparse=_formats(estimator))
    _check_finite(X, names)
    return _canonical(X)


def one_sample(estimator: BaseEstimator, x: Any) -> Any:
    """A batch of one sample for a fitted estimator, whose values are not checked.

    Args:
        x: a row or an image, or an array of one row or one image.

    Shapes:
        ``[*shape]`` or ``[1, *shape]`` -> ``[1, *shape]``.

    Raises:
        ValueError: another shape.
    """
    x, shape = off_torch(x), estimator.sample_shape_
    if hasattr(x, "index") and hasattr(x, "to_frame"):  # a row of a data frame, with its names
        x = x.to_frame().T
    got = tuple(x.shape if issparse(x) else np.shape(x))
    if got not in (shape, (1, *shape)):
        raise ValueError(
            f"x must be one sample, {list(shape)} or {[1, *shape]}. Got shape {list(got)}."
        )
    if got == shape:
        x = x.reshape(1, -1).tocsr() if issparse(x) else np.asarray(x)[None]
    return x


def check_training(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    groups: Any = None,
    *,
    reset: bool,
    least: int | None = None,
    **of_y: bool,
) -> Checked:
    """Samples to fit on, those of weight 0 among them, which count as not given.

    Args:
        estimator: estimator that is fitted; sets its ``n_features_in_`` (the number of channels of
            images), ``sample_shape_`` and, from a data frame, ``feature_names_in_``.
        X, y, sample_weight, groups: data from the user.
        reset: True for data to fit on; False for data that are compared with those of ``fit``.
        least: smallest number of samples; by default two to fit on, otherwise one.
        of_y: options of ``sklearn.utils.check_X_y`` for the targets, such as ``y_numeric=True``.

    Raises:
        ValueError: NaN or infinity, lengths or shapes that do not match, weights below 0, or too
            few samples.
    """
    X, y = map(off_torch, (X, y))
    least = 1 + reset if least is None else least
    if not reset:
        _check_image_shape(estimator, X)
    kinds = {**OF_X, "accept_sparse": _formats(estimator), "ensure_min_samples": least}
    names = check_numeric(X)
    X, y = validate_data(estimator, X, y, reset=reset, **kinds, **of_y)
    if X.ndim not in (2, 4):
        raise ValueError(
            "X must be [samples, features] or images [samples, channels, height, width]. Got an "
            f"array of shape {list(X.shape)}."
        )
    if X.ndim == 4 and reset:
        _refuse_channels_last(X.shape)
    _check_finite(X, names)
    if reset:
        estimator.sample_shape_ = X.shape[1:]
    weights = check_weights(sample_weight, X.shape[0])
    return Checked(_canonical(X), y, weights, numbered(groups, X.shape[0]))


def _refuse_channels_last(shape: tuple[int, ...]) -> None:
    """Refuses images with their channels last, which would be read as rows of pixels.

    Raises:
        ValueError: the images are ``[n, height, width, 3]``, or square with a last axis of 1; other
            images of width 1 may be time series.
    """
    _, height, width, channels = shape
    if min(height, width) > 4 and (channels == 3 or (channels == 1 and height == width)):
        raise ValueError(
            f"X looks like images with their channels last, {list(shape)}; expected [samples, "
            "channels, height, width], as X.transpose(0, 3, 1, 2) gives them."
        )


def _formats(estimator: BaseEstimator) -> list[str] | bool:
    """The sparse formats that an estimator takes, as scikit-learn's ``accept_sparse``."""
    return ["csr"] if get_tags(estimator).input_tags.sparse else False


def _canonical(X: Any) -> Any:
    """Sparse rows with ascending columns, none twice; the caller's rows are not changed."""
    if not issparse(X) or X.has_canonical_format:
        return X
    X = X.copy()
    X.sum_duplicates()
    return X


def _check_image_shape(estimator: BaseEstimator, X: Any) -> None:
    """Compares shapes of images, of which scikit-learn would only compare the channels."""
    fitted = estimator.sample_shape_
    got = tuple((X if hasattr(X, "shape") else np.asarray(X)).shape)[1:]
    if got != fitted and max(len(got), len(fitted)) > 1:
        raise ValueError(
            f"X has samples of shape {list(got)}; {type(estimator).__name__} was fitted on "
            f"samples of shape {list(fitted)}"
        )


def _check_finite(X: Any, names: list | None) -> None:
    values = X.data if issparse(X) else X
    bad = ~np.isfinite(values)
    if get_config()["assume_finite"] or not bad.any():
        return
    masks = {"NaN": np.isnan(values), "infinity": np.isinf(values)}
    kinds = " and ".join(name for name, places in masks.items() if places.any())
    first = np.unravel_index(bad.argmax(), values.shape)
    if issparse(X):
        row = np.searchsorted(X.indptr, first[0], side="right") - 1
        first = row, X.indices[first[0]]
    place = ", ".join(f"{axis} {i}" for axis, i in zip(AXES[X.ndim], first, strict=True))
    place += " (counted from 0)"
    if names is not None:
        place = f"row {first[0]} (counted from 0), column {names[first[1]]!r}"
    count = f"{bad.sum():,} values, the first" if bad.sum() > 1 else "1 value,"
    raise ValueError(
        f"Input X contains {kinds}: {count} in {place}; expected finite numbers"
        + MISSING * ("NaN" in kinds)
    )


def in_single(x: Any) -> Any:
    """Checked and, where needed, scaled inputs in single precision. ``[n, *shape]``.

    Raises:
        ValueError: a number is too large for single precision.
    """
    values, most = x.data if issparse(x) else x, np.finfo(np.float32).max
    largest = max(values.max(initial=0), -values.min(initial=0))
    if largest > most:
        raise ValueError(
            f"X has, after scaling if there is any, a number of the size {largest:.3g}; expected "
            f"at most {most:.3g}, the largest in single precision"
        )
    return x.astype(np.float32)


def off_torch(values: Any) -> Any:
    """A tensor without gradients and on the CPU, as numpy needs it; other values unchanged."""
    return values.detach().cpu() if isinstance(values, torch.Tensor) else values


def check_weights(
    sample_weight: Any, size: int, unit: str = "sample", of: str = ""
) -> np.ndarray | None:
    """The user's weights in float64; a single number is the weight of every sample. ``[size]``.

    Args:
        sample_weight: weights as the user gave them; None for none.
        size: number of samples.
        unit, of: words for the errors: what has a weight, and what it is part of.

    Raises:
        ValueError: there is not one weight for each sample, or one is below 0 or not finite.
    """
    if sample_weight is None:
        return None
    sample_weight = off_torch(sample_weight)
    if isinstance(sample_weight, Real):
        sample_weight = np.full(size, float(sample_weight))
    weights = check_array(
        sample_weight, dtype=np.float64, ensure_2d=False, input_name="sample_weight"
    )
    if weights.shape != (size,):
        raise ValueError(
            f"sample_weight must have one number for each {unit}{of}, [{size}]. Got shape "
            f"{list(weights.shape)}."
        )
    if weights.min() < 0:
        raise ValueError(
            f"sample_weight must be at least 0. Got {weights.min():g} for {unit} "
            f"{weights.argmin()}{of}."
        )
    return weights


def plain_labels(y: Any) -> Any:
    """Labels in an array of objects, converted to numpy's own type; other labels unchanged.

    Raises:
        ValueError: the labels are not all text, all numbers, or all True and False, or one is
            missing.

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
    if labels.dtype.kind == "U" and not hasattr(y, "dtype"):  # numbers beside text became text
        labels = np.asarray(y, object)
    if labels.dtype != object or labels.shape[:1] != (labels.size,):
        return y
    kinds = [_kind(label) for label in labels.flat]
    other = next((i for i, kind in enumerate(kinds) if kind is None or kind != kinds[0]), None)
    if other is not None:
        examples = [f"{labels.flat[i]!r} for sample {i}" for i in sorted({0, other})]
        raise ValueError(
            "y must be all text, all numbers, or all True and False, and none missing. Got "
            f"{' and '.join(examples)}."
        )
    stays = kinds[:1] == [str] and hasattr(y, "dtype")
    return labels if stays else np.array(labels.tolist())


def one_label_each(y: Any) -> Any:
    """The labels of samples that have one each, as :func:`plain_labels` gives them.

    Raises:
        ValueError: a sample has several labels, or as for :func:`plain_labels`.

    Example:
        >>> one_label_each([["spam", "work"], ["work"]])
        Traceback (most recent call last):
        ValueError: y must have one label for each sample. Got several: repeat the row of a sample
        once for each of its labels, or give the number of its column if only one is 1.
    """
    y = off_torch(y)
    try:
        labels = y if issparse(y) else np.asarray(y)
        several = labels.dtype == object and any(isinstance(each, SEVERAL) for each in labels.flat)
        several = several or (labels.ndim == 2 and labels.shape[1] > 1)
    except ValueError:  # lists of different lengths
        several = True
    if several:
        raise ValueError(
            "y must have one label for each sample. Got several: repeat the row of a sample once "
            "for each of its labels, or give the number of its column if only one is 1."
        )
    return plain_labels(y)


def _kind(label: Any) -> type | tuple | None:
    known = (kind for kind in KINDS if isinstance(label, kind) and label == label)  # NaN is not
    return next(known, None)


def classes_of_stream(classes: Any, known: np.ndarray | None = None) -> np.ndarray:
    """The sorted classes that a user of ``partial_fit`` expects.

    Args:
        classes: classes, in any order.
        known: sorted classes of the model so far, if it has any.

    Shapes:
        classes ``[classes]``, as are the sorted ones.

    Raises:
        ValueError: these are no classes, or others than the known ones.

    Example:
        >>> classes_of_stream(["no", "yes"], classes_of_stream(["yes", "no"]))
        array(['no', 'yes'], dtype='<U3')
    """
    names = np.asarray(plain_labels(classes))
    if names.ndim != 1 or not len(names):
        raise ValueError(
            f"classes must be a list of all classes. Got the shape {list(names.shape)}."
        )
    if known is not None and np.array_equal(names, known):  # as in most calls but the first
        return known
    # Twice, as numbers that occur once each would be taken for a regression target.
    unique, _ = encode_labels(np.repeat(names, 2))
    if known is None or np.array_equal(unique, known):
        return unique if known is None else known
    more, less = np.setdiff1d(unique, known).tolist(), np.setdiff1d(known, unique).tolist()
    odd = f"among them {more[0]!r}" if more else f"without {less[0]!r}"
    raise ValueError(
        f"classes must be the {len(known)} that the model has. Got {len(unique)}, {odd}."
    )


def plain_numbers(y: Any) -> Any:
    """Numbers in an array of objects, converted to float64 with None as NaN; others unchanged.

    Raises:
        ValueError: y is sparse, made of dates, or of other things that are no numbers.

    Example:
        >>> plain_numbers([1, None])
        array([ 1., nan])
    """
    y = off_torch(y)
    if issparse(y):
        raise ValueError("y must be numbers in an array. Got a sparse matrix; expected y.toarray()")
    try:
        numbers = np.asarray(y)
        if numbers.dtype.kind in "mM":
            raise ValueError("got dates; expected, for example, the days since one of them")
        return numbers.astype(np.float64) if numbers.dtype.kind in "OUS" and numbers.ndim else y
    except (TypeError, ValueError) as error:  # rows of different lengths, or text
        raise ValueError(f"y must be numbers: {error}") from None
