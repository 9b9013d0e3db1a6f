"""Pools on a GPU: writes out the rows of each tree in preorder and reduces all trees at once."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from structnet.message_passing.gpu.rows import Gather
from structnet.message_passing.transfer import moved
from structnet.trees.forest import Forest

MOST_ROWS = 2**24  # written out at most, as float32 has exact integers up to there


def covers(forest: Forest) -> bool:
    """True if :func:`pooled_rows` can take these trees: they have at most 2^24 nodes."""
    return float(forest.sizes().sum()) <= MOST_ROWS


def pooled_rows(forest: Forest, x: Tensor, names: Sequence[str], weight: Tensor | None) -> Tensor:
    """Several pools side by side; see :func:`structnet.message_passing.pooled`.

    Args:
        forest: trees to pool over.
        x: row of each node of the forest.
        names: names of the pools.
        weight: weight of each node, for "attention".

    Shapes:
        x ``[num_nodes, c]``, weight ``[num_nodes]`` -> ``[len(forest), c len(names)]``.
    """
    order = forest.preorder()
    offsets, trees = moved(x.device, order.offsets, order.trees)
    gather = Gather(order.nodes, forest.num_nodes, x.device)
    rows = gather(x)  # [rows, c]

    def reduced(rows: Tensor, how: str) -> Tensor:
        return torch.segment_reduce(rows, how, offsets=offsets, unsafe=True)  # unsafe: no waiting

    pooled = []
    for name in names:
        if name == "root":  # the first in preorder
            pooled.append(rows.index_select(0, offsets[:-1]))
        elif name == "attention":
            assert weight is not None
            node_weight = gather(weight.unsqueeze(1))
            sums = reduced(torch.cat([node_weight * rows, node_weight], 1), "sum")
            pooled.append(sums[:, :-1] / sums[:, -1:].clamp_min(torch.finfo(x.dtype).tiny))
        elif name == "max":
            # Not by segment_reduce, whose gradient is wrong in other columns where rows tie.
            with torch.no_grad():
                place = torch.arange(len(rows), device=x.device, dtype=x.dtype).unsqueeze(1)
                is_most = rows.isnan() | (rows == reduced(rows, "max").index_select(0, trees))
                chosen = reduced(torch.where(is_most, place, len(rows) - 1), "min").long()
            pooled.append(rows.gather(0, chosen))
        else:
            pooled.append(reduced(rows, name))
    return torch.cat(pooled, 1)
