"""The sweep of a :class:`~structnet.tensor_tree.TreeLSTM` on a GPU: one call per direction.

:mod:`.sizes` says which models it covers. All others run level by level in
:func:`structnet.message_passing.propagate`, with the same values and gradients; there, large
tensors are few large products.
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
from structnet.tensor_tree.aggregators.cp import CP
from structnet.tensor_tree.aggregators.full_tensor import FullTensor
from structnet.tensor_tree.aggregators.low_rank import LowRank
from structnet.tensor_tree.aggregators.tucker import Tucker
from structnet.tensor_tree.aggregators.weighted_sum import WeightedSum
from structnet.tensor_tree.compiled.model import Model
from structnet.tensor_tree.compiled.plan import Plan, make_back, make_plan
from structnet.tensor_tree.gpu.kernels import tree
from structnet.tensor_tree.gpu.keyed_sums import Chunks, core_gradients, in_chunks
from structnet.tensor_tree.gpu.sizes import SUM, Sizes, sizes_of
from structnet.tensor_tree.gpu.tasks import counters, make_tasks, tiles
from structnet.training.backward import by_hand
from structnet.trees.forest import Forest


class _Call(NamedTuple):
    """A sweep except its floating-point numbers: its sizes and its plan."""

    sizes: Sizes
    plan: Plan
    layout: Layout
    tasks: tuple[np.ndarray, np.ndarray]  # upwards and downwards

    def up(self, device: torch.device) -> tuple[Tensor, list[Tensor]]:
        """The tasks upwards, and the arrays of the plan in the order in which ``up`` takes them."""
        plan, (tasks, _) = self.plan, self.tasks
        arrays = tasks.ravel(), plan.offsets, plan.inbox, plan.children, plan.sources
        first, *others = moved(device, *(x.astype(np.int32) for x in arrays))
        return first.view(tasks.shape), others

    def down(self, device: torch.device) -> tuple[Tensor, list[Tensor], _ByKey]:
        """The same downwards, without the arrays of :meth:`up`, and the rows by their weights."""
        plan, back, (_, tasks) = self.plan, make_back(self.plan, self.layout), self.tasks
        arrays = (
            tasks.ravel(), back.slots.starts, back.slots.rows, back.receivers, back.sent.starts,
            back.sent.rows, plan.sources[back.messages.rows], *in_chunks(back.messages),
            *in_chunks(back.nodes),
        )  # fmt: skip
        first, *others = moved(device, *(x.astype(np.int32) for x in arrays))
        of_bottom = others[4][int(back.sent.starts[-2]) :]
        by_key = _ByKey(others[5], Chunks(*others[6:10]), Chunks(*others[10:]), of_bottom)
        return first.view(tasks.shape), others[:5], by_key


class _ByKey(NamedTuple):
    """Rows by the weights that they use.

    Attributes:
        sources: states that messages are computed from, in the order of ``messages``.
        messages, nodes: the rows themselves.
        of_bottom: messages of the bottom.
    """

    sources: Tensor
    messages: Chunks
    nodes: Chunks
    of_bottom: Tensor


def sweep(model: Model, forest: Forest, nodes: np.ndarray | None) -> State:
    """The states of some nodes, or of the roots; see :func:`..compiled.tree_sweep.sweep`.

    Shapes:
        nodes ``[n]``; output: ``h`` and ``c``, each ``[n, hidden_size]``.

    Raises:
        GraphError: the forest is empty, or has types or places that the model does not have.
    """
    layout, a, device = model.layout, model.aggregator, model.leaf_weight.device
    layout.check(forest)
    sizes = sizes_of(a)
    tokens = torch.from_numpy(forest.tokens[forest.types < 0]).to(device)
    leaves = torch.addmm(model.leaf_bias, model.look_up(tokens), model.leaf_weight)
    plan = make_plan(forest, layout)
    tasks = make_tasks(
        (plan.nodes, plan.node_keys, plan.node_levels),
        (plan.messages, plan.message_keys, plan.message_levels),
    )
    call = _Call(sizes, plan, layout, tasks)
    h, c = _Sweep.apply(call, leaves, model.bottom_state, *_weights(model, sizes))
    every = np.arange(forest.num_nodes)
    gather = Gather(every[forest.roots if nodes is None else nodes], len(h), device)
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
    places = len(V) // len(model.forget_bias)  # that share a bias
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
        plan, n, rank = call.plan, call.sizes.n, Q.shape[2] if Q.dim() > 1 else 0
        rows = len(plan.types) + 1
        C, H = (V.new_empty(rows, n) for _ in range(2))
        Y, R = V.new_empty(rows, 3 * n), V.new_empty(rows, 3 * rank)
        S, F = (V.new_empty(len(plan.sources), x.shape[-1]) for x in (W, V))
        Y[: plan.leaves] = leaves
        H[-1], C[-1] = bottom.squeeze(1)
        tasks, arrays = call.up(V.device)
        with torch.cuda.device_of(V):
            tree.up[(len(tasks),)](
                tasks, counters(tasks), *arrays, W, w, V, b, core, Q, q, H, C, Y, S, F, R,
                W.shape[-1], rank, **call.sizes._asdict(), **tiles(n), num_stages=_stages(V),
            )  # fmt: skip
        ctx.call = call
        ctx.save_for_backward(*weights, H, C, Y, S, F, R, *arrays)
        return H, C

    @staticmethod
    @by_hand("the levels backend", "backend='dgl'")
    def backward(ctx: Any, dH: Tensor, dC: Tensor) -> tuple[Tensor | None, ...]:
        V, _, W, _, core, Q, _, H, C, Y, S, F, R, *plan = ctx.saved_tensors
        call, sizes, n, width, rank = (
            ctx.call, ctx.call.sizes, ctx.call.sizes.n, S.shape[1], R.shape[1] // 3,
        )  # fmt: skip
        dH = dH.contiguous()
        dC = dC.clone(memory_format=torch.contiguous_format)
        dY, dS, dF, dR = map(torch.empty_like, (Y, S, F, R))
        x, dx, pointers = (S, dR, plan[1]) if width else (H, dY, plan[2])
        slots = 0 if sizes.FORM == SUM else len(call.plan.inbox)
        d_slots, own = V.new_empty(slots, x.shape[1]), V.new_empty(len(F), 2 * n)
        tasks, arrays, by_key = call.down(V.device)
        with torch.cuda.device_of(V):
            tree.down[(len(tasks),)](
                tasks, counters(tasks), *plan, *arrays, W, V, core, Q, H, C, Y, S, F, dH, dC, dY,
                dS, dF, dR, d_slots, own, width, rank, **sizes._asdict(), **tiles(n),
                SLOTS=sizes.slots, num_stages=_stages(V),
            )  # fmt: skip
        of_bottom = own.index_select(0, by_key.of_bottom).sum(0).view(2, 1, n)
        dV, db = by_key.messages.outer_products(H, by_key.sources, dF)
        dW, dw = by_key.messages.outer_products(H, by_key.sources, dS)
        d_core = dQ = dq = None
        if core.numel():
            d_core = core_gradients(sizes, by_key.nodes, plan[0], pointers, x, dx)
            d_core = d_core.view(core.shape)
        if width:  # otherwise the core computes the gates
            dQ, dq = by_key.nodes.outer_products(R, None, dY, 3)
        leaves = dY[: call.plan.leaves]
        return None, leaves, of_bottom, dV[:, 0], db[:, 0], dW[:, 0], dw[:, 0], d_core, dQ, dq


def _stages(x: Tensor) -> int:
    """How many parts of a matrix are read ahead; in float64, a small GPU has memory for one."""
    return 1 if x.dtype == torch.float64 else 3
