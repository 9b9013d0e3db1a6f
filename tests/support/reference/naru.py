"""Routed networks in plain loops, one sentence and one number at a time, from the equations."""

from __future__ import annotations

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def mish(x):
    return x * np.tanh(np.log1p(np.exp(x)))


def connection(h, b, W, w_gb, w_gh):
    """Eq. 1-4: gate and what comes through it."""
    z = b @ W
    g = sigmoid((h @ w_gh + b @ w_gb) / 2)
    return g, g * z


def sentence(network, x, reverse=False):
    """Predictions, active bundles step by step, and all states after each step.

    ``reverse`` evaluates the capsules of a step from the last to the first.
    """
    wiring = network.wiring
    depth = wiring.depth
    x = np.asarray(x)
    if network.input_layer is not None:
        W, b = (each.detach().numpy() for each in network.input_layer.parameters())
        x = mish(x @ W.T + b)
    states = [np.zeros((n, d), x.dtype) for n, d in zip(wiring.sizes, wiring.dims, strict=True)]
    active = [0, *[None] * (depth - 1)]
    predictions, record, history = [], [], []
    tokens = len(x)
    for step in range(tokens + depth - 2):
        active[0] = 0 if step < tokens else None
        old = [each.copy() for each in states]
        record.append([-1 if a is None else a for a in active])
        elected = [None] * depth
        for p in reversed(range(depth)) if reverse else range(depth):
            if (a := active[p]) is None:
                continue
            bundle, reads = network.bundles[p][a], wiring.reads(p, a)
            total, gates = np.zeros(wiring.dims[p], x.dtype), []
            for i, (q, b) in enumerate(reads):
                parts = (each.detach().numpy() for each in bundle.connection(i))
                g, c = connection(old[p][a], old[q][b], *parts)
                gates.append(g)
                total += c
            n = len(reads)
            if p == 0:
                states[p][a] = (x[step] + total) / n
            else:
                states[p][a] = total / n if p == depth - 1 else mish(total / n)
            if p == depth - 1:
                predictions.append(states[p][a].copy())
            else:
                routes = wiring.routes_of(p, a)
                elected[p + 1] = routes[int(np.argmax(gates[: len(routes)]))]
        active = elected
        history.append([each.copy() for each in states])
    shape = (max(tokens - 1, 0), wiring.dims[-1])
    return np.array(predictions).reshape(shape), np.array(record), history


def remembering(network, x):
    """Predictions and the path of each token, of a network whose wiring has ``memory``.

    Word by word: a word has passed all capsules before the next one enters, which is the same, as
    a bundle reads nothing that a later word, or a later capsule, has left.
    """
    wiring = network.wiring
    x = np.asarray(x)
    if network.input_layer is not None:
        W, b = (each.detach().numpy() for each in network.input_layer.parameters())
        x = mish(x @ W.T + b)
    memory = [np.zeros((n, d), x.dtype) for n, d in zip(wiring.sizes, wiring.dims, strict=True)]
    predictions, paths = [], []
    for token in x:
        path, below = [], None
        for p in range(wiring.depth):

            def of_source(b, p=p, path=path, below=below):
                place = wiring.sources[p][b].index(path[-1])
                parts = network.bundles[p][b].connection(place)
                W, w_gb, w_gh = (each.detach().numpy() for each in parts)
                if str(p) in network.common:
                    W = W + network.common[str(p)].detach().numpy()
                return connection(memory[p][b], below, W, w_gb, w_gh)

            total, a = (token, 0) if p == 0 else (0, None)
            if p:
                targets = wiring.links[p - 1][path[-1]]
                a = targets[int(np.argmax([of_source(b)[0] for b in targets]))]
                total = of_source(a)[1]
            if wiring.remembers(p):
                own = (each.detach().numpy() for each in network.bundles[p][a].connection(-1))
                total = total + connection(memory[p][a], memory[p][a], *own)[1]
            below = total / max(len(wiring.reads(p, a)), 1)
            below = below if p in (0, wiring.depth - 1) else mish(below)
            path.append(a)
            memory[p][a] = below
        paths.append(path)
        predictions.append(below)
    return np.array(predictions), np.array(paths)
