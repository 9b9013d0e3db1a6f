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

from structnet.naru.capsules import Capsules, Readers
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
    weights, inner = [network.weights(p) for p in range(depth)], range(depth - 1)
    routes = [network.routes(p) for p in inner] if wiring.memory is None else []
    readers = [network.readers(p) for p in inner] if wiring.memory is not None else []
    for step in range(len(last.counts) + depth - 2 if rows else 0):
        written = []
        for p in range(depth):
            here = of[p].slice(step - p)
            if here.start == here.stop:
                continue
            electors = None
            if readers and p:
                electors = active[p - 1][of[p - 1].slice(step - p)][: here.stop - here.start]
                bonus = None if noise is None else noise[p - 1][of[p - 1].slice(step - p)]
                active[p][here] = _elected(readers[p - 1], states, p, electors, bonus)
            a = active[p][here].clone()  # autograd saves it, and later waves are yet to be filled
            token = x[here] if p == 0 else None
            state, gate = _wave(network, weights[p], states, p, a, token, electors)
            gates[p][step - p] = gate
            written.append((p, torch.arange(len(a), device=x.device), a, state))
            if p == depth - 1:
                predictions.append(state)
            elif routes:
                bonus = None if noise is None else noise[p][here]
                elected = _first_largest(gate.detach(), bonus, *routes[p], a)
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
    network: Capsules,
    weights: list[Tensor],
    states: list[Tensor],
    p: int,
    a: Tensor,
    x: Tensor | None,
    electors: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """New states and gates of one wave. ``[rows]`` -> ``[rows, dim]``, ``[rows, connections]``

    With electors, the states of all other bundles of their capsule are read as 0.
    """
    wiring = network.wiring
    state = states[p].new_zeros(len(a), wiring.dims[p])
    gates = states[p].new_zeros(len(a), network.most_connections(p))
    for b in a.unique().tolist():
        bundle = network.capsule(p)[b]
        rows = (a == b).nonzero().squeeze(1)
        h = states[p][rows, b]
        read = [states[other][rows, each] for other, each in wiring.reads(p, b)]
        if electors is not None:
            kept = [q == p or (electors[rows] == each) for q, each in wiring.reads(p, b)]
            read = [s if k is True else s * k[:, None] for s, k in zip(read, kept, strict=True)]
        own_logit = h @ bundle.own_gate.T
        parts = bundle.read_gate.split(bundle.reads)
        seen = [each @ w for each, w in zip(read, parts, strict=bool(read))]
        g = own_logit if not read else torch.sigmoid((own_logit + torch.stack(seen, 1)) / 2)
        weighed = [g[:, [i]] * each for i, each in enumerate(read)]  # [rows, dim] each
        c = torch.cat([h[:, :0], *weighed], 1) @ weights[b]
        if x is not None:
            c = c + x[rows]
        c = c / max(len(read), 1)
        state = state.index_put((rows,), c if p in (0, wiring.depth - 1) else mish(c))
        gates = gates.index_put((rows[:, None], torch.arange(len(read), device=a.device)), g)
    return state, gates


def _elected(
    readers: Readers, states: list[Tensor], p: int, electors: Tensor, bonus: Tensor | None
) -> Tensor:
    """The bundles of a capsule that read their electors through the largest gates. ``[rows]``"""
    targets, counts, read_gate, own_gate = readers
    rows = torch.arange(len(electors), device=electors.device)
    b = states[p - 1].detach()[rows, electors]
    h = states[p].detach()[rows[:, None], targets[electors].clamp(min=0)]  # [rows, routes, dim]
    logit = torch.einsum("rj,rij->ri", b, read_gate[electors]) + (h * own_gate[electors]).sum(2)
    chosen = None if bonus is None else bonus[: len(electors)]
    return _first_largest(torch.sigmoid(logit / 2), chosen, targets, counts, electors)


def _first_largest(
    gates: Tensor, bonus: Tensor | None, targets: Tensor, counts: Tensor, a: Tensor
) -> Tensor:
    """The elected bundles: the first of the largest gates. ``[rows, connections]`` -> ``[rows]``"""
    wish = gates[:, : targets.shape[1]] + (0 if bonus is None else bonus)
    behind = torch.arange(targets.shape[1], device=a.device) >= counts[a][:, None]
    return targets[a, wish.masked_fill(behind, -torch.inf).argmax(1)]
