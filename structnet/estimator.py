"""The scikit-learn side of tree classifiers and regressors: data in, weights, splits, paths.

Inputs are tables ``[n, features]`` or images ``[n, channels, height, width]``. Functions, not a
base class: an estimator calls those that it needs.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.sparse import csr_matrix
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, validate_data

from structnet.routing import Topology
from structnet.scale import fractions, moments

FLOATS = (np.float64, np.float32)
AXES = {2: ("row", "column"), 4: ("sample", "channel", "row", "column")}
KINDS = (str, (bool, np.bool_), Real)  # of labels; True is a Real too, so the order counts


class Arrays(NamedTuple):
    """Checked inputs, targets and weights.

    Shapes:
        x ``[n, *shape]``; y ``[n]`` or ``[n, columns]``; weights ``[n]``, float64, above 0.
    """

    x: np.ndarray
    y: np.ndarray
    weights: np.ndarray | None

    def take(self, indices: np.ndarray) -> Arrays:
        """The samples at these places."""
        return Arrays(*(part if part is None else part[indices] for part in self))

    def digest(self) -> str:
        """A text that other data do not share."""
        sha = hashlib.sha256()
        for part in self:
            sha.update(b"none" if part is None else f"{part.dtype}{part.shape}".encode())
            if part is not None:
                words = part.astype(str) if part.dtype == object else part
                sha.update(np.ascontiguousarray(words).data.cast("B"))
        return sha.hexdigest()


def check_inputs(estimator: BaseEstimator, X: Any) -> np.ndarray:
    """The inputs of a fitted estimator, in float64 or, if they come so, float32.

    Raises:
        ValueError: NaN, infinity, or samples of another shape than those it was fitted on.
    """
    X = off_torch(X)
    _check_image_shape(estimator, X)
    X = validate_data(
        estimator, X, reset=False, dtype=FLOATS, allow_nd=True, ensure_all_finite=False
    )
    _check_finite(X)
    return X


def check_sample(estimator: BaseEstimator, x: Any) -> np.ndarray:
    """One sample for a fitted estimator, checked as in :func:`check_inputs`.

    Args:
        estimator: the estimator.
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
    reset: bool = True,
    least: int = 2,
    **of_y: bool,
) -> Arrays:
    """Samples to fit on. Those of weight 0 are left out, as if they had not been given.

    Args:
        estimator: gets ``n_features_in_`` (of images, the channels), ``sample_shape_`` and, from a
            data frame, ``feature_names_in_``.
        X, y, sample_weight: from the user.
        reset: False compares with what the estimator was fitted on instead.
        least: samples there must be.
        of_y: what ``sklearn.utils.check_X_y`` is to ask of the targets, as ``y_numeric=True``.

    Raises:
        ValueError: NaN or infinity, lengths or shapes that do not fit, weights below 0, too few
            samples.
    """
    X, y, sample_weight = map(off_torch, (X, y, sample_weight))
    if not reset:
        _check_image_shape(estimator, X)
    X, y = validate_data(
        estimator,
        X,
        y,
        reset=reset,
        dtype=FLOATS,
        allow_nd=True,
        ensure_all_finite=False,  # of X: scikit-learn would not say where
        ensure_min_samples=least,
        **of_y,
    )
    if X.ndim not in (2, 4):
        raise ValueError(
            "X must be [samples, features] or images [samples, channels, height, width]. Got an "
            f"array of shape {list(X.shape)}."
        )
    _check_finite(X)
    if reset:
        estimator.sample_shape_ = X.shape[1:]
    arrays = Arrays(X, y, check_weights(sample_weight, len(X)))
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
    """Weights as the user gave them, in float64; a number counts for all samples.

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


def mean_one(weights: np.ndarray | None) -> np.ndarray | None:
    """The weights, scaled so that a sample weighs 1 on average.

    Example:
        >>> mean_one(np.array([2.0, 6.0]))
        array([0.5, 1.5])
    """
    if weights is None:
        return None
    weights = fractions(weights)[0]
    return weights / weights.mean()


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


def encode_labels(y: np.ndarray, classes: np.ndarray | None = None) -> tuple[np.ndarray, ...]:
    """The classes, sorted, and each label's place among them.

    Args:
        y: the labels.
        classes: known already; by default those that occur.

    Raises:
        ValueError: the targets are no labels, all have one class, or one is not among the known.

    Example:
        >>> encode_labels(np.array(["no", "yes", "no"]))
        (array(['no', 'yes'], dtype='<U3'), array([0, 1, 0]))
    """
    check_classification_targets(y)
    found, codes = np.unique(y, return_inverse=True)
    if classes is None:
        if len(found) < 2:
            raise ValueError(
                f"y has one class alone, {found.tolist()[0]!r}, among the samples that count; "
                "expected at least 2 classes"
            )
        return found, codes
    unknown = np.setdiff1d(found, classes)
    if len(unknown):
        raise ValueError(
            f"got the class {unknown.tolist()[0]!r}, which is not in the y to learn from; expected "
            f"some of its {len(classes)} classes"
        )
    return classes, np.searchsorted(classes, y)


def split(
    size: int, fraction: float, seed: int, labels: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Which samples to learn from and which to validate on, at random; at least one of each.

    Args:
        size: how many samples there are, at least 2.
        fraction: of the samples to validate on.
        seed: of the split.
        labels: of the samples, from 0: their shares are kept, as far as whole samples go, and the
            last sample of a class is not taken for validation while there are others.

    Raises:
        ValueError: fewer samples would be left to learn from than there are classes.

    Example:
        >>> learn, validate = split(10, 0.2, seed=0, labels=np.array([0] * 5 + [1] * 5))
        >>> len(learn), (validate // 5).tolist()  # one of each class
        (8, [0, 1])
    """
    rng = np.random.default_rng(seed)
    order = rng.permutation(size)
    count = min(max(round(fraction * size), 1), size - 1)
    if labels is not None:
        order = order[np.argsort(labels[order], kind="stable")]  # class by class
        sizes = np.bincount(labels)
        if size - count < (sizes > 0).sum():
            raise ValueError(
                f"{size - count} of {size} samples are left to learn from, for "
                f"{(sizes > 0).sum()} classes; expected at least one of each class: give more "
                "samples, a smaller validation_fraction, or a validation set"
            )
        last = np.repeat(sizes, sizes) - 1  # [n], of the same class
        place = np.arange(size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        share = (place + 0.5) / (last + 1) + (place == last)
        order = order[np.lexsort((rng.random(size), share))]
    return np.sort(order[count:]), np.sort(order[:count])


def seed_from(random_state: Any) -> int:
    """A seed from scikit-learn's ``random_state``: None, an int or a ``RandomState``.

    Example:
        >>> seed_from(0) == seed_from(0)
        True
    """
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


@dataclass(frozen=True)
class Standardizer:
    """Takes each column (of images: each channel) to mean 0 and standard deviation 1.

    Shapes:
        mean, scale: ``[columns]`` or ``[channels, 1, 1]``, float64.

    Example:
        >>> standardize = Standardizer.fitted(np.array([[1.0, 5.0], [3.0, 5.0]]))
        >>> standardize(np.array([[5.0, 6.0]]))
        array([[3., 1.]])
    """

    mean: np.ndarray
    scale: np.ndarray

    @classmethod
    def fitted(cls, values: np.ndarray, weights: np.ndarray | None = None) -> Standardizer:
        """The means and deviations of values, each sample counted by its weight.

        A column that does not change is only moved to 0.
        """

        mean, scale = moments(values, weights)
        constant = scale <= 10 * np.finfo(values.dtype).eps * np.abs(mean)
        return cls(mean, np.where(constant, 1.0, scale))

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """``[n, *shape] -> [n, *shape]``, in the precision of the values."""
        return ((values - self.mean) / self.scale).astype(values.dtype, copy=False)

    def inverse(self, values: np.ndarray) -> np.ndarray:
        """Back from standardized values. ``[n, *shape] -> [n, *shape]``.

        In the precision of the values, or in float64 where it cannot hold the result.
        """
        found = values * self.scale + self.mean
        if np.abs(found).max(initial=0) > np.finfo(values.dtype).max:
            return found
        return found.astype(values.dtype, copy=False)


def path_matrix(topology: Topology, nodes: np.ndarray) -> csr_matrix:
    """Which nodes each sample passes on its way from the root.

    Args:
        topology: of the tree.
        nodes: where each sample ends.

    Shapes:
        ``[n] -> [n, num_nodes]``, ones of int64.

    Example:
        >>> path_matrix(Topology([(1, 2), (), ()]), np.array([2, 1])).toarray()
        array([[1, 0, 1],
               [1, 1, 0]])
    """
    ends, place = np.unique(nodes, return_inverse=True)
    paths = [topology.path(node) for node in ends]
    starts = np.cumsum([0, *map(len, paths)])
    columns = np.array([node for path in paths for node in path], np.int64)
    ones = np.ones(len(columns), np.int64)
    return csr_matrix((ones, columns, starts), shape=(len(ends), topology.num_nodes))[place]


def check_number(
    name: str,
    value: Any,
    kind: type,
    low: float,
    high: float = math.inf,
    *,
    open: bool = False,
    optional: bool = False,
) -> None:
    """Checks a parameter of an estimator.

    Args:
        name, value: of the parameter.
        kind: ``numbers.Integral`` or ``numbers.Real``.
        low, high: the range; infinity itself is never in it.
        open: the ends are not in the range.
        optional: None will do too.

    Raises:
        ValueError: it is something else.

    Example:
        >>> check_number("n_members", 0, Integral, 1)
        Traceback (most recent call last):
        ValueError: The 'n_members' parameter must be an int in the range [1, inf). Got 0 instead.
    """
    if value is None and optional:
        return
    inside = isinstance(value, kind) and not isinstance(value, bool) and math.isfinite(value)
    if not (inside and (low < value < high if open else low <= value <= high)):
        article = "an int" if kind is Integral else "a number"
        ends = "()" if open else "[)" if high == math.inf else "[]"
        raise ValueError(
            f"The '{name}' parameter must be {article} in the range {ends[0]}{low:g}, {high:g}"
            f"{ends[1]}{' or None' * optional}. Got {value!r} instead."
        )


def check_bool(name: str, value: Any) -> None:
    """Checks a parameter of an estimator that says yes or no.

    Raises:
        ValueError: it is neither True nor False; words would all count as True.

    Example:
        >>> check_bool("standardize", "no")
        Traceback (most recent call last):
        ValueError: The 'standardize' parameter must be True or False. Got 'no' instead.
    """
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"The '{name}' parameter must be True or False. Got {value!r} instead.")
