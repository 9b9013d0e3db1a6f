"""Differentiable message passing over a forest, level by level, in linear time and memory.

The functions of a :class:`~structnet.message_passing.cell.Cell` run on two backends. ``"dgl"`` is
the reference: plain DGL message passing and autograd, with derivatives of any order. ``"levels"``
computes a whole level at once and each distinct message once, in the buffers of
:mod:`structnet.message_passing.tape`; it has first derivatives only, and raises an error for more.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from structnet.checks import check_one_of
from structnet.message_passing.cell import (
    Cell,
    Edges,
    Nodes,
    State,
    bottom_of,
    check_cell,
    check_fields,
    example_message,
    shapes_of,
    sums_of,
)
from structnet.message_passing.scheduling import Schedule, Stack, check_forest, schedule
from structnet.message_passing.tape import Finish, Tape
from structnet.training.modules import not_compiled
from structnet.trees.forest import Forest
from structnet.trees.memory import collector_paused
from structnet.trees.numbering import node_numbers


@not_compiled
def propagate(
    forest: Forest,
    cell: Cell,
    nodes: Sequence[int] | np.ndarray | None = None,
    backend: str = "levels",
) -> State:
    """Runs a cell from the leaves to the roots and returns the states of the roots.

    In a training loop of your own beside another busy program, small cells are several times as
    fast on one thread (:func:`structnet.training.set_threads`), which :func:`.fit` uses by itself.

    Args:
        forest: trees to run over.
        cell: functions to run.
        nodes: numbers of the nodes whose states are returned, or a mask of all nodes; by default
            ``forest.roots``.
        backend: "levels", or "dgl" for the reference.

    Shapes:
        output: each field ``[len(nodes), ...]``.

    Raises:
        GraphError: the forest is empty, or has types or places that the cell does not have.
        IndexError: ``nodes`` are not numbers of nodes, or out of range.
        TypeError: ``forest`` is not a Forest, the cell lacks something, or one of its functions
            does not return a dictionary of tensors.
        ValueError: the backend is unknown, ``sums`` of the cell has a name that no field of its
            messages has, or a function of the cell does not return a row for each that it gets, in
            the fields and shapes of ``bottom`` or of the other messages.
        RuntimeError: with "levels": a transform of ``torch.func`` is asked for; or, in the backward
            pass, a second derivative.

    Example:
        >>> from structnet import Tree, Vocabulary
        >>> from structnet.message_passing import Layout
        >>> class Size:
        ...     sums = frozenset({"number"})  # these messages are only ever added up
        ...     layout = Layout(num_types=1, arity=2, positional=False, pads=False)
        ...
        ...     def leaf(self, nodes):
        ...         return {"number": torch.ones(len(nodes.tokens), 1)}
        ...
        ...     def message(self, edges):
        ...         return {"number": edges.src["number"]}
        ...
        ...     def reduce(self, nodes):
        ...         return {"number": 1 + nodes.mailbox["number"]}
        >>> trees = [Tree("f", [Tree("x"), Tree("f", [Tree("y")])]), Tree("x")]
        >>> forest = Forest.from_trees(trees, Vocabulary.from_trees(trees))
        >>> propagate(forest, Size())["number"].tolist()
        [[4.0], [1.0]]
    """
    check_one_of("backend", backend, ("levels", "dgl"), "propagate")
    check_forest(forest)
    check_cell(cell)
    nodes = forest.roots if nodes is None else node_numbers(nodes, forest.num_nodes)
    if backend == "levels":
        return _by_levels(forest, cell, nodes)
    from structnet.message_passing.dgl_backend import by_dgl

    return by_dgl(forest, cell, nodes)


def _by_levels(forest: Forest, cell: Cell, nodes: np.ndarray) -> State:
    # The graph of a deep forest is many objects, which the collector would visit again and again.
    with collector_paused():
        plan = schedule(forest, cell.layout)
        tape = Tape(plan, sums_of(cell), cell.layout.arity if cell.layout.pads else 0)
        try:
            computed = _sweep(plan, cell, tape)
        finally:
            tape.close()
    rows = torch.from_numpy(plan.row[nodes]).to(forest.device)
    final = {name: x.index_select(0, rows) for name, x in _concatenate(computed).items()}
    return dict(zip(final, Finish.apply(tape, *final.values()), strict=True))


def _sweep(plan: Schedule, cell: Cell, tape: Tape) -> list[State]:
    """The states of all rows, level by level from the leaves up."""
    blocks: list[State] = []
    leaves = Stack(1, len(plan.leaf_tokens), None, 0)
    if leaves.length:
        blocks.append(cell.leaf(Nodes(leaves, plan.leaf_tokens, {}, product=tape.product)))
    bottom = bottom_of(cell, blocks[0] if blocks else None)
    shapes = shapes_of(bottom)
    if blocks:
        check_fields("leaf", blocks[0], leaves, shapes)
    blocks.append(bottom)
    if plan.num_rows and not plan.levels[0].messages:
        tape.open(example_message(cell, bottom))
    computed: list[State] = []
    for level in plan.levels:
        for stack, inbox, tokens in level.nodes:
            mailbox = tape.receive(stack, inbox)
            blocks.append(cell.reduce(Nodes(stack, tokens, mailbox, inbox.owner, tape.product)))
            check_fields("reduce", blocks[-1], stack, shapes)
        if not blocks:  # without typed leaves, level 1 is empty
            continue
        states = _concatenate(blocks)
        # The states of the level are complete, so all of its messages can be sent.
        for stack, outbox in level.messages:
            src = {name: x.index_select(0, outbox.sources) for name, x in states.items()}
            tape.send(stack, outbox, cell.message(Edges(stack, src, tape.product)))
        computed.append(states)
        blocks = []
    return computed


def _concatenate(blocks: list[State]) -> State:
    if len(blocks) == 1:
        return blocks[0]
    return {name: torch.cat([block[name] for block in blocks]) for name in blocks[0]}
