"""Sends each sample down one path of a tree, one branch at each level, to its leaf."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from structnet.routing.topology import Topology, as_topology

if TYPE_CHECKING:
    from dgl import DGLGraph

# Called with a node, the numbers of the samples at it [m] and their values [m, ...]; returns their
# new values and the places of the children to which they go [m], or None where their paths end.
Step = Callable[[int, Tensor, Tensor], tuple[Tensor, Tensor | None]]


def follow(tree: Topology | DGLGraph, x: Tensor, step: Step) -> tuple[Tensor, Tensor | None]:
    """Sends each sample down one path; a node computes only the samples that reach it.

    Args:
        tree: topology, or DGL graph of the schema.
        x: values of the samples at the root.
        step: function called once for each node that samples reach, in ascending order of nodes,
            with the node, the numbers of its samples, ascending, and their values. It returns
            their new values, and the place of the child that each goes to, or None where the paths
            end.

    Shapes:
        x ``[n, ...]`` -> ``[n]``, the nodes in which the paths end, and ``[n, ...]``, the values
        returned there; these are None if there are no samples.

    Raises:
        ValueError: a node has no child in a place that was returned, or not one value and one place
            were returned for each sample.

    Example:
        >>> def step(node, rows, x):  # twice as much at each level, to the left what is below 3
        ...     return 2 * x, None if node == 1 or node > 2 else (x >= 3).long()
        >>> follow(Topology([(1, 2), (), (3, 4), (), ()]), torch.tensor([5, 1, 3]), step)
        (tensor([4, 1, 4]), tensor([40,  4, 24]))
    """
    topology = as_topology(tree)
    everyone = torch.arange(len(x), device=x.device)
    open_nodes, waiting = [0] if len(x) else [], {0: (everyone, x)}
    rows, ends, last = [], [], []
    while open_nodes:  # a heap, so that random draws are in the order of nodes
        node = heappop(open_nodes)
        here, state = waiting.pop(node)
        state, place = step(node, here, state)
        _check_step(state, place, node, here)
        if place is None:
            rows.append(here)
            ends.append(torch.full_like(here, node))
            last.append(state)
            continue
        children = topology.children_of(node)
        for child, mine in zip(children, _grouped(place, len(children), node, here), strict=True):
            if len(mine):
                heappush(open_nodes, child)
                alone = len(mine) == len(here)  # all samples go the same way: no copies
                waiting[child] = (here, state) if alone else (here[mine], state[mine])
    if not rows:
        return everyone, None
    back = torch.cat(rows).argsort()
    return torch.cat(ends)[back], torch.cat(last)[back]


def _check_step(state: Tensor, place: Tensor | None, node: int, here: Tensor) -> None:
    if len(state) != len(here):
        raise ValueError(
            f"a step returns one value for each of the {len(here)} samples at node {node}. "
            f"Got {len(state)}."
        )
    if place is not None and (place.shape != here.shape or place.is_floating_point()):
        raise ValueError(
            f"a step returns places [{len(here)}] of int64 for the samples at node {node}. Got "
            f"{list(place.shape)} of {place.dtype}."
        )


def _grouped(place: Tensor, number: int, node: int, here: Tensor) -> tuple[Tensor, ...]:
    """The indices of the samples in each place, ascending. ``[m]`` -> one tensor for each place."""
    place = place.long()  # as unsigned numbers cannot be below 0
    # The first and the last bin count invalid places, below 0 and above the last child.
    before, *counts, after = torch.bincount(
        place.clamp(-1, number) + 1, minlength=number + 2
    ).tolist()
    if before or after:
        i = int(((place < 0) | (place >= number)).nonzero()[0, 0])
        raise ValueError(
            f"sample {int(here[i])} goes to place {int(place[i])} from node {node}, which has "
            f"{number} children"
        )
    return place.argsort(stable=True).split(counts)
