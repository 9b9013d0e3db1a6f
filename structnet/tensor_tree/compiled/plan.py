"""The plan of one compiled sweep: which rows are computed with which weights, level by level."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structnet.message_passing._kernels import runs
from structnet.message_passing.scheduling import Layout, messages_of
from structnet.trees._kernels import grouped
from structnet.trees.forest import Forest


class Plan(NamedTuple):
    """Rows of nodes and messages, and runs of rows of one level that use the same weights.

    The state of node v is in row v, and that of the bottom in the row after all nodes. The first
    level has the untyped leaves, a run with the key -1, and the bottom; each other level has the
    typed nodes of one height. A level's nodes are computed before its messages.

    Attributes:
        types: type of each node.
        offsets, inbox: messages that each node receives, one per slot, in CSR form.
        children: row of the state of each slot's child.
        sources: row of the state that each message is computed from.
        nodes, messages: first row of each run, and the end.
        node_keys, message_keys: number of the weights that each run uses.
        node_levels, message_levels: first run of each level, and the end.
        leaves: number of untyped nodes.

    Shapes:
        types ``[num_nodes]``; offsets ``[num_nodes + 1]``; inbox, children ``[slots]``; sources
        ``[num_messages]``; nodes, messages ``[runs + 1]``; keys ``[runs]``; levels
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
    leaves: int


class Lists(NamedTuple):
    """Consecutive lists of rows, one for each key.

    Attributes:
        rows: rows of all lists.
        starts: place where each list begins, and the end.

    Shapes:
        rows ``[n]``; starts ``[lists + 1]``.
    """

    rows: np.ndarray
    starts: np.ndarray

    def begun_before(self, shares: int) -> list[tuple[int, int]]:
        """Pairs of rows of sums: an extra one, and that of the list to which it is added later.

        There is a pair for each share that begins in the middle of a list. These are the rows that
        :func:`..kernels.steps.share_of` gives.
        """
        pairs, total, keys = [], len(self.rows), len(self.starts) - 1
        for share in range(1, shares):
            lo = total * share // shares
            key = int(np.searchsorted(self.starts, lo, "right")) - 1
            if self.starts[key] < lo < total:
                pairs.append((keys + share - 1, key))
        return pairs


class Back(NamedTuple):
    """The transpose of a plan, for the gradients.

    Attributes:
        slots: slots of each message.
        receivers: node that each of these slots belongs to.
        sent: messages that are computed from each state.
        nodes, messages: typed nodes and messages, by the weights that they use.

    Shapes:
        receivers ``[slots]``.
    """

    slots: Lists
    receivers: np.ndarray
    sent: Lists
    nodes: Lists
    messages: Lists


def make_plan(forest: Forest, layout: Layout) -> Plan:
    """Plans a sweep over a forest that the layout has checked, in time linear in the nodes."""
    sent = messages_of(forest, layout)
    levels = int(sent.level_of.max()) + 1
    # Nodes are numbered by height, then type, and only those of height 0 may be without a type.
    nodes = runs(sent.level_of[:-1], forest.types, levels)
    messages = runs(sent.levels, sent.keys, levels)
    rows = forest.types, sent.offsets, sent.of_slot, sent.sources[sent.of_slot], sent.sources
    return Plan._make((*rows, *nodes, *messages, int((forest.types < 0).sum())))


def make_back(plan: Plan, layout: Layout) -> Back:
    """The transpose of a plan."""
    slots = _lists(plan.inbox, len(plan.sources))
    receivers = np.repeat(np.arange(len(plan.types)), np.diff(plan.offsets))[slots.rows]
    rows, starts = grouped(plan.types + 1, layout.num_types + 1)
    nodes = Lists(rows[starts[1] :], starts[1:] - starts[1])
    keys = np.repeat(plan.message_keys, np.diff(plan.messages))
    sent = _lists(plan.sources, len(plan.types) + 1)
    return Back(slots, receivers, sent, nodes, _lists(keys, layout.num_keys))


def _lists(keys: np.ndarray, number: int) -> Lists:
    return Lists(*grouped(keys, number))
