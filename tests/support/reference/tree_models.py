"""Recursive models in plain recursive numpy, written from the papers: one node and one gate a time.

Nothing here knows of the library but :class:`structnet.Tree`. Parameters have the papers' names and
layout: a dict of arrays, in which ``"W i"`` is the matrix of x in the gate i, to the left of its
column vector, and ``"x NP"`` the vector of a label.

Everything is analytic where it has a derivative, in complex numbers too, so that
:func:`derivative` is exact: ``f(p + i e v) = f(p) + i e f'(p) v``, without a difference of nearly
equal numbers.

=====================================================  ====================================
Tai, Socher and Manning, ACL 2015, Eq. (2)-(8)         :func:`child_sum`
the same, Eq. (15), and max, mean, sum and attention   :func:`read`, :func:`joined`
Castellana and Bacciu, IJCNN 2020, Eq. (2)             :func:`recursive_network`
the same, Eq. (4), (5), (10)                           :func:`full`, :func:`total`, :func:`tucker`
the same, Sec. V, its heads                            :func:`classifier`, :func:`pair_classifier`
=====================================================  ====================================
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from structnet.trees.tree import Tree

Parameters: TypeAlias = dict[str, np.ndarray]
States: TypeAlias = dict[int, np.ndarray]  # h of each node, by its number in preorder
TINY = 1e-30


def derivative(
    function: Callable[[Parameters], np.ndarray], at: Parameters, along: Parameters
) -> np.ndarray:
    """How a function of parameters changes where they move along others."""
    moved = {name: value + 1j * TINY * along.get(name, 0) for name, value in at.items()}
    return np.imag(function(moved)) / TINY


# ---- numbers


def sigmoid(z: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-z))


def log_softmax(z: np.ndarray) -> np.ndarray:
    z = z - z.real.max()
    return z - np.log(np.exp(z).sum())


def leaky(z: np.ndarray, slope: float = 0.0) -> np.ndarray:
    return np.where(z.real > 0, z, slope * z)


def magnitude(z: np.ndarray) -> np.ndarray:
    return np.where(z.real < 0, -z, z)


# ---- cells: h of each node of a tree


def label_vector(p: Parameters, node: Tree) -> np.ndarray:
    """x: the vector of a word or a label, or the sum of both where a node has both."""
    if node.token is not None:
        return p[f"x {node.label}"] + p[f"x {node.token}"]
    return p[f"x {node.label}"]


def child_sum(p: Parameters, tree: Tree) -> States:
    """Eq. (2)-(8) of the Child-Sum Tree-LSTM; each h_k by the gate and bias of its place."""
    places = sum(name.startswith("g ") for name in p)
    states: States = {}
    number = itertools.count()

    def visit(node: Tree) -> tuple[np.ndarray, np.ndarray]:
        entry = next(number)
        x = label_vector(p, node)
        below = [visit(child) for child in node.children]
        h_tilde = np.zeros(len(p["b i"]))
        for k, (h_k, _) in enumerate(below):
            place = min(k, places - 1)
            h_tilde = h_tilde + p[f"g {place}"] * h_k + p[f"a {place}"] if places else h_tilde + h_k
        i = sigmoid(p["W i"] @ x + p["U i"] @ h_tilde + p["b i"])
        o = sigmoid(p["W o"] @ x + p["U o"] @ h_tilde + p["b o"])
        u = np.tanh(p["W u"] @ x + p["U u"] @ h_tilde + p["b u"])
        c = i * u
        for h_k, c_k in below:
            f_k = sigmoid(p["W f"] @ x + p["U f"] @ h_k + p["b f"])
            c = c + f_k * c_k
        states[entry] = o * np.tanh(c)
        return states[entry], c

    visit(tree)
    return states


Aggregation: TypeAlias = Callable[[Parameters, str, Sequence[np.ndarray]], np.ndarray]


def recursive_network(
    p: Parameters, tree: Tree, aggregation: Aggregation, arity: int, inner_inputs: bool
) -> States:
    """Eq. (2): h = tanh(aggregation); a place without a child has the state 0."""
    states: States = {}
    number = itertools.count()
    nothing = np.zeros(len(p["b"]))

    def visit(node: Tree) -> np.ndarray:
        entry = next(number)
        if not node.children and node.token is None:
            states[entry] = np.tanh(p["W"] @ p[f"x {node.label}"] + p["b"])
            return states[entry]
        h = [visit(child) for child in node.children]
        h += [nothing] * (arity - len(h))
        size = len(next(value for name, value in p.items() if name.startswith("x ")))
        x = np.zeros(size) if node.token is None else p[f"x {node.token}"]
        states[entry] = np.tanh(aggregation(p, str(node.label), [x, *h] if inner_inputs else h))
        return states[entry]

    visit(tree)
    return states


def full(p: Parameters, t: str, modes: Sequence[np.ndarray]) -> np.ndarray:
    """Eq. (4): the tensor times every mode, each with a 1 behind it."""
    y = p[f"T {t}"]  # [mode 1 and 1, .., mode M and 1, c]
    for mode in modes:
        y = np.tensordot(np.append(mode, 1), y, axes=1)
    return y


def total(p: Parameters, t: str, modes: Sequence[np.ndarray]) -> np.ndarray:
    """Eq. (5): a matrix for each mode, and a bias."""
    return p[f"b {t}"] + sum(p[f"U {t} {m}"] @ mode for m, mode in enumerate(modes))


def tucker(p: Parameters, t: str, modes: Sequence[np.ndarray]) -> np.ndarray:
    """Eq. (10): modes of lower rank, times a core, and back to c numbers."""
    y = p[f"G {t}"]
    for m, mode in enumerate(modes):
        y = np.tensordot(np.append(p[f"U {t} {m}"] @ mode, 1), y, axes=1)
    return p[f"Q {t}"] @ y + p[f"b {t}"]


# ---- what is read of a tree, and what is said of it


def read(p: Parameters, states: States, pools: Sequence[str]) -> np.ndarray:
    """The root's state, and pools over all nodes, one behind the other."""
    h = np.array([states[number] for number in sorted(states)])  # [nodes, c]
    parts = []
    for pool in pools:
        if pool == "root":
            parts.append(h[0])
        elif pool == "max":
            parts.append(h[h.real.argmax(0), np.arange(h.shape[1])])
        elif pool == "attention":
            weight = np.exp(h @ p["v"])
            parts.append(weight @ h / weight.sum())
        else:
            parts.append(h.sum(0) / (len(h) if pool == "mean" else 1))
    return np.concatenate(parts)


def joined(rows: Sequence[np.ndarray]) -> np.ndarray:
    """What is read of an example's trees: of two as in Eq. (15), else one behind the other."""
    if len(rows) != 2:
        return np.concatenate(rows)
    left, right = rows
    return np.concatenate([left, right, magnitude(left - right), left * right])


def output(p: Parameters, row: np.ndarray) -> np.ndarray:
    return p["V"] @ row + p["d"]


def classifier(p: Parameters, h: np.ndarray) -> np.ndarray:
    """Layers with ReLU, and one without."""
    layers = sum(name.startswith("V ") for name in p)
    for layer in range(layers):
        h = p[f"V {layer}"] @ h + p[f"d {layer}"]
        h = leaky(h) if layer < layers - 1 else h
    return h


def pair_classifier(p: Parameters, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """``leaky_relu(l' T r + A l + B r + b)``, a bilinear form a number, and a linear layer."""
    bilinear = np.array([left @ matrix @ right for matrix in p["T"]])  # T: [combined, c, c]
    z = leaky(bilinear + p["A"] @ left + p["B"] @ right + p["e"], 0.01)
    return output(p, z)


def loss(outputs: np.ndarray, target: object, kind: str, weight: np.ndarray) -> np.ndarray:
    """Of one example: cross-entropy of a class, or mean of each label's; or mean squared error."""
    if kind == "classes":
        return -weight[target] * log_softmax(outputs)[target]
    if kind == "numbers":
        return ((outputs - target) ** 2).mean()
    there, absent = np.log(sigmoid(outputs)), np.log(sigmoid(-outputs))
    return -(weight * target * there + (1 - np.asarray(target)) * absent).mean()
