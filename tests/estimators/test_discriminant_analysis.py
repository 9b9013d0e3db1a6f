"""Discriminant analysis beside that of scikit-learn."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from structnet.estimators.checked import Checked
from structnet.estimators.discriminant_analysis import CERTAINTIES, SHARES, discriminant
from structnet.estimators.held_out import tenths

MODULE = "structnet.estimators.discriminant_analysis."


def rows(
    number: int,
    size: int,
    labels: int,
    seed: int,
    apart: float = 1.0,
    uneven: float = 15.0,
    wrong: float = 0.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Rows around centres, of one covariance and uneven labels.

    Args:
        apart: spread of the centres.
        uneven: times that rows spread more along one axis than along another.
        wrong: share of the rows with whatever label.
    """
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, labels + 1)
    y = np.append(np.arange(labels), rng.choice(labels, number - labels, p=share / share.sum()))
    turned = np.linalg.qr(rng.normal(size=(size, size)))[0] * np.geomspace(1, uneven, size) / 5
    noise = rng.normal(size=(number, size))
    x = 5 + apart * rng.normal(size=(labels, size))[y] + noise @ turned.T
    return x.astype(np.float32), np.where(rng.random(number) < wrong, rng.permutation(y), y)


def log_p(scores: np.ndarray) -> np.ndarray:
    return scores - logsumexp(scores, axis=1, keepdims=True)


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("certainty", [1.0, 0.3])
def test_it_is_that_of_scikit_learn(
    share: float, certainty: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where rows are many, whatever else is done for few of them is nothing."""
    monkeypatch.setattr(MODULE + "SHARES", (share,))
    monkeypatch.setattr(MODULE + "CERTAINTIES", (certainty,))
    monkeypatch.setattr(MODULE + "MANY", 100_000)
    x, y = rows(40_000, 6, 5, seed=0)
    weight, bias = discriminant(Checked(x, y, None), 5)
    theirs = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=share).fit(x, y)
    prior = np.log(theirs.priors_)
    expected = certainty * (theirs.decision_function(x) - prior) + prior
    np.testing.assert_allclose(log_p(x @ weight.T + bias), log_p(expected), atol=0.1, rtol=0.01)


def test_of_very_many_rows_some_tell_how_they_vary(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = rows(40_000, 6, 5, seed=0)
    given = Checked(x, y, None)
    some = discriminant(given, 5)
    monkeypatch.setattr(MODULE + "MANY", 100_000)
    for found, expected in zip(some, discriminant(given, 5), strict=True):
        assert 0 < np.abs(found - expected).max() < 0.05 * np.abs(expected).max()


def losses(x: np.ndarray, y: np.ndarray) -> dict[tuple[float, float], float]:
    """The loss of each share and certainty on the rows held out, by scikit-learn.

    Half a row of the likeliest wrong label counts as if it were among those learned from.
    """
    found: dict[tuple[float, float], float] = dict.fromkeys(product(SHARES, CERTAINTIES), 0.0)
    for learn, held in tenths(y, seed=0):
        for share, certainty in found:
            theirs = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=share)
            theirs.fit(x[learn], y[learn])
            prior = np.log(theirs.priors_)
            scores = theirs.decision_function(x[held]) - prior
            for each, label in zip(log_p(certainty * scores + prior), y[held], strict=True):
                wrong, doubt = np.delete(each, label).max(), 0.5 / (len(learn) + 1)
                found[share, certainty] -= (1 - doubt) * each[label] + doubt * wrong
    return found


@pytest.mark.parametrize(
    ("number", "size", "labels", "seed", "spread", "chosen"),
    [
        (8000, 20, 4, 0, {"apart": 0.3}, (0.001, 1.0)),
        (600, 60, 4, 2, {"apart": 0.1, "uneven": 3}, (0.1, 1.0)),
        (150, 60, 3, 9, {"apart": 0.1, "uneven": 2}, (0.4, 1.0)),
        (150, 60, 3, 4, {"apart": 0.1, "uneven": 2}, (1.0, 1.0)),
        (8000, 20, 4, 2, {"wrong": 0.3}, (0.001, 0.5)),
        (4000, 20, 4, 0, {"apart": 3, "wrong": 0.1}, (0.1, 0.2)),
        (400, 20, 4, 1, {"wrong": 1.0}, (0.1, 0.0)),
    ],
)
def test_what_is_chosen_has_the_least_loss_on_rows_held_out(
    number: int, size: int, labels: int, seed: int, spread: dict[str, float],
    chosen: tuple[float, float], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """The fewer the rows, the more of the identity; where labels err, nothing is certain."""
    x, y = rows(number, size, labels, seed, **spread)
    by = losses(x, y)
    assert min(by, key=lambda kind: by[kind]) == chosen
    given = Checked(x, y, None)
    found = discriminant(given, labels)
    monkeypatch.setattr(MODULE + "SHARES", chosen[:1])
    monkeypatch.setattr(MODULE + "CERTAINTIES", chosen[1:])
    for ours, expected in zip(found, discriminant(given, labels), strict=True):
        np.testing.assert_array_equal(ours, expected)


def test_of_one_row_a_label_half_of_what_it_says_is_chance() -> None:
    """Of labels that are not learnt, rows held out would say that nothing is certain."""
    x = np.random.default_rng(0).normal(size=(200, 8)).astype(np.float32) + 3
    weight, bias = discriminant(Checked(x, np.arange(200), None), 200)
    middle = x.mean(0)
    mean = (x - middle) / 2
    variance = np.square(x - middle).sum(1).mean() / 8 / 2
    np.testing.assert_allclose(weight, mean / variance, rtol=1e-3, atol=1e-4)
    expected = -(mean / variance * (mean / 2 + middle)).sum(1) - np.log(200)
    np.testing.assert_allclose(bias, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_along_narrow_axes_means_of_few_rows_are_sure(seed: int) -> None:
    x, y = rows(3000, 20, 100, seed, apart=1.0, uneven=100)
    learn, asked = slice(0, 1500), slice(1500, None)
    weight, bias = discriminant(Checked(x[learn], y[learn], None), 100)
    right = ((x[asked] @ weight.T + bias).argmax(1) == y[asked]).mean()
    theirs = LinearDiscriminantAnalysis().fit(x[learn], y[learn]).score(x[asked], y[asked])
    assert right >= theirs - 0.01 > 0.9


def test_axes_that_are_narrow_by_chance_make_nothing_sure() -> None:
    """Of as many columns as rows, some hardly vary within labels: so do these of few rows alone."""
    rng = np.random.default_rng(0)
    centres, y = 0.3 * rng.normal(size=(40, 300)), rng.integers(40, size=1267)
    x = (centres[y] + rng.normal(size=(1267, 300))).astype(np.float32)
    weight, bias = discriminant(Checked(x[:267], y[:267], None), 40)
    scores = x[267:] @ weight.T + bias
    losses = logsumexp(scores, axis=1) - scores[np.arange(1000), y[267:]]
    assert (scores.argmax(1) == y[267:]).mean() > 0.65 and losses.mean() < 1.1
