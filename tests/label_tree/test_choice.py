"""What is chosen where a user says nothing, what is tried for it, and what is not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from label_trees import around_centres, table
from scipy.sparse import csr_matrix

from structnet.estimators.held_out import hold_out
from structnet.label_tree import (
    Examples,
    Features,
    LabelTreeClassifier,
    LabelTreeSettings,
    Training,
    begin,
    choose,
)
from structnet.label_tree.choice import DENSE, ENOUGH, SOFTMAX, base_rate, filled_in
from structnet.label_tree.trials import PART, Trials, Tried
from structnet.training.progress import Progress

CHOICE = "structnet.label_tree.choice."
UNTOLD = LabelTreeSettings()
Noted = list[tuple[LabelTreeSettings, float]]
Scores = Callable[[Callable[[Any], float]], Noted]


def sparse(examples: Examples) -> Examples:
    rows = csr_matrix(examples.features.table)
    return replace(examples, features=Features.from_csr(rows))


@pytest.fixture
def scores(monkeypatch: pytest.MonkeyPatch) -> Scores:
    """A rule in place of the trials' scores; gives the list of what is tried, with its target."""

    def of(rule: Callable[[Any], float]) -> Noted:
        tried: Noted = []

        def run(self: Trials, settings: LabelTreeSettings, target: float = -np.inf) -> Tried:
            tried.append((settings, target))
            score = rule(settings)
            self.found.append(Tried(score, np.arange(1000) < 1000 * score, settings))
            return self.found[-1]

        monkeypatch.setattr(Trials, "run", run)
        return tried

    return of


def test_of_few_labels_a_single_node_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    examples, untold = table(), LabelTreeSettings(epochs=4, learning_rate=0.3)
    found = choose(examples, 27, untold)  # more labels than the 20 children of a node
    assert (found.tree, found.arity, found.epochs) == ("huffman", 27, 4)
    for told, arity in (({"arity": 3}, 3), ({"tree": "learned"}, 20)):
        assert choose(examples, 27, replace(untold, **told)).arity == arity
    monkeypatch.setattr(CHOICE + "ONE_NODE", 26)
    assert choose(examples, 27, untold).arity == 27  # which takes no time
    monkeypatch.setattr(CHOICE + "WORK", 0)
    assert choose(examples, 27, untold).arity == choose(examples, 27, UNTOLD).arity == 20


@pytest.mark.parametrize(
    ("is_sparse", "passes", "epochs"),
    [(False, 6.5, 6), (False, 1.5, 1), (False, 0.5, 0), (True, 2.5, 2), (True, 1.5, None)],
)
def test_a_single_node_makes_as_many_passes_as_there_is_time_for(
    is_sparse: bool,
    passes: float,
    epochs: int | None,
    monkeypatch: pytest.MonkeyPatch,
    scores: Scores,
) -> None:
    examples = table()
    products = examples.features.values.size / (1 if is_sparse else DENSE)
    if is_sparse:
        examples = sparse(examples)
    work = passes * 27 * (products + SOFTMAX * len(examples))
    monkeypatch.setattr(CHOICE + "ONE_NODE", 26)
    monkeypatch.setattr(CHOICE + "WORK", work)
    scores(
        lambda settings: settings.arity / 100 + 0.2 * bool(settings.arity == 27 and settings.epochs)
    )
    found = choose(examples, 27, UNTOLD)
    assert (found.arity, found.epochs) == (27, epochs) if epochs is not None else found.arity == 20
    if epochs is not None:
        # Sparse rows begin with nothing: the fewer the passes, the longer the steps.
        usual = replace(filled_in(examples, 27, UNTOLD), embedding_size=0)
        times = usual.epochs / epochs if is_sparse else 1
        assert found.learning_rate == pytest.approx(base_rate(examples, usual) * times)


def test_what_is_nearly_always_right_ends_the_trials(scores: Scores) -> None:
    for score, arity in ((ENOUGH - 0.01, 27), (ENOUGH, 20)):
        scores(lambda settings, least=score: least + (settings.arity - 20) / 1000)
        assert choose(sparse(table()), 27, UNTOLD).arity == arity
    for score, kinds in ((ENOUGH - 0.01, {"huffman", "learned"}), (ENOUGH, {"huffman"})):
        tried = scores(lambda settings, score=score: score)
        assert choose(table(), 27, UNTOLD).arity == 27
        assert {settings.tree for settings, _ in tried} == kinds


@pytest.mark.parametrize("helps", [False, True])
def test_a_node_makes_passes_where_they_help_and_else_a_tree_must_come_near(
    helps: bool, scores: Scores
) -> None:
    """One row more in a thousand may be chance; fifty are not."""
    rule = lambda settings: 0.4 if settings.tree == "learned" else 0.5 + gain * settings.epochs  # noqa: E731
    passes = filled_in(table(), 27, UNTOLD).epochs
    gain = (0.05 if helps else 0.001) / passes
    tried = scores(rule)
    found = choose(table(), 27, UNTOLD)
    assert (found.arity, found.epochs) == (27, passes if helps else 0)
    nodes = [settings.learning_rate for settings, _ in tried if settings.arity == 27]
    assert nodes[1:] == sorted(nodes[1:]) and len(nodes) == (4 if helps else 2)
    targets = [target for settings, target in tried if settings.tree == "learned"]
    assert targets == ([-np.inf] * 3 if helps else [0.5])


@pytest.mark.parametrize(
    ("changed", "is_sparse", "sizes"),
    [
        ({}, False, (2700, 300)),
        ({"TRIED": 50_000}, False, (500, 300)),
        ({"TRIED": 0}, True, (270, 270)),
        ({"ASKED": 27 * (4 / DENSE + SOFTMAX) * 100}, False, (2700, 100)),
        ({"ASKED": 0}, False, (2700, 40)),
        ({"ASKED": 0}, True, (2700, 300)),
    ],
)
def test_trials_that_would_take_long_are_of_fewer_examples(
    changed: dict[str, float],
    is_sparse: bool,
    sizes: tuple[int, int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def run(self: Trials, settings: LabelTreeSettings, target: float = -np.inf) -> Tried:
        asked.append((len(self.learn), len(self.held)))
        self.found.append(Tried(1.0, np.ones(len(self.held)), settings))
        return self.found[-1]

    monkeypatch.setattr(Trials, "run", run)
    for name, value in changed.items():
        monkeypatch.setattr(CHOICE + name, value)
    choose(sparse(table()) if is_sparse else table(), 27, UNTOLD)
    assert set(asked) == {sizes}


def test_steps_are_not_tried_on_where_they_become_worse(scores: Scores) -> None:
    """Longer and longer at a node; at a tree, shorter where three times as long are worse."""
    best = base_rate(table(), filled_in(table(), 27, UNTOLD))
    for worst, nodes, trees in (
        (3.0, (0.3, 1.0, 3.0), (1.0, 3.0, 0.3)),
        (1.0, (0.3, 1.0), (1.0, 3.0)),
    ):
        tried = scores(
            lambda settings, worst=worst: (
                0.3
                + bool(settings.epochs)
                * (0.4 - 0.1 * (settings.learning_rate / best > worst - 0.1))
                + (settings.arity == 20) * 0.2 * (worst == 1 and settings.learning_rate > 2 * best)
            )
        )
        choose(table(), 27, UNTOLD)
        for arity, rates in ((27, nodes), (20, trees)):
            found = [s.learning_rate / best for s, _ in tried if s.arity == arity and s.epochs]
            assert found == pytest.approx(list(rates))


def test_told_passes_are_made(scores: Scores) -> None:
    tried = scores(lambda settings: 0.5)
    assert choose(table(), 27, LabelTreeSettings(epochs=3)).epochs == 3
    assert {settings.epochs for settings, _ in tried} == {3}
    for examples in (table(), sparse(table())):
        assert choose(examples, 27, LabelTreeSettings(epochs=0)).epochs == 0


def trials(examples: Examples) -> Trials:
    return Trials(examples[:2000], examples[2000:], 27, Progress(False))


@pytest.mark.parametrize("told", [{}, {"tree": "learned"}, {"embedding_size": 4}])
def test_without_passes_what_begins_with_nothing_stays_so(told: Any) -> None:
    examples = sparse(table(100))
    settings = choose(examples, 27, LabelTreeSettings(epochs=0, **told))
    training = Training(begin(examples, 27, settings), settings).run(examples)
    assert (training.done, training.epochs, training.rebuilds) == (0, [], [])
    assert settings.epochs == 0 and not training.tree.softmax.weight.any()


def test_a_trial_counts_by_weight() -> None:
    """A third of what is held out has labels at random, and weighs next to nothing."""
    settings, held = LabelTreeSettings("huffman", 27, 0, 0, 0.1), table(3000)[2000:]
    wrong = np.arange(1000) % 3 == 0
    rng = np.random.default_rng(0)
    labels = np.where(wrong, rng.integers(27, size=1000), held.labels)
    shares = np.where(wrong, 1e-9, 1.5).astype(np.float32)
    learn, progress = table(3000)[:2000], Progress(False)
    found = Trials(learn, Examples(held.features, labels, shares), 27, progress).run(settings)
    alone = Trials(learn, held[~wrong], 27, progress).run(settings)
    assert found.score == pytest.approx(alone.score, abs=1e-3)
    others = replace(held, labels=labels)[wrong]
    worse = Trials(learn, others, 27, progress).run(settings)
    assert worse.score < alone.score / 2  # which would lower the score by a sixth
    light = Tried(0.0, np.where(wrong, shares, 0), settings)
    assert found.beats(light, 2) and not light.beats(found, 0)


def test_weights_that_single_precision_takes_for_none_choose_nothing() -> None:
    """All of those to learn from in the trials may be such."""
    examples = table(100)
    heavy = hold_out(100, 0.1, 0)[1][:3]
    shares = np.zeros(100, np.float32)
    shares[heavy] = 1
    found = choose(replace(examples, shares=shares), 27, UNTOLD)
    assert (found.arity, found.epochs) == (27, 0)


def test_a_tree_that_stays_far_behind_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = LabelTreeSettings("learned", 3, 0, 10, 0.3, "clusters")
    done: list[int] = []
    run = Training.run

    def noted(self: Training, *given: Any, **named: Any) -> Training:
        run(self, *given, **named)
        done.append(self.done)
        return self

    monkeypatch.setattr(Training, "run", noted)
    ended = trials(table()).run(settings)
    for target, parts in ((ended.score, [20_000 // PART, 20_000]), (9.0, [20_000 // PART])):
        done.clear()
        found = trials(table()).run(settings, target)
        assert done == parts
        assert (found.score == ended.score) == (len(parts) == 2)  # looking changes nothing


def test_trials_do_not_know_each_other() -> None:
    settings = LabelTreeSettings("huffman", 27, 0, 3, 0.1)
    of_one = trials(table())
    for rate in (0.3, 0.1):
        found = of_one.run(replace(settings, learning_rate=rate))
    alone = trials(table()).run(settings)
    assert found.score == alone.score and (found.right == alone.right).all()
    assert of_one.run(replace(settings, learning_rate=1e9)).score == -np.inf  # it collapses


def test_what_is_right_elsewhere_as_often_is_no_better() -> None:
    right = np.arange(100) < 50
    before = Tried(0.5, right, UNTOLD)
    assert not Tried(0.5, ~right, UNTOLD).beats(before, 0)
    few = right | (np.arange(100) >= 97)
    assert Tried(0.53, few, UNTOLD).beats(before, 1) and not Tried(0.53, few, UNTOLD).beats(
        before, 2
    )
    mixed = few ^ (np.arange(100) < 2)
    assert not Tried(0.51, mixed, UNTOLD).beats(before, 1)


def test_of_one_row_a_label_nothing_is_tried(scores: Scores) -> None:
    """What is held out is of labels that nothing is known of."""
    x, y = around_centres(300, 20, 16, 0.8, seed=0)
    known, first = np.unique(y, return_index=True)
    centres = x[first].astype(np.float32)
    tried = scores(lambda settings: 0.5)
    model = LabelTreeClassifier(random_state=0)
    with pytest.warns(UserWarning, match="number of unique classes"):
        model.fit(centres, known)
    assert not tried and (model.settings_.arity, model.settings_.epochs) == (300, 0)
    nearest = (x @ centres.T - (centres**2).sum(1) / 2).argmax(1) == y
    assert model.score(x, y) > nearest.mean() + 0.03
    one_each = Examples(Features.from_table(centres), known)
    assert choose(one_each, 300, LabelTreeSettings(epochs=2)).epochs == 2
    found = choose(sparse(one_each), 300, UNTOLD)  # without vectors of what hardly occurs
    assert (found.arity, found.embedding_size) == (300, 0)


def test_beyond_the_passes_there_is_time_for_a_node_is_solved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x, y = around_centres(600, 4, 8, 0.1, seed=0)
    examples = Examples(Features.from_table(x), y)
    monkeypatch.setattr(CHOICE + "WORK", 600 * 8 * 8 * 10)
    found = choose(examples, 600, UNTOLD)
    assert (found.arity, found.epochs) == (600, 0)
    monkeypatch.setattr(CHOICE + "WORK", 600 * 8 * 8 * 10 - 600)
    assert choose(examples, 600, UNTOLD).arity == 25


def test_a_tree_is_taken_where_a_node_errs() -> None:
    """Of narrow sectors of a plane a tree begins far below the node, and ends above."""
    x = np.random.default_rng(0).normal(size=(12_000, 2))
    y = ((np.arctan2(x[:, 1], x[:, 0]) / np.pi + 1) * 100).astype(int) % 200
    model = LabelTreeClassifier(random_state=0).fit(x[:10_000], y[:10_000])
    assert model.settings_.tree == "learned" and model.score(x[10_000:], y[10_000:]) > 0.4
