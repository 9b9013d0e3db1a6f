"""The compiled sweep of a :class:`~structnet.tensor_tree.ChildSumTreeLSTM` on a CPU."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from structnet.tensor_tree.compiled.kernels import child_sum as kernels
from structnet.tensor_tree.compiled.pieces import at_once, cut, in_parallel, side_by_side
from structnet.training.backward import by_hand
from structnet.trees._kernels import add_rows, grouped
from structnet.trees.end_to_end import offsets_of
from structnet.trees.forest import Forest

_OF_A_NODE = 100  # multiplications that its nonlinearities cost, per number of its state


class Weights(NamedTuple):
    """The parameters, named after the model's equations, or their gradients.

    Attributes:
        types, tokens: vectors of labels.
        W, b: W and b.
        Wf, bf: W_f and b_f.
        U, V: U and U_f.
        g, s: gates g_p and biases b_p of places; all later children share the last place.

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
    """A forest as the loops need it, with children that have smaller numbers than their parents.

    Terms that only depend on the label of a node are computed once for each distinct label.

    Attributes:
        offsets, children, places: children of each node and their places, in CSR form.
        starts: first node of each height, and the end.
        label: label of each node.
        num_labels: number of labels.
        types, tokens: labels that have a type, or a token, and its number for each of them.
        inner: first label of nodes with children.
        apart: True if each node has a label of its own, with the number of the node.

    Shapes:
        offsets ``[num_nodes + 1]``; children, places ``[num_edges]``; starts ``[heights + 1]``;
        label ``[num_nodes]``.
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
    """The pieces of a sweep, and how many of them are worth computing at the same time."""
    work = w.U.size + w.V.size + _OF_A_NODE * w.V.shape[1]
    pieces = cut(plan.starts, np.zeros_like(plan.starts), work, 0)
    return pieces, at_once(pieces, len(plan.label) * work)


def _by_label(plan: Plan, rows: np.ndarray, first: int = 0) -> np.ndarray:
    """The sums of rows of the last nodes by their labels, from the label ``first`` on."""
    if plan.apart:
        return rows
    found = np.zeros((plan.num_labels - first, rows.shape[1]), rows.dtype)
    add_rows(found, plan.label[len(plan.label) - len(rows) :] - first, rows)
    return found


class States(NamedTuple):
    """The arrays that are computed, and kept for the gradients.

    Attributes:
        mask: factors of the labels' vectors; without rows if there are none.
        x: vectors of the labels.
        Y: gates i, o, u, side by side.
        A: sum that a node receives, ``sum_j g_j * h_j + s_j``.
        F: forget gate of a child, ``sigmoid(P + Q)``, where P depends on the label of its parent,
            and ``Q = U_f h`` on the child.
        H, C, T: h, c and tanh(c).

    Shapes:
        mask, x ``[num_labels, e]``; Y ``[num_nodes, 3 c]``; A ``[nodes with children, c]``; F
        ``[num_edges, c]``; H, C, T ``[num_nodes, c]``.
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
    """Plans a sweep.

    Args:
        forest: the trees.
        types, tokens: numbers of the types and tokens of its nodes, -1 for none.
        apart: True if each node gets a label of its own.

    Shapes:
        types, tokens ``[num_nodes]``.
    """
    starts = offsets_of(np.bincount(forest.height))
    leaves = int(starts[1])
    label, inner = np.arange(len(types)), leaves
    if not apart:
        label, types, tokens, inner = _distinct(types, tokens, leaves)
    named = (_named(types), _named(tokens))
    tree = forest.offsets, forest.children, forest.pos, starts
    return Plan(*tree, label, len(types), *named, inner, apart)


def _named(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The labels that have a number, and these numbers."""
    labels = np.flatnonzero(numbers >= 0)
    return labels, numbers[labels]


def _distinct(types: np.ndarray, tokens: np.ndarray, leaves: int) -> tuple:
    """Numbers the distinct labels of leaves, then those of other nodes.

    Returns the label of each node, the type and the token of each label, and the first label of
    nodes with children.
    """
    pair = types * (tokens.max() + 2) + tokens  # unique for each two numbers from -1 on
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
        types, tokens: row of each node in the tables of types and of tokens, -1 for none.
        mask: factors of each node's vector, if any.
        weights: tensors of :class:`Weights`, in their order.

    Shapes:
        types, tokens ``[num_nodes]``; mask ``[num_nodes, e]``.
    """
    plan = make_plan(forest, types, tokens, mask is not None)
    return _Sweep.apply(plan, None if mask is None else _numpy(mask), *weights)


def _numpy(x: Tensor) -> np.ndarray:
    return x.detach().contiguous().numpy()


def _up(plan: Plan, w: Weights, mask: np.ndarray | None, H: np.ndarray) -> States:
    """Computes the states; ``H`` is filled in."""
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
    plan: Plan, w: Weights, needs_grad: bool, s: States, dH: np.ndarray
) -> tuple[list[np.ndarray], np.ndarray | None]:
    """The gradients of the weights except the tables, and, if they need one, of label vectors.

    ``dH`` is the gradient of H, to which that through other nodes is added in place.
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
        if not needs_grad:
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
        # Saved, so that the backward frees them even if the loss is kept. H is saved twice: by the
        # tensor that is returned, torch sees whether it was changed in place.
        ctx.save_for_backward(H, *weights, *states)
        return H

    @staticmethod
    @by_hand("the levels backend", "backend='dgl'")
    def backward(ctx: Any, gradient: Tensor) -> tuple:
        saved = list(map(_numpy, ctx.saved_tensors[1:]))  # raises if one was changed in place since
        n = len(Weights._fields)
        w, s, needs_grad = Weights(*saved[:n]), States(*saved[n:]), ctx.needs_input_grad[2:]
        dH = np.array(gradient.numpy(), w.V.dtype, order="C")  # a copy, to add to
        found, dx = _down(ctx.plan, w, any(needs_grad[:2]), s, dH)
        tables = [
            np.zeros_like(x) if yes else None for x, yes in zip(w[:2], needs_grad, strict=False)
        ]
        for table, (labels, rows) in zip(tables, (ctx.plan.types, ctx.plan.tokens), strict=True):
            if table is not None and dx is not None:
                add_rows(table, rows, dx[labels])
        gradients = (
            torch.from_numpy(x) if x is not None and yes else None
            for x, yes in zip((*tables, *found), needs_grad, strict=True)
        )
        return None, None, *gradients
