"""What the user leaves open: what the trials cost by which it is chosen, and what they find."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from structnet.datasets import clusters
from structnet.softmax_tree import (
    GrowthSettings,
    SoftmaxTreeSettings,
    choice,
    fold,
    judge,
    optimisation,
    train,
)
from structnet.softmax_tree.choice import chosen
from structnet.softmax_tree.fold import Fold, Wrongness
from structnet.softmax_tree.leaf_update import updated_leaf
from structnet.softmax_tree.points import Points
from structnet.softmax_tree.settings import ChosenSettings
from structnet.softmax_tree.wrongness import FEW
from structnet.training.progress import Progress


def many(kinds: int, rows: int, seed: int = 0) -> Points:
    data = clusters.generate(rows, 1, num_classes=kinds, num_features=16, num_groups=16, seed=seed)
    return Points.made(data.x_train, data.y_train, kinds)


class Trial(NamedTuple):
    """What was tried: on which samples, and for how many iterations, None for all."""

    kind: ChosenSettings
    fold: Fold
    iterations: int | None


Answer = Callable[[ChosenSettings, int | None, int], Any]  # kind, iterations, training samples


def noted(monkeypatch: pytest.MonkeyPatch, mistakes: Answer | None = None) -> list[Trial]:
    """The trials of all choices from now on, which grow with them.

    With ``mistakes``, nothing is trained: it says how many held-out samples a trial has wrong, the
    first ones, or which.
    """
    tried, measured = [], Fold.wrong_about

    def wrong_about(self: Fold, kind: ChosenSettings, growth: Any, iterations: Any) -> np.ndarray:
        tried.append(Trial(kind, self, iterations))
        if mistakes is None:
            return measured(self, kind, growth, iterations)
        found, places = mistakes(kind, iterations, len(self.learn)), np.arange(len(self.test))
        return np.isin(places, list(found)) if isinstance(found, range) else places < found

    monkeypatch.setattr(Fold, "wrong_about", wrong_about)
    if mistakes is not None:
        monkeypatch.setattr(Fold, "log_probs", lambda self, kind: np.zeros((len(self.test), 2)))
        monkeypatch.setattr(choice, "best_temperature", lambda *of, further: 1.0)
    return tried


@pytest.fixture(autouse=True)
def trees_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without solved leaves, which have tests of their own."""
    monkeypatch.setattr("structnet.softmax_tree.solved_leaf.PRODUCTS", 0)


ONE_KIND = SoftmaxTreeSettings(depth=1, start="rows")  # whose penalty is open


def found_of(points: Points, settings: SoftmaxTreeSettings = ONE_KIND, **more: Any) -> Any:
    """The settings that are chosen on fifty held-out samples."""
    held_out = many(points.num_classes, 50, seed=1)
    return chosen(points, settings, None, held_out=held_out, **more)[0]


@pytest.mark.parametrize("growth", [None, GrowthSettings(max_rounds=2)])
def test_short_trials_cost_at_most_twice_a_training_of_many_steps(
    growth: GrowthSettings | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By what the leaves cost, which is nearly all: rows, classes, and steps of the solver.

    Of classes that can hardly be told apart a training ends early, unless it may not.
    """
    spent: dict[bool, int] = {True: 0, False: 0}

    def counted(leaf: Any, points: Points, rows: np.ndarray, objective: Any) -> Any:
        quick = objective.solver_steps < settings.solver_steps
        spent[quick] += len(rows) * leaf.k * objective.solver_steps
        return updated_leaf(leaf, points, rows, objective)

    monkeypatch.setattr(optimisation, "updated_leaf", counted)
    monkeypatch.setattr(judge, "SCARCE", 19)  # there are 20 rows of a class
    points = many(400, 8000)
    settings = SoftmaxTreeSettings(tol=1e-4, solver_steps=40)
    trained = train(points.x, points.y, settings, growth, num_classes=400)
    assert trained.settings.start is not None and 0 < spent[True] < 2 * spent[False]


def test_wide_leaves_are_tried_only_with_a_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind deeper trees of a rising error, only where a flat softmax is affordable."""
    tried = noted(monkeypatch, lambda kind, *_: 30 if kind.depth in (0, 1000) else 20 - kind.depth)
    for sums, least in ((choice.FLAT, 0), (0, 1)):
        monkeypatch.setattr(choice, "FLAT", sums)
        tried.clear()
        assert found_of(many(400, 4000), SoftmaxTreeSettings()).depth > 0
        assert (min(trial.kind.depth for trial in tried) == 0) == (least == 0)


def test_rows_that_nothing_learns_from_are_asked_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four for each that is looked at, if there are as many."""
    tried = noted(monkeypatch, lambda *_: 0)
    monkeypatch.setattr(judge, "WHOLE", 0)
    for rows, learn, asked in ((3000, 2250, 750), (6000, 3000, 3000), (50_000, 6000, 34_000)):
        points = Points.made(np.arange(rows)[:, None], np.arange(rows) % 199, 199)
        tried.clear()
        chosen(points, ONE_KIND, None)
        part = tried[0].fold
        assert (len(part.learn), len(part.test)) == (learn, asked)
        assert len(np.unique(np.append(part.learn.x, part.test.x))) == learn + asked


@pytest.mark.parametrize(("rows", "classes", "parts"), [(3999, 200, 3), (20_000, 500, 1)])
def test_all_rows_are_looked_at_where_trainings_are_whole(
    rows: int, classes: int, parts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = noted(monkeypatch, lambda *_: 0)
    points = Points.made(np.arange(rows)[:, None], np.arange(rows) % classes, classes)
    chosen(points, ONE_KIND, None)
    folds = {id(each.fold): each.fold for each in tried if each.iterations is None}
    assert [len(part.learn) + len(part.test) for part in folds.values()] == [rows] * parts


def test_half_of_the_rows_are_looked_at_where_all_take_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried = noted(monkeypatch, lambda *_: 0)
    points = Points.made(np.arange(20_000)[:, None], np.arange(20_000) % 500, 500)
    sums = 0.75 * 2 * 20_000 * 500 * fold.STEPS
    for share, rows, length in ((1.01, 20_000, None), (0.99, 10_000, None), (0.49, 10_000, 3)):
        monkeypatch.setattr(judge, "WHOLE", share * sums)
        chosen(points, ONE_KIND, None)
        assert (len(tried[-1].fold.learn), tried[-1].iterations) == (0.75 * rows, length)


def test_steps_to_sparse_entries_cost_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of as many entries, trainings of sparse rows are whole up to a sixteenth of the sums."""
    tried, full = noted(monkeypatch, lambda *_: 0), many(50, 400)
    sums = 2 * full.x.size * 0.75 * 50 * fold.STEPS
    for factor, *lengths in ((0.9, 3, 3), (1.1, None, 3), (15, None, 3), (17, None, None)):
        monkeypatch.setattr(judge, "WHOLE", factor * sums)
        for points, length in zip(
            (full, replace(full, x=csr_matrix(full.x))), lengths, strict=True
        ):
            chosen(points, ONE_KIND, None)
            assert tried[-1].iterations == length


def test_a_flat_softmax_behind_a_hill_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = {6: 20, 4: 30, 2: 25, 1: 5, 0: 8}
    tried = noted(monkeypatch, lambda kind, *_: wrong[kind.depth])
    settings = SoftmaxTreeSettings(start="centroids", leaf_penalty=1)

    def walked() -> list[int]:
        tried.clear()
        found_of(many(400, 4000), settings)
        return [trial.kind.depth for trial in tried if trial.iterations == 1]

    assert walked() == [6, 4, 0, 1, 2]
    wrong[0] = 20  # is as good as the narrow leaves
    assert walked() == [6, 4, 0]


@pytest.mark.parametrize(("scarce", "taken"), [(10, 0), (9, 4)])
def test_a_flat_softmax_of_few_rows_that_begins_slowly_is_found(
    scarce: int, taken: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After one iteration it is the worst, after the last one the best."""

    def mistakes(kind: ChosenSettings, iterations: int | None, _: int) -> int:
        worse = kind.depth == 1000 or kind.depth != (4 if iterations else 0)
        return 5 + 10 * worse

    noted(monkeypatch, mistakes)
    monkeypatch.setattr(judge, "SCARCE", scarce)
    monkeypatch.setattr(judge, "CHEAP", np.inf)
    assert found_of(many(400, 4000), SoftmaxTreeSettings()).depth == taken


def test_penalties_are_held_to_the_best_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """100 is by chance no worse than 10, which is no worse than 1; but it is worse than 1."""
    wrong = {1: range(10), 10: range(5, 16), 100: range(12)}
    more, many_more = (
        Wrongness(np.isin(np.arange(50), wrong[factor]), np.ones(50)) for factor in (10, 100)
    )
    assert not many_more.exceeds(more)
    noted(monkeypatch, lambda kind, *_: wrong.get(int(kind.leaf_penalty), range(50)))
    assert found_of(many(3, 60)).leaf_penalty == 10


@pytest.mark.parametrize("seed", [0, 1])
def test_few_samples_of_clear_classes_are_given_weak_penalties(seed: int) -> None:
    data = clusters.generate(
        800, 1, num_classes=50, num_features=40, num_groups=8, num_modes=1, seed=seed
    )
    points = Points.made(data.x_train, data.y_train, 50)
    found, _ = chosen(points, SoftmaxTreeSettings(), None)
    assert found.leaf_penalty is not None and found.leaf_penalty < 1 == found.decision_penalty
    given, _ = chosen(points, SoftmaxTreeSettings(leaf_penalty=2), None)
    assert given.leaf_penalty == given.decision_penalty == 2


def test_of_penalties_that_are_as_good_the_strongest_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for harmful, taken in ((np.inf, 100.0), (100, 10.0), (10, 3.0), (3, 1.0)):
        noted(monkeypatch, lambda kind, *_, least=harmful: 10 * (kind.leaf_penalty >= least))
        assert found_of(many(3, 60)).leaf_penalty == taken


def test_ridges_grow_as_long_as_that_helps(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for best in (0, 1, 3, 10, 30, 100):
        noted(
            monkeypatch,
            lambda kind, *_, at=best: 10 + abs(np.log((kind.leaf_ridge + 1) / (at + 1))),
        )
        found = found_of(many(3, 60), progress=Progress(seconds=0))
        assert found.leaf_ridge == best and (found.leaf_penalty == 0.01) == (best > 0)
    told = capsys.readouterr().err
    assert "tried depth 1 from rows, penalty 1: " in told
    assert "tried depth 1 from rows, penalty 0.01, ridge 10: " in told


@pytest.mark.parametrize("seed", [0, 1])
def test_close_classes_of_few_rows_are_given_a_ridge(seed: int) -> None:
    """No L1 penalty is right for classes that differ a little in every column."""
    rng = np.random.default_rng(seed)
    centres, y = rng.normal(size=(100, 30)), np.arange(3000) % 100
    x = (centres[y] + 1.5 * rng.normal(size=(3000, 30))).astype(np.float32)
    chosen = train(x[:1000], y[:1000], num_classes=100)
    assert chosen.settings.leaf_ridge >= 1
    settings = SoftmaxTreeSettings(
        **{f.name: getattr(chosen.settings, f.name) for f in fields(SoftmaxTreeSettings)}
    )
    without = train(x[:1000], y[:1000], settings, num_classes=100)
    assert without.settings.leaf_ridge == 0
    right = [float((t.tree.classes_of(x[1000:]) == y[1000:]).mean()) for t in (chosen, without)]
    assert right[0] > right[1] + 0.05


def test_ridges_are_told_in_the_mean_weight(monkeypatch: pytest.MonkeyPatch) -> None:
    points = many(3, 60)
    wrong = {0: 10, 100: 5, 300: 15}
    tried = noted(monkeypatch, lambda kind, *_: wrong[kind.leaf_ridge])
    found = found_of(replace(points, weights=100 * points.weights))
    assert {trial.kind.leaf_ridge for trial in tried} == wrong.keys()
    assert (found.leaf_penalty, found.leaf_ridge) == (1, 100)


def test_ridges_that_are_none_are_refused() -> None:
    for ridge in (-1, np.nan, "x", None):
        with pytest.raises(ValueError, match=rf"The 'leaf_ridge' parameter .* Got .?{ridge}.? "):
            ChosenSettings(leaf_ridge=ridge)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="The 'depth' parameter"):
        ChosenSettings(depth=-1)


def test_whole_trainings_are_as_long_as_told(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = []
    alternate = fold.alternate

    def noted(draft: Any, points: Points, objective: Any, length: int, tol: float) -> Any:
        lengths.append((objective.solver_steps, length, tol))
        return alternate(draft, points, objective, length, tol)

    monkeypatch.setattr(fold, "alternate", noted)
    points = many(50, 400)
    for told in ({"max_iter": 1, "solver_steps": 50}, {"max_iter": 2, "tol": 0.5}):
        settings, lengths[:] = SoftmaxTreeSettings(depth=0, start="centroids", **told), []
        train(points.x, points.y, settings, num_classes=50)
        whole = (settings.solver_steps, settings.max_iter, settings.tol)
        short = {(fold.STEPS, n, fold.SETTLED) for n in range(settings.max_iter + 1)}
        assert whole in lengths and set(lengths) <= {whole} | short


@pytest.mark.parametrize("whole", [True, False])
def test_penalties_of_few_rows_a_class_are_compared_by_whole_trainings(
    whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A short training shows little of what a penalty does to few rows of many columns."""
    rng = np.random.default_rng(2)
    centres, y = rng.normal(size=(100, 60)), np.arange(2800) % 100
    x = (centres[y] + 2 * rng.normal(size=(2800, 60))).astype(np.float32)
    if not whole:
        monkeypatch.setattr(judge, "WHOLE", 0)
    tried = noted(monkeypatch)
    trained = train(x[:800], y[:800], SoftmaxTreeSettings(seed=0), num_classes=100)
    assert (None in {trial.iterations for trial in tried}) == whole
    right = float((trained.tree.classes_of(x[800:]) == y[800:]).mean())
    assert right > 0.55
    monkeypatch.setattr(judge, "SCARCE", 7)
    tried.clear()
    train(x[:800], y[:800], SoftmaxTreeSettings(depth=0, seed=0), num_classes=100)
    assert tried and all(trial.iterations for trial in tried)  # there are 8 rows of a class


@pytest.mark.parametrize("heavy", [0, 1])
def test_settings_suit_the_samples_that_weigh_most(heavy: int) -> None:
    """Of half of the samples, classes are linear, of the others a grid, which a few cuts miss."""
    rng = np.random.default_rng(0)
    x, part = rng.uniform(-1, 1, size=(1600, 7)).astype(np.float32), np.arange(1600) % 2
    cells = (np.floor(2 * x[:, :2]) @ [1, 1]).astype(int) % 2
    y = np.where(part, x @ [1, -1, 1, -1, 1, -1, 1] > 0, cells)
    x[:, 6] += 4 * part
    weights = np.where(part == heavy, 1, 1e-3)
    found = train(x, y, SoftmaxTreeSettings(seed=0), weights=weights).settings
    assert found.depth == (0 if heavy else judge.DEEPEST)


@pytest.mark.parametrize(("fewer", "taken"), [(6, 0.1), (11, 0.1), (13, 0.01)])
def test_the_weakest_penalty_must_spare_more_mistakes_than_chance(
    fewer: int, taken: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By two deviations of as many rows as are held out, a third of those asked: by twelve."""
    monkeypatch.setattr(judge, "WHOLE", 0)  # half of the rows are looked at, and a part of others
    wrong = {1.0: 1000, 3.0: 2000, 10.0: 2000, 0.1: 900, 0.01: 900 - fewer}
    noted(monkeypatch, lambda kind, *_: 2000 if kind.leaf_ridge else wrong[kind.leaf_penalty])
    assert chosen(many(400, 6000), ONE_KIND, None)[0].leaf_penalty == taken


@pytest.mark.parametrize(("probed", "whole"), [(20, False), (19, True)])
def test_a_plain_tree_of_sparse_rows_is_given_up_if_a_quarter_of_them_shows_it_far_behind(
    probed: int, whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four times the rows divide the odds by 4 at best: not 20 of 50 to 7."""
    full = many(FEW + 1, 400)  # of which only mistakes count
    tried = noted(
        monkeypatch, lambda kind, _, size: probed if kind.depth == 1000 and size < 400 else 7
    )
    found = found_of(replace(full, x=csr_matrix(full.x)), SoftmaxTreeSettings())
    sizes = [len(trial.fold.learn) for trial in tried if trial.kind.depth == 1000]
    assert sizes == [100] + [400] * whole and (found.max_iter == 0) == whole


def test_what_no_iteration_changes_is_not_chosen() -> None:
    found = train(*_rows(), SoftmaxTreeSettings(depth=1, max_iter=0), num_classes=3).settings
    assert found.leaf_penalty == 1


def _rows() -> tuple[np.ndarray, np.ndarray]:
    data = clusters.generate(300, 1, num_classes=3, num_features=4)
    return data.x_train, data.y_train


@pytest.mark.parametrize(("wrong", "weaker"), [(0, False), (1, True)])
def test_nothing_weaker_is_tried_where_nothing_is_left_to_gain(
    wrong: int, weaker: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = noted(monkeypatch, lambda kind, *_: wrong + 10 * (kind.leaf_penalty > 1))
    assert found_of(many(3, 60)).leaf_penalty == 1
    asked = {(trial.kind.leaf_penalty, trial.kind.leaf_ridge) for trial in tried}
    assert (10, 0) in asked and ((0.1, 0) in asked and (0.01, 1) in asked) == weaker


def test_a_penalty_that_begins_far_behind_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    for late, weights in ((30, {1, 10, 100}), (45, {1, 0.1})):
        wrong = {(kind, 1): late for kind in (3, 10, 100)}
        tried = noted(monkeypatch, lambda kind, n, _, of=wrong: of.get((kind.leaf_penalty, n), 25))
        found_of(many(400, 4000))
        kinds = (trial.kind for trial in tried if trial.iterations != 1)
        assert {kind.leaf_penalty for kind in kinds if not kind.leaf_ridge} == weights


def test_trees_that_begin_behind_the_flat_one_end(monkeypatch: pytest.MonkeyPatch) -> None:
    for ahead, more in ((1, True), (20, False)):
        tried = noted(monkeypatch, lambda kind, *_, by=ahead: 20 if kind.depth else 20 - by)
        assert found_of(many(400, 4000), SoftmaxTreeSettings()).depth == 0
        longer = {trial.kind.depth for trial in tried if trial.iterations != 1}
        assert bool(longer - {0, 1000}) == more


@pytest.mark.parametrize(("rows", "taken"), [(4000, 1), (6000, 2)])
def test_more_leaves_are_taken_where_further_rows_remain(
    rows: int, taken: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two depths that are as good, by 4,000 rows."""
    monkeypatch.setattr(judge, "WHOLE", 0)
    noted(monkeypatch, lambda kind, *_: 10 if kind.depth in (1, 2) else 30)
    settings = SoftmaxTreeSettings(start="centroids", leaf_penalty=1)
    assert chosen(many(400, rows), settings, None)[0].depth == taken
