"""What leaves predict by themselves, against one sample at a time."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from pictures import grown, samples
from toy_tree import toy_tree

from structnet.neural_tree import SquaredError
from structnet.routing import Reading, Samples
from structnet.routing import batches as batched
from structnet.routing.leaves import leaf_accuracies, leaf_predictions, leaf_words


def test_predictions_and_accuracies_are_counted_by_weight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batched, "BATCH", 7)
    tree, data = grown(5), samples(40, weights=True)
    weights, ends = data.weights.double().numpy(), tree.apply_path(data.x).tolist()
    found, correct = leaf_predictions(tree, data), leaf_accuracies(tree, data)
    assert set(found) == set(correct) == set(ends)
    for leaf in set(ends):
        rows = [i for i, end in enumerate(ends) if end == leaf]
        said = [int(tree.predicted_at(data.x[i : i + 1], leaf).argmax()) for i in rows]
        shares = np.bincount(said, weights[rows], 3) / weights[rows].sum()
        assert found[leaf] == pytest.approx(shares)
        hits = [float(k == data.targets[i]) for k, i in zip(said, rows, strict=True)]
        assert correct[leaf] == pytest.approx(np.average(hits, weights=weights[rows]))
    first = next(iter(found))
    assert set(leaf_predictions(tree, data, [first])) == {first}


def test_numbers_are_means_in_the_users_units() -> None:
    tree, data = grown(3, outputs=2, likelihood=SquaredError()), samples()
    found = leaf_predictions(tree, data.x)
    leaf = next(iter(found))
    rows = tree.apply_path(data.x) == leaf
    mean = tree.predicted_at(data.x[rows], leaf).mean(axis=0)
    assert found[leaf] == pytest.approx(mean, rel=1e-5)
    told = Reading(tree, data, target_units=lambda means: 100 + 10 * means)
    expected = ", ".join(f"{each:.4g}" for each in 100 + 10 * found[leaf])
    assert leaf_words(told, found)[leaf] == expected


def test_any_family_is_asked() -> None:
    tree = toy_tree([(1, 2, 3), (), (), ()], seed=1)
    x = np.random.default_rng(0).normal(size=(30, 2))
    found = leaf_predictions(tree, Samples(x, torch.zeros(30, dtype=torch.int64)))
    for leaf, shares in found.items():
        assert shares.tolist() == np.eye(3)[tree.values[leaf].argmax()].tolist()
