"""Inputs that are made when a batch of them is asked for: of sparse rows, or read by a Dataset.

They stand where a tensor would, so that no more than a batch of them is in memory at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, cast

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    default_collate,
)

AT_ONCE = 64  # items of a Dataset, where nobody says how many
NUMBERS = 2**22  # of a sparse matrix that are dense at once, likewise


class OnDemand:
    """Inputs of which a batch is made when it is asked for, always the same but for chance.

    ``inputs[places]``, ``inputs[a:b]`` and ``inputs[i]`` give tensors, ``[m, ...]`` or one input.

    Attributes:
        shape: shape of all of them, as of a tensor.
        at_once: most of them to ask for at a time where training does not say; None is any number.

    Raises:
        TypeError: all of them are asked for at once, as an array or a list.
    """

    shape: tuple[int, ...]
    at_once: int | None = None

    def __getitem__(self, indices: Any) -> Tensor:
        return next(iter(self.read_ahead([indices])))

    # With a length, torch and numpy would take it for a list, and hold all of it at once.
    def __len__(self) -> int:
        raise self._too_many()

    def __array__(self, *how: Any, **more: Any) -> np.ndarray:
        raise self._too_many()

    def _too_many(self) -> TypeError:
        return TypeError(
            f"{self.shape[0]:,} inputs that are made batch by batch are not held all at once; "
            "expected some of them, as of samples[:500]"
        )

    def read_ahead(self, batches: Iterable[Any]) -> Iterator[Tensor]:
        """Batches one after the other, which may be made before they are asked for.

        Args:
            batches: indices of each: a number, a slice, or places ``[n]``.
        """
        kept = list(batches)
        places = [np.atleast_1d(np.arange(self.shape[0])[each]) for each in kept]
        for each, found in zip(kept, self._made(places), strict=True):
            yield found[0] if isinstance(each, int | np.integer) else found

    def _made(self, batches: Sequence[np.ndarray]) -> Iterable[Tensor]:
        """The batches at these places, ``[n]`` each."""
        raise NotImplementedError


class DenseRows(OnDemand):
    """Rows of a sparse matrix, dense.

    Args:
        rows: matrix, as it stays in memory.
        scale: function of dense rows that standardizes them; None leaves them as they are.
        dtype: precision of the batches.

    Shapes:
        rows ``[n, columns]``; batches ``[m, columns]``.

    Example:
        >>> DenseRows(csr_matrix(np.eye(3)))[np.array([2, 0])]
        tensor([[0., 0., 1.],
                [1., 0., 0.]])
    """

    def __init__(
        self,
        rows: csr_matrix,
        scale: Callable[[np.ndarray], np.ndarray] | None = None,
        dtype: torch.dtype = torch.float32,
    ):
        self.rows, self.scale, self.dtype = rows, scale, dtype
        self.shape = rows.shape
        self.at_once = max(NUMBERS // max(rows.shape[1], 1), 1)

    def _made(self, batches: Sequence[np.ndarray]) -> Iterator[Tensor]:
        for places in batches:
            dense = self.rows[places].toarray()
            yield torch.as_tensor(dense if self.scale is None else self.scale(dense)).to(self.dtype)


class FromDataset(OnDemand):
    """The inputs of a torch Dataset, whose items are pairs of an input and a target.

    Args:
        source: Dataset with a length and items by number, or a DataLoader: its dataset, its
            ``collate_fn``, its workers, and its batch size as the most to read at once. The order
            is the training's own.

    Raises:
        TypeError: the Dataset has no length or no items by number, or they are no pairs.
        ValueError: it is empty, or the DataLoader has a sampler of its own.
    """

    def __init__(self, source: Any):
        loader = source if isinstance(source, DataLoader) else None
        self.dataset = cast(Any, source if loader is None else loader.dataset)
        indexed = hasattr(self.dataset, "__len__") and hasattr(self.dataset, "__getitem__")
        if not indexed or isinstance(self.dataset, NO_DATASETS):
            raise TypeError(
                "samples must be Samples, a torch Dataset with a length and items by number, or a "
                f"DataLoader of one. Got {type(self.dataset).__name__}."
            )
        if not len(self.dataset):
            raise ValueError("the Dataset has 0 items; expected at least 1")
        self.how: dict[str, Any] = {"collate_fn": default_collate}
        self.at_once = AT_ONCE
        if loader is not None:
            self.how = {name: getattr(loader, name) for name in TAKEN}
            self.at_once = loader.batch_size or AT_ONCE
            _check_order(loader)
        self.shape = (len(self.dataset), *self._pair([0])[0].shape[1:])

    def targets(self) -> Tensor:
        """The targets of all items, each of which is read once.

        Shapes:
            classes ``[n]``, int64; numbers ``[n, columns]``, float32.

        Raises:
            TypeError: an item is no pair of an input and a target.
            ValueError: its input has another shape than the first.
        """
        size, found = self.at_once or AT_ONCE, []
        starts = range(0, self.shape[0], size)
        batches = [np.arange(start, min(start + size, self.shape[0])) for start in starts]
        for places, (x, y) in zip(batches, self._pairs(batches), strict=True):
            if x.shape[1:] != self.shape[1:]:
                raise ValueError(
                    f"inputs of the Dataset from {places[0]} to {places[-1]} have shape "
                    f"{list(x.shape[1:])}; expected {list(self.shape[1:])}, as the first has"
                )
            found.append(y)
        y = torch.cat(found)
        if not y.is_floating_point():
            return y.long()
        return y.float().reshape(len(y), -1)

    def _made(self, batches: Sequence[np.ndarray]) -> Iterator[Tensor]:
        return (x for x, _ in self._pairs(batches))

    def _pairs(self, batches: Sequence[np.ndarray]) -> Iterator[tuple[Tensor, Tensor]]:
        lists = [places.tolist() for places in batches]
        if len(lists) > 1 and self.how.get("num_workers"):
            for batch in DataLoader(self.dataset, batch_sampler=lists, **self.how):
                yield self._checked(batch)
        else:
            yield from map(self._pair, lists)

    def _pair(self, places: list[int]) -> tuple[Tensor, Tensor]:
        several = getattr(self.dataset, "__getitems__", None)  # as torch's own loader asks
        items = several(places) if several else [self.dataset[place] for place in places]
        return self._checked(self.how["collate_fn"](items))

    def _checked(self, batch: Any) -> tuple[Tensor, Tensor]:
        if not isinstance(batch, tuple | list) or len(batch) != 2:
            size = f" of {len(batch)}" if isinstance(batch, tuple | list) else ""
            raise TypeError(
                "items of the Dataset must be pairs of an input and a target, which a collate_fn "
                f"may make of others. Got {type(batch).__name__}{size}."
            )
        x, y = map(torch.as_tensor, batch)
        return (x if x.is_floating_point() else x.float()), y


# What a DataLoader says of how its dataset is read.
TAKEN = ("collate_fn", "num_workers", "worker_init_fn", "multiprocessing_context", "timeout")
NO_DATASETS = (IterableDataset, Tensor, np.ndarray, dict, str)


def _check_order(loader: DataLoader) -> None:
    """Refuses a sampler that means something: the order is the training's."""
    for part, known in (
        (loader.sampler, (RandomSampler, SequentialSampler)),
        (loader.batch_sampler, (BatchSampler, type(None))),
    ):
        if type(part) not in known:
            raise ValueError(
                f"the DataLoader has a {type(part).__name__}, but the order is the training's own; "
                "expected torch.utils.data.Subset for some of the samples, or "
                "Samples.from_dataset(dataset, weights) for some that count more"
            )
