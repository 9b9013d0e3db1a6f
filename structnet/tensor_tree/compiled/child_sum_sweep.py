"""The sweep of a :class:`~structnet.tensor_tree.ChildSumTreeLSTM` on a CPU, compiled."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from structnet.tensor_tree.compiled.kernels import child_sum as kernels
from structnet.tensor_tree.compiled.kernels.label_vectors import distinct, look_up_backward
from structnet.tensor_tree.compiled.parts import in_parallel, split
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
        types, tokens: those of each label, -1 for none.
        inner: the first label that nodes with children have.
    """

    offsets: np.ndarray
    children: np.ndarray
    places: np.ndarray
    starts: np.ndarray
    label: np.ndarray
    types: np.ndarray
    tokens: np.ndarray
    inner: int


class States(NamedTuple):
    """What is computed, or its gradients.

    Attributes:
        mask: factors of the vectors of labels; no rows for none.
        x: these vectors; no rows of gradients where none is asked for.
        X, P: part that they give to the gates i, o, u, and to the forget gates of their nodes'
            children.
        Y: the gates i, o, u, side by side.
        A: sum that a node receives, ``sum_j g_j * h_j + s_j``.
        Q: part that a child adds to its own forget gate, ``U_f h``; F is that gate.
        H, C, T: h, c and tanh(c).

    Shapes:
        A row a label (mask, x, X), a label from ``inner`` on (P), a node (Y, Q, H, C, T), a node
        with children (A), or an edge (F).
    """

    mask: np.ndarray
    x: np.ndarray
    X: np.ndarray
    P: np.ndarray
    Y: np.ndarray
    A: np.ndarray
    Q: np.ndarray
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
    if apart:
        labels = np.arange(len(types)), types, tokens, int(starts[1])
    else:
        labels = distinct(types, tokens, starts[1])
    return Plan(forest.offsets, forest.children, forest.pos, starts, *labels)


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
    parts = list(zip(cut.forests, cut.nodes, strict=True))
    plans = in_parallel(
        [partial(make_plan, own, types[i], tokens[i], mask is not None) for own, i in parts]
    )
    masks = [None if mask is None else _numpy(mask)[nodes] for nodes in cut.nodes]
    return _Sweep.apply(cut.rows if len(parts) > 1 else None, plans, masks, *weights)


def _numpy(x: Tensor) -> np.ndarray:
    return x.detach().contiguous().numpy()


Shapes = dict[str, tuple[int, int]]


def _shapes(plan: Plan, w: Weights, masked: bool) -> Shapes:
    """Those of all ``States``."""
    (e, c), nodes, labels = w.Wf.shape, len(plan.label), len(plan.types)
    node, label = (nodes, c), (labels, e)
    return {
        "mask": label if masked else (0, e), "x": label,
        "X": (labels, 3 * c), "P": (labels - plan.inner, c),
        "Y": (nodes, 3 * c), "A": (nodes - int(plan.starts[1]), c),
        "Q": node, "F": (len(plan.children), c), "H": node, "C": node, "T": node,
    }  # fmt: skip


def _block(new: Callable[[int], Tensor], shapes: Shapes, names: Sequence[str]) -> Tensor:
    """Room for some of these arrays, in one piece."""
    return new(sum(math.prod(shapes[name]) for name in names))


def _cut(block: Tensor, shapes: Shapes, names: Sequence[str]) -> dict[str, np.ndarray]:
    """The arrays in it."""
    rest, found = block.numpy(), {}
    for name in names:
        size = math.prod(shapes[name])
        found[name], rest = rest[:size].reshape(shapes[name]), rest[size:]
    return found


_HELD = [name for name in States._fields if name != "H"]  # H by itself, as it outlives the others
_ADDED_TO = ("X", "P", "Q", "C")
_SET = [name for name in _HELD if name not in _ADDED_TO]


def _up(plan: Plan, w: Weights, mask: np.ndarray | None, H: np.ndarray, like: Tensor) -> Tensor:
    """Sets H of one part; gives all else that is computed."""
    shapes = _shapes(plan, w, mask is not None)
    block = _block(like.new_empty, shapes, _HELD)
    s = States(**_cut(block, shapes, _HELD), H=H)
    if mask is not None:
        s.mask[:] = mask
    kernels.sweep_up(plan, w, s)
    return block


def _down(
    plan: Plan, w: Weights, masked: bool, asked: bool, H: np.ndarray, block: Tensor, DH: np.ndarray
) -> tuple[Weights, np.ndarray]:
    """The gradients of one part's weights, without the tables, and of the labels' vectors.

    DH, that of H, is added to.
    """
    shapes = _shapes(plan, w, masked)
    s = States(**_cut(block, shapes, _HELD), H=H)
    no_vectors, no_gates = (0, w.Wf.shape[0]), (0, w.Wf.shape[1])
    shapes |= {"mask": no_vectors, "F": no_gates} | ({} if asked else {"x": no_vectors})
    ds = States(
        **_cut(_block(block.new_zeros, shapes, _ADDED_TO), shapes, _ADDED_TO),
        **_cut(_block(block.new_empty, shapes, _SET), shapes, _SET),
        H=DH,
    )
    tables = (x[:0] for x in w[:2])
    d = Weights(*tables, *map(np.empty_like, w[2:-2]), *map(np.zeros_like, w[-2:]))
    kernels.sweep_down(plan, w, s, d, ds)
    leaves, inner = plan.starts[1], plan.inner
    for product, left, right in (
        (d.W, s.x, ds.X),
        (d.Wf, s.x[inner:], ds.P),
        (d.U, s.A, ds.Y[leaves:]),
        (d.V, s.H, ds.Q),
    ):
        np.dot(left.T, right, out=product)
    return d, ds.x


class _Sweep(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        rows: np.ndarray | None,
        plans: list[Plan],
        masks: list[np.ndarray | None],
        *weights: Tensor,
    ) -> Tensor:
        w = Weights(*map(_numpy, weights))
        ends = np.cumsum([len(plan.label) for plan in plans])
        H = weights[0].new_empty(int(ends[-1]), w.V.shape[1])
        each = zip(plans, masks, np.split(H.numpy(), ends[:-1]), strict=True)
        blocks = in_parallel([partial(_up, plan, w, mask, own, H) for plan, mask, own in each])
        ctx.rows, ctx.plans, ctx.ends, ctx.masked = rows, plans, ends, masks[0] is not None
        ctx.save_for_backward(*weights, H, *blocks)
        return H if rows is None else torch.from_numpy(np.take(H.numpy(), rows, 0))

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple:
        if torch.is_grad_enabled():  # create_graph=True; otherwise a backward records nothing
            raise RuntimeError("the levels backend has no second derivatives; backend='dgl' has")
        saved = ctx.saved_tensors  # raises if one was changed in place since
        n, asked = len(Weights._fields), ctx.needs_input_grad[3:]
        w, H, blocks = Weights(*map(_numpy, saved[:n])), _numpy(saved[n]), saved[n + 1 :]
        DH = np.zeros_like(H)
        DH[slice(None) if ctx.rows is None else ctx.rows] = gradient.numpy()
        rows = (np.split(x, ctx.ends[:-1]) for x in (H, DH))
        each = zip(ctx.plans, *rows, blocks, strict=True)
        found = in_parallel(
            [
                partial(_down, plan, w, ctx.masked, any(asked[:2]), own, block, d_own)
                for plan, own, d_own, block in each
            ]
        )
        tables = [np.zeros_like(x if yes else x[:0]) for x, yes in zip(w[:2], asked, strict=False)]
        total = found[0][0]
        for plan, (d, dx) in zip(ctx.plans, found, strict=True):
            look_up_backward(plan.types, plan.tokens, dx, *tables)
            for x, more in zip(total[2:], d[2:] if d is not total else (), strict=False):
                x += more
        gradients = map(torch.from_numpy, (*tables, *total[2:]))
        return (
            None,
            None,
            None,
            *(x if yes else None for x, yes in zip(gradients, asked, strict=True)),
        )
