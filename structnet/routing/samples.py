"""Inputs, targets and weights as one thing that can be indexed, batched and moved.

Inputs are what the family takes: a tensor, a numpy array, a sparse matrix in rows (CSR), or what
becomes a tensor batch by batch (``on_demand``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from scipy.sparse import issparse
from torch import Tensor

from structnet.routing.on_demand import FromDataset, OnDemand


@dataclass(frozen=True)
class Samples:
    """Samples to train or evaluate on; ``samples[indices]`` is a batch of them.

    Args:
        x: inputs: a tensor, an array, a CSR matrix, or :class:`.OnDemand`.
        targets: classes or numbers, a tensor.
        weights: the count of each sample, of mean 1; None counts all alike.
        augment: the function that changes the inputs of every batch at random, as they are taken;
            with torch's global generator, which training seeds.

    Shapes:
        x ``[n, *shape]``; targets ``[n]``, int64, or ``[n, columns]``; weights ``[n]``.

    Raises:
        TypeError: a part is something else.
        ValueError: the parts differ in length, or the weights are not one number each.

    Example:
        >>> samples = Samples(torch.zeros(5, 2), torch.tensor([0, 1, 1, 0, 1]))
        >>> samples[np.array([0, 1])].targets
        tensor([0, 1])
    """

    x: Any
    targets: Tensor
    weights: Tensor | None = None  # the loss of a batch is their weighted mean
    augment: Callable[[Tensor], Tensor] | None = None

    def __post_init__(self) -> None:
        if not (isinstance(self.x, Tensor | np.ndarray | OnDemand) or is_csr(self.x)):
            got = f"{self.x.format} matrix" if issparse(self.x) else type(self.x).__name__
            raise TypeError(f"x must be a tensor, an array or a CSR matrix. Got {got}.")
        for name in ("targets", "weights"):
            part = getattr(self, name)
            if not isinstance(part, Tensor) and (name != "weights" or part is not None):
                raise TypeError(f"{name} must be a tensor. Got {type(part).__name__}.")
        for name, part in (("targets", self.targets), ("weights", self.weights)):
            if part is not None and len(part) != len(self):
                raise ValueError(
                    f"there are {len(part)} {name} for {len(self)} samples; expected one each"
                )
        if self.weights is not None and self.weights.dim() != 1:  # would multiply as a table
            raise ValueError(
                f"weights must be [{len(self)}], one each. Got {list(self.weights.shape)}."
            )

    @classmethod
    def from_dataset(cls, source: Any, weights: Tensor | None = None) -> Samples:
        """Samples that a torch Dataset holds, read batch by batch.

        Each item is read once now, for its target, and again whenever it is in a batch; no more
        than a batch is in memory at once. Growth keeps what reaches a leaf, as far as
        ``cache_bytes`` of its settings go; 0 reads the items again at every step.

        Args:
            source: Dataset with a length and items by number, each a pair of an input and its
                target; or a DataLoader of one, whose dataset, ``collate_fn`` and workers are taken;
                its batch size is the most that is read at once where training does not say.
            weights: count of each sample; None counts all alike.

        Shapes:
            an input ``[*shape]``; a target: a class, or a number or ``[columns]`` of them; weights
            ``[n]``.

        Raises:
            TypeError: it is no such Dataset, or its items are no pairs.
            ValueError: it is empty, its inputs differ in shape, or the DataLoader has a sampler of
                its own.

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
        """The most samples to ask for at a time where training does not say; None is any number."""
        return self.x.at_once if isinstance(self.x, OnDemand) else None

    def __len__(self) -> int:
        return self.x.shape[0]  # a sparse matrix has no length

    def __getitem__(self, indices: np.ndarray | Tensor | slice) -> Samples:
        return self._batch(indices, self.x[_as_taken_by(self.x, indices)])

    def read_ahead(self, batches: Sequence[np.ndarray | slice]) -> Iterator[Samples]:
        """Batches one after the other, whose inputs may be read before they are asked for."""
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
        # What was augmented once is not augmented again.
        return replace(batch, x=self.augment(batch.x), augment=None)

    def to(self, device: str | torch.device) -> Samples:
        """The same on a device; what is no tensor stays where it is."""
        return self._with_each(lambda part: part.to(device) if isinstance(part, Tensor) else part)

    def _with_each(self, change: Callable[[Any], Any]) -> Samples:
        weights = None if self.weights is None else change(self.weights)
        return replace(self, x=change(self.x), targets=change(self.targets), weights=weights)

    def counts(self) -> np.ndarray:
        """What each sample counts: its weight, or 1 (then int64). ``[n]``.

        Raises:
            ValueError: all weights are 0, or one is below.
        """
        if self.weights is None:
            return np.ones(len(self), np.int64)
        counts = self.weights.double().cpu().numpy()
        if len(counts) and not counts.any():
            raise ValueError(
                f"the weights of all {len(counts):,} samples are 0; expected one that counts"
            )
        if (counts < 0).any():
            raise ValueError(f"weights must be 0 or more. Got {counts.min():g}.")
        return counts

    def mean(self, losses: Tensor) -> Tensor:
        """The mean of the samples' losses, each counted by its weight. ``[n] -> []``."""
        return weighted_mean(losses, self.weights)


def as_samples(given: Any, num_classes: int | None) -> Samples:
    """Samples that a tree can learn from, of a torch Dataset or DataLoader too.

    Args:
        given: samples, or what :meth:`Samples.from_dataset` takes.
        num_classes: number of classes of the tree; None lets any numbers pass.

    Raises:
        TypeError: they are none of these.
        ValueError: a target is no class of the tree, or the weights do not count.
    """
    samples = given if isinstance(given, Samples) else Samples.from_dataset(given)
    if num_classes is None and samples is not given and samples.targets.dim() == 1:
        samples = replace(samples, targets=samples.targets.float()[:, None])  # whole numbers
    check_targets(samples.targets, num_classes)
    samples.counts()  # refuses weights that do not count
    return samples


def weighted_mean(losses: Tensor, weights: Tensor | None) -> Tensor:
    """The mean of losses, each times its weight if there are any. ``[n], [n] -> []``."""
    return losses.mean() if weights is None else (losses * weights).mean()


def is_csr(x: Any) -> bool:
    """Is it a sparse matrix in rows?

    Example:
        >>> from scipy.sparse import csr_matrix
        >>> is_csr(csr_matrix((2, 3))), is_csr(csr_matrix((2, 3)).tocsc())
        (True, False)
    """
    return issparse(x) and x.format == "csr"


def _as_taken_by(part: Any, indices: Any) -> Any:
    """Indices as a tensor takes them, or as numpy and scipy do."""
    if isinstance(part, Tensor):
        return torch.from_numpy(indices) if isinstance(indices, np.ndarray) else indices
    return indices.numpy() if isinstance(indices, Tensor) else indices


def counted(x: Any) -> tuple[Any, np.ndarray]:
    """Inputs, and what each of them counts (see :meth:`Samples.counts`). ``[n, ...], [n]``.

    Args:
        x: inputs, or :class:`Samples`.

    Raises:
        TypeError: it is neither.
    """
    if not hasattr(x, "shape") and not isinstance(x, Samples):
        raise TypeError(
            "samples must be Samples(x, targets) or inputs alone, a tensor or an array; of a torch "
            f"Dataset, Samples.from_dataset(dataset). Got {type(x).__name__}."
        )
    return (x.x, x.counts()) if isinstance(x, Samples) else (x, np.ones(x.shape[0], np.int64))


def check_targets(targets: Tensor, num_classes: int | None) -> None:
    """Refuses targets that are no classes of a tree which predicts classes.

    A loss does not look at their range: on an accelerator that would wait for every batch.

    Args:
        targets: the targets of all samples.
        num_classes: the number of classes of the tree; None lets any numbers pass.

    Shapes:
        targets ``[n]``, int64.

    Raises:
        ValueError: they are not int64, not one each, or one is out of range.

    Example:
        >>> check_targets(torch.tensor([0, 3]), num_classes=3)
        Traceback (most recent call last):
        ValueError: targets must be classes from 0 to 2, as the tree has 3 outputs. Got 3 at
        sample 1.
    """
    if num_classes is None:
        return
    check_indices(targets, len(targets))
    wrong = ((targets < 0) | (targets >= num_classes)).nonzero()
    if len(wrong):
        raise ValueError(
            f"targets must be classes from 0 to {num_classes - 1}, as the tree has {num_classes} "
            f"outputs. Got {int(targets[wrong[0]])} at sample {int(wrong[0])}."
        )


def check_indices(targets: Tensor, length: int) -> None:
    """Refuses targets that are not one class for each of so many samples.

    Shapes:
        targets ``[length]``, int64.

    Raises:
        ValueError: another shape or dtype.
    """
    if targets.shape != (length,) or targets.dtype != torch.int64:
        got = f"{targets.dtype} {list(targets.shape)}".removeprefix("torch.")
        raise ValueError(f"targets must be classes [{length}], int64. Got {got}.")
