"""Inputs, targets and weights as one object that can be indexed, batched and moved.

Inputs are whatever the model takes: a tensor, a numpy array, a sparse matrix in CSR format, or
inputs that are made batch by batch (``on_demand``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from scipy.sparse import issparse, vstack
from torch import Tensor

from structnet.routing.on_demand import FromDataset, OnDemand
from structnet.training.targets import check_classes


@dataclass(frozen=True)
class Samples:
    """Samples to train or evaluate on; ``samples[indices]`` is a batch of them.

    Args:
        x: inputs: a tensor, an array, a CSR matrix, or :class:`.OnDemand`.
        targets: classes or numbers, a tensor.
        weights: weight of each sample; their mean should be 1. None weights all equally.
        groups: group of each sample, as a number; where some are held out, they are in whole
            groups. None if each is a group by itself.
        augment: function that changes the inputs of each batch at random when it is taken; it must
            use torch's global generator, which training seeds.

    Shapes:
        x ``[n, *shape]``; targets ``[n]``, int64, or ``[n, columns]``; weights
        and groups ``[n]``.

    Raises:
        TypeError: a part has another type.
        ValueError: the parts have different lengths, or the weights are not one number each.

    Example:
        >>> samples = Samples(torch.zeros(5, 2), torch.tensor([0, 1, 1, 0, 1]))
        >>> samples[np.array([0, 1])].targets
        tensor([0, 1])
    """

    x: Any
    targets: Tensor
    weights: Tensor | None = None  # factors of the samples' losses
    augment: Callable[[Tensor], Tensor] | None = None
    groups: Tensor | None = None

    def __post_init__(self) -> None:
        if not (isinstance(self.x, Tensor | np.ndarray | OnDemand) or is_csr(self.x)):
            got = f"{self.x.format} matrix" if issparse(self.x) else type(self.x).__name__
            raise TypeError(f"x must be a tensor, an array or a CSR matrix. Got {got}.")
        parts = {"targets": self.targets, "weights": self.weights, "groups": self.groups}
        for name, part in parts.items():
            if not isinstance(part, Tensor) and (name == "targets" or part is not None):
                raise TypeError(f"{name} must be a tensor. Got {type(part).__name__}.")
        for name, part in parts.items():
            if part is not None and len(part) != len(self):
                raise ValueError(
                    f"there are {len(part)} {name} for {len(self)} samples; expected one each"
                )
        if self.weights is not None and self.weights.dim() != 1:  # a column would broadcast
            raise ValueError(
                f"weights must be [{len(self)}], one each. Got {list(self.weights.shape)}."
            )

    @classmethod
    def from_dataset(cls, source: Any, weights: Tensor | None = None) -> Samples:
        """Samples from a torch Dataset, read batch by batch.

        Each item is read once now, for its target, and again whenever it is in a batch; only one
        batch at a time is in memory. When a tree grows, it caches the samples that reach a leaf, up
        to ``cache_bytes`` of its settings; with 0, it reads the items again at every step.

        Args:
            source: Dataset with a length and items by number, each a pair of an input and its
                target; or a DataLoader, of which the dataset, the ``collate_fn`` and the workers
                are used, and the batch size is the largest number of items to read at once unless
                training sets one.
            weights: weight of each sample; None weights all equally.

        Shapes:
            an input ``[*shape]``; a target: a class, a number, or numbers ``[columns]``; weights
            ``[n]``.

        Raises:
            TypeError: the source is not such a Dataset, or its items are not pairs.
            ValueError: the Dataset is empty, its inputs differ in shape, or the DataLoader has a
                sampler of its own.

        Example:
            >>> images = [(torch.rand(1, 8, 8), label) for label in (0, 1, 0)]  # or files
            >>> samples = Samples.from_dataset(images)
            >>> samples.x.shape, samples[np.array([1, 2])].x.shape, samples.targets
            ((3, 1, 8, 8), torch.Size([2, 1, 8, 8]), tensor([0, 1, 0]))
        """
        inputs = FromDataset(source)
        return cls(inputs, inputs.targets(), weights)

    @property
    def at_once(self) -> int | None:
        """The largest number of samples to take at once by default; None for any number."""
        return self.x.at_once if isinstance(self.x, OnDemand) else None

    def __len__(self) -> int:
        return self.x.shape[0]  # len() of a sparse matrix raises an error

    def __getitem__(self, indices: np.ndarray | Tensor | slice) -> Samples:
        return self._batch(indices, self.x[_as_taken_by(self.x, indices)])

    def read_ahead(self, batches: Sequence[np.ndarray | slice]) -> Iterator[Samples]:
        """Yields batches one by one; their inputs may be read ahead of time."""
        if not isinstance(self.x, OnDemand):
            return (self[each] for each in batches)
        inputs = self.x.read_ahead(batches)
        return (self._batch(each, x) for each, x in zip(batches, inputs, strict=True))

    def _batch(self, indices: Any, x: Any) -> Samples:
        batch = self._with_each(
            lambda part: x if part is self.x else part[_as_taken_by(part, indices)]
        )
        if self.augment is None:
            return batch
        # Without augment, as a batch of a batch must not be changed again.
        return replace(batch, x=self.augment(batch.x), augment=None)

    def to(self, device: str | torch.device) -> Samples:
        """The samples on a device; parts that are not tensors are not moved."""
        return self._with_each(lambda part: part.to(device) if isinstance(part, Tensor) else part)

    def _with_each(self, change: Callable[[Any], Any]) -> Samples:
        others = self.weights, self.groups
        weights, groups = (part if part is None else change(part) for part in others)
        parts = {"x": change(self.x), "targets": change(self.targets), "weights": weights}
        return replace(self, **parts, groups=groups)

    def counts(self) -> np.ndarray:
        """The weight of each sample in float64, or without weights a 1 in int64. ``[n]``.

        Raises:
            ValueError: all weights are 0, or one is below 0.
        """
        if self.weights is None:
            return np.ones(len(self), np.int64)
        counts = self.weights.double().cpu().numpy()
        if len(counts) and not counts.any():
            raise ValueError(
                f"the weights of all {len(counts):,} samples are 0; expected one above 0"
            )
        if (counts < 0).any():
            raise ValueError(f"weights must be 0 or more. Got {counts.min():g}.")
        return counts

    def group_numbers(self) -> np.ndarray | None:
        """The group of each sample, ``[n]``; None without groups."""
        return None if self.groups is None else self.groups.cpu().numpy()

    def mean(self, losses: Tensor) -> Tensor:
        """The mean of the samples' losses, each times its weight. ``[n] -> []``."""
        return weighted_mean(losses, self.weights)


def inputs_of(samples: Any) -> Any:
    """The inputs of samples; inputs alone as they are.

    Example:
        >>> x = torch.zeros(5, 2)
        >>> inputs_of(Samples(x, torch.zeros(5))) is x, inputs_of(x) is x
        (True, True)
    """
    return samples.x if isinstance(samples, Samples) else samples


def as_samples(data: Any, num_classes: int | None) -> Samples:
    """Samples that a tree can be trained on, also from a torch Dataset or DataLoader.

    Args:
        data: samples, a Dataset or a DataLoader, as in :meth:`Samples.from_dataset`.
        num_classes: number of classes of the tree; None if it predicts numbers, which are not
            checked.

    Raises:
        TypeError: the samples have another type.
        TargetError: a target is not a class of the tree.
        ValueError: the targets have another shape or type, or the weights are below 0 or all 0.
    """
    samples = data if isinstance(data, Samples) else Samples.from_dataset(data)
    if num_classes is None and samples is not data and samples.targets.dim() == 1:
        # Whole numbers, which from_dataset takes for classes.
        samples = replace(samples, targets=samples.targets.float()[:, None])
    if num_classes is not None:
        check_classes(samples.targets, num_classes, "the samples")
    samples.counts()  # refuses weights below 0 and weights that are all 0
    return samples


def weighted_mean(losses: Tensor, weights: Tensor | None) -> Tensor:
    """The mean of losses, each times its weight if there are weights. ``[n], [n] -> []``."""
    return losses.mean() if weights is None else (losses * weights).mean()


def is_csr(x: Any) -> bool:
    """True for a sparse matrix in CSR format.

    Example:
        >>> from scipy.sparse import csr_matrix
        >>> is_csr(csr_matrix((2, 3))), is_csr(csr_matrix((2, 3)).tocsc())
        (True, False)
    """
    return issparse(x) and x.format == "csr"


def stacked(x: Any, more: Any) -> Any:
    """Inputs followed by further ones of the same kind, tensors, arrays or CSR matrices.

    Shapes:
        ``[n, *shape], [m, *shape] -> [n + m, *shape]``.

    Example:
        >>> stacked(torch.zeros(2, 3), torch.ones(1, 3)).shape
        torch.Size([3, 3])
    """
    if isinstance(x, Tensor):
        return torch.cat([x, more])
    return vstack([x, more], format="csr") if issparse(x) else np.concatenate([x, more])


def _as_taken_by(part: Any, indices: Any) -> Any:
    """Indices as a tensor for tensors, as an array for others."""
    if isinstance(part, Tensor):
        return torch.from_numpy(indices) if isinstance(indices, np.ndarray) else indices
    return indices.numpy() if isinstance(indices, Tensor) else indices


def counted(x: Any) -> tuple[Any, np.ndarray]:
    """Inputs and the weight of each (see :meth:`Samples.counts`). ``[n, ...], [n]``.

    Args:
        x: inputs or :class:`Samples`.

    Raises:
        TypeError: x is neither.
        ValueError: weights are below 0, or all are 0.
    """
    if not hasattr(x, "shape") and not isinstance(x, Samples):
        raise TypeError(
            "samples must be Samples(x, targets) or inputs alone, a tensor or an array; for a "
            f"torch Dataset, Samples.from_dataset(dataset). Got {type(x).__name__}."
        )
    return (x.x, x.counts()) if isinstance(x, Samples) else (x, np.ones(x.shape[0], np.int64))
