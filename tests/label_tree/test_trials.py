"""Candidates that are tried: how they count, and when they are left."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from label_trees import table
from scipy.sparse import csr_matrix

from structnet.label_tree import Examples, Features, LabelTreeSettings, Training, choose
from structnet.label_tree.trials import Trials, Tried
from structnet.training.gains import is_better
from structnet.training.progress import Progress

UNTOLD = LabelTreeSettings()


def trials(examples: Examples) -> Trials:
    return Trials(examples[:2000], examples[2000:], 27, Progress(False))


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
    assert is_better(~wrong, found.wrong, 2, shares)
    assert not is_better(found.wrong, ~wrong, 0, shares)


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The examples that each training has gone through where it ends."""
    found: list[int] = []
    run = Training.run

    def noted(self: Training, *given: Any, **named: Any) -> Training:
        run(self, *given, **named)
        found.append(self.done)
        return self

    monkeypatch.setattr(Training, "run", noted)
    return found


@pytest.mark.parametrize(("share", "ends"), [(0.59, False), (0.61, True)])
def test_a_tree_is_left_after_a_fifth_below_six_tenths(
    share: float, ends: bool, done: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = LabelTreeSettings("huffman", 3, 0, 10, 0.1)
    tried = Tried(settings, np.zeros(1, bool), share * 0.5, 0.0)
    monkeypatch.setattr(Trials, "_measured", lambda self, tree, settings: tried)
    trials(table()).run(settings, 0.5)
    assert done == [4_000, 20_000] if ends else done == [4_000]


def test_a_tree_that_stays_far_behind_is_left(done: list[int]) -> None:
    settings = LabelTreeSettings("learned", 3, 0, 10, 0.3, "clusters")
    ended = trials(table()).run(settings)
    for target, parts in ((ended.score, [4_000, 20_000]), (9.0, [4_000])):
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
    assert found.score == alone.score and (found.wrong == alone.wrong).all()
    assert of_one.run(replace(settings, learning_rate=1e9)).score == -np.inf  # it collapses


@pytest.mark.parametrize(
    ("best", "number", "found"), [(1.0, 3, 1.0), (3.0, 2, 3.0), (0.03, 6, 0.027), (1e-9, 8, 0.3**6)]
)
def test_lower_rates_are_tried_while_the_lowest_is_the_best(
    best: float, number: int, found: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[float] = []

    def trial(self: Trials, settings: LabelTreeSettings, target: float) -> tuple[Tried, None]:
        rate = settings.learning_rate
        tried.append(rate)
        far = abs(np.log(rate / best))
        return Tried(settings, np.arange(1000) < 40 * far, 1 - far / 25, -far), None

    monkeypatch.setattr(Trials, "_trial", trial)
    one = LabelTreeSettings("huffman", 3, 0, 10)
    of = trials(table())
    chosen = of.best_rate(one, [1.0, 3.0, 0.3])
    assert chosen.settings.learning_rate == pytest.approx(found)
    assert tried == pytest.approx([1.0, 3.0, *(0.3**i for i in range(1, 7))][:number])
    assert chosen in of.tried and len(of.tried) == (5 if number == 6 else number)


@pytest.mark.parametrize(("errors", "recorded"), [(1.0, True), (2.0, False)])
def test_what_is_not_better_is_not_recorded(
    errors: float, recorded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three mistakes fewer of 1000 are 1.7 standard errors."""
    fewer = iter([0, 3])

    def trial(self: Trials, settings: LabelTreeSettings, target: float) -> tuple[Tried, None]:
        return Tried(settings, np.arange(1000) < 100 - next(fewer)), None

    monkeypatch.setattr(Trials, "_trial", trial)
    of = trials(table())
    before = of.run(UNTOLD)
    found = of.run_if_better(UNTOLD, before, errors)
    assert (found is not None) == recorded and len(of.tried) == 1 + recorded


def test_kinds_are_compared_at_their_best_rates(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rate with which a node is most often right by chance, and far too sure, is not its best.

    At its best one, it is less often right than another kind by more than chance.
    """
    told = {50: (0.63, -1.2), 0: (0.58, -1.5)}  # by the size of vectors: score, log-probability
    lucky = (0.605, -3.2)

    def trial(self: Trials, settings: LabelTreeSettings, target: float) -> tuple[Tried, None]:
        assert settings.vector_size is not None
        is_lucky = not settings.vector_size and (settings.learning_rate or 0) > 3
        score, log_prob = lucky if is_lucky else told[settings.vector_size]
        return Tried(settings, np.arange(1000) >= 1000 * score, score, log_prob), None

    monkeypatch.setattr(Trials, "_trial", trial)
    monkeypatch.setattr(Trials, "or_half", lambda self, best: best)
    examples = table()
    rows = Features.from_csr(csr_matrix(examples.features.table))
    examples = replace(examples, features=rows)
    assert choose(examples, 27, UNTOLD).vector_size == 50
    told[0] = (0.61, -1.5)  # not by more than chance
    assert choose(examples, 27, UNTOLD).vector_size == 0
