"""Automata that are trained side by side: each as if alone, and the best is kept."""

from __future__ import annotations

import random

import numpy as np
import torch
from random_trees import TOKENS, TYPES, VOCABULARY, random_tree

from structnet import TreeAutomaton
from structnet.tensor_tree import TreePredictor, TreeReadout
from structnet.tensor_tree.starts import Starts, best_accuracy
from structnet.trees.examples import TreeExamples
from structnet.trees.forest import Forest


def side_by_side(pools: tuple[str, ...] = ("root",), seed: int = 1) -> Starts:
    torch.manual_seed(0)
    encoder = TreeAutomaton(9, len(TYPES), len(TOKENS))
    weight = torch.tensor([1.0, 2.0, 3.0])
    return Starts(TreePredictor(TreeReadout(encoder, 3, pools), class_weight=weight), seed)


def examples(weights: bool = True) -> TreeExamples:
    rng = random.Random(0)
    forest = Forest.from_trees([random_tree(rng) for _ in range(30)], VOCABULARY)
    counts = torch.rand(30, generator=torch.Generator().manual_seed(0)) if weights else None
    return TreeExamples(forest, np.arange(30) % 3, counts)


def test_each_learns_as_if_it_were_alone() -> None:
    starts, batch = side_by_side().double(), examples()
    mean = sum(each.loss(batch) for each in starts.models) / 4
    torch.testing.assert_close(starts.loss(batch), mean)
    found = torch.autograd.grad(4 * starts.loss(batch), list(starts.parameters()))
    alone = [torch.autograd.grad(m.loss(batch), list(m.parameters())) for m in starts.models]
    torch.testing.assert_close(found, tuple(each for some in alone for each in some))


def test_starts_differ_in_their_tables_and_numbers_of_states() -> None:
    starts = side_by_side()
    used = []
    for each in starts.models:
        p = each.readout.encoder.leaf_table.mul(20).softmax(-1)
        used.append(int((p > 1e-6).any(0).sum()))
    assert used == [4, 5, 7, 9]
    again = side_by_side()
    torch.testing.assert_close(again.state_dict(), starts.state_dict(), rtol=0, atol=0)
    tables = [each.readout.encoder.leaf_table[:, :4] for each in starts.models]
    tables += [each.readout.encoder.leaf_table[:, :4] for each in side_by_side(seed=2).models[:3]]
    assert len({tuple(table.ravel().tolist()) for table in tables}) == 7


def test_the_best_predicts_most_examples_correctly() -> None:
    starts, batch = side_by_side(), examples(weights=False)
    shares = [(each.predict(batch) == batch.targets).double().mean() for each in starts.models]
    torch.testing.assert_close(starts.accuracies(batch), torch.stack(shares))
    assert best_accuracy(starts, batch) == max(shares)
    assert starts.best(batch) is starts.models[int(np.argmax(shares))]  # the first of equal ones


def test_only_models_of_classes_that_read_roots_have_starts() -> None:
    assert Starts.suit(side_by_side().models[0])
    assert not Starts.suit(side_by_side(("root", "max")).models[0])
    encoder = TreeAutomaton(9, len(TYPES), len(TOKENS))
    assert not Starts.suit(TreePredictor(TreeReadout(encoder, 3, ("root",)), "numbers"))
