"""Inputs that are made batch by batch, from sparse rows or by a torch Dataset.

They take the place of a tensor, so that only one batch at a time is in memory.
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

AT_ONCE = 64  # items of a Dataset that are read at once by default
NUMBERS = 2**22  # numbers of a sparse matrix that are made dense at once by default


class OnDemand:
    """Inputs that are made when they are indexed, each time anew.

    ``inputs[places]`` and ``inputs[a:b]`` are tensors ``[m, ...]``, ``inputs[i]`` is one input.

    Attributes:
        shape: shape of all inputs together, ``(n, ...)``.
        at_once: largest number of inputs to make at once unless training sets one; None for any
            number.

    Raises:
        TypeError: all inputs are requested at once, by their length or as an array.
    """

    shape: tuple[int, ...]
    at_once: int | None = None

    def __getitem__(self, indices: Any) -> Tensor:
        return next(iter(self.read_ahead([indices])))

    # With a length, torch and numpy would convert it like a list, with all inputs in memory.
    def __len__(self) -> int:
        raise self._too_many()

    def __array__(self, *how: Any, **more: Any) -> np.ndarray:
        raise self._too_many()

    def _too_many(self) -> TypeError:
        return TypeError(
            f"{self.shape[0]:,} inputs that are made batch by batch are not held all at once; "
            "expected some of them, such as samples[:500]"
        )

    def read_ahead(self, batches: Iterable[Any]) -> Iterator[Tensor]:
        """Yields batches one by one; they may be made ahead of time.

        Args:
            batches: indices of each batch: a number, a slice, or places ``[n]``.
        """
        listed, every = list(batches), np.arange(self.shape[0])
        places = [np.atleast_1d(every[each]) for each in listed]  # of slices, views of one array
        for each, made in zip(listed, self._made(places), strict=True):
            yield made[0] if isinstance(each, int | np.integer) else made

    def _made(self, batches: Sequence[np.ndarray]) -> Iterable[Tensor]:
        """The inputs at the places of each batch, ``[n]`` each."""
        raise NotImplementedError


class DenseRows(OnDemand):
    """Rows of a sparse matrix, made dense batch by batch.

    Args:
        rows: sparse matrix, which stays in memory.
        scale: function that standardizes dense rows; None if they are not scaled.
        dtype: dtype of the batches.

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
        source: Dataset with a length and items by number; or a DataLoader, of which the dataset,
            the ``collate_fn`` and the workers are used, and the batch size is the largest number of
            items to read at once. Its order is not used, as training has its own.

    Raises:
        TypeError: the Dataset has no length or no items by number, or they are not pairs.
        ValueError: the Dataset is empty, or the DataLoader has a sampler of its own.
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
        """The targets of all items; reads each item once.

        Shapes:
            classes ``[n]``, int64; numbers ``[n, columns]``, float32.

        Raises:
            TypeError: an item is not a pair of an input and a target.
            ValueError: the inputs of a batch have another shape than the first.
        """
        size, parts = self.at_once or AT_ONCE, []
        starts = range(0, self.shape[0], size)
        batches = [np.arange(start, min(start + size, self.shape[0])) for start in starts]
        for places, (x, y) in zip(batches, self._pairs(batches), strict=True):
            if x.shape[1:] != self.shape[1:]:
                raise ValueError(
                    f"inputs of the Dataset from {places[0]} to {places[-1]} have shape "
                    f"{list(x.shape[1:])}; expected {list(self.shape[1:])}, the shape of the first"
                )
            parts.append(y)
        y = torch.cat(parts)
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
        several = getattr(self.dataset, "__getitems__", None)  # torch's own loader looks for it too
        items = several(places) if several else [self.dataset[place] for place in places]
        return self._checked(self.how["collate_fn"](items))

    def _checked(self, batch: Any) -> tuple[Tensor, Tensor]:
        if not isinstance(batch, tuple | list) or len(batch) != 2:
            size = f" of {len(batch)}" if isinstance(batch, tuple | list) else ""
            raise TypeError(
                "items of the Dataset must be pairs of an input and a target, or be made so by a "
                f"collate_fn. Got {type(batch).__name__}{size}."
            )
        x, y = map(torch.as_tensor, batch)
        return (x if x.is_floating_point() else x.float()), y


# The attributes of a DataLoader that say how its dataset is read.
TAKEN = ("collate_fn", "num_workers", "worker_init_fn", "multiprocessing_context", "timeout")
NO_DATASETS = (IterableDataset, Tensor, np.ndarray, dict, str)


def _check_order(loader: DataLoader) -> None:
    """Refuses samplers that choose or weigh samples, as training chooses the order itself."""
    for part, known in (
        (loader.sampler, (RandomSampler, SequentialSampler)),
        (loader.batch_sampler, (BatchSampler, type(None))),
    ):
        if type(part) not in known:
            raise ValueError(
                f"the DataLoader has a {type(part).__name__}, but training orders samples itself; "
                "expected torch.utils.data.Subset to select samples, or "
                "Samples.from_dataset(dataset, weights) to weight them"
            )
