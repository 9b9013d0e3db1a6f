"""What is read of trees, and what predictors make of it."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from dgl_marks import needs_dgl
from random_trees import ARITY, TOKENS, TYPES, VOCABULARY, random_trees

from structnet.tensor_tree import (
    ChildSumTreeLSTM,
    NodePredictor,
    TreeLSTM,
    TreePredictor,
    TreeReadout,
)
from structnet.training.targets import TargetError
from structnet.trees.examples import NodeExamples, TreeExamples
from structnet.trees.forest import Forest

ALL = ("root", "sum", "mean", "max", "attention")


def encoder(seed: int = 0) -> ChildSumTreeLSTM:
    torch.manual_seed(seed)
    return ChildSumTreeLSTM(4, len(TYPES), len(TOKENS))


def forest(seed: int = 0) -> Forest:
    return Forest.from_trees(random_trees(random.Random(seed)), VOCABULARY)


def test_each_pool_is_that_of_the_nodes_states():
    readout, trees = TreeReadout(encoder(), 2, ALL).double(), forest()
    h, order = readout.encoder.node_states(trees), trees.preorder()
    for i, row in enumerate(readout.read(trees)):
        nodes = h[order.nodes[order.offsets[i] : order.offsets[i + 1]]]
        weights = readout.score(nodes).softmax(0)
        expected = (nodes[0], nodes.sum(0), nodes.mean(0), nodes.amax(0), (weights * nodes).sum(0))
        torch.testing.assert_close(row, torch.cat(expected))


@needs_dgl
def test_both_backends_read_the_same():
    readout = TreeReadout(encoder(), 2, ALL).double()
    torch.testing.assert_close(readout(forest()), readout(forest(), backend="dgl"))


def test_pairs_are_read_side_by_side():
    readout, trees = TreeReadout(encoder(), 2, ["root"], roots_per_example=2), forest()
    trees = trees[: len(trees) // 2 * 2]
    l, r = readout.encoder(trees)[0::2], readout.encoder(trees)[1::2]  # noqa: E741
    torch.testing.assert_close(readout.read(trees), torch.cat([l, r, (l - r).abs(), l * r], 1))
    with pytest.raises(ValueError, match="examples of 2 trees need a multiple of it; got 1"):
        readout(trees[:1])


def test_tensor_tree_lstms_are_read_too():
    torch.manual_seed(0)
    typed = TreeLSTM(4, len(TYPES), ARITY, torch.nn.Embedding(len(TOKENS), 3))
    h = typed.node_states(forest())
    torch.testing.assert_close(h[forest().roots], typed(forest()))
    assert TreeReadout(typed, 2, ALL)(forest()).shape == (len(forest()), 2)


@pytest.mark.parametrize("pools", ["root", [], ["root", "median"]])
def test_unknown_pools_are_refused(pools):
    with pytest.raises(ValueError, match="'pools' parameter of TreeReadout must be some of"):
        TreeReadout(encoder(), 2, pools)


def test_losses_are_those_of_torch():
    trees, torch_rng = forest(), torch.Generator().manual_seed(0)
    n = len(trees)
    weights = torch.rand(n, generator=torch_rng)
    cases = {
        "classes": (
            torch.randint(3, (n,), generator=torch_rng),
            lambda y, t: F.cross_entropy(y, t, reduction="none"),
        ),
        "labels": (
            torch.randint(2, (n, 3), generator=torch_rng),
            lambda y, t: F.binary_cross_entropy_with_logits(y, t.float(), reduction="none").mean(1),
        ),
        "numbers": (torch.randn(n, 3), lambda y, t: (y - t).square().mean(1)),
    }
    for kind, (targets, loss) in cases.items():
        model = TreePredictor(TreeReadout(encoder(), 3), kind)
        expected = loss(model(trees), targets)
        torch.testing.assert_close(model.loss(TreeExamples(trees, targets)), expected.mean())
        weighted = model.loss(TreeExamples(trees, targets, weights))
        torch.testing.assert_close(weighted, (expected * weights).mean())
        doubled = model.loss(TreeExamples(trees, targets, weights.double()))  # stays in the model's
        torch.testing.assert_close(doubled, weighted)
        mine = TreePredictor(TreeReadout(encoder(), 3), kind, loss=lambda y, t: y.sum(1))
        torch.testing.assert_close(mine.losses(TreeExamples(trees, targets)), mine(trees).sum(1))


def test_a_class_counts_what_it_is_told():
    targets = torch.tensor([0, 1] * 4)
    trees = forest()[np.zeros(8, int)]
    plain, heavy = (
        TreePredictor(TreeReadout(encoder(), 2), class_weight=weight)
        for weight in (None, torch.tensor([1.0, 3.0]))
    )
    heavy.load_state_dict(plain.state_dict())
    ratio = heavy.losses(TreeExamples(trees, targets)) / plain.losses(TreeExamples(trees, targets))
    torch.testing.assert_close(ratio, torch.tensor([1.0, 3.0] * 4))
    with pytest.raises(ValueError, match=r"class_weight must have shape \[2\], one an output"):
        TreePredictor(TreeReadout(encoder(), 2), class_weight=torch.ones(3))


def test_answers_go_with_their_probabilities():
    trees = forest()
    model = TreePredictor(TreeReadout(encoder(), 3))
    found = model.predict_proba(trees)
    torch.testing.assert_close(found.sum(1), torch.ones(len(trees)))
    assert model.predict(trees).tolist() == found.argmax(1).tolist()
    labels = TreePredictor(TreeReadout(encoder(), 3), "labels")
    assert labels.predict(trees).tolist() == (labels.predict_proba(trees) > 0.5).long().tolist()
    with pytest.raises(ValueError, match="'numbers' has no probabilities"):
        TreePredictor(TreeReadout(encoder(), 3), "numbers").predict_proba(trees)


def test_targets_that_are_no_answers_are_refused():
    trees = forest()
    model = TreePredictor(TreeReadout(encoder(), 3))
    with pytest.raises(TargetError, match="targets must be classes from 0 to 2; example 0"):
        model.loss(TreeExamples(trees, [3] * len(trees)))
    numbers = TreePredictor(TreeReadout(encoder(), 1), "numbers")
    with pytest.raises(ValueError, match="targets must have the shape of the outputs"):
        numbers.loss(TreeExamples(trees, torch.zeros(len(trees))))


def test_nodes_are_judged_where_they_have_a_label():
    trees = forest()
    sizes, rng = np.diff(trees.preorder().offsets), random.Random(0)
    labels = [[rng.randint(-1, 1) for _ in range(size)] for size in sizes]
    batch = NodeExamples(trees, labels)
    model = NodePredictor(encoder(), 2)
    flat = torch.tensor([label for each in labels for label in each])
    logits, there = model(trees), flat >= 0
    torch.testing.assert_close(model.loss(batch), F.cross_entropy(logits[there], flat[there]))
    right = (logits.argmax(1) == flat)[there].double().mean().item()
    assert model.accuracy(batch) == pytest.approx(right)
    assert model.predict(trees).tolist() == logits.argmax(1).tolist()
    nothing = NodeExamples(trees, [[-1] * size for size in sizes])
    assert (model.loss(nothing).item(), model.accuracy(nothing)) == (0, 1)
