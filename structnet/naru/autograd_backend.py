"""The batched step in plain PyTorch: the reference for the sweep, and the way on accelerators.

In each step, the rows of a capsule that have not ended are grouped by their active bundle. A group
gathers its neighbours' states, multiplies them by their gates, and takes one matrix product.
Autograd computes the gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import mish

from structnet.naru.capsules import Capsules
from structnet.naru.waves import Waves


class Passed(NamedTuple):
    """The results for a batch, wave by wave.

    Attributes:
        predictions: states of the last bundle, ``[places, dim]``.
        gates: gates of each capsule, ``[places, most connections]``; 0 after the last connection.
        active: active bundle at each place of each capsule, ``[places]``, int64.
    """

    predictions: Tensor
    gates: list[Tensor]
    active: list[Tensor]


def run(
    network: Capsules, x: Tensor, waves: Waves, noise: Sequence[Tensor] | None = None
) -> Passed:
    """Runs sentences through a network.

    Args:
        network: network to run.
        x: tokens, in the order of :class:`.Waves`.
        waves: waves of the tokens.
        noise: noise for each capsule but the last, added to the gates of its routes for the
            election only; None for no noise.

    Shapes:
        x ``[places, dims[0]]``, noise ``[places, most routes]`` each.
    """
    wiring, rows = network.wiring, len(waves.order)
    depth = wiring.depth
    last = waves.predicted()
    of = [waves] * (depth - 1) + [last]
    states = [x.new_zeros(rows, n, d) for n, d in zip(wiring.sizes, wiring.dims, strict=True)]
    active = [torch.zeros(each.size, dtype=torch.long, device=x.device) for each in of]
    gates: list[dict[int, Tensor]] = [{} for _ in of]
    predictions = []
    for step in range(len(last.counts) + depth - 2 if rows else 0):
        written = []
        for p in range(depth):
            here = of[p].slice(step - p)
            if here.start == here.stop:
                continue
            a = active[p][here].clone()  # autograd saves it, and later waves are yet to be filled
            state, gate = _wave(network, states, p, a, x[here] if p == 0 else None)
            gates[p][step - p] = gate
            written.append((p, torch.arange(len(a), device=x.device), a, state))
            if p == depth - 1:
                predictions.append(state)
            else:
                bonus = None if noise is None else noise[p][here]
                elected = _first_largest(gate.detach(), bonus, network, p, a)
                following = of[p + 1].slice(step - p)
                active[p + 1][following] = elected[: following.stop - following.start]
        for p, row, a, state in written:  # only after all bundles have read
            states[p] = states[p].index_put((row, a), state)
    return Passed(
        torch.cat([x.new_zeros(0, wiring.dims[-1]), *predictions]),
        [
            torch.cat([x.new_zeros(0, network.most_connections(p)), *gates[p].values()])
            for p in range(depth)
        ],
        active,
    )


def _wave(
    network: Capsules, states: list[Tensor], p: int, a: Tensor, x: Tensor | None
) -> tuple[Tensor, Tensor]:
    """New states and gates of one wave. ``[rows]`` -> ``[rows, dim]``, ``[rows, connections]``"""
    wiring = network.wiring
    state = states[p].new_zeros(len(a), wiring.dims[p])
    gates = states[p].new_zeros(len(a), network.most_connections(p))
    for b in a.unique().tolist():
        bundle = network.capsule(p)[b]
        rows = (a == b).nonzero().squeeze(1)
        h = states[p][rows, b]
        read = [states[other][rows, each] for other, each in wiring.reads(p, b)]
        own_logit = h @ bundle.own_gate.T
        parts = bundle.read_gate.split(bundle.reads)
        seen = torch.stack([each @ w for each, w in zip(read, parts, strict=True)], 1)
        g = torch.sigmoid((own_logit + seen) / 2)  # [rows, n]
        weighed = torch.cat([g[:, [i]] * each for i, each in enumerate(read)], 1)
        c = weighed @ bundle.weight
        if x is not None:
            c = c + x[rows]
        c = c / len(read)
        state = state.index_put((rows,), c if p in (0, wiring.depth - 1) else mish(c))
        gates = gates.index_put((rows[:, None], torch.arange(len(read), device=a.device)), g)
    return state, gates


def _first_largest(
    gates: Tensor, bonus: Tensor | None, network: Capsules, p: int, a: Tensor
) -> Tensor:
    """The elected bundles: the first of the largest gates. ``[rows, connections]`` -> ``[rows]``"""
    targets, counts = network.routes(p)  # [bundles, most routes], [bundles]
    wish = gates[:, : targets.shape[1]] + (0 if bonus is None else bonus)
    behind = torch.arange(targets.shape[1], device=a.device) >= counts[a][:, None]
    return targets[a, wish.masked_fill(behind, -torch.inf).argmax(1)]
