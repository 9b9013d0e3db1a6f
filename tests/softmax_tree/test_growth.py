"""Adaptive growth: what is tried, what is accepted, and when it ends."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from softmax_trees import clusters, objective, points_of

from structnet.softmax_tree import GrowthSettings, SoftmaxTreeSettings, growth, train
from structnet.softmax_tree.choice import TOGETHER
from structnet.softmax_tree.draft import Draft
from structnet.softmax_tree.growth import trials
from structnet.softmax_tree.judge import Judge
from structnet.softmax_tree.objective import Objective
from structnet.softmax_tree.optimisation import alternate
from structnet.softmax_tree.points import Points
from structnet.softmax_tree.settings import ChosenGrowth, ChosenSettings, Start
from structnet.softmax_tree.start import best_draft, complete_draft, first_draft, most_classes
from structnet.softmax_tree.training import Trained
from structnet.training.progress import Progress

SETTINGS = SoftmaxTreeSettings(
    start="centroids", decision_penalty=1.0, leaf_penalty=1.0, max_iter=3, solver_steps=15
)


def grown(alpha: float = 0.6, rho: float = 0.95, classes: int = 12, **how: object):
    x, y = clusters(500, classes=classes)
    growth = GrowthSettings(alpha=alpha, rho=rho, start_depth=1, **how)
    return train(x[:400], y[:400], SETTINGS, growth, validation=(x[400:], y[400:]))


def test_ratios_recomputed() -> None:
    points, aim = points_of(500), objective()
    draft = alternate(complete_draft(points, 1, 8, "centroids", 0), points, aim, 3)
    with pytest.warns(UserWarning, match="rho 100 is 1 or more"):
        growth = GrowthSettings(alpha=0.6, rho=100.0, start_depth=1)
    tried, accepted = trials(draft, points, aim, SETTINGS, growth)
    reach = draft.reach(points)
    assert {trial.leaf for trial in tried} == {1, 2}
    for trial in tried:
        rows, k = reach[trial.leaf], len(draft.nodes[trial.leaf].classes)
        leaf = aim.loss(Draft([()], [draft.nodes[trial.leaf]]), points, rows)
        assert trial.leaf_loss == pytest.approx(leaf, rel=1e-5)
        assert (trial.samples, trial.k) == (len(rows), min(int(0.6 * k), k - 1))
        assert (trial.leaf in accepted) == trial.accepted == (trial.ratio < 100)
        if trial.accepted:
            subtree = accepted[trial.leaf]
            loss = aim.loss(subtree, points.take(rows))
            assert loss / leaf == pytest.approx(trial.ratio, rel=1e-5)
            assert all(len(n.classes) <= trial.k for v, n in enumerate(subtree.nodes)
                       if not subtree.children[v])  # fmt: skip
    both = draft.grafted(accepted)
    losses = sum(t.subtree_loss if t.accepted else t.leaf_loss for t in tried)
    assert aim.loss(both, points) == pytest.approx(losses, rel=1e-5)
    assert accepted, "nothing was tested"


def test_a_tiny_rho_gives_the_same_tree_back() -> None:
    points, aim = points_of(), objective()
    draft = alternate(complete_draft(points, 1, 8, "centroids", 0), points, aim, 2)
    growth = GrowthSettings(alpha=0.6, rho=1e-6, start_depth=1)
    tried, accepted = trials(draft, points, aim, SETTINGS, growth)
    assert tried and not accepted
    trained = grown(rho=1e-6)
    assert trained.tree.topology.num_nodes <= 3
    assert trained.trials and not any(trial.accepted for trial in trained.trials)


def test_a_large_subtree_that_begins_hopeless_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """After one iteration; with few rows, all are trained to the end."""
    points, aim = points_of(500), objective()
    draft = alternate(complete_draft(points, 0, 12, "centroids", 0), points, aim, 3)
    lengths: list[int] = []

    def noted(*given: Any) -> Draft:
        lengths.append(given[3])
        return alternate(*given)

    monkeypatch.setattr(growth, "alternate", noted)
    for cheap, most, expected in ((0, 0, {1}), (0, 1e9, {1, 2}), (np.inf, 0, {1, 2})):
        monkeypatch.setattr(growth, "CHEAP", cheap)
        monkeypatch.setattr(growth, "HOPELESS", most)
        lengths.clear()
        tried, _ = trials(draft, points, aim, SETTINGS, GrowthSettings(alpha=0.6, rho=0.95))
        assert tried and set(lengths) == expected


def test_what_nothing_is_wrong_about_does_not_grow() -> None:
    """No later round could be better."""
    rng = np.random.default_rng(0)
    centres, y = 20 * rng.normal(size=(8, 5)), np.arange(400) % 8
    x = (centres[y] + rng.normal(size=(400, 5))).astype(np.float32)
    how = GrowthSettings(alpha=0.6, rho=0.95, start_depth=0)
    trained = train(x[:300], y[:300], SETTINGS, how, validation=(x[300:], y[300:]))
    assert not trained.trials and trained.tree.topology.num_nodes == 1
    assert train(x[:300], y[:300], SETTINGS, how).trials


def test_it_ends() -> None:
    with pytest.warns(UserWarning, match="rho 100 is 1 or more"):
        trained = grown(alpha=0.9, rho=100.0, classes=5, max_rounds=30)
    assert max(trial.round for trial in trained.trials) < 30


def test_limits() -> None:
    with pytest.warns(UserWarning, match="rho 9 is 1 or more"):
        trained = grown(rho=9.0, max_leaves=3, max_depth=2)
    assert len(trained.tree.topology.leaves) <= 3 and trained.tree.topology.depth.max() <= 2
    assert not grown(max_depth=1).trials
    assert not grown(min_samples=10_000).trials


def test_the_best_round_is_kept() -> None:
    trained = grown()
    x, y = clusters(500)
    error = np.mean(trained.tree.classes_of(x[400:]) != y[400:])
    last = {record["round"]: record["validation_error"] for record in trained.history}
    assert error <= min(last.values()) + 1e-9
    assert trained.round == min(last, key=last.__getitem__) < max(last)
    assert [record["epoch"] for record in trained.history] == list(range(len(trained.history)))


@pytest.mark.parametrize(("ratio_of", "k_from"), [("objective", "actual"), ("loss", "nominal")])
def test_other_readings(ratio_of: str, k_from: str) -> None:
    trained = grown(ratio_of=ratio_of, k_from=k_from)
    assert trained.trials
    if k_from == "nominal":  # of the first leaves, which may have 0.6 * 12 classes
        assert {trial.k for trial in trained.trials if trial.round == 1} == {4}


@pytest.mark.parametrize(
    ("depth", "alpha", "start_k", "expected"),
    [
        (0, 0.6, None, 200),
        (1, 0.6, None, 120),
        (3, 0.6, None, 50),
        (4, 0.8, None, 81),
        (6, 0.5, None, 10),
        (3, 0.9, 40, 40),
        (1, 0.9, 300, 200),
    ],
)
def test_classes_of_the_leaves_that_growth_begins_with(
    depth: int, alpha: float, start_k: int | None, expected: int
) -> None:
    points = Points.made(*clusters(300), 200)
    growth = GrowthSettings(alpha=alpha, rho=0.95, start_depth=depth, start_k=start_k)
    draft = first_draft(points, SETTINGS, growth)
    leaves = [draft.leaf(v) for v, below in enumerate(draft.children) if not below]
    assert {leaf.k for leaf in leaves} == {expected}


@pytest.mark.parametrize("start", ["rows", "centroids"])
@pytest.mark.parametrize("growth", [None, GrowthSettings(alpha=0.9, rho=0.95, start_depth=2)])
def test_training_begins_with_the_best_of_several_trees(
    start: Start, growth: GrowthSettings | None
) -> None:
    points = Points.made(*clusters(1500), 200)
    told = replace(SETTINGS, start=start, max_iter=0, **({} if growth else {"depth": 2, "k": 50}))
    settings, aim = ChosenSettings.of(told), Objective.from_settings(told, 200)
    alone = [
        aim.of(first_draft(points, replace(settings, seed=seed), growth), points)
        for seed in range(20)
    ]
    trained = train(points.x, points.y, told, growth, num_classes=200)
    assert trained.history[0]["objective"] <= np.quantile(alone, 0.3) < max(alone)
    for more in ({"depth": 0, "k": 9}, {"depth": 2, "k": 200}, {"depth": 2, "start": "random"}):
        once = replace(settings, **{"k": 9, **more})
        first, best = (
            aim.of(draw(points, once, None), points) for draw in (first_draft, best_draft)
        )
        assert first == best


def test_what_growth_began_with_is_recorded() -> None:
    found = grown(max_rounds=1).growth
    assert found is not None and found.start_k == int(0.6 * 12)


def test_what_is_chosen_is_what_is_trained() -> None:
    points, growth = points_of(300), GrowthSettings(alpha=0.7, start_k=2)
    judge = Judge(points, ChosenSettings.of(SETTINGS), growth, Progress(shown=False))
    part = judge.folds[-1]
    right = judge.ended(judge.kind(0, "centroids"), [part]).each < 1
    assert 0 < len(set(part.test.y[right])) <= 2 < points.num_classes


def test_few_classes_stay_together_unless_alpha_is_told() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 2))
    y = (x[:, 0] * x[:, 1] > 0).astype(int) + 2 * (rng.random(400) < 0.1)
    found = {}
    for alpha in (None, 0.7):
        growth = GrowthSettings(alpha=alpha, rho=0.95, start_depth=0)
        found[alpha] = train(x[:300], y[:300], SETTINGS, growth, validation=(x[300:], y[300:]))
    assert {trial.k for trial in found[None].trials} == {4}
    narrow = {trial.k for trial in found[0.7].trials}
    assert narrow and narrow <= {1, 2}
    chosen, told = found[None].growth, found[0.7].growth
    assert (chosen.least_k, chosen.start_k, told.least_k) == (TOGETHER, 4, 0)
    again = Trained.from_config(json.loads(json.dumps(found[None].config())))
    assert again.growth == chosen
    assert (found[None].tree.predict_proba(x) > 0).all()


def test_no_leaf_has_more_classes_than_the_user_lets_growth_begin_with() -> None:
    growth = ChosenGrowth(alpha=0.7, start_depth=0, start_k=3, least_k=10)
    assert most_classes(growth, 20, 0) == most_classes(growth, 20, 4) == 3
    assert most_classes(replace(growth, start_k=None, start_depth=4), 20, 9) == 10
    assert growth.narrowed(3, 8) == 8 and growth.narrowed(30, 40) == 21


def test_where_alpha_is_told_leaves_of_one_class_are_not_parted() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 2))
    y = (x[:, 0] > 0) + 2 * (x[:, 1] > 0)
    told = GrowthSettings(alpha=0.7, rho=0.95, start_depth=1, start_k=1)
    assert ChosenGrowth(alpha=0.7).narrowed(1, 3) == told.narrowed(1, 3) == 0
    assert not train(x, y, SETTINGS, told).trials


def test_what_was_chosen_can_be_told() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 2))
    y = (x[:, 0] * x[:, 1] > 0).astype(int)
    first = train(x, y, SETTINGS, GrowthSettings(max_rounds=1))
    again = train(x, y, first.settings, first.growth)
    assert again.growth == first.growth and first.growth.least_k == TOGETHER
    assert (again.tree.predict_proba(x) == first.tree.predict_proba(x)).all()
