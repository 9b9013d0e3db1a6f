"""Tensor Tree-LSTMs with either head, in every configuration."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import torch
from configurations import AGGREGATORS
from contract import Case
from dgl_marks import HAS_DGL
from random_trees import ARITY, TOKENS, TYPES, VOCABULARY, random_dependency_tree, random_tree
from torch import nn

from structnet.tensor_tree import (
    ChildSumTreeLSTM,
    TreeAutomaton,
    TreeClassifier,
    TreeLSTM,
    TreePairClassifier,
    TreePredictor,
    TreeReadout,
)
from structnet.trees.examples import TreeExamples
from structnet.trees.forest import Forest


def tree_model(head: type, classes: int, inner: bool, options: dict, seed: int) -> nn.Module:
    torch.manual_seed(seed)
    inputs = nn.Embedding(len(TOKENS), 4)
    encoder = TreeLSTM(6, len(TYPES), ARITY, inputs, inner_inputs=inner, **options)
    return head(encoder, classes)


def tree_batch(roots: int, classes: int, inner: bool, count: int) -> TreeExamples:
    rng = random.Random(0)
    draw = random_dependency_tree if inner else random_tree
    trees = [draw(rng) for _ in range(count * roots)]
    if inner:  # a leaf with a token alone
        trees[0] = type(trees[0])("A", [type(trees[0])("x"), *trees[0].children[:2]], token="y")
    targets = [rng.randrange(classes) for _ in range(count)]
    return TreeExamples(Forest.from_trees(trees, VOCABULARY), targets, None, roots)


def tree_inputs(batch: TreeExamples) -> list:
    arrays = ("types", "tokens", "height", "offsets", "children", "pos", "roots")
    found = [batch.targets, *(getattr(batch.forest, name) for name in arrays)]
    if not HAS_DGL:
        return found
    graph = batch.forest.graph
    return [
        *found,
        *graph.edges(),
        *(graph.ndata[name] for name in graph.ndata),
        *(graph.edata[name] for name in graph.edata),
    ]


def tree_case(
    name: str, head: type, roots: int, classes: int, inner: bool = False, **options: Any
) -> Case:
    return Case(
        name,
        partial(tree_model, head, classes, inner, options),
        partial(tree_batch, roots, classes, inner),
        classes,
        tree_inputs,
    )


def vector_model(roots: int, classes: int, seed: int) -> nn.Module:
    """Labels as vectors, read at all nodes."""
    torch.manual_seed(seed)
    encoder = ChildSumTreeLSTM(6, len(TYPES), len(TOKENS), places=2)
    pools = ("root", "max", "mean", "attention")
    return TreePredictor(TreeReadout(encoder, classes, pools, roots_per_example=roots))


def vector_case(name: str, roots: int, classes: int) -> Case:
    return Case(
        name,
        partial(vector_model, roots, classes),
        partial(tree_batch, roots, classes, True),
        classes,
        tree_inputs,
    )


def automaton_model(seed: int) -> nn.Module:
    torch.manual_seed(seed)
    encoder = TreeAutomaton(4, len(TYPES), len(TOKENS))
    return TreePredictor(TreeReadout(encoder, 3, ("root",)))


single = partial(tree_case, head=TreeClassifier, roots=1, classes=4)
pair = partial(tree_case, head=TreePairClassifier, roots=2, classes=7)

CASES = [
    *(single(f"tree, {name}", aggregator=a) for name, a in AGGREGATORS.items()),
    *(pair(f"pair, {name}", aggregator=a) for name, a in AGGREGATORS.items()),
    single("tree, learned bottom", bottom="learned"),
    single("tree, forget all", forget="all"),
    single("tree, inner inputs", inner=True),
    vector_case("tree, labels as vectors", 1, 4),
    vector_case("pair, labels as vectors", 2, 3),
    Case("tree, automaton", automaton_model, partial(tree_batch, 1, 3, False), 3, tree_inputs),
    pair("pair, inner inputs, all learned", inner=True, forget="all", bottom="learned"),
]
