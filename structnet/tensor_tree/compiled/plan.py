"""The plan of one compiled sweep: which rows are computed with which weights, level by level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from structnet.message_passing import _kernels as indices
from structnet.message_passing.scheduling import Layout
from structnet.tensor_tree.compiled.kernels import steps
from structnet.trees._kernels import grouped
from structnet.trees.forest import Forest


class Plan(NamedTuple):
    """Rows and runs of rows; a run is of one level and uses one set of weights.

    The state of node v stands in row v; after all nodes, a row a part has the bottom's. The first
    level of a part is its untyped leaves, a run of key -1, and the bottom; the others its typed
    nodes of one height. A level's nodes are computed, then its messages.

    Attributes:
        types: the type of each node.
        offsets, inbox: the messages that each node receives, one a slot.
        children: the state behind each of them.
        sources: the state that each message is computed from.
        nodes, messages: the first row of each run, and the end.
        node_keys, message_keys: number of the weights that each run uses.
        node_levels, message_levels: the first run of each level, and the end.
        parts: the first level of each part, and the end.
        leaves: the untyped nodes before each part, and all.

    Shapes:
        types ``[num_nodes]``; offsets ``[num_nodes + 1]``; inbox, children ``[slots]``; sources
        ``[num_messages]``; parts, leaves ``[parts + 1]``; the others ``[runs + 1]``, ``[runs]``,
        ``[levels + 1]``.
    """

    types: np.ndarray
    offsets: np.ndarray
    inbox: np.ndarray
    children: np.ndarray
    sources: np.ndarray
    nodes: np.ndarray
    node_keys: np.ndarray
    node_levels: np.ndarray
    messages: np.ndarray
    message_keys: np.ndarray
    message_levels: np.ndarray
    parts: np.ndarray
    leaves: np.ndarray


class Order(NamedTuple):
    """Rows by key: those of each next to each other, and where they begin, and the end.

    Shapes:
        rows ``[n]``; starts ``[keys + 1]``.
    """

    rows: np.ndarray
    starts: np.ndarray

    def begun_before(self, shares: int) -> list[tuple[int, int]]:
        """Of each share that begins inside of a key: where it adds that up, and the key's place.

        As in :func:`..kernels.steps.share_of`.
        """
        pairs, total, keys = [], len(self.rows), len(self.starts) - 1
        for share in range(1, shares):
            lo = total * share // shares
            key = int(np.searchsorted(self.starts, lo, "right")) - 1
            if self.starts[key] < lo < total:
                pairs.append((keys + share - 1, key))
        return pairs


def make_plan(forest: Forest, layout: Layout, sizes: Sequence[int] | None = None) -> Plan:
    """Plan a sweep; linear in the nodes.

    Args:
        forest: trees, which the layout has checked; or several such forests side by side.
        layout: demands of the model on the plan.
        sizes: nodes of each of these; by default it is one.
    """
    offsets, sources, keys = indices.slots(
        forest.types, forest.offsets, forest.children, forest.pos, layout.arity,
        layout.positional, layout.pads,
    )  # fmt: skip
    counts = np.array([forest.num_nodes] if sizes is None else sizes)
    ends, part = np.cumsum(counts), np.repeat(np.arange(len(counts)), counts)
    if layout.pads:  # the bottom of the part, not of the first one
        sources += np.where(sources == len(part), np.repeat(part, np.diff(offsets)), 0)
    # Nodes are numbered by height, then type, and only those of height 0 may have none.
    untyped = forest.types < 0
    level = np.where(untyped, 0, forest.height + 1)
    parts = _ends(level[ends - 1] + 1)
    level = np.append(level + parts[part], parts[:-1])
    message_level, sources, message_keys, inbox = indices.distinct_messages(
        sources, keys, level, layout.num_keys
    )
    nodes = steps.runs(level[: len(part)], forest.types, parts[-1])
    messages = steps.runs(message_level, message_keys, parts[-1])
    leaves = _ends(np.bincount(part[untyped], minlength=len(counts)))
    rows = forest.types, offsets, inbox, sources[inbox], sources
    return Plan._make((*rows, *nodes, *messages, parts, leaves))


def _ends(counts: np.ndarray) -> np.ndarray:
    """Where lists of so many entries begin, one after the other, and the end."""
    return np.concatenate([[0], np.cumsum(counts)])


def by_type(plan: Plan, num_types: int) -> Order:
    """The nodes that have a type."""
    rows, starts = grouped(plan.types + 1, num_types + 1)
    return Order(rows[starts[1] :], starts[1:] - starts[1])


def by_key(plan: Plan, num_keys: int) -> Order:
    """The messages."""
    return Order(*grouped(np.repeat(plan.message_keys, np.diff(plan.messages)), num_keys))
