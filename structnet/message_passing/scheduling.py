"""The plan of a sweep over a forest: which rows are computed together, and which rows each reads.

Nodes of the same height are computed together, and so are all messages from one height. A message
that several nodes receive - from the same child, in the same place of parents of the same type - is
computed once: messages are shared like subtrees. Rows with the same parameters are adjacent, in
stacks of runs of equal length, so that one batched product serves many types.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from structnet.errors import GraphError
from structnet.message_passing import _kernels
from structnet.message_passing.transfer import moved
from structnet.trees.forest import Forest


class Stack(NamedTuple):
    """Rows in runs of equal length; the rows of a run share their parameters.

    Attributes:
        runs: number of runs.
        length: number of rows in each run.
        keys: number of the parameters that each run uses, ``[runs]``; None if run i uses the i-th.
        first: number of the first row among all rows, of nodes or of messages.
        real: mask of all rows, of nodes or of messages, False for padding; None if none is.
    """

    runs: int
    length: int
    keys: Tensor | None
    first: int
    real: np.ndarray | None = None

    @property
    def end(self) -> int:
        """The number of the row after the last one."""
        return self.first + self.runs * self.length


class Inbox(NamedTuple):
    """The messages that the rows of one stack of nodes receive, as consecutive lists."""

    messages: Tensor  # [slots] message rows
    offsets: Tensor  # [rows] where each row's list begins
    first: int  # number of the first slot among all slots
    owner: Tensor  # [slots] the row of the stack that each slot belongs to


class Outbox(NamedTuple):
    """The states that a stack of messages is computed from, and the messages' receivers."""

    sources: Tensor  # [rows] rows of the level's states
    offsets: Tensor  # [rows] where each message's lists of receivers begin
    slots: Tensor  # [receivers] slots that receive each message
    rows: Tensor  # [receivers] node rows that receive each message


class LevelPlan(NamedTuple):
    """One level of a sweep: stacks of nodes to compute, then stacks of messages to send."""

    nodes: list[tuple[Stack, Inbox, Tensor]]  # the tensor has the nodes' tokens
    messages: list[tuple[Stack, Outbox]]


class Schedule(NamedTuple):
    """A sweep over a forest, from the leaves up.

    Level 0 has the untyped leaves, whose tokens are ``leaf_tokens``, and then the bottom.
    If the states of all rows are put in the order of computation, node v is at ``row[v]``.
    """

    leaf_tokens: Tensor
    levels: list[LevelPlan]
    num_rows: int  # of typed nodes
    num_slots: int
    num_messages: int
    row: np.ndarray


class Layout(NamedTuple):
    """What a cell needs of a schedule.

    Attributes:
        num_types: number of types that the cell has parameters for.
        arity: number of places that it distinguishes.
        positional: True if a message depends on the child's place.
        pads: True if a missing child sends a message too.
        slack: largest number of padding rows in a stack of messages; they are also at most 64 more
            than its real rows. Multiplying a few rows too many is cheaper than starting a second
            product, unless the weights are large.
        node_slack: the same for stacks of nodes; None for ``slack``.
    """

    num_types: int
    arity: int
    positional: bool
    pads: bool
    slack: int = 1000
    node_slack: int | None = None

    @property
    def num_keys(self) -> int:
        """The number of different keys of messages."""
        return self.num_types * (self.arity if self.positional else 1)

    def check(self, forest: Forest) -> None:
        """Checks that a forest fits the cell.

        Raises:
            GraphError: the forest is empty, has types or places that the cell does not have, or has
                inner nodes without a type.
        """
        if forest.num_nodes == 0:
            raise GraphError("the forest is empty; a sweep needs at least one node")
        if forest.types.max() >= self.num_types:
            raise GraphError(
                f"the forest has type {forest.types.max()}; the model has {self.num_types} types"
            )
        widest = int(forest.pos.max(initial=-1)) + 1
        if (self.positional or self.pads) and widest > self.arity:
            raise GraphError(
                f"a node of the forest has {widest} places; the model's arity is {self.arity}"
            )
        untyped = (forest.types < 0) & (forest.height > 0)
        if untyped.any():
            raise GraphError(
                f"node {untyped.argmax()} has children but no type; every inner node needs one"
            )


class Packed(NamedTuple):
    """Rows of nodes or of messages, level by level in stacks of runs."""

    stacks: np.ndarray  # [stacks] of dtype _kernels.STACK
    run_keys: np.ndarray  # keys of the runs of all incomplete stacks
    rows: np.ndarray  # the real rows; all others are padding
    keys: np.ndarray  # keys of the real rows
    size: int  # number of rows, padding included

    @property
    def ends(self) -> np.ndarray:
        """The number of the row after each stack, ``[stacks]``."""
        return self.stacks["first"] + self.stacks["runs"] * self.stacks["length"]

    @property
    def real(self) -> np.ndarray:
        """A mask of the rows, ``[size]``: True for real ones."""
        mask = np.zeros(self.size, bool)
        mask[self.rows] = True
        return mask

    def by_level(self, run_keys: Tensor) -> Iterator[tuple[int, Stack]]:
        """Each level and stack; ``run_keys``, ``[n]``, is a copy of them on the sweep's device."""
        real = self.real
        mask = None if real.all() else real
        columns = (self.stacks[name].tolist() for name in _kernels.STACK_FIELDS)
        for level, first, runs, length, complete, key in zip(*columns, strict=True):
            keys = None if complete else run_keys[key : key + runs]
            yield level, Stack(runs, length, keys, first, mask)


class Arrangement(NamedTuple):
    """The plan of one sweep as arrays; a :class:`Schedule` is the same plan divided into levels.

    States are in the same order as there; those of level h are ``starts[h]`` to ``starts[h + 1]``.
    """

    leaf_tokens: np.ndarray
    tokens: np.ndarray  # [node rows], of padding those of a real row
    row: np.ndarray  # [nodes] the place of each node's state
    starts: np.ndarray
    nodes: Packed
    messages: Packed
    sources: np.ndarray  # [message rows] the place of the state that each is computed from
    offsets: np.ndarray  # inboxes: a list of message rows for each node row
    inbox: np.ndarray
    back_offsets: np.ndarray  # their transpose: lists of slots and of node rows for each message
    back_slots: np.ndarray
    back_rows: np.ndarray


def check_forest(forest: Any) -> None:
    """Refuses what is not a Forest, such as a DGL graph or a list of trees.

    Raises:
        TypeError: it is none.
    """
    if not isinstance(forest, Forest):
        raise TypeError(
            f"expected a Forest; got {type(forest).__name__}: Forest.from_trees makes one of Trees "
            "and a Vocabulary, Forest.from_graph of a DGL graph"
        )


class Messages(NamedTuple):
    """The different messages of a sweep, ordered by level, then key, then source.

    Untyped leaves and the bottom, the node after all others, are level 0; typed nodes, even
    childless ones, may receive the bottom's message, so they begin at level 1.
    """

    level_of: np.ndarray  # [nodes + 1]
    offsets: np.ndarray  # [nodes + 1] where each node's slots begin
    of_slot: np.ndarray  # [slots] the message in each slot
    levels: np.ndarray  # [messages], as the next two
    sources: np.ndarray
    keys: np.ndarray


def messages_of(forest: Forest, layout: Layout) -> Messages:
    """The messages of a sweep over a forest that the layout has checked."""
    offsets, source, key = _kernels.slots(
        forest.types, forest.offsets, forest.children, forest.pos, layout.arity,
        layout.positional, layout.pads,
    )  # fmt: skip
    level_of = np.append(np.where(forest.types < 0, 0, forest.height + 1), 0)
    *messages, of_slot = _kernels.distinct_messages(source, key, level_of, layout.num_keys)
    return Messages(level_of, offsets, of_slot, *messages)


def arrange(forest: Forest, layout: Layout) -> Arrangement:
    """Plans a sweep over a forest, in time and memory linear in its distinct nodes.

    Raises:
        GraphError: the forest does not fit the layout; see :meth:`Layout.check`.
    """
    layout.check(forest)
    n, sent = forest.num_nodes, messages_of(forest, layout)
    messages = _packed(sent.levels, sent.keys, layout.num_keys, layout.slack)
    typed = np.flatnonzero(forest.types >= 0)  # by height, then type, as the forest is
    node_slack = layout.slack if layout.node_slack is None else layout.node_slack
    nodes = _packed(sent.level_of[typed], forest.types[typed], layout.num_types, node_slack)
    lists = _kernels.inboxes(
        typed,
        nodes.rows,
        nodes.size,
        sent.offsets,
        messages.rows[sent.of_slot],
        messages.size,
        layout.arity if layout.pads else 0,
    )

    # The order of all states: untyped leaves, the bottom, then the typed rows.
    leaves = np.flatnonzero(forest.types < 0)
    row = np.empty(n + 1, np.int64)
    row[leaves] = np.arange(len(leaves))
    row[n] = len(leaves)
    row[typed] = len(leaves) + 1 + nodes.rows
    tokens = np.empty(nodes.size, np.int64)
    tokens[nodes.rows] = forest.tokens[typed]
    tokens = tokens[_nearest(nodes.real)]  # a cell can look up those of padding, too
    ends = np.zeros(sent.level_of.max() + 1, np.int64)
    ends[nodes.stacks["level"]] = nodes.ends
    starts = np.concatenate(([0], np.maximum.accumulate(ends) + len(leaves) + 1))
    sources = np.zeros(messages.size, np.int64)
    sources[messages.rows] = row[sent.sources]
    return Arrangement(
        forest.tokens[leaves], tokens, row[:n], starts, nodes, messages, sources, *lists
    )


def _nearest(real: np.ndarray) -> np.ndarray:
    """For each row the last real one up to it or, before the first, that one. ``[n] -> [n]``."""
    if real.all():
        return np.arange(len(real))
    return np.maximum.accumulate(np.where(real, np.arange(len(real)), real.argmax()))


def _packed(level: np.ndarray, keys: np.ndarray, num_keys: int, slack: int) -> Packed:
    rows, stacks, run_keys, size = _kernels.pack(level, keys, num_keys, slack)
    return Packed(stacks, run_keys, rows, keys, size)


def schedule(forest: Forest, layout: Layout) -> Schedule:
    """Plans a sweep over a forest, with tensors on its device; see :func:`arrange`."""
    plan = arrange(forest, layout)
    owners = np.repeat(np.arange(plan.nodes.size), np.diff(plan.offsets))
    # Messages are computed from the states of their own level, so count rows from its first.
    counts = np.diff(plan.messages.ends, prepend=0)
    level = np.repeat(plan.messages.stacks["level"], counts)  # level of each message row
    places = np.maximum(plan.sources - plan.starts[level], 0)  # padding reads row 0

    keys_n, keys_m, leaf_tokens, tokens, offsets_t, messages, owner, sources, *back = moved(
        forest.device, plan.nodes.run_keys, plan.messages.run_keys, plan.leaf_tokens, plan.tokens,
        plan.offsets, plan.inbox, owners, places, plan.back_offsets, plan.back_slots,
        plan.back_rows,
    )  # fmt: skip
    back_offsets_t, back_slots, back_rows = back
    levels = [LevelPlan([], []) for _ in plan.starts[1:]]
    offsets, back_offsets = plan.offsets.tolist(), plan.back_offsets.tolist()
    for h, stack in plan.nodes.by_level(keys_n):
        rows, lo, hi = slice(stack.first, stack.end), offsets[stack.first], offsets[stack.end]
        inbox = Inbox(messages[lo:hi], offsets_t[rows] - lo, lo, owner[lo:hi] - stack.first)
        levels[h].nodes.append((stack, inbox, tokens[rows]))
    for h, stack in plan.messages.by_level(keys_m):
        rows = slice(stack.first, stack.end)
        lo, hi = back_offsets[stack.first], back_offsets[stack.end]
        outbox = Outbox(
            sources[rows], back_offsets_t[rows] - lo, back_slots[lo:hi], back_rows[lo:hi]
        )
        levels[h].messages.append((stack, outbox))
    return Schedule(
        leaf_tokens, levels, plan.nodes.size, len(plan.inbox), plan.messages.size, plan.row
    )
