"""A softmax on few rows: two solutions together, and what held-out rows tell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

from structnet.estimators.checked import Checked
from structnet.estimators.discriminant_analysis import discriminant, losses_of
from structnet.estimators.few_rows import STRONG, explained, regularisation, solvable, solved
from structnet.estimators.held_out import tenths
from structnet.estimators.relevance import most_telling

MODULE = "structnet.estimators.few_rows."


def few(number: int, labels: int = 3, seed: int = 0) -> Checked:
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(number) % labels)
    x = rng.normal(size=(labels, 4))[y] + rng.normal(size=(number, 4))
    return Checked(x.astype(np.float32), y, None)


def scores(found: tuple[np.ndarray, np.ndarray], rows: Checked) -> np.ndarray:
    return log_softmax(rows.x @ found[0].T + found[1], axis=1)


def test_it_is_the_mean_of_a_discriminant_analysis_and_a_logistic_regression(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The penalty is the one of the least loss on rows held out, by scikit-learn."""
    monkeypatch.setattr("structnet.estimators.logistic.SOLVER", {"ftol": 0.0, "gtol": 1e-9})
    penalties = (30.0, 3.0, 0.3)
    monkeypatch.setattr(MODULE + "PENALTIES", penalties)
    given = few(60)
    x = given.x
    unit = np.sqrt(np.square(x).mean())

    def fitted(part: Checked, penalty: float) -> LogisticRegression:
        return LogisticRegression(C=1 / penalty, tol=1e-9, max_iter=10_000).fit(
            part.x / unit, part.y
        )

    losses = []
    for penalty in penalties:
        total = 0.0
        for learn, held in tenths(given.y, seed=0):
            part = fitted(given.take(learn), penalty)
            log_p = part.predict_log_proba(x[held] / unit)
            total += losses_of(log_p, given.y[held], len(learn)).sum()
        losses.append(total)
    theirs = fitted(given, penalties[int(np.argmin(losses))]).predict_log_proba(x / unit)
    expected = log_softmax((scores(discriminant(given, 3), given) + theirs) / 2, axis=1)
    np.testing.assert_allclose(scores(solved(given, 3), given), expected, rtol=1e-3, atol=1e-3)


def test_of_many_rows_it_is_a_discriminant_analysis(monkeypatch: pytest.MonkeyPatch) -> None:
    given = few(60)
    monkeypatch.setattr(MODULE + "WORK", 60 * 4 * 3 - 1)
    for ours, expected in zip(solved(given, 3), discriminant(given, 3), strict=True):
        np.testing.assert_array_equal(ours, expected)


def test_rows_without_weight_and_the_unit_change_nothing() -> None:
    given = few(50, labels=2)
    shares = (np.arange(50) % 3 > 0).astype(np.float32)
    some, weighted = given.take(np.flatnonzero(shares)), given._replace(weights=shares)
    found = scores(solved(some, 2), some)
    np.testing.assert_allclose(scores(solved(weighted, 2), some), found, rtol=1e-4, atol=1e-6)
    larger = some._replace(x=1e6 * some.x)
    np.testing.assert_allclose(scores(solved(larger, 2), larger), found, atol=1e-3)


@pytest.mark.parametrize(
    "labels", [[0, 1], [0, 0, 1], [0, 1, 2, 3], [0, 0, 0, 0, 3], [0, 1] * 3 + [2]]
)
def test_any_few_rows_will_do(labels: list[int]) -> None:
    x = np.random.default_rng(0).normal(size=(len(labels), 3))
    weight, bias = solved(Checked(x, np.array(labels), None), 4)
    assert np.isfinite(weight).all() and np.isfinite(bias).all()


def test_tenths_are_of_all_labels_and_of_each_row_once() -> None:
    y = np.repeat([0, 1, 2], [100, 50, 1])
    parts = list(tenths(y, seed=0))
    assert sorted(np.concatenate([held for _, held in parts])) == list(range(150))  # but one alone
    for learn, held in parts:
        assert set(y[learn]) >= set(y[held]) == {0, 1}
        assert abs((y[held] == 0).sum() - 10) <= 1


def test_the_loss_counts_half_a_row_of_the_likeliest_other_label() -> None:
    p = np.array([[0.9, 0.08, 0.02], [0.2, 0.1, 0.7]])
    expected = [-(9.5 * np.log(right) + 0.5 * np.log(wrong)) / 10 for right, wrong in
                ((0.9, 0.08), (0.1, 0.7))]  # fmt: skip
    np.testing.assert_allclose(losses_of(np.log(p), np.array([0, 1]), 9), expected)


def test_wide_rows_are_solved_in_their_span() -> None:
    """However many columns a few numbers are spread over, each row is predicted alike."""
    given = few(60)
    rng = np.random.default_rng(0)
    narrow = rng.normal(size=(60, 40)) * np.geomspace(1, 0.1, 40)
    narrow[:, :4] += given.x
    narrow -= narrow.mean(0)
    found = []
    for columns in (100, 300):
        axes = np.linalg.qr(rng.normal(size=(columns, 40)))[0].T
        wide = given._replace(x=narrow @ axes)
        found.append(scores(solved(wide, 3), wide))
    np.testing.assert_allclose(*found, atol=1e-3)
    alike = scores(solved(given._replace(x=narrow), 3), given._replace(x=narrow))
    np.testing.assert_allclose(found[0], alike, atol=0.01)


def test_rows_are_solved_as_told_whatever_their_number() -> None:
    """What was chosen for coordinates of 58 rows of 60 columns is no good for 60 columns."""
    rng = np.random.default_rng(0)
    y = np.arange(62) % 3
    x = rng.normal(size=(3, 60))[y] / 2 + rng.normal(size=(62, 60))
    given, axes = Checked(x - x.mean(0), y, None), np.linalg.qr(rng.normal(size=(100, 60)))[0].T
    how = regularisation(given.take(np.arange(58)), 3)
    assert how.wide and not regularisation(given, 3).wide
    wide = given._replace(x=given.x @ axes)
    expected = scores(solved(wide, 3, how=how), wide)
    np.testing.assert_allclose(scores(solved(given, 3, how=how), given), expected, atol=1e-3)


def test_of_larger_tables_fewer_parts_are_held_out(monkeypatch: pytest.MonkeyPatch) -> None:
    every, rng = few(90), np.random.default_rng(1)
    given = every._replace(x=np.c_[every.x, rng.normal(size=(90, 60))])
    asked = []

    def counted(*how: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for part in tenths(*how):
            asked.append(part)
            yield part

    monkeypatch.setattr(MODULE + "tenths", counted)
    monkeypatch.setattr(MODULE + "WORK", 90 * 64 * 3 // 3)  # so that 3 of 10 parts are
    assert not solvable(given.x, 3)  # as 27 rows would tell too little
    monkeypatch.setattr(MODULE + "HELD", 27)
    assert regularisation(given, 3).penalty and len(asked) == 3
    monkeypatch.setattr(MODULE + "WORK", 90 * 64 * 3 // 11)
    assert not solvable(given.x, 3) and not regularisation(given, 3).penalty


@pytest.mark.parametrize("columns", [60, 500])
def test_columns_of_noise_have_no_weights(columns: int) -> None:
    """Columns are chosen anew without the rows that are held out: of noise alone, all are kept."""
    every, rng = few(290), np.random.default_rng(1)
    given, fresh = every.take(np.arange(90)), every.take(np.arange(90, 290))
    noise = rng.normal(size=(290, columns))
    seen, unseen = (
        part._replace(x=np.c_[part.x, rest])
        for part, rest in ((given, noise[:90]), (fresh, noise[90:]))
    )
    how = regularisation(seen, 3)
    assert 4 <= how.columns <= 20
    weight, _ = found = solved(seen, 3, how=how)
    assert (weight != 0).any(0).sum() == how.columns

    def mean(found: tuple[np.ndarray, np.ndarray], rows: Checked) -> float:
        return float(scores(found, rows)[np.arange(200), rows.y].mean())

    mine = mean(found, unseen)
    assert mean(solved(seen, 3, how=how._replace(columns=0)), unseen) < mine - 0.1
    assert mine > mean(solved(given, 3), fresh) - 0.15
    assert regularisation(given._replace(x=noise[:90]), 3).columns == 0


def test_a_column_explains_what_its_weights_make_of_its_variation() -> None:
    rng, given = np.random.default_rng(1), few(90)
    x = np.c_[given.x, rng.normal(size=(90, 3)), np.full(90, 1e3 / 7)]
    counts = rng.integers(1, 4, 90)
    found = explained(given._replace(x=x, weights=counts.astype(float)), 3)
    again = np.repeat(np.arange(90), counts)
    model = LogisticRegression(C=1 / (STRONG * np.mean(x**2)), max_iter=9999, tol=1e-9)
    model.fit(x[again], given.y[again])
    expected = np.square(model.coef_).sum(0) * x[again].var(0) * len(again)
    np.testing.assert_allclose(found[:-1], expected[:-1], rtol=0.02)
    assert found[-1] == 0
    wide = given._replace(x=np.c_[x, rng.normal(size=(90, 200))], weights=np.ones(90))
    assert {0, 1, 2} <= set(most_telling(explained(wide, 3), 10).tolist())
