"""The sweep of a :class:`~structnet.tensor_tree.ChildSumTreeLSTM` on a CPU, compiled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from structnet.tensor_tree.compiled.kernels import child_sum as kernels
from structnet.tensor_tree.compiled.pieces import at_once, cut, in_parallel, side_by_side
from structnet.trees._kernels import add_rows, grouped
from structnet.trees.forest import Forest

_OF_A_NODE = 100  # multiplications for its nonlinearities, for each number of its state


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
        apart: each node has a label of its own, of its own number.
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
    apart: bool


def _pieces(plan: Plan, w: Weights) -> tuple[np.ndarray, int]:
    """Those that the loops are cut into, and how many of them are computed side by side."""
    work = w.U.size + w.V.size + _OF_A_NODE * w.V.shape[1]
    pieces = cut(plan.starts, np.zeros_like(plan.starts), work, 0)
    return pieces, at_once(pieces, len(plan.label) * work)


def _by_label(plan: Plan, rows: np.ndarray, first: int = 0) -> np.ndarray:
    """Rows of nodes, the last of all, added up by their labels from ``first`` on."""
    if plan.apart:
        return rows
    found = np.zeros((plan.num_labels - first, rows.shape[1]), rows.dtype)
    add_rows(found, plan.label[len(plan.label) - len(rows) :] - first, rows)
    return found


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
    return Plan(*tree, label, len(types), *named, inner, apart)


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
    plan = make_plan(forest, types, tokens, mask is not None)
    return _Sweep.apply(plan, None if mask is None else _numpy(mask), *weights)


def _numpy(x: Tensor) -> np.ndarray:
    return x.detach().contiguous().numpy()


def _up(plan: Plan, w: Weights, mask: np.ndarray | None, H: np.ndarray) -> States:
    """The states, whose H are set."""
    x = np.zeros((plan.num_labels, w.Wf.shape[0]), H.dtype)
    for table, (labels, rows) in zip(w[:2], (plan.types, plan.tokens), strict=True):
        add_rows(x, labels, table[rows])
    if mask is not None:
        x *= mask

    def of_labels(weight: np.ndarray, bias: np.ndarray, first: int) -> np.ndarray:
        product = x[first:] @ weight
        product += bias
        return product

    X, P = in_parallel(
        [lambda: of_labels(w.W, w.b, 0), lambda: of_labels(w.Wf, w.bf, plan.inner)],
        work=x.size * w.V.shape[1],
    )
    Y = X if plan.apart else np.take(X, plan.label, 0)
    inner = len(H) - plan.starts[1]
    A, F = (np.empty((n, H.shape[1]), H.dtype) for n in (inner, len(plan.places)))
    Q, C, T = (np.empty_like(H) for _ in range(3))
    pieces, number = _pieces(plan, w)
    side_by_side(
        kernels.sweep_up, pieces, *plan[:4], plan.label, plan.inner, w.U, w.V, w.g, w.s,
        P, Y, A, Q, F, H, C, T,
        at_once=number,
    )  # fmt: skip
    return States(H[:0] if mask is None else mask, x, Y, A, F, H, C, T)


def _down(
    plan: Plan, w: Weights, asked: bool, s: States, dH: np.ndarray
) -> tuple[list[np.ndarray], np.ndarray | None]:
    """The gradients of the weights, without the tables, and if asked of labels' vectors.

    dH, that of H, is added to.
    """
    inner, leaves, c = plan.inner, int(plan.starts[1]), dH.shape[1]
    dC, dQ, dY = np.empty_like(dH), np.empty_like(dH), np.empty_like(s.Y)
    dA, dP = np.empty_like(s.A), np.empty_like(s.A)
    (pieces, number), places = _pieces(plan, w), len(w.g)
    widest = (pieces["last"] - pieces["first"]).max()
    dg, ds = (np.zeros((widest * places, c), dH.dtype) for _ in range(2))
    edges, of_parents = grouped(plan.children, len(dH))
    parents = np.repeat(np.arange(len(dH)), np.diff(plan.offsets))[edges]
    side_by_side(
        kernels.sweep_down, pieces, *plan[:4], edges, parents, of_parents, w.U, w.V, w.g,
        s.Y, s.F, s.H, s.C, s.T, dg, ds, dP, dA, dY, dQ, dH, dC,
        at_once=number,
    )  # fmt: skip
    dX, dP = _by_label(plan, dY), _by_label(plan, dP, inner)

    def of_labels() -> np.ndarray | None:
        if not asked:
            return None
        dx = dX @ w.W.T
        dx[inner:] += dP @ w.Wf.T
        if len(s.mask):
            dx *= s.mask
        return dx

    dx, *found = in_parallel(
        [
            of_labels,
            lambda: s.x.T @ dX,
            lambda: dX.sum(0),
            lambda: s.x[inner:].T @ dP,
            lambda: dP.sum(0),
            lambda: s.A.T @ dY[leaves:],
            lambda: s.H.T @ dQ,
        ],
        work=dY.size * c,
    )
    return [*found, *(x.reshape(-1, places, c).sum(0) for x in (dg, ds))], dx


class _Sweep(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, plan: Plan, mask: np.ndarray | None, *weights: Tensor) -> Tensor:
        w = Weights(*map(_numpy, weights))
        H = weights[0].new_empty(len(plan.label), w.V.shape[1])
        states = map(torch.from_numpy, _up(plan, w, mask, H.numpy()))
        ctx.plan = plan
        # Freed by the backward, whoever keeps the loss. H is there twice: torch sees by the tensor
        # that it gives away whether somebody changed it.
        ctx.save_for_backward(H, *weights, *states)
        return H

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple:
        if torch.is_grad_enabled():  # create_graph=True; otherwise a backward records nothing
            raise RuntimeError("the levels backend has no second derivatives; backend='dgl' has")
        saved = list(map(_numpy, ctx.saved_tensors[1:]))  # raises if one was changed in place since
        n = len(Weights._fields)
        w, s, asked = Weights(*saved[:n]), States(*saved[n:]), ctx.needs_input_grad[2:]
        dH = np.array(gradient.numpy(), w.V.dtype, order="C")  # a copy, which is added to
        found, dx = _down(ctx.plan, w, any(asked[:2]), s, dH)
        tables = [np.zeros_like(x) if yes else None for x, yes in zip(w[:2], asked, strict=False)]
        for table, (labels, rows) in zip(tables, (ctx.plan.types, ctx.plan.tokens), strict=True):
            if table is not None and dx is not None:
                add_rows(table, rows, dx[labels])
        gradients = (
            torch.from_numpy(x) if x is not None and yes else None
            for x, yes in zip((*tables, *found), asked, strict=True)
        )
        return None, None, *gradients
