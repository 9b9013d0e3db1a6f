"""Branches, paths and graphs of random topologies, written as loops."""

from __future__ import annotations

import random

import torch
from forests import graph_of
from torch import Tensor

from structnet.routing.hard_path import follow
from structnet.routing.topology import Topology, as_topology

Children = list[tuple[int, ...]]

FIVE = Topology([(1, 2), (), (3, 4), (), ()])


def random_branches(children: Children, n: int, generator: torch.Generator) -> Tensor:
    """Probabilities of the branches, of each node's children together 1. ``[n, num_nodes]``."""
    prob = torch.ones(n, len(children), dtype=torch.float64)
    for each in children:
        if each:
            draws = torch.rand(n, len(each), dtype=torch.float64, generator=generator) + 0.01
            prob[:, list(each)] = draws / draws.sum(1, keepdim=True)
    return prob


def products(children: Children, prob: list[float]) -> dict[int, float]:
    """The probability of each leaf: for every leaf, the product over its path."""
    parent = {u: v for v, each in enumerate(children) for u in each}
    by_leaf = {}
    for leaf in (v for v, each in enumerate(children) if not each):
        by_leaf[leaf], v = prob[0], leaf
        while v:
            by_leaf[leaf] *= prob[v]
            v = parent[v]
    return by_leaf


def walk(children: Children, place: list[int]) -> int:
    v = 0
    while children[v]:
        v = children[v][place[v]]
    return v


def topology_graph(children: Children, order: list[int] | None = None):
    """The DGL graph of the schema, its edges in another order."""
    inner = [bool(each) for each in children]
    edges = [(u, v, place) for v, each in enumerate(children) for place, u in enumerate(each)]
    if not edges:
        return Topology(children).graph()
    order = range(len(edges)) if order is None else order
    return graph_of([edges[e] for e in order], [0 if each else -1 for each in inner])


def permuted(children: Children, rng: random.Random):
    edges = sum(map(len, children))
    return topology_graph(children, rng.sample(range(edges), edges))


def route(tree: object, place: Tensor) -> Tensor:
    """The leaf that each sample reaches, by the places chosen. ``[n, num_nodes] -> [n]``"""
    topology = as_topology(tree)

    def step(node: int, rows: Tensor, x: Tensor) -> tuple[Tensor, Tensor | None]:
        return x, place[rows, node] if topology.children_of(node) else None

    return follow(topology, place[:, 0], step)[0]
