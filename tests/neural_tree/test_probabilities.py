"""A tree's probabilities of classes; a tree of numbers has none."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from growths import make_samples, make_tree
from scipy.special import softmax
from sklearn.metrics import log_loss

from structnet import NeuralTreeClassifier
from structnet.neural_tree import Categorical, NeuralTree, NeuralTreeSettings, prune, train


def test_probabilities_are_those_of_all_leaves() -> None:
    tree, samples = make_tree(), make_samples(7)
    tree.split(0)
    assert torch.equal(tree.predict_log_proba(samples), tree.output(samples.x))
    assert torch.equal(tree.predict_proba(samples), tree.output(samples.x).exp())


@pytest.mark.parametrize("method", ["predict_proba", "predict_log_proba"])
def test_a_tree_of_numbers_has_none(method: str) -> None:
    tree, samples = make_tree("squares"), make_samples(7, likelihood="squares")
    with pytest.raises(TypeError, match=r"^a tree of SquaredError predicts no classes$"):
        getattr(tree, method)(samples)


@pytest.mark.parametrize("path", ["multi", "greedy"])
def test_a_temperature_divides_the_log_probabilities(path: str) -> None:
    tree, samples = make_tree(), make_samples(9)
    tree.split(0)
    plain = tree.output(samples.x, path=path)
    tree.likelihood = Categorical(2.0)
    found = tree.output(samples.x, path=path)
    torch.testing.assert_close(found, (plain / 2).log_softmax(1))
    if path == "multi":
        losses = -found.gather(1, samples.targets[:, None])[:, 0]
        torch.testing.assert_close(tree.losses(samples), losses)


def test_its_configuration_and_its_copies_keep_the_temperature() -> None:
    tree = make_tree()
    assert "temperature" not in tree.config()  # as in files from before there was one
    tree.likelihood = Categorical(0.5)
    config = json.loads(json.dumps(tree.config()))
    again = NeuralTree.from_config(config, tree.primitives, Categorical())
    assert again.temperature == prune(tree, make_samples(9), 0.1).temperature == 0.5


def waves(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Waves of any phase: no line tells their frequency, so that a linear model is all penalty."""
    rng = np.random.default_rng(seed)
    y, phase = rng.integers(3, size=n), rng.random((n, 1))
    angle = 2 * np.pi * (np.array([1, 2, 4])[y][:, None] * np.linspace(0, 1, 40) + phase)
    return np.sin(angle) + 0.3 * rng.normal(size=angle.shape), y


def test_a_tree_with_the_penalty_of_a_useless_root_becomes_surer(tmp_path: Path) -> None:
    model = NeuralTreeClassifier(random_state=0).fit(*waves(500, 0))
    X, y = waves(500, 1)
    assert model.score(X, y) > 0.95 and model.tree_.temperature < 0.7
    found = model.predict_proba(X)
    model.save(tmp_path / "model")
    again = NeuralTreeClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(X), found)
    plain = NeuralTreeClassifier.load(tmp_path / "model")
    tempered, plain.tree_.likelihood = plain.tree_.temperature, Categorical()
    before = plain.predict_proba(X)
    assert (before.argmax(1) == found.argmax(1)).all()
    np.testing.assert_allclose(found, softmax(np.log(before) / tempered, axis=1), atol=1e-5)
    assert log_loss(y, found) < 0.6 * log_loss(y, before)


def test_growth_begins_without_a_temperature() -> None:
    samples, one_epoch = make_samples(40), NeuralTreeSettings(max_leaves=1, epochs=1)
    torch.manual_seed(0)
    trees = [make_tree(), make_tree()]
    trees[1].load_state_dict(trees[0].state_dict())
    trees[1].likelihood = Categorical(8.0)
    ours, theirs = (train(tree, one_epoch, samples, samples) for tree in trees)
    assert ours.growth["validation_loss"] == theirs.growth["validation_loss"]
    assert ours.tree.temperature == theirs.tree.temperature
