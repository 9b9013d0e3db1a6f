"""The reference backend of :mod:`structnet.message_passing.propagation`: DGL's own message passing.

``DGLGraph.prop_nodes`` walks through the levels under autograd. DGL passes edges and nodes to a
user-defined function in an order of its own, in buckets of equal degree; so every row gathers its
own parameters, and every mailbox is sorted by ``pos``, with the bottom's message in empty places.
It uses no autograd function of our own. It is slow, correct to any order of derivatives, and the
reference that the fast backend is tested against.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from structnet.message_passing.cell import (
    Cell,
    Edges,
    Nodes,
    State,
    bottom_of,
    check_fields,
    example_message,
    shapes_of,
    sums_of,
)
from structnet.message_passing.scheduling import Stack
from structnet.trees.forest import Forest
from structnet.trees.schema import dgl, make_graph

if TYPE_CHECKING:
    from dgl import DGLGraph


def by_dgl(forest: Forest, cell: Cell, nodes: np.ndarray) -> State:
    """The states of ``nodes``, ``[n]``, computed by DGL; arguments as in :func:`propagate`."""
    cell.layout.check(forest)
    parent = np.repeat(np.arange(forest.num_nodes), np.diff(forest.offsets))
    # Not forest.graph, into which the caller may have written.
    graph = make_graph(parent, forest.children, forest.pos, forest.types, forest.tokens)
    graph.edata["key"] = _keys(forest, parent, cell)

    def message(edges: Any) -> State:  # DGL's EdgeBatch
        src, stack = _without_prefix("state/", edges.src), _one_each(edges.data["key"])
        sent = cell.message(Edges(stack, src))
        check_fields("message", sent, stack, shapes_of(example))
        return _with_prefix("message/", sent) | {"pos": edges.data["pos"]}

    def reduce(nodes: Any) -> State:  # DGL's NodeBatch
        received = _without_prefix("message/", nodes.mailbox)
        mailbox = _by_place(received, nodes.mailbox["pos"], nodes.data["type"], bottom, cell)
        states = _reduce(cell, mailbox, nodes.data["type"], nodes.data["token"], shapes)
        return _with_prefix("state/", states)

    frontiers = dgl().topological_nodes_generator(graph)
    leaves = frontiers[0]
    typed = graph.ndata["type"][leaves] >= 0
    untyped_leaves, typed_leaves = leaves[~typed], leaves[typed]
    states: list[tuple[Tensor, State]] = []
    if len(untyped_leaves):
        states.append((untyped_leaves, _leaf(cell, graph, untyped_leaves)))
    missing = bottom_of(cell, states[0][1] if states else None)
    shapes = shapes_of(missing)
    if states:
        check_fields("leaf", states[0][1], Stack(1, len(untyped_leaves), None, 0), shapes)
    if len(untyped_leaves) < forest.num_nodes:
        example = example_message(cell, missing)
        bottom = _bottom_messages(cell, missing, shapes_of(example))
    if len(typed_leaves):
        leaf_states = _childless(cell, graph, typed_leaves, bottom, example, shapes)
        states.append((typed_leaves, leaf_states))
    for chosen, state in states:
        for name, x in _with_prefix("state/", state).items():
            if name not in graph.ndata:
                graph.ndata[name] = x.new_zeros(graph.num_nodes(), *x.shape[1:])
            graph.ndata[name] = graph.ndata[name].index_copy(0, chosen, x)
    if len(frontiers) > 1:
        graph.prop_nodes(frontiers[1:], message, reduce)
    index = torch.from_numpy(nodes)
    return {name: x[index] for name, x in _without_prefix("state/", graph.ndata).items()}


# The fields of a cell may have any names, also those of the schema.
def _with_prefix(prefix: str, fields: State) -> State:
    return {prefix + name: x for name, x in fields.items()}


def _without_prefix(prefix: str, frame: Mapping[str, Tensor]) -> State:
    names = [name for name in frame if name.startswith(prefix)]
    return {name.removeprefix(prefix): frame[name] for name in names}


def _keys(forest: Forest, parent: np.ndarray, cell: Cell) -> Tensor:
    """The key of each edge's message."""
    key = forest.types[parent]
    if cell.layout.positional:
        key = key * cell.layout.arity + forest.pos
    return torch.from_numpy(key)


def _bottom_messages(cell: Cell, missing: State, shapes: Mapping[str, Sequence[int]]) -> State:
    """The message of a missing child for each key, one row each."""
    num_keys = cell.layout.num_keys
    if not cell.layout.pads or not num_keys:
        return {}
    src = {name: x.expand(num_keys, *x.shape[1:]) for name, x in missing.items()}
    stack = Stack(num_keys, 1, None, 0)
    sent = cell.message(Edges(stack, src))
    check_fields("message", sent, stack, shapes)
    return sent


def _one_each(keys: Tensor) -> Stack:
    """A stack in which each row is a run, and so has its own copy of the parameters."""
    return Stack(len(keys), 1, keys, 0)


def _by_place(received: State, pos: Tensor, types: Tensor, bottom: State, cell: Cell) -> State:
    """Mailboxes ``[n, degree, ...]`` sorted by place, padded and summed as the cell needs."""
    mailbox = {}
    width = cell.layout.arity
    for name, x in received.items():
        if cell.layout.pads:
            kind = types[:, None].expand(-1, width)  # [n, arity] the key of each place's message
            if cell.layout.positional:
                kind = kind * width + torch.arange(width)
            rows = torch.arange(len(x))[:, None].expand_as(pos)  # [n, degree]
            x = bottom[name][kind].index_put((rows, pos), x)
        mailbox[name] = x.sum(1) if name in sums_of(cell) else x
    return mailbox


def _reduce(
    cell: Cell,
    mailbox: State,
    types: Tensor,
    tokens: Tensor,
    shapes: Mapping[str, Sequence[int]],
) -> State:
    owner = None
    for name, x in mailbox.items():
        if name not in sums_of(cell) and not cell.layout.pads:
            # All n nodes of a bucket have the same degree, so each in turn owns that many slots.
            owner = torch.arange(len(x)).repeat_interleave(x.shape[1])
            mailbox[name] = x.flatten(0, 1)
    stack = _one_each(types)
    states = cell.reduce(Nodes(stack, tokens, mailbox, owner))
    check_fields("reduce", states, stack, shapes)
    return states


def _leaf(cell: Cell, graph: DGLGraph, chosen: Tensor) -> State:
    return cell.leaf(Nodes(Stack(1, len(chosen), None, 0), graph.ndata["token"][chosen], {}))


def _childless(
    cell: Cell,
    graph: DGLGraph,
    chosen: Tensor,
    bottom: State,
    example: State,
    shapes: Mapping[str, Sequence[int]],
) -> State:
    """The states of typed nodes without children; with padding, the bottom is in every place."""
    types, tokens = graph.ndata["type"][chosen], graph.ndata["token"][chosen]
    received = {name: x.new_empty(len(chosen), 0, *x.shape[1:]) for name, x in example.items()}
    nothing = torch.empty(len(chosen), 0, dtype=torch.long)
    mailbox = _by_place(received, nothing, types, bottom, cell)
    return _reduce(cell, mailbox, types, tokens, shapes)
