"""Whether classes are divided, and into how many parts: by held-out rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_softmax

from structnet.estimators import columns_of_parts, number_of_parts
from structnet.estimators.checked import Checked
from structnet.estimators.columns_of_parts import most_gaining
from structnet.estimators.discriminant_analysis import discriminant
from structnet.estimators.few_rows import regularisation
from structnet.estimators.number_of_parts import Answers, best_division, best_of_few
from structnet.estimators.softmax_of_parts import Division, parts_told


def rings(number: int, seed: int) -> Checked:
    """Rows of two classes, the second of which lies around the first."""
    rng = np.random.default_rng(seed)
    y, angle = rng.integers(2, size=number), rng.uniform(0, 2 * np.pi, size=number)
    radius = 1 + y + 0.15 * rng.normal(size=number)
    return Checked(radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], 1), y, None)


def core(number: int, seed: int) -> Checked:
    """Rows of a class in the middle and two, each in opposite quadrants, around it."""
    x = np.random.default_rng(seed).normal(size=(number, 3))
    return Checked(
        x, np.where(x[:, 0] ** 2 + x[:, 1] ** 2 < 2.5, 0, 1 + (x[:, 0] * x[:, 1] > 0)), None
    )


def round_classes(number: int, seed: int) -> Checked:
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=number)
    return Checked(rng.normal(size=(number, 3)) + 1.5 * np.eye(3)[y], y, None)


def told(rows: Checked, num_classes: int, division: Division) -> tuple[np.ndarray, ...]:
    """Weights, biases and the class of each part, as of a model that is divided so."""
    _, part_classes, weight, bias = parts_told(rows, num_classes, division)
    return weight, bias, part_classes


def test_of_few_rows_rings_are_divided_and_round_classes_are_not() -> None:
    division, _ = best_of_few(rings(150, 0), 2, 0)
    assert division and division.number >= 4
    assert best_of_few(round_classes(150, 0), 3, 0)[0] is None


def test_columns_are_chosen_by_weighted_gains() -> None:
    """Two columns tell, behind six of noise; many rows with wrong labels hardly weigh anything."""
    rng, some = np.random.default_rng(0), rings(250, 0)
    wrong = rings(120, 1)
    x, y = np.concatenate([some.x, wrong.x]), np.append(some.y, rng.permutation(wrong.y))
    x = np.column_stack([rng.normal(size=(len(x), 6)), x])
    weights = np.repeat([1.0, 1e-3], [250, 120])
    division, _ = best_of_few(Checked(x, y, weights), 2, 0)
    assert division is not None and division.columns == (6, 7)
    losing = most_gaining([np.array([1, 4]), np.array([4, 5])], np.array([-1.0, -2.0]))
    assert 4 in losing and 0 not in losing  # nothing gains: what most choices have


def test_what_solves_whole_classes_is_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    found, rows = [], rings(90, 0)

    def noted(*given: object) -> object:
        found.append(regularisation(*given))  # type: ignore[arg-type]  # passed on
        return found[-1]

    monkeypatch.setattr(number_of_parts, "regularisation", noted)
    _, how = best_of_few(rows, 2)
    assert found == [how]
    assert best_of_few(round_classes(90, 0), 3) == (None, None) and len(found) == 1


@pytest.mark.parametrize("seed", range(3))
def test_rows_held_out_are_not_learned_from(seed: int) -> None:
    """Labels that say nothing: parts would seem to tell them, if their rows had been seen."""
    rng = np.random.default_rng(seed)
    rows = Checked(rng.normal(size=(120, 2)), rng.integers(2, size=120), None)
    assert best_of_few(rows, 2, seed)[0] is None


def test_a_division_needs_a_gain_over_the_best_model_of_whole_classes() -> None:
    rows = rings(600, 0)
    pairs = [(rows.take(np.arange(500)), rows.take(np.arange(500, 600)))]
    sure = Answers(np.full(100, 1e-9), np.zeros(100, bool))
    poor = Answers(np.full(100, 0.7), rows.y[500:] == 1)
    division = best_division(pairs, 2, poor, lambda: poor)
    assert division is not None
    assert best_division(pairs, 2, poor, lambda: sure) is None
    assert best_division(pairs, 2, poor, lambda: poor, fits=lambda size: size < 4) is None
    place, part_classes = number_of_parts.parts_within(pairs[0][0], 2, division.number)
    learn = pairs[0][0]._replace(y=place)
    for ours, theirs in zip(
        discriminant(learn, len(part_classes)),
        discriminant(learn, len(part_classes), how=division.shrinkage),
        strict=True,
    ):
        np.testing.assert_array_equal(ours, theirs)


def test_weights_are_fitted_where_that_does_not_take_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """On new rows of two tables, fitted parts are wrong at most three quarters as often."""
    tables, new = [core(260, 2), core(260, 3)], core(2000, 1)
    wrong = []
    for work in (number_of_parts.WORK, 0):
        monkeypatch.setattr(number_of_parts, "WORK", work)
        of_both = 0.0
        for rows in tables:
            division, _ = best_of_few(rows, 3)
            assert division is not None and (division.penalty > 0) == (work > 0)
            weight, bias, part_classes = told(rows, 3, division)
            scores = log_softmax(new.x @ weight.T + bias, axis=1)
            log_prob = number_of_parts.of_classes(scores.__getitem__, 2000, part_classes)
            of_both += Answers.of(log_prob, new.y).wrong.mean()
        wrong.append(of_both)
    assert wrong[0] < 0.75 * wrong[1]


def test_parts_that_an_analysis_does_not_tell_are_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three classes in bands across two of six columns; the others are noise, and wider."""
    x = np.random.default_rng(0).uniform(-1, 1, size=(300, 6)) * [1, 1, 1.5, 1.5, 1.5, 1.5]
    rows = Checked(x, (3 * x[:, 0] + 3 * x[:, 1] + 6).astype(np.int64) // 2 % 3, None)
    few, _ = best_of_few(rows, 3)
    assert few is not None and few.columns == (0, 1)
    monkeypatch.setattr(columns_of_parts, "NUMBERS", 0)  # all columns stay
    division, _ = best_of_few(rows, 3)
    assert division is not None and division.penalty > 0
    monkeypatch.setattr(number_of_parts, "WORK", 0)
    assert best_of_few(rows, 3)[0] is None


@pytest.mark.parametrize("seed", range(2))
def test_many_parts_are_tried_where_few_tell_nothing(seed: int) -> None:
    """Four rings among two columns of noise: two parts of each, and three, are like whole ones."""
    rng = np.random.default_rng(seed)
    y, angle = rng.integers(4, size=1900), rng.uniform(0, 2 * np.pi, size=1900)
    radius = 1 + y + 0.25 * rng.normal(size=1900)
    x = np.stack([radius * np.cos(angle), radius * np.sin(angle), *rng.normal(size=(2, 1900))], 1)
    rows, new = Checked(x[:400], y[:400], None), Checked(x[400:], y[400:], None)
    division, _ = best_of_few(rows, 4)
    assert division is not None and division.number >= 8
    weight, bias, classes = told(rows, 4, division)
    assert (classes[(new.x @ weight.T + bias).argmax(1)] != new.y).mean() < 0.12


def test_the_loss_of_a_row_is_limited() -> None:
    found = Answers.of(np.array([[0.0, -1e9], [-1e9, 0.0]]), np.array([0, 0]))
    assert found.losses.tolist() == [0.0, 50.0] and found.wrong.tolist() == [False, True]
