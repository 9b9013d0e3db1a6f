"""A step by DGL's messages is a step of the network."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from naru_networks import sentences, small
from reference import naru as reference

from structnet.naru import message_passing


def test_dgl_takes_the_steps_of_the_paper() -> None:
    network, x = small(input_layer=False), sentences()[3]
    wiring, graph = network.wiring, network.graph
    expected, record, history = reference.sentence(network, x)
    states = [
        torch.zeros(n, d, dtype=x.dtype) for n, d in zip(wiring.sizes, wiring.dims, strict=True)
    ]
    active = [0] + [-1] * (wiring.depth - 1)
    for step, after in enumerate(history):
        assert active == record[step].tolist()
        token = x[step] if step < len(x) else None
        states, active = message_passing.step(graph, states, active, token)
        for ours, theirs in zip(states, after, strict=True):
            assert ours.detach().numpy() == pytest.approx(theirs, abs=1e-12)
        active[0] = 0 if step + 1 < len(x) else -1
    swept = network(x[None])[0].detach().numpy()
    assert np.allclose(swept, expected, atol=1e-10)


def test_gradients_go_through_dgl() -> None:
    network, x = small(input_layer=False), sentences()[3]
    wiring = network.wiring
    found = []
    for by_dgl in (True, False):
        network.zero_grad()
        if by_dgl:
            graph = network.graph
            sizes = zip(wiring.sizes, wiring.dims, strict=True)
            states = [torch.zeros(n, d, dtype=x.dtype) for n, d in sizes]
            active, predictions = [0, -1, -1, -1], []
            for step in range(len(x) + wiring.depth - 2):
                here = active[-1] >= 0
                token = x[step] if step < len(x) else None
                states, active = message_passing.step(graph, states, active, token)
                active[0] = 0 if step + 1 < len(x) else -1
                predictions += [states[-1][0]] * here
            torch.stack(predictions).square().sum().backward()
        else:
            network(x[None]).square().sum().backward()
        found.append([p.grad if p.grad is not None else 0 * p for p in network.parameters()])
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-12)


def test_the_heterograph() -> None:
    network = small()
    graph = network.graph
    assert graph.ntypes == ["capsule0", "capsule1", "capsule2", "capsule3"]
    assert set(graph.etypes) == {"route", "source"}
    assert graph.num_edges() == network.wiring.num_connections
    # Messages run from whom a connection reads to whose it is.
    assert ("capsule1", "route", "capsule0") in graph.canonical_etypes
    assert ("capsule0", "source", "capsule1") in graph.canonical_etypes
