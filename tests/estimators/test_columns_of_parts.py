"""The columns in which parts of classes are found."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_softmax

from structnet.estimators import columns_of_parts as module
from structnet.estimators import number_of_parts
from structnet.estimators.checked import Checked
from structnet.estimators.columns_of_parts import parting_columns
from structnet.estimators.number_of_parts import Answers, _Search, best_division
from structnet.estimators.parts import of_classes
from structnet.estimators.softmax_of_parts import Division, parts_told


def disc(number: int, seed: int) -> Checked:
    """Rows of a class in the middle of two columns and one around it, among six of noise."""
    x = np.random.default_rng(seed).normal(size=(number, 8))
    return Checked(x, (x[:, 2] ** 2 + x[:, 5] ** 2 < 1.4).astype(np.int64), None)


def wrong_of(found: Division, rows: Checked, new: Checked) -> float:
    """The share of new rows that parts of a division, learned from rows, get wrong."""
    _, classes, weight, bias = parts_told(rows, 2, found)
    if columns := found.columns:
        assert not np.delete(weight, columns, axis=1).any() and weight[:, columns].all()
    scores = log_softmax(new.x @ weight.T + bias, axis=1)
    log_prob = of_classes(lambda some: scores[some], len(new.y), classes)
    return float(Answers.of(log_prob, new.y).wrong.mean())


@pytest.mark.parametrize("seed", range(3))
def test_columns_that_tell_only_together_are_found(seed: int) -> None:
    rows = disc(300, seed)
    assert parting_columns(rows, 2, seed=seed).tolist() == [2, 5]
    assert parting_columns(rows, 2, 2, seed).tolist() == [2, 5]
    assert {2, 5} < set(parting_columns(rows, 2, 5, seed))


def test_all_columns_stay_where_all_tell_or_none_does() -> None:
    x = np.random.default_rng(0).normal(size=(400, 4))
    for y in ((x.sum(1) > 0).astype(np.int64), np.zeros(400, np.int64)):
        assert parting_columns(Checked(x, y, None), 2).tolist() == [0, 1, 2, 3]


def test_small_and_large_tables_keep_all_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = disc(300, 0)
    assert parting_columns(rows.of(np.array([2, 3])), 2).tolist() == [0, 1]
    monkeypatch.setattr(module, "NUMBERS", rows.x.size)
    assert parting_columns(rows, 2).tolist() == list(range(8))
    assert parting_columns(rows, 2, 2).tolist() == [2, 5]  # as many as were found in fewer rows


def test_columns_are_those_that_gain_on_held_out_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forests of two of four folds take noise for what tells: parts gain nothing there."""
    rows, places = disc(400, 0), np.arange(400)
    pairs = [
        (rows.take(places[places % 4 != i]), rows.take(places[places % 4 == i])) for i in range(4)
    ]
    choices = iter([[0, 1], [2, 5], [2, 5], [0, 1]])
    monkeypatch.setattr(number_of_parts, "parting_columns", lambda *given: np.array(next(choices)))
    monkeypatch.setattr(number_of_parts, "SOON", 1000)
    whole = Answers(np.full(400, 0.7), np.concatenate([held.y for _, held in pairs]) == 1)
    search = _Search(pairs, 2, lambda: whole, 0, lambda size: True)
    division, _ = search.with_fewer_columns(None, whole)
    assert division is not None and division.columns == (2, 5)


def test_rows_without_weight_change_nothing() -> None:
    rows = disc(300, 0)
    noise = Checked(5 * rows.x[::-1], rows.y, np.zeros(300))
    both = [np.concatenate(some) for some in ([rows.x, noise.x], [rows.y, noise.y])]
    weights = np.repeat([1.0, 0.0], 300)
    assert parting_columns(Checked(*both, weights), 2).tolist() == [2, 5]


@pytest.mark.parametrize("seed", range(3))
def test_parts_are_told_in_the_columns_that_tell(seed: int) -> None:
    """On new rows, they are wrong at most two thirds as often as parts in all columns."""
    rows, new = disc(400, seed), disc(2000, 100 + seed)
    places = np.arange(400)
    pairs = [
        (rows.take(places[places % 4 != i]), rows.take(places[places % 4 == i])) for i in (0, 1)
    ]
    held = np.concatenate([each.y for _, each in pairs])
    whole = Answers(np.full(200, 0.7), held == 1)
    found = best_division(pairs, 2, None, lambda: whole)
    assert found is not None and found.columns == (2, 5)
    search = _Search(pairs, 2, lambda: whole, 0, lambda size: True)
    division, best = search.with_fewer_columns(None, whole)
    same = found._replace(columns=())  # an equal division of all columns is another one
    assert division == found
    again, after = search.with_fewer_columns(same, whole)
    assert again == found and np.array_equal(after.losses, best.losses)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "NUMBERS", 0)
        every = best_division(pairs, 2, None, lambda: whole)
    assert every is not None and not every.columns
    assert wrong_of(found, rows, new) < 0.67 * wrong_of(every, rows, new)
