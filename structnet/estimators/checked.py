"""The scikit-learn side of tree classifiers and regressors: arrays, weights, splits, paths.

Inputs are tables ``[n, features]`` or images ``[n, channels, height, width]``. Functions, not a
base class: an estimator calls those that it needs.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets

from structnet.estimators.scale import fractions, moments
from structnet.routing.topology import Topology


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
