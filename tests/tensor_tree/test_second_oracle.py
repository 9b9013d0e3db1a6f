"""Cells and heads against numpy written from the papers: losses, and all their derivatives.

Parameters go over to the papers' layout by cutting and transposing alone, so gradients go the same
way.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from random_trees import ARITY, TOKENS, TYPES, VOCABULARY, random_trees
from reference import tree_models as paper
from torch import nn

from structnet.tensor_tree import (
    ChildSumTreeLSTM,
    FullTensor,
    NodePredictor,
    RecursiveNetwork,
    TreeClassifier,
    TreePairClassifier,
    TreePredictor,
    TreeReadout,
    Tucker,
    WeightedSum,
)
from structnet.trees.examples import NodeExamples, TreeExamples
from structnet.trees.forest import Forest

SEEDS = range(6)  # of the forest, the weights, the targets, and the direction of the derivative
C, X, PLACES, CLASSES = 3, 2, 2, 4
Values = dict[str, np.ndarray]


# ---- cells: the encoder, its values in the papers' layout, and the states of a tree's nodes


def child_sum(order: bool) -> tuple:
    m = ChildSumTreeLSTM(C, len(TYPES), len(TOKENS), input_size=X, order=order, places=PLACES)

    def layout(v: Values) -> paper.Parameters:
        p = {}
        for g, gate in enumerate("iou"):
            columns = slice(g * C, (g + 1) * C)
            p[f"W {gate}"] = v["weight"][:, columns].T
            p[f"U {gate}"] = v["children_weight"][:, columns].T
            p[f"b {gate}"] = v["bias"][columns]
        p["W f"], p["U f"] = v["forget_weight"].T, v["child_forget_weight"].T
        p["b f"] = v["forget_bias"]
        for place in range(PLACES if order else 0):
            p[f"g {place}"], p[f"a {place}"] = v["place_gate"][place], v["place_bias"][place]
        p |= {f"x {t}": v["type_vectors.weight"][i] for i, t in enumerate(TYPES)}
        return p | {f"x {t}": v["token_vectors.weight"][i] for i, t in enumerate(TOKENS)}

    return m, layout, paper.child_sum


def recursive(aggregator: Callable, aggregation: Callable, inner: bool) -> tuple:
    m = RecursiveNetwork(C, len(TYPES), ARITY, nn.Embedding(len(TOKENS), X), aggregator, inner)

    def modes(v: Values, name: str, t: int) -> list[np.ndarray]:
        """The matrix of each mode, that of the input first."""
        own = [v[f"aggregator.input_{name}"][t].T] if inner else []
        return own + [v[f"aggregator.{name}"][t * ARITY + j].T for j in range(ARITY)]

    def layout(v: Values) -> paper.Parameters:
        p = {"W": v["leaf_weight"].T, "b": v["leaf_bias"]}
        p |= {f"x {t}": v["embedding.weight"][i] for i, t in enumerate(TOKENS)}
        for t, label in enumerate(TYPES):
            if aggregation is paper.full:
                p[f"T {label}"] = v["aggregator.tensor"][t]
                continue
            name = "weight" if aggregation is paper.total else "modes"
            p |= {f"U {label} {i}": matrix for i, matrix in enumerate(modes(v, name, t))}
            p[f"b {label}"] = v["aggregator.bias"][t].reshape(C)
            if aggregation is paper.tucker:
                p[f"G {label}"] = v["aggregator.core"][t, 0]
                p[f"Q {label}"] = v["aggregator.output"][t, 0].T
        return p

    how = {"aggregation": aggregation, "arity": ARITY, "inner_inputs": inner}
    return m, layout, partial(paper.recursive_network, **how)


CELLS: dict[str, Callable[[], tuple]] = {
    "child sum": partial(child_sum, True),
    "child sum without order": partial(child_sum, False),
    "full": partial(recursive, FullTensor, paper.full, False),
    "full, inner inputs": partial(recursive, FullTensor, paper.full, True),
    "sum": partial(recursive, WeightedSum, paper.total, False),
    "sum, inner inputs": partial(recursive, WeightedSum, paper.total, True),
    "tucker": partial(recursive, partial(Tucker, rank=2), paper.tucker, False),
    "tucker, inner inputs": partial(recursive, partial(Tucker, rank=2), paper.tucker, True),
}


# ---- heads: the module, its own values in the papers' layout, and the loss of a batch


def targets_of(kind: str, n: int, rng: np.random.Generator) -> np.ndarray:
    if kind == "classes":
        return rng.integers(CLASSES, size=n)
    if kind == "labels":
        return rng.integers(2, size=(n, CLASSES))
    return rng.normal(size=(n, CLASSES))


def predictor(kind: str, roots: int, encoder: Any, trees: list, rng: np.random.Generator) -> tuple:
    pools = list(rng.permutation(["root", "sum", "mean", "max", "attention"])[: rng.integers(1, 6)])
    weight = rng.uniform(0.5, 2, CLASSES)
    given = None if kind == "numbers" else torch.from_numpy(weight)
    module = TreePredictor(TreeReadout(encoder, CLASSES, pools, roots), kind, given)
    n = len(trees) // roots
    targets, counts = targets_of(kind, n, rng), rng.uniform(0.5, 2, n)

    def batch(forest: Forest) -> TreeExamples:
        return TreeExamples(forest, targets, counts, roots)

    def layout(v: Values) -> paper.Parameters:
        p = {"V": v["readout.output.weight"], "d": v["readout.output.bias"]}
        if "attention" in pools:
            p["v"] = v["readout.score.weight"][0]
        return p

    def loss(p: paper.Parameters, states: list[paper.States]) -> np.ndarray:
        rows = [paper.read(p, each, pools) for each in states]
        if roots > 1:
            rows = [paper.joined(rows[i * roots : (i + 1) * roots]) for i in range(n)]
        said = [paper.output(p, row) for row in rows]
        losses = [paper.loss(*each, kind, weight) for each in zip(said, targets, strict=True)]
        return sum(losses[i] * counts[i] for i in range(n)) / n

    return module, batch, layout, loss


def nodes(encoder: Any, trees: list, rng: np.random.Generator) -> tuple:
    module = NodePredictor(encoder, CLASSES)
    labels = [rng.integers(-1, CLASSES, size=tree.size) for tree in trees]

    def layout(v: Values) -> paper.Parameters:
        return {"V": v["output.weight"], "d": v["output.bias"]}

    def loss(p: paper.Parameters, states: list[paper.States]) -> np.ndarray:
        losses = [
            paper.loss(paper.output(p, each[number]), label, "classes", np.ones(CLASSES))
            for each, of_tree in zip(states, labels, strict=True)
            for number, label in enumerate(of_tree)
            if label >= 0
        ]
        return sum(losses) / max(len(losses), 1)

    return module, lambda forest: NodeExamples(forest, labels), layout, loss


def mean_loss(said: list[np.ndarray], targets: np.ndarray) -> np.ndarray:
    losses = [
        paper.loss(each, target, "classes", np.ones(CLASSES))
        for each, target in zip(said, targets, strict=True)
    ]
    return sum(losses) / len(losses)


def classifier(encoder: Any, trees: list, rng: np.random.Generator) -> tuple:
    module, targets = (
        TreeClassifier(encoder, CLASSES, (5, 4)),
        targets_of("classes", len(trees), rng),
    )

    def layout(v: Values) -> paper.Parameters:
        names = {"weight": "V", "bias": "d"}
        return {
            f"{short} {i}": v[f"layers.{2 * i}.{name}"]
            for i in range(3)
            for name, short in names.items()
        }

    def loss(p: paper.Parameters, states: list[paper.States]) -> np.ndarray:
        return mean_loss([paper.classifier(p, each[0]) for each in states], targets)

    return module, lambda forest: TreeExamples(forest, targets), layout, loss


def pair_classifier(encoder: Any, trees: list, rng: np.random.Generator) -> tuple:
    module = TreePairClassifier(encoder, CLASSES, combined_size=5)
    targets = targets_of("classes", len(trees) // 2, rng)

    def layout(v: Values) -> paper.Parameters:
        return {
            "T": v["tensor"].reshape(C, C, 5).transpose(2, 0, 1),
            "A": v["linear.weight"][:, :C],
            "B": v["linear.weight"][:, C:],
            "e": v["linear.bias"],
            "V": v["output.weight"],
            "d": v["output.bias"],
        }

    def loss(p: paper.Parameters, states: list[paper.States]) -> np.ndarray:
        pairs = zip(states[::2], states[1::2], strict=True)
        said = [paper.pair_classifier(p, left[0], right[0]) for left, right in pairs]
        return mean_loss(said, targets)

    return module, lambda forest: TreeExamples(forest, targets, None, 2), layout, loss


HEADS: dict[str, Callable[..., tuple]] = {
    "classes": partial(predictor, "classes", 1),
    "labels": partial(predictor, "labels", 1),
    "numbers": partial(predictor, "numbers", 1),
    "pairs": partial(predictor, "classes", 2),
    "three trees": partial(predictor, "numbers", 3),
    "nodes": nodes,
    "classifier": classifier,
    "pair classifier": pair_classifier,
}


def check(cell: str, head: str, seed: int) -> None:
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    encoder, cell_layout, states = CELLS[cell]()
    inner = cell.endswith("inner inputs") or (cell.startswith("child sum") and seed % 2 == 1)
    trees = random_trees(random.Random(seed), inner)
    trees = (trees * 3)[: len(trees) // 6 * 6 + 6]  # so that pairs and threes come out even
    module, batch, head_layout, paper_loss = HEADS[head](encoder, trees, rng)
    module.double()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(std=0.7)

    def layout(values: Values) -> paper.Parameters:
        start = next(name for name, each in module.named_modules() if each is encoder) + "."
        own = {n.removeprefix(start): v for n, v in values.items() if n.startswith(start)}
        return cell_layout(own) | head_layout(values)

    def oracle(p: paper.Parameters) -> np.ndarray:
        return paper_loss(p, [states(p, tree) for tree in trees])

    found = module.loss(batch(Forest.from_trees(trees, VOCABULARY, share=seed % 3 > 0)))
    found.backward()
    named = dict(module.named_parameters())
    at = layout({name: value.detach().numpy() for name, value in named.items()})
    # What no tree needs has no gradient.
    nothing = {name: np.zeros(value.shape) for name, value in named.items()}
    given = {n: v.grad.numpy() for n, v in named.items() if v.grad is not None}
    gradient = layout(nothing | given)
    np.testing.assert_allclose(found.item(), oracle(at), rtol=1e-10)
    along = {name: rng.normal(size=value.shape) for name, value in at.items()}
    expected = paper.derivative(oracle, at, along)
    ours = sum((value * along[name]).sum() for name, value in gradient.items())
    np.testing.assert_allclose(ours, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("cell", CELLS)
def test_losses_and_derivatives_are_those_of_the_papers(cell: str, head: str):
    for seed in SEEDS:
        check(cell, head, seed)
