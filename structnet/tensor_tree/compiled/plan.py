"""The plan of one compiled sweep: which rows are computed with which weights, level by level."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structnet.message_passing import _kernels as indices
from structnet.message_passing.scheduling import Layout
from structnet.tensor_tree.compiled.kernels import steps
from structnet.trees._kernels import grouped
from structnet.trees.forest import Forest


class Plan(NamedTuple):
    """Rows and runs of rows; a run is of one level and uses one set of weights.

    The state of node v stands in row v; the row after all nodes has the bottom's. The first level
    is the untyped leaves, a run of key -1, and the bottom; the others are the typed nodes of one
    height. A level's nodes are computed, then its messages.

    Attributes:
        types: the type of each node.
        offsets, inbox: the messages that each node receives, one a slot.
        children: the state behind each of them.
        sources: the state that each message is computed from.
        nodes, messages: the first row of each run, and the end.
        node_keys, message_keys: number of the weights that each run uses.
        node_levels, message_levels: the first run of each level, and the end.
        leaves: count of the untyped nodes.

    Shapes:
        types ``[num_nodes]``; offsets ``[num_nodes + 1]``; inbox, children ``[slots]``; sources
        ``[num_messages]``; the others ``[runs + 1]``, ``[runs]``, ``[levels + 1]``.
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
    leaves: int


class Lists(NamedTuple):
    """A list for each of something, one after the other: where each begins, and the end.

    Shapes:
        rows ``[n]``; starts ``[lists + 1]``.
    """

    rows: np.ndarray
    starts: np.ndarray

    def begun_before(self, shares: int) -> list[tuple[int, int]]:
        """Of each share that begins inside of a list: where it adds that up, and the list's place.

        As in :func:`..kernels.steps.share_of`.
        """
        pairs, total, keys = [], len(self.rows), len(self.starts) - 1
        for share in range(1, shares):
            lo = total * share // shares
            key = int(np.searchsorted(self.starts, lo, "right")) - 1
            if self.starts[key] < lo < total:
                pairs.append((keys + share - 1, key))
        return pairs


class Back(NamedTuple):
    """The plan read from the other side, for the gradients.

    Attributes:
        slots: those of each message.
        receivers: the node that each of them belongs to.
        sent: the messages of each state.
        nodes, messages: the typed nodes and the messages by the weights that they use.

    Shapes:
        receivers ``[slots]``.
    """

    slots: Lists
    receivers: np.ndarray
    sent: Lists
    nodes: Lists
    messages: Lists


def make_plan(forest: Forest, layout: Layout) -> Plan:
    """Plan a sweep over a forest, which the layout has checked; linear in the nodes."""
    offsets, sources, keys = indices.slots(
        forest.types, forest.offsets, forest.children, forest.pos, layout.arity,
        layout.positional, layout.pads,
    )  # fmt: skip
    # Nodes are numbered by height, then type, and only those of height 0 may have none.
    untyped = forest.types < 0
    level = np.append(np.where(untyped, 0, forest.height + 1), 0)
    levels = level.max() + 1
    message_level, sources, message_keys, inbox = indices.distinct_messages(
        sources, keys, level, layout.num_keys
    )
    nodes = steps.runs(level[:-1], forest.types, levels)
    messages = steps.runs(message_level, message_keys, levels)
    rows = forest.types, offsets, inbox, sources[inbox], sources
    return Plan._make((*rows, *nodes, *messages, int(untyped.sum())))


def make_back(plan: Plan, layout: Layout) -> Back:
    """The same, read from the other side."""
    slots = _lists(plan.inbox, len(plan.sources))
    receivers = np.repeat(np.arange(len(plan.types)), np.diff(plan.offsets))[slots.rows]
    rows, starts = grouped(plan.types + 1, layout.num_types + 1)
    nodes = Lists(rows[starts[1] :], starts[1:] - starts[1])
    keys = np.repeat(plan.message_keys, np.diff(plan.messages))
    sent = _lists(plan.sources, len(plan.types) + 1)
    return Back(slots, receivers, sent, nodes, _lists(keys, layout.num_keys))


def _lists(keys: np.ndarray, number: int) -> Lists:
    return Lists(*grouped(keys, number))
