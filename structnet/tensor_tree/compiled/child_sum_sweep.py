"""The sweep of a :class:`~structnet.tensor_tree.ChildSumTreeLSTM` on a CPU, compiled."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from structnet.tensor_tree.compiled.kernels import child_sum as kernels
from structnet.tensor_tree.compiled.parts import in_parallel, split
from structnet.trees._kernels import add_rows
from structnet.trees.forest import Forest


class Weights(NamedTuple):
    """The parameters, by the letters of the model's equations, or their gradients.

    Attributes:
        types, tokens: vectors of labels.
        W, b: W and b.
        Wf, bf: W_f and b_f.
        U, V: U and U_f.
        g, s: gates and biases of places, the last of which all further children share.

    Shapes:
        types ``[num_types, e]``; tokens ``[num_tokens, e]``; W ``[e, 3 c]``; b ``[3 c]``; Wf
        ``[e, c]``; bf ``[c]``; U ``[c, 3 c]``; V ``[c, c]``; g, s ``[places, c]``.
    """

    types: Any
    tokens: Any
    W: Any
    b: Any
    Wf: Any
    bf: Any
    U: Any
    V: Any
    g: Any
    s: Any


class Plan(NamedTuple):
    """A forest as the loops need it: children in CSR form, of smaller numbers than their parents.

    What labels give is computed once for each distinct one.

    Attributes:
        offsets, children, places: those of a forest.
        starts: the first node of each height, and the end.
        label: that of each node.
        num_labels: count of the labels.
        types, tokens: numbers of the labels that have one, and which it is of each.
        inner: the first label that nodes with children have.
    """

    offsets: np.ndarray
    children: np.ndarray
    places: np.ndarray
    starts: np.ndarray
    label: np.ndarray
    num_labels: int
    types: tuple[np.ndarray, np.ndarray]
    tokens: tuple[np.ndarray, np.ndarray]
    inner: int

    @property
    def loops(self) -> tuple:
        """What the loops over nodes take of it."""
        return self.offsets, self.children, self.places, self.starts, self.label, self.inner


class States(NamedTuple):
    """What is computed and kept for the gradients.

    Attributes:
        mask: factors of the vectors of labels; no rows for none.
        x: these vectors.
        Y: the gates i, o, u, side by side.
        A: sum that a node receives, ``sum_j g_j * h_j + s_j``.
        F: forget gate of a child, ``sigmoid(P + Q)``: P is the part that the label of its node
            gives, Q the one that it adds itself, ``U_f h``.
        H, C, T: h, c and tanh(c).

    Shapes:
        A row a label (mask, x), a node (Y, H, C, T), a node with children (A), or an edge (F).
    """

    mask: np.ndarray
    x: np.ndarray
    Y: np.ndarray
    A: np.ndarray
    F: np.ndarray
    H: np.ndarray
    C: np.ndarray
    T: np.ndarray


def covers(forest: Forest, *tensors: Tensor) -> bool:
    """Whether :func:`sweep` can compute with these tensors."""
    dtype = tensors[0].dtype
    return (
        forest.device.type == "cpu"
        and not torch.is_autocast_enabled("cpu")
        and dtype in (torch.float32, torch.float64)
        and all(x.is_cpu and x.dtype == dtype for x in tensors)
    )


def make_plan(forest: Forest, types: np.ndarray, tokens: np.ndarray, apart: bool) -> Plan:
    """Plan a sweep.

    Args:
        forest: the trees.
        types, tokens: those of its nodes, -1 for none.
        apart: each node's label is one of its own.

    Shapes:
        types, tokens ``[num_nodes]``.
    """
    starts = np.concatenate(([0], np.cumsum(np.bincount(forest.height))))
    leaves = int(starts[1])
    label, inner = np.arange(len(types)), leaves
    if not apart:
        label, types, tokens, inner = _distinct(types, tokens, leaves)
    named = (_named(types), _named(tokens))
    tree = forest.offsets, forest.children, forest.pos, starts
    return Plan(*tree, label, len(types), *named, inner)


def _named(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The labels that have such a number, and which."""
    labels = np.flatnonzero(numbers >= 0)
    return labels, numbers[labels]


def _distinct(types: np.ndarray, tokens: np.ndarray, leaves: int) -> tuple:
    """The distinct labels of leaves, then those of other nodes.

    Gives the label of each node, the type and the token of each label, and the first that nodes
    with children have.
    """
    pair = types * (tokens.max() + 2) + tokens  # of any two numbers from -1 on, another one
    _, of_leaves, leaf = np.unique(pair[:leaves], return_index=True, return_inverse=True)
    _, of_inner, inner = np.unique(pair[leaves:], return_index=True, return_inverse=True)
    node = np.concatenate([of_leaves, leaves + of_inner])
    label = np.concatenate([leaf, len(of_leaves) + inner])
    return label, types[node], tokens[node], len(of_leaves)


def sweep(
    forest: Forest, types: np.ndarray, tokens: np.ndarray, mask: Tensor | None, *weights: Tensor
) -> Tensor:
    """The hidden states of all nodes, ``[num_nodes, c]``.

    Args:
        forest: the trees.
        types, tokens: those of its nodes, -1 for none.
        mask: factors of the vectors of each node's label, if any.
        weights: those of :class:`Weights`.

    Shapes:
        types, tokens ``[num_nodes]``; mask ``[num_nodes, e]``.
    """
    cut = split(forest)

    def plan(own: np.ndarray) -> Plan:
        part = forest.copied(own) if len(cut.nodes) > 1 else forest
        return make_plan(part, types[own], tokens[own], mask is not None)

    plans = in_parallel([partial(plan, own) for own in cut.nodes])
    factors = np.empty((0, weights[0].shape[1]), np.float32) if mask is None else _numpy(mask)
    masks = [factors[nodes if mask is not None else []] for nodes in cut.nodes]
    return _Sweep.apply(cut.rows if len(plans) > 1 else None, plans, masks, *weights)


def _numpy(x: Tensor) -> np.ndarray:
    return x.detach().contiguous().numpy()


def _room(plan: Plan, columns: int, dtype: np.dtype) -> np.ndarray:
    """For products, of the level that has most rows."""
    return np.empty((np.diff(plan.starts).max(), columns), dtype)


def _up(plan: Plan, w: Weights, mask: np.ndarray, H: np.ndarray) -> States:
    """The states of one part, whose H are set."""
    x = np.zeros((plan.num_labels, w.Wf.shape[0]), H.dtype)
    for table, (labels, rows) in zip(w[:2], (plan.types, plan.tokens), strict=True):
        add_rows(x, labels, table[rows])
    if len(mask):
        x *= mask
    X, P = x @ w.W, x[plan.inner :] @ w.Wf
    X += w.b
    P += w.bf
    Y = np.take(X, plan.label, 0)
    A, F = (np.empty((n, H.shape[1]), H.dtype) for n in (len(H) - plan.starts[1], len(plan.places)))
    Q, C, T = (np.empty_like(H) for _ in range(3))
    room = _room(plan, Y.shape[1], H.dtype)
    kernels.sweep_up(*plan.loops, w.U, w.V, w.g, w.s, P, Y, A, Q, F, H, C, T, room)
    return States(mask, x, Y, A, F, H, C, T)


def _down(
    plan: Plan, w: Weights, asked: bool, s: States, dH: np.ndarray
) -> tuple[list[np.ndarray], np.ndarray | None]:
    """The gradients of one part's weights, without the tables, and if asked of labels' vectors.

    dH, that of H, is added to.
    """
    inner, leaves = plan.inner, int(plan.starts[1])
    dC, dQ, dY = np.zeros_like(dH), np.zeros_like(dH), np.empty_like(s.Y)
    dP = np.zeros((len(s.x) - inner, dH.shape[1]), dH.dtype)
    dg, ds = np.zeros_like(w.g), np.zeros_like(w.s)
    room = _room(plan, dH.shape[1], dH.dtype)
    kernels.sweep_down(
        *plan.loops, w.U, w.V, w.g, s.Y, s.F, s.H, s.C, s.T, room, dg, ds, dP, dY, dQ, dH, dC
    )
    dX = np.zeros((len(s.x), dY.shape[1]), dY.dtype)
    add_rows(dX, plan.label, dY)
    of_labels = s.x.T @ dX, dX.sum(0), s.x[inner:].T @ dP, dP.sum(0)
    found = [*of_labels, s.A.T @ dY[leaves:], s.H.T @ dQ, dg, ds]
    if not asked:
        return found, None
    dx = dX @ w.W.T
    dx[inner:] += dP @ w.Wf.T
    if len(s.mask):
        dx *= s.mask
    return found, dx


class _Sweep(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        rows: np.ndarray | None,
        plans: list[Plan],
        masks: list[np.ndarray],
        *weights: Tensor,
    ) -> Tensor:
        w = Weights(*map(_numpy, weights))
        ends = np.cumsum([len(plan.label) for plan in plans])
        H = weights[0].new_empty(int(ends[-1]), w.V.shape[1])
        each = zip(plans, masks, np.split(H.numpy(), ends[:-1]), strict=True)
        states = in_parallel([partial(_up, plan, w, mask, own) for plan, mask, own in each])
        ctx.rows, ctx.plans = rows, plans
        kept = (torch.from_numpy(x) for s in states for x in s)
        # Freed by the backward, whoever keeps the loss. H is there twice: torch sees by the tensor
        # that it gives away whether somebody changed it.
        ctx.save_for_backward(H, *weights, *kept)
        return H if rows is None else torch.from_numpy(np.take(H.numpy(), rows, 0))

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple:
        if torch.is_grad_enabled():  # create_graph=True; otherwise a backward records nothing
            raise RuntimeError("the levels backend has no second derivatives; backend='dgl' has")
        saved = iter(map(_numpy, ctx.saved_tensors[1:]))  # raises if one was changed in place since
        w = Weights(*itertools.islice(saved, len(Weights._fields)))
        states = [States(*itertools.islice(saved, len(States._fields))) for _ in ctx.plans]
        ends, asked = np.cumsum([len(s.H) for s in states]), ctx.needs_input_grad[3:]
        dH = np.zeros((ends[-1], gradient.shape[1]), w.V.dtype)
        dH[slice(None) if ctx.rows is None else ctx.rows] = gradient.numpy()
        each = zip(ctx.plans, states, np.split(dH, ends[:-1]), strict=True)
        found = in_parallel(
            [partial(_down, plan, w, any(asked[:2]), s, d_own) for plan, s, d_own in each]
        )
        tables = [np.zeros_like(x) if yes else None for x, yes in zip(w[:2], asked, strict=False)]
        total = found[0][0]
        for part, (plan, (d, dx)) in enumerate(zip(ctx.plans, found, strict=True)):
            for table, (labels, rows) in zip(tables, (plan.types, plan.tokens), strict=True):
                if table is not None and dx is not None:
                    add_rows(table, rows, dx[labels])
            for x, more in zip(total, d if part else (), strict=False):
                x += more
        gradients = (
            torch.from_numpy(x) if x is not None and yes else None
            for x, yes in zip((*tables, *total), asked, strict=True)
        )
        return None, None, None, *gradients
