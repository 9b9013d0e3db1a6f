"""A single node on few rows: two solutions together, and what held-out rows tell."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from label_trees import around_centres
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from structnet.label_tree import Examples, Features, LabelTreeClassifier, LabelTreeSettings
from structnet.label_tree.discriminant_analysis import discriminant, losses_of
from structnet.label_tree.examples import tenths
from structnet.label_tree.few_rows import solved
from structnet.label_tree.trials import Trials, Tried

MODULE = "structnet.label_tree.few_rows."


def few(number: int, labels: int = 3, seed: int = 0) -> Examples:
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(number) % labels)
    x = rng.normal(size=(labels, 4))[y] + rng.normal(size=(number, 4))
    return Examples(Features.from_table(x.astype(np.float32)), y)


def scores(found: tuple[np.ndarray, np.ndarray], examples: Examples) -> np.ndarray:
    return log_softmax(examples.features.table @ found[0].T + found[1], axis=1)


def test_it_is_the_mean_of_a_discriminant_analysis_and_a_logistic_regression(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The penalty is the one of the least loss on rows held out, by scikit-learn."""
    monkeypatch.setattr("structnet.estimators.logistic.SOLVER", {"ftol": 0.0, "gtol": 1e-9})
    penalties = (30.0, 3.0, 0.3)
    monkeypatch.setattr(MODULE + "PENALTIES", penalties)
    examples = few(60)
    x = examples.features.table
    unit = np.sqrt(np.square(x).mean())

    def fitted(part: Examples, penalty: float) -> LogisticRegression:
        return LogisticRegression(C=1 / penalty, tol=1e-9, max_iter=10_000).fit(
            part.features.table / unit, part.labels
        )

    losses = []
    for penalty in penalties:
        total = 0.0
        for learn, held in tenths(examples, seed=0):
            log_p = fitted(learn, penalty).predict_log_proba(held.features.table / unit)
            total += losses_of(log_p, held.labels, len(learn)).sum()
        losses.append(total)
    theirs = fitted(examples, penalties[int(np.argmin(losses))]).predict_log_proba(x / unit)
    expected = log_softmax((scores(discriminant(examples, 3), examples) + theirs) / 2, axis=1)
    np.testing.assert_allclose(
        scores(solved(examples, 3), examples), expected, rtol=1e-3, atol=1e-3
    )


def test_of_many_rows_it_is_a_discriminant_analysis(monkeypatch: pytest.MonkeyPatch) -> None:
    examples = few(60)
    monkeypatch.setattr(MODULE + "WORK", 60 * 4 * 3 - 1)
    for ours, expected in zip(solved(examples, 3), discriminant(examples, 3), strict=True):
        np.testing.assert_array_equal(ours, expected)


def test_rows_without_weight_and_the_unit_change_nothing() -> None:
    examples = few(50, labels=2)
    shares = (np.arange(50) % 3 > 0).astype(np.float32)
    some, weighted = examples[shares > 0], replace(examples, shares=shares)
    found = scores(solved(some, 2), some)
    np.testing.assert_allclose(scores(solved(weighted, 2), some), found, rtol=1e-4, atol=1e-6)
    larger = replace(some, features=Features.from_table(1e6 * some.features.table))
    np.testing.assert_allclose(scores(solved(larger, 2), larger), found, atol=1e-3)


@pytest.mark.parametrize(
    "labels", [[0, 1], [0, 0, 1], [0, 1, 2, 3], [0, 0, 0, 0, 3], [0, 1] * 3 + [2]]
)
def test_any_few_rows_will_do(labels: list[int]) -> None:
    x = np.random.default_rng(0).normal(size=(len(labels), 3))
    weight, bias = solved(Examples(Features.from_table(x), np.array(labels)), 4)
    assert np.isfinite(weight).all() and np.isfinite(bias).all()


def test_tenths_are_of_all_labels_and_of_each_row_once() -> None:
    y = np.repeat([0, 1, 2], [100, 50, 1])
    examples = Examples(Features.from_table(np.arange(151.0)[:, None]), y)
    parts = list(tenths(examples, seed=0))
    held = np.concatenate([held.features.table[:, 0] for _, held in parts])
    assert sorted(held) == list(range(150))  # all but the only row of its label
    for learn, part in parts:
        assert set(learn.labels) >= set(part.labels) == {0, 1}
        assert abs((part.labels == 0).sum() - 10) <= 1
    weighted = replace(examples, shares=(np.arange(151) < 20).astype(np.float32))
    assert sum(len(part) for _, part in tenths(weighted, seed=0)) == 20


def test_the_loss_counts_half_a_row_of_the_likeliest_other_label() -> None:
    p = np.array([[0.9, 0.08, 0.02], [0.2, 0.1, 0.7]])
    expected = [-(9.5 * np.log(right) + 0.5 * np.log(wrong)) / 10 for right, wrong in
                ((0.9, 0.08), (0.1, 0.7))]  # fmt: skip
    np.testing.assert_allclose(losses_of(np.log(p), np.array([0, 1]), 9), expected)


@pytest.mark.parametrize("number", [30, 90])
def test_of_few_rows_nothing_is_sure_by_chance(number: int) -> None:
    """Rows of two labels that lie apart on some of many columns, with heavy tails."""
    rng, found = np.random.default_rng(0), []
    for seed in range(4):
        y = rng.permutation(np.arange(1000) % 2)
        x = rng.standard_t(3, size=(1000, 20))
        x[:, :6] += 1.2 * y[:, None]
        learn, asked = slice(0, number), slice(number, None)
        model = LabelTreeClassifier(random_state=seed).fit(x[learn], y[learn])
        assert not model.history_
        usual = LogisticRegression().fit(x[learn] / x[learn].std(0), y[learn])
        theirs = usual.predict_proba(x[asked] / x[learn].std(0))
        found.append(
            (log_loss(y[asked], model.predict_proba(x[asked])), log_loss(y[asked], theirs))
        )
    ours, expected = np.mean(found, axis=0)
    assert ours < expected


def test_validation_samples_choose_also_of_few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[LabelTreeSettings] = []
    run = Trials.run

    def recorded(trials: Trials, settings: LabelTreeSettings, target: float = -np.inf) -> Tried:
        tried.append(settings)
        return run(trials, settings, target)

    monkeypatch.setattr(Trials, "run", recorded)
    x, y = around_centres(30, 20, 24, 0.8, seed=5)
    model = LabelTreeClassifier(random_state=0).fit(x[:300], y[:300])
    assert not tried and model.settings_.arity == 30
    model.fit(x[:300], y[:300], X_val=x[300:], y_val=y[300:])
    assert len(tried) > 1
