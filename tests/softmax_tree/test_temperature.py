"""The temperature of a tree: found by its held-out samples, and applied to all of its leaves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.special import log_softmax
from softmax_trees import clusters

from structnet.estimators.temperature import COLDEST, HOTTEST, best_temperature
from structnet.softmax_tree import (
    GrowthSettings,
    SoftmaxTreeClassifier,
    SoftmaxTreeSettings,
    train,
    training,
    tree_from_networkx,
)
from structnet.softmax_tree.settings import ChosenSettings


def drawn(n: int, temperature: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Log-probabilities of four classes, and classes drawn at a temperature."""
    rng = np.random.default_rng(seed)
    log_prob = log_softmax(2 * rng.normal(size=(n, 4)), axis=1)
    gumbel = -np.log(-np.log(rng.random((n, 4))))
    return log_prob, (log_prob / temperature + gumbel).argmax(1)


@pytest.mark.parametrize("temperature", [0.5, 2.0, 4.0])
def test_the_temperature_of_the_samples_is_found(temperature: float) -> None:
    log_prob, y = drawn(4000, temperature)
    assert best_temperature(log_prob, y, np.ones(4000)) == pytest.approx(temperature, rel=0.1)


def test_a_gain_by_chance_leaves_the_tree_as_it_is() -> None:
    for seed in range(20):
        log_prob, y = drawn(300, 1.0, seed)
        assert best_temperature(log_prob, y, np.ones(300)) == 1


def test_it_stays_within_bounds() -> None:
    log_prob, _ = drawn(1000, 1.0)
    right = best_temperature(log_prob, log_prob.argmax(1), np.ones(1000), further=0)
    wrong = best_temperature(log_prob, log_prob.argmin(1), np.ones(1000))
    assert right == pytest.approx(COLDEST, rel=0.01) and wrong == pytest.approx(HOTTEST, rel=0.01)


def test_with_few_samples_that_are_all_right_a_tree_becomes_little_surer() -> None:
    """One wrong sample of an infinitely sure tree would cost any amount."""
    log_prob = np.log([[0.9, 0.1]] * 1000)
    few, many = (best_temperature(log_prob[:n], np.zeros(n, int), np.ones(n)) for n in (40, 1000))
    assert COLDEST < many < few < 1


def test_samples_that_do_not_count_and_few_samples_tell_nothing() -> None:
    log_prob, y = drawn(500, 3.0)
    more = np.concatenate([log_prob, log_prob[::-1]]), np.concatenate([y, y])
    found = best_temperature(*more, np.repeat([1.0, 0.0], 500))
    assert found == best_temperature(log_prob, y, np.ones(500)) > 2
    assert best_temperature(log_prob[:29], y[:29], np.ones(29)) == 1


def test_weights_repeat_samples() -> None:
    log_prob, y = drawn(500, 3.0)
    times = np.random.default_rng(1).integers(0, 4, 500)
    few = best_temperature(log_prob, y, times.astype(float), further=0)
    many = log_prob.repeat(times, axis=0), y.repeat(times)
    assert few == pytest.approx(best_temperature(*many, np.ones(times.sum()), further=0), rel=1e-4)


def test_samples_of_classes_that_their_leaf_lacks_do_not_count() -> None:
    log_prob, y = drawn(500, 3.0)
    lacks = np.append(log_softmax(np.zeros((9, 3)), axis=1), np.full((9, 1), -np.inf), axis=1)
    joined = np.append(log_prob, lacks, axis=0), np.append(y, np.full(9, 3))
    expected = best_temperature(log_prob, y, np.ones(500))
    assert best_temperature(*joined, np.ones(509)) == pytest.approx(expected, rel=1e-4)
    assert best_temperature(lacks, np.full(9, 3), np.ones(9)) == 1


def rings(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Points inside and outside a ball, of which leaves with few rows are too sure."""
    x = np.random.default_rng(seed).normal(size=(n, 6))
    return x, np.where((x**2).sum(1) > 5.3, "out", "in")


def codes_of(data: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The same points with numbers as classes."""
    return data[0], np.unique(data[1], return_inverse=True)[1]


@pytest.fixture(scope="module")
def fitted() -> SoftmaxTreeClassifier:
    return SoftmaxTreeClassifier(start="axes", random_state=0).fit(*rings(700, 0))


def test_probabilities_of_a_tree_that_is_too_sure_are_mended(
    fitted: SoftmaxTreeClassifier,
) -> None:
    (x, y), model = rings(3000, 1), fitted
    temperature = model.settings_.temperature
    assert temperature > 1
    plain, (rows, codes) = replace(model.settings_, temperature=1.0), rings(700, 0)
    sure = train(
        model.samples(rows, codes).x, np.unique(codes, return_inverse=True)[1], plain
    ).tree.choices(model.samples(x, y).x)
    log_prob, mild = sure.dense(2), model.predict_log_proba(x)
    np.testing.assert_allclose(mild, log_softmax(log_prob / temperature, axis=1), atol=1e-4)
    true = np.searchsorted(model.classes_, y)[:, None]
    losses = [-np.take_along_axis(each, true, 1).mean() for each in (log_prob, mild)]
    assert losses[1] < 0.9 * losses[0]


def test_files_and_graphs_keep_the_temperature(
    fitted: SoftmaxTreeClassifier, tmp_path: Path
) -> None:
    (x, y), prob = rings(50, 2), fitted.predict_proba(rings(50, 2)[0])
    fitted.save(tmp_path / "model")
    loaded = SoftmaxTreeClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(x), prob)
    assert loaded.settings_ == fitted.settings_
    tree, samples = tree_from_networkx(fitted.to_networkx()), fitted.samples(x, y)
    np.testing.assert_allclose(tree.predict_proba(samples).detach(), prob, atol=1e-6)


def test_what_is_told_stays(fitted: SoftmaxTreeClassifier) -> None:
    x, labels = rings(300, 0)
    y = np.unique(labels, return_inverse=True)[1]
    told = SoftmaxTreeSettings(depth=1, k=2, start="rows", leaf_penalty=1.0)
    assert train(x, y, told).settings.temperature == 1
    assert train(x, y, growth=GrowthSettings(max_rounds=1)).settings.temperature == 1
    assert train(x, y, ChosenSettings(temperature=3.0)).settings.temperature == 3
    for wrong in (0, -1, np.inf, None):
        with pytest.raises(ValueError, match="The 'temperature' parameter"):
            ChosenSettings(temperature=wrong)  # type: ignore[arg-type]


def test_a_tree_that_grows_has_the_temperature_of_its_validation_samples(tmp_path: Path) -> None:
    """Before it learns from them, too; a state of that last part of the training keeps it."""
    rows, y, (new, true) = *codes_of(rings(900, 0)), codes_of(rings(3000, 1))
    learn, held_out = (rows[:600], y[:600]), (rows[600:], y[600:])
    how = SoftmaxTreeSettings(depth=20, start="axes", leaf_penalty=1.0)
    growth, file = GrowthSettings(start_depth=20, max_rounds=1), tmp_path / "state"
    mild = train(*learn, how, growth, validation=held_out, state_file=file)
    temperature = mild.settings.temperature
    assert temperature > 1
    told = replace(mild.settings, temperature=1.0 + 1e-9)  # which is no other tree
    sure = train(*learn, told, mild.growth, validation=held_out).tree
    log_prob = sure.choices(held_out[0]).dense(2)
    assert best_temperature(log_prob, held_out[1], np.ones(300)) == pytest.approx(temperature)
    losses = [-t.choices(new).dense(2)[np.arange(3000), true].mean() for t in (sure, mild.tree)]
    assert losses[1] < 0.9 * losses[0]
    both = train(*learn, how, growth, validation=held_out, refit=True)
    assert both.settings.temperature == temperature
    again = train(*learn, validation=held_out, state_file=file)
    assert again.settings == mild.settings
    for one, other in zip(again.tree.arrays, mild.tree.arrays, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_growing_tree_asks_drawn_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the first ones, which may all be of one class."""
    x, y = clusters(400, classes=4)
    order, asked = np.argsort(y[300:], kind="stable"), []

    def recorded(log_prob: np.ndarray, y: np.ndarray, weights: np.ndarray) -> float:
        asked.append(y)
        return 1.0

    monkeypatch.setattr("structnet.estimators.temperature.CELLS", 4 * 20)
    monkeypatch.setattr(training, "best_temperature", recorded)
    settings = SoftmaxTreeSettings(
        start="centroids", decision_penalty=1.0, leaf_penalty=1.0, max_iter=1, solver_steps=5
    )
    held_out = x[300:][order], y[300:][order]
    train(x[:300], y[:300], settings, GrowthSettings(start_depth=1), validation=held_out)
    assert len(asked[-1]) == 20 and len(set(asked[-1])) > 2
