"""The user's data once they are checked: arrays, classes, weights, seeds.

Inputs are tables ``[n, features]``, dense or sparse (CSR), or images
``[n, channels, height, width]``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.sparse import csr_matrix, issparse
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from torch import Tensor

from structnet.estimators.scale import Standardizer, fractions
from structnet.routing.on_demand import DenseRows
from structnet.routing.samples import Samples

NAMED = 5  # classes that an error names beside the first


class Checked(NamedTuple):
    """Inputs, targets and weights that have been checked.

    Attributes:
        x: inputs, finite.
        y: targets: codes of classes, int64, or numbers.
        weights: count of each sample; None counts all alike.
        groups: group of each sample, as a number from 0; samples are held out in whole groups. None
            if each is a group by itself.

    Shapes:
        x ``[n, *shape]``; y ``[n]`` or ``[n, columns]``; weights ``[n]``, float64, above 0; groups
        ``[n]``.
    """

    x: np.ndarray | csr_matrix
    y: np.ndarray
    weights: np.ndarray | None
    groups: np.ndarray | None = None

    def take(self, indices: np.ndarray) -> Checked:
        """The samples at these places."""
        x, y, *others = self
        return Checked(x[indices], y[indices], *(p if p is None else p[indices] for p in others))

    def of(self, columns: np.ndarray | None) -> Checked:
        """The samples with some of their columns; None for all of them."""
        return self if columns is None else self._replace(x=self.x[:, columns])

    def counting(self, least: int) -> Checked:
        """The samples whose weight is above 0.

        Raises:
            ValueError: there are fewer than ``least`` of them.
        """
        kept = counting_places(self.weights, least)
        return self if kept is None else self.take(kept)

    def facts(self, name: str = "data") -> dict[str, Any]:
        """Facts that differ if the data differ, one or more for each part of them.

        With these an error can say which part is not the same.

        Args:
            name: name of the data in the facts.

        Example:
            >>> sorted(Checked(np.eye(2), np.arange(2), None).facts())
            ['groups of the data', 'inputs of the data', 'samples of the data',
            'targets of the data', 'weights of the data']
        """
        x: Any = self.x
        parts = {
            "inputs": (x.indptr, x.indices, x.data) if issparse(x) else (x,),
            "targets": (self.y,),
            "weights": () if self.weights is None else (self.weights,),
            "groups": () if self.groups is None else (self.groups,),
        }
        digests = {f"{part} of the {name}": _digest(*arrays) for part, arrays in parts.items()}
        return {f"samples of the {name}": len(self.y), **digests}

    def samples(
        self,
        inputs: Standardizer | None = None,
        targets: Standardizer | None = None,
        *,
        dense: bool = False,
    ) -> Samples:
        """The samples as a model takes them: tensors, sparse inputs as CSR, weights of mean 1.

        Args:
            inputs: scaler of x, see :class:`.Standardizer`; None leaves x as it is.
            targets: scaler of y, likewise.
            dense: True to turn sparse rows into dense ones, batch by batch.
        """
        x, scale = (self.x, inputs) if dense or inputs is None else (inputs(self.x), None)
        stays = issparse(x) and not dense
        x = x.astype(np.float32) if stays else as_dense(x, scale, torch.float32)
        y = self.y if targets is None else targets(self.y)
        weights = mean_one(self.weights)
        return Samples(
            x,
            torch.tensor(y, dtype=torch.int64 if y.dtype.kind == "i" else torch.float32),
            None if weights is None else torch.tensor(weights, dtype=torch.float32),
            groups=None if self.groups is None else torch.tensor(self.groups),
        )


def facts_of_both(learn: Any, validation: Any | None) -> dict[str, Any]:
    """The facts of the data of a training, and of its validation data, if it has any.

    Args:
        learn, validation: data with a method like :meth:`Checked.facts`.
    """
    held_out = {} if validation is None else validation.facts("validation data")
    return {
        "validation data": None if validation is None else "told",
        **learn.facts("data"),
        **held_out,
    }


def _digest(*arrays: np.ndarray) -> str | None:
    """A text that is different for different arrays; None if there are no arrays."""
    sha = hashlib.sha256()
    for array in arrays:
        sha.update(f"{array.dtype}{array.shape}".encode())
        words = array.astype(str) if array.dtype == object else array
        sha.update(np.ascontiguousarray(words).data.cast("B"))
    return sha.hexdigest() if arrays else None


def as_dense(x: Any, scale: Standardizer | None, dtype: torch.dtype) -> Tensor | DenseRows:
    """Inputs as a tensor or, if they are sparse, as rows that become tensors batch by batch.

    Args:
        x: inputs that have been checked.
        scale: their scaler; None leaves them as they are.
        dtype: precision of the tensors.

    Shapes:
        x ``[n, *shape]``.
    """
    if issparse(x):
        return DenseRows(x, scale, dtype)
    return torch.tensor(x if scale is None else scale(x), dtype=dtype)


def mean_one(weights: np.ndarray | None) -> np.ndarray | None:
    """The weights, scaled so that a sample weighs 1 on average. ``[n] -> [n]``.

    Example:
        >>> mean_one(np.array([2.0, 6.0]))
        array([0.5, 1.5])
    """
    if weights is None:
        return None
    weights = fractions(weights)[0]
    return weights / weights.mean()


def counting_places(weights: np.ndarray | None, least: int) -> np.ndarray | None:
    """The places of the samples whose weight is above 0; None if all weights are.

    Shapes:
        weights ``[n]`` -> ``[m]``.

    Raises:
        ValueError: there are fewer than ``least`` of them.
    """
    if weights is None or weights.all():
        return None
    kept = np.flatnonzero(weights)
    if len(kept) < least:
        without = f"all but {len(kept)} of" if len(kept) else "all"
        raise ValueError(
            f"{without} {len(weights)} samples have the weight zero; expected at least {least} "
            "above it"
        )
    return kept


def numbered(groups: Any, size: int) -> np.ndarray | None:
    """The group of each sample as a number from 0, ``[size]``; None if no groups are given.

    Raises:
        ValueError: there is not one group per sample.

    Example:
        >>> numbered(["b.py", "a.py", "b.py"], 3)
        array([0, 1, 0])
    """
    if groups is None:
        return None
    listed = groups.tolist() if hasattr(groups, "tolist") else groups
    if not isinstance(listed, (list, tuple)):
        raise ValueError(f"groups must be a list or an array. Got {type(groups).__name__}.")
    if len(listed) != size:
        raise ValueError(f"groups must have one entry per sample, {size}. Got {len(listed)}.")
    known: dict[Any, int] = {}
    for place, group in enumerate(listed):
        # NaN differs from itself; a list would be a row of several groups.
        if group is None or group != group or not isinstance(group, Hashable):
            raise ValueError(f"groups must name the group of each sample. Got {group} at {place}.")
        known.setdefault(group, len(known))
    return np.array([known[group] for group in listed])


def encode_labels(
    y: np.ndarray, classes: np.ndarray | None = None, weights: np.ndarray | None = None
) -> tuple[np.ndarray, ...]:
    """The sorted classes, and each label's place among them.

    Args:
        y: labels.
        classes: classes that are already known; by default those that occur in y.
        weights: weights of the samples; a class of weight 0 stays known.

    Shapes:
        y, weights ``[n]`` -> classes ``[classes]``, places ``[n]``.

    Raises:
        ValueError: the targets are not labels, fewer than two weigh more than 0 or all that do have
            the same class, or a label is not among the known classes.

    Example:
        >>> encode_labels(np.array(["no", "yes", "no"]))
        (array(['no', 'yes'], dtype='<U3'), array([0, 1, 0]))
    """
    if classes is None:  # else many classes in few samples are no sign of numbers
        check_classification_targets(y)
    names, codes = np.unique(y, return_inverse=True)
    if classes is None:
        kept = counting_places(weights, least=2)
        counting = np.unique(codes if kept is None else codes[kept])
        if len(counting) == 1:
            raise ValueError(
                f"y has only one class, {names[counting].tolist()[0]!r}, among the samples that "
                "count; expected at least 2 classes"
            )
        return names, codes
    unknown = np.setdiff1d(names, classes)
    if len(unknown):
        first, *others = map(repr, unknown.tolist())
        also = f" (nor {', '.join(others[:NAMED])}{', ...' * (len(others) > NAMED)})" * bool(others)
        raise ValueError(
            f"got the class {first}, which is not in the y to learn from{also}; expected some of "
            f"its {len(classes)} classes"
        )
    return classes, np.searchsorted(classes, y)


def seed_from(random_state: Any) -> int:
    """A seed from scikit-learn's ``random_state``: None, an int or a ``RandomState``.

    Example:
        >>> seed_from(0) == seed_from(0)
        True
    """
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
