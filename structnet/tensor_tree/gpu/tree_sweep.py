"""The sweep of a :class:`~structnet.tensor_tree.TreeLSTM` on a GPU: one call per direction.

It covers float32 and float64, sums, Tucker, CP, and full tensors of few numbers, with a forget gate
per child. All others run level by level in :func:`structnet.message_passing.propagate`, with the
same values and gradients; there, large tensors are few large products.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from structnet.message_passing.cell import State
from structnet.message_passing.gpu.rows import Gather
from structnet.message_passing.scheduling import Layout
from structnet.message_passing.transfer import moved
from structnet.tensor_tree.aggregators.base import Aggregator
from structnet.tensor_tree.aggregators.cp import CP
from structnet.tensor_tree.aggregators.full_tensor import FullTensor
from structnet.tensor_tree.aggregators.low_rank import LowRank
from structnet.tensor_tree.aggregators.tucker import Tucker
from structnet.tensor_tree.aggregators.weighted_sum import ChildSum, WeightedSum
from structnet.tensor_tree.compiled.plan import make_back, make_plan
from structnet.tensor_tree.compiled.tree_sweep import Model
from structnet.tensor_tree.gpu.kernels import children, tree
from structnet.tensor_tree.gpu.keyed_sums import Chunks, core_gradients, in_chunks
from structnet.tensor_tree.gpu.tasks import counters, make_tasks, power_of_two, tiles
from structnet.training.backward import by_hand
from structnet.trees.forest import Forest

_FORMS = {
    WeightedSum: children.SUM,
    ChildSum: children.SUM,
    FullTensor: children.FULL,
    Tucker: children.TUCKER,
    CP: children.CP,
}
_MOST = 128  # numbers in the outer product of half of the children: more do not fit in registers
_MOST_CHILDREN = 16  # kernels have a part for each, except those of sums
_MOST_OF_A_CORE = 2**17  # numbers; a larger one is read faster by few large products


class Sizes(NamedTuple):
    """The sizes of a sweep that its kernels are compiled for.

    Attributes:
        n: hidden size.
        FORM: kind of aggregator.
        ARITY: number of children of each node, except for sums.
        RANK: size of a child's vector, of each part.
        PARTS: number of cores of a node; K: number of outputs of each.
        LEFT, RIGHT: numbers of the outer products of both halves of the children at once.
    """

    n: int
    FORM: Any
    ARITY: int
    RANK: int
    PARTS: int
    K: int
    LEFT: int
    RIGHT: int


def sizes_of(a: Aggregator) -> Sizes | None:
    """The sizes for an aggregator; None if the kernels do not have its kind, or it is too large."""
    form, L = _FORMS.get(type(a)), a.arity
    if form is None or (L > _MOST_CHILDREN and form != children.SUM):
        return None
    rank, parts, k = 1, 1, 1
    if isinstance(a, Tucker):
        rank, parts, k = a.rank, a.gates, a.rank
    elif isinstance(a, FullTensor):
        rank, k = a.hidden_size, a.gates * a.hidden_size
    left, right = (power_of_two((rank + 1) ** number) for number in ((L + 1) // 2, L // 2))
    if isinstance(a, Tucker | FullTensor) and (
        right > _MOST or a.numbers_a_node() > _MOST_OF_A_CORE
    ):
        return None
    return Sizes(a.hidden_size, form, L, rank, parts, k, min(max(left, 16), 64), max(right, 16))


class _Call(NamedTuple):
    """A sweep except its floating-point numbers: its sizes, and its plan on the device.

    The arrays are those of :class:`..compiled.plan.Plan` and :class:`..compiled.plan.Back`.

    Attributes:
        up, down: tasks in both directions, see :func:`..tasks.make_tasks`; ``phases`` of them.
        forward, backward: arrays for the kernels, in the order in which they take them.
        sources: states that messages are computed from, in the order of ``by_message``.
        last: messages of the bottom.
        by_message, by_node: messages and nodes by the weights that they use.
        rows: number of nodes and the bottom; leaves: nodes without a type; slots: those of all.
    """

    sizes: Sizes
    up: Tensor
    down: Tensor
    phases: int
    forward: tuple[Tensor, ...]
    backward: tuple[Tensor, ...]
    sources: Tensor
    last: Tensor
    by_message: Chunks
    by_node: Chunks
    rows: int
    leaves: int
    slots: int


def _make_call(sizes: Sizes, forest: Forest, layout: Layout) -> _Call:
    plan = make_plan(forest, layout)
    back = make_back(plan, layout)
    up, down = make_tasks(
        (plan.nodes, plan.node_keys, plan.node_levels),
        (plan.messages, plan.message_keys, plan.message_levels),
    )
    arrays = (
        up.ravel(), down.ravel(), plan.offsets, plan.inbox, plan.children, plan.sources,
        back.slots.starts, back.slots.rows, back.receivers, back.sent.starts, back.sent.rows,
        plan.sources[back.messages.rows], *in_chunks(back.messages), *in_chunks(back.nodes),
    )  # fmt: skip
    there = moved(forest.device, *(x.astype(np.int32) for x in arrays))
    return _Call(
        sizes,
        up=there[0].view(up.shape),
        down=there[1].view(down.shape),
        phases=int(up[-1, 0]) + 1,
        forward=tuple(there[2:6]),
        backward=tuple(there[2:11]),
        sources=there[11],
        last=there[10][int(back.sent.starts[-2]) :],
        by_message=Chunks(*there[12:16]),
        by_node=Chunks(*there[16:]),
        rows=len(plan.types) + 1,
        leaves=plan.leaves,
        slots=len(plan.inbox),
    )


def covers(model: Model) -> bool:
    """Whether :func:`sweep` has a model that :func:`..compiled.tree_sweep.why_not` allows."""
    return model.forget == "child" and sizes_of(model.aggregator) is not None


def sweep(model: Model, forest: Forest, nodes: np.ndarray | None) -> State:
    """The states of some nodes, or of the roots; see :func:`..compiled.tree_sweep.sweep`.

    Shapes:
        nodes ``[n]``; output: ``h`` and ``c``, each ``[n, hidden_size]``.

    Raises:
        GraphError: the forest is empty, or has types or places that the model does not have.
    """
    layout, a = model.layout, model.aggregator
    layout.check(forest)
    sizes = sizes_of(a)
    assert sizes is not None  # as the caller has asked
    tokens = torch.from_numpy(forest.tokens[forest.types < 0]).to(forest.device)
    leaves = torch.addmm(model.leaf_bias, model.look_up(tokens), model.leaf_weight)
    call = _make_call(sizes, forest, layout)
    h, c = _Sweep.apply(call, leaves, model.bottom_state, *_weights(model, sizes))
    every = np.arange(forest.num_nodes)
    chosen = every[forest.roots if nodes is None else nodes]
    gather = Gather(chosen.astype(np.int32), len(h), forest.device)
    return {"h": gather(h), "c": gather(c)}


class _Weights(NamedTuple):
    """The weights of a sweep; without numbers where an aggregator has none.

    Shapes:
        V ``[num_keys, c, c]``; b ``[num_keys, c]``; W ``[num_keys, c, width]``; w
        ``[num_keys, width]``; core ``[num_types, PARTS, K, a b]``; Q ``[num_types, G, r, c]``; q
        ``[num_types, G, c]``.
    """

    V: Tensor
    b: Tensor
    W: Tensor
    w: Tensor
    core: Tensor
    Q: Tensor
    q: Tensor


def _weights(model: Model, sizes: Sizes) -> _Weights:
    V, a = model.forget_weight, model.aggregator
    places = len(V) // len(model.forget_bias)
    b = model.forget_bias.unsqueeze(1).expand(-1, places, -1).flatten(0, 1)
    W = a.message_weight()
    W = V[..., :0] if W is None else W
    w = a.ones if isinstance(a, CP) else W.new_zeros(len(W), W.shape[-1])
    core = Q = q = V.new_empty(0)
    if isinstance(a, Tucker | FullTensor):
        core = a.core if isinstance(a, Tucker) else a.tensor
        core = core.reshape(len(core), sizes.PARTS, -1, sizes.K).transpose(-1, -2)
    if isinstance(a, LowRank):
        Q = a.output
    if isinstance(a, LowRank | WeightedSum):
        q = a.bias.reshape(len(a.bias), -1, sizes.n)
    return _Weights(V, b, W, w, core, Q, q)


class _Sweep(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, call: _Call, leaves: Tensor, bottom: Tensor, *given: Tensor
    ) -> tuple[Tensor, Tensor]:
        weights = _Weights(*(x.contiguous() for x in given))
        V, b, W, w, core, Q, q = weights
        n, rank = call.sizes.n, Q.shape[2] if Q.dim() > 1 else 0
        C, H = (V.new_empty(call.rows, n) for _ in range(2))
        Y, R = V.new_empty(call.rows, 3 * n), V.new_empty(call.rows, 3 * rank)
        S, F = (V.new_empty(len(call.sources), x.shape[-1]) for x in (W, V))
        Y[: call.leaves] = leaves
        H[-1], C[-1] = bottom.squeeze(1)
        with torch.cuda.device_of(V):
            tree.up[(len(call.up),)](
                call.up, counters(call.phases, V), *call.forward, W, w, V, b, core, Q, q, H, C, Y,
                S, F, R, W.shape[-1], rank, **call.sizes._asdict(), **tiles(n),
            )  # fmt: skip
        ctx.call = call
        ctx.save_for_backward(*weights, H, C, Y, S, F, R)
        return H, C

    @staticmethod
    @by_hand("the levels backend", "backend='dgl'")
    def backward(ctx: Any, dH: Tensor, dC: Tensor) -> tuple[Tensor | None, ...]:
        call, (*weights, H, C, Y, S, F, R) = ctx.call, ctx.saved_tensors
        V, _, W, _, core, Q, _ = _Weights(*weights)
        sizes, n, rank, width = call.sizes, call.sizes.n, R.shape[1] // 3, S.shape[1]
        dH = dH.contiguous()
        dC = dC.clone(memory_format=torch.contiguous_format)
        dY, dS, dF, dR = map(torch.empty_like, (Y, S, F, R))
        x, dx = (H, dY) if not width else (S, dR)
        d_slots = V.new_empty(call.slots, x.shape[1])
        own = V.new_empty(len(F), 2 * n)
        with torch.cuda.device_of(V):
            tree.down[(len(call.down),)](
                call.down, counters(call.phases, V), *call.backward, W, V, core, Q, H, C, Y, S, F,
                dH, dC, dY, dS, dF, dR, d_slots, own, width, rank, **sizes._asdict(), **tiles(n),
                SLOTS=power_of_two((sizes.ARITY + 1) // 2 * sizes.RANK),
            )  # fmt: skip
        of_bottom = own.index_select(0, call.last).sum(0).view(2, 1, n)
        dV, db = call.by_message.outer_products(H, call.sources, dF)
        dW, dw = call.by_message.outer_products(H, call.sources, dS)
        dQ, dq = call.by_node.outer_products(R, None, dY, 3)
        d_core = None
        if core.numel():
            slots = call.forward[0], call.forward[1 if width else 2]
            d_core = core_gradients(sizes, call.by_node, *slots, x, dx).view(core.shape)
        found = dV[:, 0], db[:, 0], dW[:, 0], dw[:, 0], d_core, dQ, dq
        return None, dY[: call.leaves], of_bottom, *found
