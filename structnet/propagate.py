"""Level-by-level message passing over a forest, differentiable, in time and memory linear in it.

A cell is an ``nn.Module`` (or any object) in the style of DGL's user-defined functions; it reads
:class:`Edges` and :class:`Nodes` and gives dictionaries of tensors with one row each:

- ``layout``: the :class:`~structnet.schedule.Layout` it asks for;
- ``sums``: names of message fields that are only ever summed over a node's children;
- ``leaf(nodes)``: the state of nodes without a type, from their tokens;
- ``bottom()``: the state of a missing child, one row (cells that do not pad give zeros);
- ``message(edges)``: what a child sends to its parent, from ``edges.src``, the child's state;
- ``reduce(nodes)``: the state of typed nodes, from ``nodes.mailbox`` and their tokens.

The same functions run on two backends. ``"dgl"`` is the reference, plain DGL message passing and
plain autograd. ``"levels"`` computes a whole level at once and each distinct message once,
on the buffers of :mod:`structnet.tape`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch

from structnet.graph import Forest
from structnet.rows import Edges, Nodes, Rows, State
from structnet.schedule import Layout, Schedule, Stack, schedule
from structnet.tape import Finish, Tape

__all__ = ["Cell", "Edges", "Nodes", "Rows", "State", "propagate"]


class Cell(Protocol):
    """What :func:`propagate` runs; see the head of this module."""

    layout: Layout
    sums: frozenset[str]

    def leaf(self, nodes: Nodes) -> State: ...
    def bottom(self) -> State: ...
    def message(self, edges: Edges) -> State: ...
    def reduce(self, nodes: Nodes) -> State: ...


def propagate(
    forest: Forest,
    cell: Cell,
    nodes: Sequence[int] | np.ndarray | None = None,
    backend: str = "levels",
) -> State:
    """Run a cell from the leaves to the roots and give the states of the roots.

    Args:
        forest: what to run over.
        cell: the functions to run.
        nodes: numbers of the nodes whose states to give; by default ``forest.roots``.
        backend: "levels", or "dgl" for the reference.

    Shapes:
        output: each field ``[len(nodes), ...]``.

    Raises:
        GraphError: the forest has types or places that the cell does not have.
        ValueError: an unknown backend.
    """
    nodes = forest.roots if nodes is None else np.asarray(nodes, np.int64)
    if backend == "levels":
        return _by_levels(forest, cell, nodes)
    if backend == "dgl":
        from structnet.propagate_dgl import by_dgl

        return by_dgl(forest, cell, nodes)
    raise ValueError(f"backend must be 'levels' or 'dgl'; got {backend!r}")


def _by_levels(forest: Forest, cell: Cell, nodes: np.ndarray) -> State:
    plan = schedule(forest, cell.layout)
    tape = Tape(plan, cell.sums, cell.layout.arity if cell.layout.pads else 0)
    try:
        computed = _sweep(plan, cell, tape)
    finally:
        tape.close()
    rows = torch.from_numpy(plan.row[nodes]).to(forest.device)
    final = {name: x.index_select(0, rows) for name, x in _concatenate(computed).items()}
    return dict(zip(final, Finish.apply(tape, *final.values()), strict=True))


def _sweep(plan: Schedule, cell: Cell, tape: Tape) -> list[State]:
    """The states of each level, from the leaves up."""
    blocks = [cell.bottom()]
    if len(plan.leaf_tokens):
        leaves = Stack(1, len(plan.leaf_tokens), None, 0)
        blocks.insert(0, cell.leaf(Nodes(leaves, plan.leaf_tokens, {})))
    if plan.num_rows and not plan.levels[0].messages:
        tape.open(example_message(cell))
    computed: list[State] = []
    for level in plan.levels:
        for stack, inbox, tokens in level.nodes:
            mailbox = tape.receive(stack, inbox)
            blocks.append(cell.reduce(Nodes(stack, tokens, mailbox, inbox.owner, tape)))
        if not blocks:  # no typed leaves: level 1 is empty
            continue
        states = _concatenate(blocks)
        for stack, outbox in level.messages:
            src = {name: x.index_select(0, outbox.sources) for name, x in states.items()}
            tape.send(stack, outbox, cell.message(Edges(stack, src, tape)))
        computed.append(states)
        blocks = []
    return computed


def example_message(cell: Cell) -> State:
    """One row of each message field, for their shapes: the first receivers may receive nothing."""
    bottom = cell.bottom()
    key = torch.zeros(1, dtype=torch.long, device=next(iter(bottom.values())).device)
    with torch.no_grad():
        return cell.message(Edges(Stack(1, 1, key, 0), bottom))


def _concatenate(blocks: list[State]) -> State:
    if len(blocks) == 1:
        return blocks[0]
    return {name: torch.cat([block[name] for block in blocks]) for name in blocks[0]}
