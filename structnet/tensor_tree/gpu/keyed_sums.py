"""Sums over all rows with the same key: gradients of weights that many rows share.

Keys differ in how many rows they have, so rows are first summed in chunks of one key each. All sums
are in a fixed order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from structnet.message_passing.gpu.rows import sum_rows
from structnet.tensor_tree.compiled.plan import Lists
from structnet.tensor_tree.gpu.kernels import children
from structnet.tensor_tree.gpu.kernels.products import outer_products
from structnet.tensor_tree.gpu.sizes import Sizes
from structnet.tensor_tree.gpu.tasks import tiles

CHUNK = 512  # rows, or more if there would be more than this many chunks
MAX_CHUNKS = 256
ROWS = 32  # of them at a time


class Chunks(NamedTuple):
    """Rows by key, in chunks.

    Attributes:
        rows: rows in the order of their keys.
        starts: place where each chunk begins, and the end.
        offsets: first chunk of each key, and the end.
        order: the numbers of the chunks.

    Shapes:
        rows ``[n]``; starts ``[chunks + 1]``; offsets ``[keys + 1]``; order ``[chunks]``; int32.
    """

    rows: Tensor
    starts: Tensor
    offsets: Tensor
    order: Tensor

    def outer_products(
        self, x: Tensor, x_rows: Tensor | None, dy: Tensor, parts: int = 1
    ) -> tuple[Tensor, Tensor]:
        """Sums of ``x' dy`` and of dy by key, for each of some equal parts of a row.

        Args:
            x, dy: arrays with a row of each product.
            x_rows: rows of x, in the order of ``rows``; the same ones as of dy if None.
            parts: number of parts.

        Shapes:
            x ``[.., parts k]``, dy ``[.., parts n]`` -> ``[keys, parts, k, n]``,
            ``[keys, parts, n]``.
        """
        k, n, number = x.shape[1] // parts, dy.shape[1] // parts, len(self.order)
        out, total = x.new_empty(number, parts, k, n), x.new_empty(number, parts, n)
        if number and n:
            depth, width = tiles(k)["DEPTH"], tiles(n)["WIDTH"]
            parts_of_one = max(-(-k // depth), 1) * -(-n // width)
            with torch.cuda.device_of(x):
                outer_products[number, parts_of_one, parts](
                    x, self.rows if x_rows is None else x_rows, dy, self.rows, self.starts, out,
                    total, x.shape[1], dy.shape[1], parts, k, n, ROWS=ROWS, WIDTH=width,
                    DEPTH=depth,
                )  # fmt: skip
        return self.summed(out), self.summed(total)

    def summed(self, x: Tensor) -> Tensor:
        """Sums of chunks, ``[chunks, ..]``, by key: ``[keys, ..]``."""
        return sum_rows(x.flatten(1), self.order, self.offsets).unflatten(1, x.shape[1:])


def in_chunks(lists: Lists) -> tuple[np.ndarray, ...]:
    """The arrays of :class:`Chunks`, from lists of rows by key.

    Shapes:
        output: ``[n]``, ``[chunks + 1]``, ``[keys + 1]``, ``[chunks]``.
    """
    size = max(CHUNK, -(-len(lists.rows) // MAX_CHUNKS))
    number = -(-np.diff(lists.starts) // size)  # of chunks for each key
    offsets = np.append(0, np.cumsum(number))
    key = np.repeat(np.arange(len(number)), number)
    within = np.arange(len(key)) - offsets[key]
    starts = np.append(lists.starts[key] + size * within, lists.starts[-1])
    return lists.rows, starts, offsets, np.arange(len(key))


def core_gradients(
    sizes: Sizes, by_node: Chunks, offsets: Tensor, pointers: Tensor, x: Tensor, dy: Tensor
) -> Tensor:
    """The gradients of cores, from what nodes received and the gradients of what they computed.

    Args:
        sizes: sizes of the sweep.
        by_node: nodes by type.
        offsets, pointers: the rows of x that nodes received; see :mod:`.kernels.children`.
        x: array of these rows.
        dy: gradients of the outputs of each node.

    Shapes:
        offsets ``[nodes + 1]``; pointers ``[slots]``; x ``[.., width]``; dy ``[.., PARTS K]`` ->
        ``[num_types, PARTS, K, a b]``.
    """
    size, number = (sizes.RANK + 1) ** sizes.ARITY, len(by_node.order)
    out = x.new_empty(number, sizes.PARTS, sizes.K, size)
    shape = {
        name: getattr(sizes, name) for name in ("ARITY", "RANK", "PARTS", "K", "LEFT", "RIGHT")
    }
    if number:
        with torch.cuda.device_of(x):
            parts = -(-((sizes.RANK + 1) ** ((sizes.ARITY + 1) // 2)) // sizes.LEFT)
            children.core_gradients[number, sizes.PARTS * sizes.K, parts](
                by_node.rows, by_node.starts, offsets, pointers, x, dy, out, x.shape[1],
                ROWS=ROWS, num_stages=1, **shape,  # otherwise it takes several times the memory
            )  # fmt: skip
    return by_node.summed(out)
