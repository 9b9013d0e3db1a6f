"""What the tests of forests share: small ones, and what makes two of them equal."""

from __future__ import annotations

import re

import numpy as np
import torch
from random_trees import VOCABULARY

from structnet.trees.arrays import ForestArrays
from structnet.trees.forest import Forest
from structnet.trees.schema import dgl
from structnet.trees.tree import Tree

FIELDS = ForestArrays._fields
PAIR = [Tree("A", [Tree("x"), Tree("y")]), Tree("B", [Tree("A", [Tree("x"), Tree("y")])])]


def exactly(message: str) -> str:
    return f"^{re.escape(message)}$"


def forest_of(trees: list[Tree], share: bool = True) -> Forest:
    return Forest.from_trees(trees, VOCABULARY, share=share)


def trees_of(forest: Forest) -> list[Tree]:
    return [forest.tree(i) for i in range(len(forest))]


def children_by_place(forest: Forest, node: int) -> dict[int, int]:
    start, end = forest.offsets[node : node + 2]
    return dict(
        zip(forest.pos[start:end].tolist(), forest.children[start:end].tolist(), strict=True)
    )


def assert_same_forest(ours: Forest, theirs: Forest) -> None:
    """Equal up to the numbers of nodes of equal height and type."""
    assert trees_of(ours) == trees_of(theirs)
    assert ours.num_nodes == theirs.num_nodes
    assert len(ours.children) == len(theirs.children)
    np.testing.assert_array_equal(ours.height, theirs.height)
    np.testing.assert_array_equal(ours.types, theirs.types)
    assert ours.arity == theirs.arity
    assert ours.vocabulary is theirs.vocabulary
    for name in FIELDS:
        assert getattr(ours, name).dtype == np.int64, name


def graph_of(edges: list[tuple[int, int, int]], types: list[int], tokens: list[int] | None = None):
    """A DGL graph from (child, parent, pos)."""
    child, parent, pos = (torch.tensor(list(column)) for column in zip(*edges, strict=True))
    graph = dgl().graph((child, parent), num_nodes=len(types))
    graph.edata["pos"] = pos
    graph.ndata["type"] = torch.tensor(types)
    graph.ndata["token"] = torch.tensor(tokens or [-1 if t >= 0 else 0 for t in types])
    return graph


def without(graph, where: str, name: str):
    getattr(graph, where).pop(name)
    return graph


def small_graph():
    return graph_of([(0, 2, 0), (1, 2, 1)], [-1, -1, 0])
