"""The statistics of a tree's labels as buffers of a module, alike in all processes that train it.

Of several processes, each counts what it records beside the buffers. So the buffers remain equal
whether their training broadcasts those of process 0, as ``DistributedDataParallel`` does at each
step and :func:`.fit` after each epoch, or not; and nothing is counted twice.
"""

from __future__ import annotations

import zlib
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from structnet.label_tree.codes import LabelCodes
from structnet.label_tree.reassignment import Statistics
from structnet.label_tree.rows import add_rows
from structnet.training.processes import are_connected


class Recorded(nn.Module):
    """A module that records the decisions for the labels of a tree.

    Attributes:
        counts: frequency of each label.
        sums, seen: statistics, see :class:`.Statistics`; without those that this process has
            recorded since the processes last added up theirs.
    """

    counts: Tensor
    sums: Tensor
    seen: Tensor
    _codes: LabelCodes
    _own: tuple[Tensor, Tensor] | None = None  # of this process alone, if there are several

    @property
    def structure_of_weights(self) -> LabelCodes:
        """The tree that the weights belong to; :func:`.fit` averages weights of one tree only."""
        return self._codes

    @property
    def statistics(self) -> Statistics:
        """The statistics since labels came to their nodes; on a CPU, the arrays are shared.

        With several processes they are copies, with what this process has recorded.
        """
        return Statistics(*(each.cpu().numpy() for each in self._all()))

    @torch.no_grad()
    def sum_statistics(self) -> None:
        """Adds up what the processes have recorded; all of them must call it.

        Raises:
            RuntimeError: the processes have different trees.
        """
        if are_connected() and len(self.seen):
            self._check_alike()
            for each in self._recorded():
                dist.all_reduce(each)
        if self._own is not None:
            for total, each in zip((self.sums, self.seen), self._own, strict=True):
                total += each
                each.zero_()

    def forget(self) -> None:
        """Sets the statistics to 0."""
        self.sums.zero_()
        self.seen.zero_()
        self._begin_anew()

    def _record(self, row: Tensor, p: Tensor) -> None:
        """Adds an example's probabilities at each row of the statistics. ``[k], [k, arity]``"""
        sums, seen = self._recorded() if are_connected() else (self.sums, self.seen)
        add_rows(sums, row, p.to(sums.dtype))
        add_rows(seen, row, torch.ones_like(row, dtype=seen.dtype))

    def _keep(self, rows: Statistics, share: float = 1.0) -> None:
        """Replaces the statistics by a share of others, of another tree."""
        device = self.sums.device
        self.sums = torch.from_numpy(rows.sums * rows.sums.dtype.type(share)).to(device)
        self.seen = torch.from_numpy(rows.seen * share).to(device)
        self._begin_anew()

    def _begin_anew(self) -> None:
        """Forgets what this process alone has recorded."""
        self._own = None if self._own is None else self._nothing()

    def _recorded(self) -> tuple[Tensor, Tensor]:
        self._own = self._nothing() if self._own is None else self._own
        return self._own

    def _nothing(self) -> tuple[Tensor, Tensor]:
        return torch.zeros_like(self.sums), torch.zeros_like(self.seen)

    def _all(self) -> tuple[Tensor, Tensor]:
        if self._own is None:
            return self.sums, self.seen
        return self.sums + self._own[0], self.seen + self._own[1]

    def _check_alike(self) -> None:
        number = zlib.crc32(self._codes.children.tobytes())
        bounds = torch.tensor([number, -number], device=self.seen.device)
        dist.all_reduce(bounds, dist.ReduceOp.MAX)
        if bounds.sum() != 0:
            raise RuntimeError(
                "the processes have different trees, so their statistics cannot be added up; "
                "expected the same one in all of them, as of the same seed or LabelCodes"
            )

    def _apply(self, fn: Any, recurse: bool = True) -> Recorded:
        before = {name: getattr(self, name) for name in ("counts", "sums", "seen")}
        super()._apply(fn, recurse)
        for name, value in before.items():
            now = getattr(self, name)
            if now.dtype != value.dtype:  # as by .float() and .half(), in which counts stop growing
                setattr(self, name, value.to(now.device))
        if self._own is not None:
            self._own = (self._own[0].to(self.seen.device), self._own[1].to(self.seen.device))
        return self

    def _save_to_state_dict(self, destination: dict, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        if self._own is not None:
            destination[prefix + "sums"], destination[prefix + "seen"] = self._all()
