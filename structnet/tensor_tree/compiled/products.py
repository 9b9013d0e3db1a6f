"""Products of rows with the weights of their own keys, level by level."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from structnet.message_passing import _kernels as indices
from structnet.message_passing.scheduling import Packed
from structnet.tensor_tree.compiled import _kernels as kernels
from structnet.trees._kernels import grouped

# From so many multiplications on, a run of rows is worth a call of the matrix library.
_LARGE = 2**20


class Runs:
    """Rows of one kind, those of a level and a key next to each other, none of them padding.

    Attributes:
        table: the runs, ``[n]`` of dtype ``message_passing._kernels.RUN``.
        starts: the first run of each level, and the end.
        rows: the first row of each level, and the end.
        keys: each row's key, ``[rows]``.
    """

    def __init__(self, packed: Packed, num_levels: int):
        self.table, starts = indices.runs(packed.stacks, packed.run_keys, num_levels)
        self.starts = starts.tolist()
        self.rows = np.concatenate(([0], np.cumsum(self.table["length"])))[starts].tolist()
        self.keys = np.empty_like(packed.keys)  # rows is a permutation: no row is padding
        self.keys[packed.rows] = packed.keys


class TypedProduct:
    """``y = x W`` with the weights of each row's key.

    The weights are copied side by side when they are first needed; a loss that somebody keeps
    must not keep copies, so :meth:`forget` drops them.

    Args:
        weights: each ``[num_keys, parts, i, o]``, or other modes of as many numbers; they stand
            side by side, o summed up.
        parts, i: their sizes.
        runs: the runs of the rows.

    Attributes:
        width: the sum of their o.

    Shapes:
        x, y: ``[rows, parts, i]`` and ``[.., o]``.
    """

    def __init__(self, weights: Sequence[Tensor], parts: int, i: int, runs: Runs):
        self.weights = weights
        self.widths = [weight.shape[1:].numel() // (parts * i) for weight in weights]
        self.width = sum(self.widths)
        self.size = (len(weights[0]), parts, i)
        self.joined: Tensor | None = None
        self.transposed: Tensor | None = None
        self.runs = runs
        self.most = _LARGE // (i * self.width)
        self.long: list[list[int]] = [[] for _ in runs.starts[1:]]
        for run in np.flatnonzero(runs.table["length"] > self.most).tolist():
            self.long[np.searchsorted(runs.starts, run, "right") - 1].append(run)

    def forward(self, level: int, x: np.ndarray, y: np.ndarray) -> None:
        """Fill y, the rows of one level."""
        if self.joined is None:
            self.joined = torch.cat(self._matrices(), -1)
        self._multiply(level, x, self.joined, y)

    def backward(self, level: int, dy: np.ndarray, dx: np.ndarray) -> None:
        """Fill dx, the rows of one level."""
        if self.transposed is None:
            self.transposed = torch.cat([w.mT for w in self._matrices()], -2).contiguous()
        self._multiply(level, dy, self.transposed, dx)

    def forget(self) -> None:
        """Drop the copies; the weights themselves are only referred to."""
        self.joined = self.transposed = None

    def for_backward(self) -> TypedProduct:
        """One of its own, to be thrown away with the copies that it makes."""
        return copy.copy(self)

    def _matrices(self) -> list[Tensor]:
        return [
            weight.reshape(*self.size, width)
            for weight, width in zip(self.weights, self.widths, strict=True)
        ]

    def _multiply(self, level: int, x: np.ndarray, weight: Tensor, y: np.ndarray) -> None:
        begin, end = self.runs.starts[level : level + 2]
        kernels.multiply_runs(self.runs.table, begin, end, self.most, x, weight.numpy(), y)
        for index in self.long[level]:
            run = self.runs.table[index]
            rows = slice(run["first"], run["first"] + run["length"])
            x_run, y_run = (torch.from_numpy(a[rows]) for a in (x, y))
            for part, w in enumerate(weight[run["key"]]):
                torch.mm(x_run[:, part], w, out=y_run[:, part])

    def gradients(self, x: np.ndarray, dy: np.ndarray, source: np.ndarray) -> list[Tensor]:
        """Of the weights: one product a key for all levels.

        Args:
            x: its row ``source[m]`` was multiplied for row m of y.
            dy: the rows of all levels.
        """
        # Rows of one key of all levels come together, so that one product serves them all.
        order, starts = grouped(self.runs.keys, len(self.weights[0]))
        ordered_x, ordered_dy = (
            torch.from_numpy(rows).index_select(0, torch.from_numpy(index))
            for rows, index in ((x, source[order]), (dy, order))
        )
        gradients = []
        for weight, part in zip(self.weights, ordered_dy.split(self.widths, -1), strict=True):
            total = ordered_x.new_zeros(*self.size, part.shape[-1])
            for key, (lo, hi) in enumerate(itertools.pairwise(starts.tolist())):
                if hi > lo:  # [parts, i, rows] times [parts, rows, o]
                    x_t = ordered_x[lo:hi].permute(1, 2, 0)
                    torch.bmm(x_t, part[lo:hi].transpose(0, 1), out=total[key])
            gradients.append(total.view(weight.shape))
        return gradients
