"""What has been checked: arrays, weights of mean 1, classes, seeds."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from structnet.estimators.checked import Checked, encode_labels, mean_one, seed_from
from structnet.estimators.scale import Standardizer


def test_random_states() -> None:
    assert seed_from(5) == seed_from(np.random.RandomState(5)) != seed_from(6)
    assert seed_from(None) != seed_from(None)


def test_huge_weights_have_a_mean_of_1() -> None:
    found = mean_one(np.array([1e308, 1e308, 1e307]))
    np.testing.assert_allclose(found, mean_one(np.array([10.0, 10.0, 1.0])))


def test_labels_are_places_among_the_classes() -> None:
    y = np.array(["b", "a", "c", "a"])
    classes, codes = encode_labels(y)
    assert (classes.tolist(), codes.tolist()) == (["a", "b", "c"], [1, 0, 2, 0])
    known = np.array(["a", "b", "c", "d"])
    assert encode_labels(y, known)[1].tolist() == [1, 0, 2, 0]
    with pytest.raises(ValueError, match="got the class 'c', which is not in the y to learn from"):
        encode_labels(y, known[:2])
    with pytest.raises(
        ValueError, match=r"the class 'b', .* learn from \(nor 'c'\); expected some"
    ):
        encode_labels(y, known[:1])
    with pytest.raises(
        ValueError, match=r"the class 1, .* \(nor 2, 3, 4, 5, 6, \.\.\.\); expected"
    ):
        encode_labels(np.arange(9), np.array([0]))


def test_facts_say_which_part_of_the_data_differs() -> None:
    x, y, weights = np.zeros((3, 2)), np.array([0, 1, 0]), np.ones(3)
    data = Checked(x, y, weights)
    others = [
        Checked(x + 1, y, weights),
        Checked(x, 1 - y, weights),
        Checked(x, y, None),
        Checked(x.astype(np.float32), y, weights),
        Checked(x.reshape(3, 2, 1, 1), y, weights),
    ]
    for changed, other in zip(
        ["inputs", "targets", "weights", *["inputs"] * 2], others, strict=True
    ):
        pairs = zip(data.facts().items(), other.facts().values(), strict=True)
        differ = [name for (name, ours), theirs in pairs if ours != theirs]
        assert differ == [f"{changed} of the data"]
    assert data.facts() == Checked(x.copy(), y.copy(), weights.copy()).facts()
    assert data.take(np.array([2, 0])).y.tolist() == [0, 0]


def test_samples_for_a_model() -> None:
    x, weights = np.array([[1.0], [3.0]]), np.array([1.0, 3.0])
    standardize = Standardizer(np.array([2.0]), np.array([1.0]))
    numbers = Checked(x, 10 * x, weights).samples(standardize, None)
    assert numbers.x.tolist() == [[-1.0], [1.0]] and numbers.targets.tolist() == [[10.0], [30.0]]
    assert numbers.weights.tolist() == [0.5, 1.5]
    assert {part.dtype for part in (numbers.x, numbers.targets)} == {torch.float32}
    classes = Checked(x, np.array([0, 1]), None).samples()
    assert classes.targets.dtype == torch.int64 and classes.weights is None
