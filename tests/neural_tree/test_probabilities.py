"""A tree's probabilities of classes; a tree of numbers has none."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from growths import make_samples, make_tree
from scipy.special import softmax
from sklearn.metrics import log_loss
from torch.utils.data import DataLoader

from structnet import NeuralTreeClassifier
from structnet.neural_tree import (
    Categorical,
    NeuralTree,
    NeuralTreeSettings,
    SquaredError,
    calibration,
    presets,
    prune,
    train,
    training,
)
from structnet.neural_tree.calibration import best_temperatures
from structnet.neural_tree.training import go_on
from structnet.routing import Samples


def test_probabilities_are_those_of_all_leaves() -> None:
    tree, samples = make_tree(), make_samples(7)
    tree.split(0)
    assert torch.equal(tree.predict_log_proba(samples), tree.output(samples.x))
    assert torch.equal(tree.predict_proba(samples), tree.output(samples.x).exp())
    for method in (tree.predict, tree.predict_proba, tree.predict_log_proba):
        assert torch.equal(method(samples.x), method(samples))  # inputs need no targets


@pytest.mark.parametrize("method", ["predict_proba", "predict_log_proba"])
def test_a_tree_of_numbers_has_none(method: str) -> None:
    tree, samples = make_tree("squares"), make_samples(7, likelihood="squares")
    with pytest.raises(TypeError, match=r"^a tree of SquaredError predicts no classes$"):
        getattr(tree, method)(samples)


def test_temperatures_divide_the_log_probabilities_of_all_leaves_and_of_one() -> None:
    tree, samples = make_tree(), make_samples(9)
    alone = tree.output(samples.x)
    tree.temper(2.0, 0.5)
    torch.testing.assert_close(tree.output(samples.x), (alone / 0.5).log_softmax(1))
    tree.temper()
    tree.split(0)
    plain = {path: tree.output(samples.x, path) for path in ("multi", "greedy")}
    tree.temper(2.0, 0.5)
    mixed, single = (tree.output(samples.x, path) for path in plain)
    torch.testing.assert_close(mixed, (plain["multi"] / 2).log_softmax(1))
    torch.testing.assert_close(single, (plain["greedy"] / 0.5).log_softmax(1))
    own = samples.targets[:, None]
    torch.testing.assert_close(tree.losses(samples), -mixed.gather(1, own)[:, 0])


def test_a_configuration_and_a_pruned_copy_keep_the_temperatures() -> None:
    tree = make_tree()
    tree.temper(0.5, 2.0)
    config = json.loads(json.dumps(tree.config()))
    again = NeuralTree.from_config(config, tree.primitives, Categorical())
    assert again.temperatures == prune(tree, make_samples(9), 0.1).temperatures == (0.5, 2.0)
    with pytest.raises(ValueError, match=r"temperature.* \(0, inf\). Got -1 "):
        NeuralTree.from_config(config | {"temperatures": [-1, 1]}, tree.primitives, Categorical())
    numbers = make_tree("squares")
    assert NeuralTree.from_config(
        numbers.config() | {"temperatures": [2, 2]}, numbers.primitives, SquaredError()
    ).temperatures == (1, 1)


class Smooth(Categorical):
    """A user's own."""


def test_a_likelihood_of_the_users_stays_one() -> None:
    tree = NeuralTree(make_tree().primitives, (3,), Smooth())
    tree.temper(2.0)
    assert type(tree.likelihood) is Smooth and tree.temperatures == (2, 1)


def waves(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Waves of any phase: no line tells their frequency, so that a linear model is all penalty."""
    rng = np.random.default_rng(seed)
    y, phase = rng.integers(3, size=n), rng.random((n, 1))
    angle = 2 * np.pi * (np.array([1, 2, 4])[y][:, None] * np.linspace(0, 1, 40) + phase)
    return np.sin(angle) + 0.3 * rng.normal(size=angle.shape), y


@pytest.fixture(scope="module")
def fitted() -> NeuralTreeClassifier:
    with pytest.MonkeyPatch.context() as patched:  # no lighter penalty, which would be as sure
        patched.setattr("structnet.neural_tree.growth.growth.says_little", lambda *of: False)
        return NeuralTreeClassifier(random_state=0).fit(*waves(500, 0))


def test_a_tree_with_the_penalty_of_a_useless_root_becomes_surer(
    fitted: NeuralTreeClassifier, tmp_path: Path
) -> None:
    X, y = waves(500, 1)
    assert fitted.score(X, y) > 0.95 and fitted.tree_.temperatures[0] < 0.7
    found = fitted.predict_proba(X)
    fitted.save(tmp_path / "model")
    again, plain = (NeuralTreeClassifier.load(tmp_path / "model") for _ in range(2))
    np.testing.assert_array_equal(again.predict_proba(X), found)
    plain.tree_.temper()
    before = plain.predict_proba(X)
    assert (before.argmax(1) == found.argmax(1)).all()
    expected = softmax(np.log(before) / fitted.tree_.temperatures[0], axis=1)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert log_loss(y, found) < 0.6 * log_loss(y, before)


def test_temperatures_are_found_before_validation_samples_are_learned_from(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    called, later = [], training.finish
    monkeypatch.setattr(
        training, "best_temperatures", lambda *of: called.append("temperatures") or (2.0, 3.0)
    )
    monkeypatch.setattr(
        training, "finish", lambda *of, **how: called.append("finish") or later(*of, **how)
    )
    samples, few = make_samples(40), NeuralTreeSettings(max_leaves=1, epochs=1, refine_epochs=2)
    found = train(make_tree(), few, samples, samples, everything=samples)
    assert called == ["temperatures", "finish"] and found.tree.temperatures == (2, 3)


def test_a_path_has_a_temperature_of_its_own() -> None:
    """A router that hardly decides makes one unsure tree of two sure leaves."""
    x = torch.linspace(-1, 1, 400)[:, None]
    tree = NeuralTree(presets.table(2), (1,))
    tree.split(0)
    tree.nodes[0].router.weight.data = torch.tensor([[0.2]])
    tree.nodes[0].router.bias.data.zero_()
    for node, sign in ((1, -1.0), (2, 1.0)):  # the left leaf, of x > 0, says 0
        tree.nodes[node].solver.weight.data.zero_()
        tree.nodes[node].solver.bias.data = sign * torch.tensor([-3.0, 3.0])
    wrong = torch.arange(400) % 20 == 0
    samples = Samples(x, ((x[:, 0] < 0) ^ wrong).long())
    of_all, of_one = best_temperatures(tree, samples)
    assert of_all < 0.3 and 1.6 < of_one < 2.4


def test_weights_and_groups_of_validation_samples_count(monkeypatch: pytest.MonkeyPatch) -> None:
    given = []
    monkeypatch.setattr(
        calibration, "best_temperature", lambda *of, **more: given.append((of, more)) or 1.0
    )
    samples = replace(make_samples(9, weighted=True), groups=torch.arange(9) // 2)
    best_temperatures(make_tree(), samples)
    [((log_prob, y, weights), more)] = given
    assert log_prob.shape == (9, 4) and (y == samples.targets.numpy()).all()
    assert (weights == samples.weights.numpy()).all()
    assert (more["groups"] == samples.groups.numpy()).all()


def test_inputs_are_read_batch_by_batch() -> None:
    images = [(torch.rand(3), i % 4) for i in range(70)]
    samples = Samples.from_dataset(DataLoader(images, batch_size=8))
    read = []
    tree = make_tree().float()
    tree.register_forward_pre_hook(lambda tree, of: read.append(len(of[0])))
    assert best_temperatures(tree, samples) and max(read) == 8 and sum(read) == 70


def test_training_begins_without_temperatures() -> None:
    samples, one_epoch = make_samples(40), NeuralTreeSettings(max_leaves=1, epochs=1)
    torch.manual_seed(0)
    trees = [make_tree(), make_tree()]
    trees[1].load_state_dict(trees[0].state_dict())
    trees[1].temper(8.0, 8.0)
    ours, theirs = (train(tree, one_epoch, samples, samples) for tree in trees)
    assert ours.growth["validation_loss"] == theirs.growth["validation_loss"]
    ours.tree.temper(8.0, 8.0)
    once, again = (go_on(each, one_epoch, samples, samples) for each in (ours, theirs))
    assert once.refinement["validation_loss"] == again.refinement["validation_loss"]
    assert once.tree.temperatures == again.tree.temperatures
