"""What is read of trees, and what predictors make of it."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
import torch.nn.functional as F
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


def test_both_backends_read_the_same():
    readout = TreeReadout(encoder(), 2, ALL).double()
    torch.testing.assert_close(readout(forest()), readout(forest(), backend="dgl"))


def test_half_a_pair_is_refused():
    readout, trees = TreeReadout(encoder(), 2, ["root"], roots_per_example=2), forest()
    with pytest.raises(ValueError, match="examples of 2 trees need a multiple of 2 trees; got 1"):
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


def test_losses_are_weighed_by_classes_and_examples():
    trees, class_weight = forest(), torch.tensor([1.0, 2.0, 3.0])
    targets, weights = torch.arange(len(trees)) % 3, torch.rand(len(trees))
    plain = TreePredictor(TreeReadout(encoder(), 3))
    weighed = TreePredictor(plain.readout, class_weight=class_weight)
    batch = TreeExamples(trees, targets, weights)
    expected = plain.losses(batch) * class_weight[targets] * weights
    torch.testing.assert_close(weighed.losses_as_weighed(batch), expected)


def test_weights_are_taken_in_the_precision_of_the_model():
    trees, model = forest(), TreePredictor(TreeReadout(encoder(), 3))
    weights = torch.rand(len(trees))
    single, double = (TreeExamples(trees, [0] * len(trees), w) for w in (weights, weights.double()))
    torch.testing.assert_close(model.loss(double), model.loss(single))


def test_class_weights_of_another_number_are_refused():
    with pytest.raises(ValueError, match=r"class_weight must have shape \[2\], one per output"):
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


@pytest.mark.parametrize("kind", ["classes", "labels", "numbers"])
def test_a_model_of_pairs_refuses_targets_of_single_trees(kind: str):
    trees = forest()[:4]
    pairs = TreePredictor(TreeReadout(encoder(), 2, roots_per_example=2), kind)
    targets = torch.zeros(4, *[2] * (kind != "classes"), dtype=torch.int64)
    with pytest.raises(ValueError, match="gives 2 outputs for 4 trees; expected 4, one per target"):
        pairs.loss(TreeExamples(trees, targets))


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
