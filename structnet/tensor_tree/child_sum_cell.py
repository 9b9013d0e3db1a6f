"""The equations of the Child-Sum Tree-LSTM, over given vectors of nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from structnet.checks import check_integer, check_one_of
from structnet.message_passing.cell import Edges, Nodes, State
from structnet.message_passing.gpu.triton import runs_triton
from structnet.message_passing.propagation import propagate
from structnet.message_passing.rows import with_own_rows
from structnet.message_passing.scheduling import Layout
from structnet.message_passing.transfer import moved
from structnet.tensor_tree.aggregators.base import HIDDEN_MOMENT
from structnet.tensor_tree.compiled.child_sum_sweep import covers, sweep
from structnet.tensor_tree.gates import lstm_state
from structnet.tensor_tree.parameters import Shape, allocate, check_shapes
from structnet.trees.forest import Forest


class ChildSumCell(nn.Module):
    """The weights of :class:`~structnet.tensor_tree.ChildSumTreeLSTM`, and its sweep.

    A subclass gives nodes their vectors and draws the initial weights.

    Args:
        hidden_size: c, the size of h and of the cell state.
        input_size: e, the size of the nodes' vectors.
        order: False if the order of the children must not matter.
        places: number of places that are told apart; all later children share the last place.

    Raises:
        ValueError: a size below 1.
    """

    weight: nn.Parameter
    bias: nn.Parameter
    children_weight: nn.Parameter
    forget_weight: nn.Parameter
    forget_bias: nn.Parameter
    child_forget_weight: nn.Parameter
    place_gate: Tensor
    place_bias: Tensor

    def __init__(self, hidden_size: int, input_size: int, order: bool = True, places: int = 5):
        super().__init__()
        owner = type(self).__name__
        sizes = {"hidden_size": hidden_size, "input_size": input_size, "places": places}
        for name, value in sizes.items():
            check_integer(name, value, 1, owner=owner)
        self.hidden_size, self.order = hidden_size, order
        self.places = places if order else 1
        c, e = hidden_size, input_size
        shapes: dict[str, Shape] = {
            "weight": (e, 3 * c),
            "bias": (3 * c,),
            "children_weight": (c, 3 * c),
            "forget_weight": (e, c),
            "forget_bias": (c,),
            "child_forget_weight": (c, c),
        }
        by_place: dict[str, Shape] = {
            "place_gate": (self.places, c),
            "place_bias": (self.places, c),
        }
        self.shapes = {**allocate(self, shapes | by_place if order else shapes), **by_place}
        if not order:
            self.register_buffer("place_gate", torch.empty(1, c))
            self.register_buffer("place_bias", torch.empty(1, c))

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draws the initial weights."""
        e, c = len(self.weight), self.hidden_size
        self.weight.normal_(std=e**-0.5)
        self.forget_weight.normal_(std=0.5 * e**-0.5)
        self.children_weight.normal_(std=(2 * HIDDEN_MOMENT * c) ** -0.5)  # for two children
        self.child_forget_weight.normal_(std=0.5 * (HIDDEN_MOMENT * c) ** -0.5)
        self.bias.zero_()
        self.forget_bias.zero_()
        if self.order:
            self.place_gate.normal_(1.0, 0.1)
            self.place_bias.normal_(0.0, 0.1)
        else:
            self.place_gate.fill_(1.0)
            self.place_bias.zero_()

    def states_from(
        self,
        forest: Forest,
        numbers: tuple[np.ndarray, np.ndarray],
        tables: tuple[Tensor, Tensor],
        mask: Tensor | None = None,
        backend: str = "levels",
    ) -> Tensor:
        """The hidden states of all nodes, whose vectors are sums of rows of two tables.

        Args:
            forest: the trees; their labels do not matter here.
            numbers: row of each node in each of the tables, -1 for none.
            tables: two tables of vectors.
            mask: factors for each node's vector, if any.
            backend: backend as for :func:`structnet.message_passing.propagate`; on a CPU "levels"
                is compiled, with equal results.

        Shapes:
            numbers ``[num_nodes]`` each; tables ``[rows, input_size]`` each; mask ``[num_nodes,
            input_size]``; output ``[num_nodes, hidden_size]``.

        Raises:
            ValueError: a table or a parameter has the wrong shape, a number is not that of a row,
                or the backend is unknown.
        """
        check_one_of("backend", backend, ("levels", "dgl"), type(self).__name__)
        check_shapes(self, self.shapes)
        size = len(self.weight)
        for places, table in zip(numbers, tables, strict=True):
            if table.shape[1:] != (size,):
                raise ValueError(f"vectors must have shape [rows, {size}]; got {list(table.shape)}")
            first, last = places.min(initial=-1), places.max(initial=-1)
            if places.shape != (forest.num_nodes,) or first < -1 or last >= len(table):
                raise ValueError(  # compiled loops check no index
                    f"expected one of {len(table)} rows, or -1, for each of {forest.num_nodes} "
                    f"nodes; got {len(places)} numbers from {first} to {last}"
                )
        if backend == "levels" and covers(forest, *tables, *self._weights()):
            return sweep(forest, *numbers, mask, *tables, *self._weights())
        look_up = [partial(looked_up, table) for table in tables]
        x = added_up(list(zip(numbers, look_up, strict=True)), self.weight)
        if mask is not None:
            x = x * mask
        y = torch.addmm(self.bias, x, self.weight)  # [nodes, 3 c]
        leaves = int((forest.height == 0).sum())
        p = torch.addmm(self.forget_bias, x[leaves:], self.forget_weight)  # [inner nodes, c]
        if backend == "levels" and runs_triton(y):
            from structnet.tensor_tree.gpu import child_sum_sweep as gpu

            given = (y, p, *self._weights()[4:])
            if gpu.covers(forest, *given):
                return gpu.sweep(forest, *given)
        rows = with_own_rows(forest, self.places)
        cell = _Cell(self, y, F.pad(p, (0, 0, leaves, 0)))
        return propagate(rows, cell, range(forest.num_nodes), backend)["h"]

    def _weights(self) -> tuple[Tensor, ...]:
        """The weights, in the order in which the sweeps take them."""
        return (
            self.weight, self.bias, self.forget_weight, self.forget_bias, self.children_weight,
            self.child_forget_weight, self.place_gate, self.place_bias,
        )  # fmt: skip


def added_up(
    given: Sequence[tuple[np.ndarray, Callable[[np.ndarray], Tensor]]], weight: Tensor
) -> Tensor:
    """The sum of each node's vectors, each looked up by a function; -1 is a node without one.

    Shapes:
        numbers ``[n]``; weight ``[size, ..]``, of the same dtype and device -> ``[n, size]``.
    """
    rows = weight.new_zeros(len(given[0][0]), len(weight))
    for numbers, look_up in given:
        has = (numbers >= 0).nonzero()[0]
        if len(has):
            (where,) = moved(rows.device, has)
            found = look_up(numbers[has]).to(rows.dtype)  # of lower precision under autocast
            rows = rows.index_add(0, where, found)
    return rows


def looked_up(table: Tensor, numbers: np.ndarray) -> Tensor:
    """Rows of a table, ``[n]`` -> ``[n, size]``."""
    if not runs_triton(table):
        return F.embedding(torch.from_numpy(numbers).to(table.device), table)
    from structnet.message_passing.gpu.rows import Gather  # torch's backward adds in random order

    return Gather(numbers, len(table), table.device)(table)


class _Cell:
    """One sweep by message passing: the plain form, on any device."""

    sums = frozenset(["sum"])

    def __init__(self, model: ChildSumCell, y: Tensor, p: Tensor):
        self.model, self.y, self.p = model, y, p
        self.layout = Layout(1, model.places, model.order, pads=False)

    def leaf(self, nodes: Nodes) -> State:
        raise NotImplementedError  # every node has a type

    def bottom(self) -> State:
        nothing = self.y.new_zeros(1, self.model.hidden_size)
        return {"h": nothing, "c": nothing}

    def message(self, edges: Edges) -> State:
        h = edges.split(edges.src["h"])  # [runs, length, c]
        gate, bias = edges.select(self.model.place_gate), edges.select(self.model.place_bias)
        return {
            "sum": edges.join(h * gate.unsqueeze(1) + bias.unsqueeze(1)),
            "forget": edges.src["h"] @ self.model.child_forget_weight,
            "c": edges.src["c"],
        }

    def reduce(self, nodes: Nodes) -> State:
        assert nodes.owner is not None  # as no child is padded
        box, own = nodes.mailbox, nodes.tokens
        y = self.y.index_select(0, own) + box["sum"] @ self.model.children_weight
        p = self.p.index_select(0, own).index_select(0, nodes.owner)
        kept = nodes.sum(torch.sigmoid(p + box["forget"]) * box["c"])
        i, o, u = y.chunk(3, -1)
        h, c = lstm_state(i, o, u, kept)
        return {"h": h, "c": c}
