"""The plan of one sweep over a forest: who computes with whom, and who reads what.

Nodes of one height are computed together. So are all messages out of one height, and a message
that several nodes receive - the same child, at the same place of parents of the same type - is
computed once: messages are shared as subtrees are. Rows that use the same parameters stand next
to each other, in stacks of equally long runs, so that one batched product serves many types.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from torch import Tensor

from structnet.errors import GraphError
from structnet.message_passing import _kernels
from structnet.message_passing.transfer import moved
from structnet.trees.forest import Forest


class Stack(NamedTuple):
    """Rows in ``runs`` equally long runs; the rows of one run share their parameters.

    ``keys`` says which parameters each run uses, ``[runs]``; None means run i uses the i-th of
    all. ``first`` is the first row's place among all rows of its kind.
    """

    runs: int
    length: int
    keys: Tensor | None
    first: int

    @property
    def end(self) -> int:
        """The row after the last one."""
        return self.first + self.runs * self.length


class Inbox(NamedTuple):
    """What the rows of one stack of nodes receive: lists of message rows, one after the other."""

    messages: Tensor  # [slots] message rows
    offsets: Tensor  # [rows] where each row's list begins
    first: int  # of the slots among all slots
    owner: Tensor  # [slots] which of the stack's rows each slot belongs to


class Outbox(NamedTuple):
    """What a stack of messages is computed from, and who receives it."""

    sources: Tensor  # [rows] rows of the level's states
    offsets: Tensor  # [rows] where each message's lists of receivers begin
    slots: Tensor  # [receivers] slots that receive it
    rows: Tensor  # [receivers] node rows that receive it


class LevelPlan(NamedTuple):
    """One level: compute these stacks of nodes, then send these stacks of messages."""

    nodes: list[tuple[Stack, Inbox, Tensor]]  # with the nodes' tokens
    messages: list[tuple[Stack, Outbox]]


class Schedule(NamedTuple):
    """A sweep over a forest, from the leaves up.

    Level 0 is the untyped leaves, whose tokens are ``leaf_tokens``, and then the bottom's row.
    The states of all rows in the order in which they are computed hold node v at ``row[v]``.
    """

    leaf_tokens: Tensor
    levels: list[LevelPlan]
    num_rows: int  # of typed nodes
    num_slots: int
    num_messages: int
    row: np.ndarray


class Layout(NamedTuple):
    """What a cell asks of a schedule.

    Attributes:
        num_types: the number of types it has parameters for.
        arity: the number of places it distinguishes.
        positional: True if a message depends on its place.
        pads: True if a missing child sends a message too.
        slack: the padding rows that a stack of runs may hold beyond one for each real row. A
            product over a few rows too many costs less than starting a second one, unless its
            weights are large.
        node_slack: the same for stacks of nodes, if it differs from that of messages.
    """

    num_types: int
    arity: int
    positional: bool
    pads: bool
    slack: int = 64
    node_slack: int | None = None

    @property
    def num_keys(self) -> int:
        """How many kinds of message there are."""
        return self.num_types * (self.arity if self.positional else 1)

    def check(self, forest: Forest) -> None:
        """Check that the forest fits.

        Raises:
            GraphError: it is empty, or has types or places that the cell does not have.
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
    """Rows of one kind, nodes or messages, level by level in stacks of runs."""

    stacks: np.ndarray  # [stacks] of dtype _kernels.STACK
    run_keys: np.ndarray  # of the runs of the stacks that do not hold every key
    rows: np.ndarray  # where the real ones are; the others are padding
    keys: np.ndarray  # of the real ones
    size: int  # how many rows there are

    @property
    def ends(self) -> np.ndarray:
        """Where each stack's rows end, ``[stacks]``."""
        return self.stacks["first"] + self.stacks["runs"] * self.stacks["length"]

    def by_level(self, run_keys: Tensor) -> Iterator[tuple[int, Stack]]:
        """Each stack with its level; ``run_keys``, ``[n]``, are these on the sweep's device."""
        columns = (self.stacks[name].tolist() for name in _kernels.STACK_FIELDS)
        for level, first, runs, length, complete, key in zip(*columns, strict=True):
            keys = None if complete else run_keys[key : key + runs]
            yield level, Stack(runs, length, keys, first)


class Arrangement(NamedTuple):
    """The plan of one sweep as arrays; a :class:`Schedule` is the same, cut into levels.

    States stand as they do there; a level's are rows ``starts[h]`` to ``starts[h + 1]``.
    """

    leaf_tokens: np.ndarray
    tokens: np.ndarray  # [node rows]
    row: np.ndarray  # the state of each node
    starts: np.ndarray
    nodes: Packed
    messages: Packed
    sources: np.ndarray  # [message rows] the state that each is computed from
    offsets: np.ndarray  # inboxes, a list of message rows a node row
    inbox: np.ndarray
    back_offsets: np.ndarray  # their transpose, lists of slots and of node rows
    back_slots: np.ndarray
    back_rows: np.ndarray


def arrange(forest: Forest, layout: Layout) -> Arrangement:
    """Plan a sweep over ``forest``; time and memory linear in its distinct nodes.

    Raises:
        GraphError: types or places that the layout does not have.
    """
    layout.check(forest)
    n = forest.num_nodes
    first, source, key = _kernels.slots(
        forest.types,
        forest.offsets,
        forest.children,
        forest.pos,
        layout.arity,
        layout.positional,
        layout.pads,
    )
    # Untyped leaves and the bottom are level 0; typed nodes, even childless ones, may receive
    # the bottom's message, so they begin at level 1.
    level_of = np.append(np.where(forest.types < 0, 0, forest.height + 1), 0)
    level, sender, message_key, message = _kernels.distinct_messages(
        source, key, level_of, layout.num_keys
    )
    messages = _packed(level, message_key, layout.num_keys, layout.slack)
    typed = np.flatnonzero(forest.types >= 0)  # by height, then type, as the forest is
    node_slack = layout.slack if layout.node_slack is None else layout.node_slack
    nodes = _packed(level_of[typed], forest.types[typed], layout.num_types, node_slack)
    lists = _kernels.inboxes(
        typed,
        nodes.rows,
        nodes.size,
        first,
        messages.rows[message],
        messages.size,
        layout.arity if layout.pads else 0,
    )

    # Where each state stands among all: untyped leaves, the bottom, then the typed rows.
    leaves = np.flatnonzero(forest.types < 0)
    row = np.empty(n + 1, np.int64)
    row[leaves] = np.arange(len(leaves))
    row[n] = len(leaves)
    row[typed] = len(leaves) + 1 + nodes.rows
    tokens = np.full(nodes.size, -1, np.int64)
    tokens[nodes.rows] = forest.tokens[typed]
    ends = np.zeros(level_of.max() + 1, np.int64)
    ends[nodes.stacks["level"]] = nodes.ends
    starts = np.concatenate(([0], np.maximum.accumulate(ends) + len(leaves) + 1))
    sources = np.zeros(messages.size, np.int64)
    sources[messages.rows] = row[sender]
    return Arrangement(
        forest.tokens[leaves], tokens, row[:n], starts, nodes, messages, sources, *lists
    )


def _packed(level: np.ndarray, keys: np.ndarray, num_keys: int, slack: int) -> Packed:
    rows, stacks, run_keys, size = _kernels.pack(level, keys, num_keys, slack)
    return Packed(stacks, run_keys, rows, keys, size)


def schedule(forest: Forest, layout: Layout) -> Schedule:
    """Plan a sweep over ``forest``, on its device; as :func:`arrange`."""
    plan = arrange(forest, layout)
    owners = np.repeat(np.arange(plan.nodes.size), np.diff(plan.offsets))
    # A level's messages are computed from that level's states alone: count rows from its first.
    counts = np.diff(plan.messages.ends, prepend=0)
    level = np.repeat(plan.messages.stacks["level"], counts)  # of each message
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
