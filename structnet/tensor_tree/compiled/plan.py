"""The plan of one compiled sweep: which rows are computed with which weights, level by level."""

from __future__ import annotations

import itertools
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


def make_plan(forest: Forest, layout: Layout) -> Plan:
    """Plan a sweep over ``forest``, which the layout has checked; linear in its nodes."""
    offsets, source, key = indices.slots(
        forest.types, forest.offsets, forest.children, forest.pos, layout.arity,
        layout.positional, layout.pads,
    )  # fmt: skip
    # Nodes are numbered by height, then type, and only those of height 0 may have none.
    level = np.append(np.where(forest.types < 0, 0, forest.height + 1), 0)
    message_level, sources, message_key, inbox = indices.distinct_messages(
        source, key, level, layout.num_keys
    )
    levels = level.max() + 1
    nodes = steps.runs(level[:-1], forest.types, levels)
    messages = steps.runs(message_level, message_key, levels)
    parts, leaves = np.array([0, levels]), np.array([0, (forest.types < 0).sum()])
    rows = forest.types, offsets, inbox, sources[inbox], sources
    return Plan._make((*rows, *nodes, *messages, parts, leaves))


def joined(plans: Sequence[Plan]) -> Plan:
    """One plan for forests side by side, each a part."""
    if len(plans) == 1:
        return plans[0]
    columns = {name: [getattr(plan, name) for plan in plans] for name in Plan._fields}
    nodes, messages = (_firsts(columns[name]) for name in ("types", "sources"))
    columns["sources"] = [
        np.where(x == len(plan.types), nodes[-1] + part, x + nodes[part])
        for part, (plan, x) in enumerate(zip(plans, columns["sources"], strict=True))
    ]
    columns["inbox"] = [x + first for x, first in zip(columns["inbox"], messages, strict=False)]
    rows = {"types", "inbox", "children", "sources", "node_keys", "message_keys"}
    plan = Plan(
        **{
            name: np.concatenate(each) if name in rows else _chained(each)
            for name, each in columns.items()
        }
    )
    return plan._replace(children=plan.sources[plan.inbox])


def _firsts(arrays: Sequence[np.ndarray]) -> list[int]:
    """Where each begins if they stand one after the other, and the end."""
    return [0, *itertools.accumulate(map(len, arrays))]


def _chained(ends: Sequence[np.ndarray]) -> np.ndarray:
    """Where lists begin, and the end, of all of them one after the other."""
    firsts = np.cumsum([0, *(x[-1] for x in ends)])
    return np.concatenate([[0], *(x[1:] + first for x, first in zip(ends, firsts, strict=False))])


def by_type(plan: Plan, num_types: int) -> Order:
    """The nodes that have a type."""
    rows, starts = grouped(plan.types + 1, num_types + 1)
    return Order(rows[starts[1] :], starts[1:] - starts[1])


def by_key(plan: Plan, num_keys: int) -> Order:
    """The messages."""
    return Order(*grouped(np.repeat(plan.message_keys, np.diff(plan.messages)), num_keys))
