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
    choose,
)
from structnet.label_tree.choice import DENSE, ENOUGH, SOFTMAX, base_rate, filled_in
from structnet.label_tree.shapes import least_depth, usual_arity
from structnet.label_tree.trials import Trials, Tried

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

        def trial(self: Trials, settings: LabelTreeSettings, target: float) -> tuple[Tried, None]:
            tried.append((settings, target))
            score = rule(settings)
            return Tried(settings, np.arange(1000) >= 1000 * score, score, 0.0), None

        monkeypatch.setattr(Trials, "_trial", trial)
        monkeypatch.setattr(Trials, "or_half", lambda self, best: best)  # there are no trees
        monkeypatch.setattr(Trials, "weights", None)
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
        usual = replace(filled_in(examples, 27, UNTOLD), vector_size=0)
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


@pytest.mark.parametrize(
    ("other", "score", "log_prob", "times"),
    [(-1.0, 0.805, -2.0, 1.0), (-1.0, 0.805, -1.02, 3.0), (-9.0, 0.5, -1.0, 1.0)],
)
def test_of_rates_that_are_about_as_often_right_the_surest_is_chosen(
    other: float,
    score: float,
    log_prob: float,
    times: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The held-out examples are too few to tell 80 % from 80.5 %, but not from 50 %."""
    examples, settings = sparse(table()), LabelTreeSettings("huffman", 27, 0)
    base = base_rate(examples, filled_in(examples, 27, settings))

    def run(self: Trials, settings: LabelTreeSettings, target: float = -np.inf) -> Tried:
        longer = settings.learning_rate > 2 * base
        right, own = (score, log_prob) if longer else (0.8, other)
        wrong = np.arange(1000) >= 1000 * right
        self.tried.append(Tried(settings, wrong, right, own))
        return self.tried[-1]

    monkeypatch.setattr(Trials, "run", run)
    assert choose(examples, 27, settings).learning_rate == pytest.approx(times * base)


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

    def trial(self: Trials, settings: LabelTreeSettings, target: float) -> tuple[Tried, None]:
        asked.append((len(self.learn), len(self.held)))
        return Tried(settings, np.zeros(len(self.held), bool), 1.0, 0.0), None

    monkeypatch.setattr(Trials, "_trial", trial)
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
    assert choose(table(), 27, LabelTreeSettings(epochs=0)).epochs == 0


@pytest.mark.parametrize(
    ("told", "is_sparse", "found"),
    [
        ({"tree": "learned"}, False, "a tree of nodes"),
        ({"tree": "huffman", "learning_rate": 1.0}, False, "a tree of nodes"),
        ({"arity": 20}, False, "a tree of nodes"),
        ({"bias": False}, False, "bias=False"),
        ({"vector_size": 4}, False, "vectors of the features"),
        ({}, True, "vectors of the features"),
        ({"vector_size": 0, "arity": 27}, True, "sparse rows"),
    ],
)
def test_without_passes_what_begins_with_nothing_is_refused(
    told: Any, is_sparse: bool, found: str
) -> None:
    examples = table(100)
    rows: Any = csr_matrix(examples.features.table) if is_sparse else examples.features.table
    model = LabelTreeClassifier(epochs=0, random_state=0, **told)
    with pytest.raises(ValueError, match=f"'epochs' parameter .*. Got 0 with {found}"):
        model.fit(rows, examples.labels)


@pytest.mark.parametrize(
    "told", [{}, {"arity": 27}, {"tree": "learned", "arity": 30}, {"max_depth": 1}]
)
def test_without_passes_a_node_is_solved(told: Any) -> None:
    x, y = around_centres(27, 20, 8, 0.3, seed=0)
    model = LabelTreeClassifier(epochs=0, random_state=0, **told).fit(x[:400], y[:400])
    assert model.score(x[400:], y[400:]) > 0.9


def test_most_decisions_say_how_many_children_there_are() -> None:
    """Where no one says it: one decision among all labels, or two among their root."""
    x, y = around_centres(30, 10, 8, 0.3, seed=0)
    for tree in (None, "learned", "complete"):
        model = LabelTreeClassifier(tree=tree, max_depth=1, random_state=0).fit(x, y)
        assert model.tree_.codes.num_nodes == 1 and model.score(x, y) > 0.9
    model = LabelTreeClassifier(max_depth=1, random_state=0)
    names = y.astype(str)
    assert model.partial_fit(x, names, classes=np.unique(names)).settings_.arity == 30
    with pytest.raises(ValueError, match="30 labels do not fit into a tree of arity 20 and depth"):
        LabelTreeClassifier(arity=20, max_depth=1).fit(x, y)
    for labels in (1, 20, 21, 400, 401, 1_000_000):
        for depth in (1, 2, 3, 40):
            arity = usual_arity(labels, depth)
            fewest = least_depth(labels, arity - 1) if arity > 2 else depth
            assert least_depth(labels, arity) <= depth
            assert arity == usual_arity(labels) or fewest > depth


def test_no_tree_is_tried_where_no_passes_are_told() -> None:
    """However badly a single node does: a tree would learn nothing."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(300, 4)), np.arange(300) % 60
    model = LabelTreeClassifier(epochs=0, random_state=0).fit(x, y)
    assert model.tree_.codes.num_nodes == 1


def test_weights_that_single_precision_takes_for_none_choose_nothing() -> None:
    """All of those to learn from in the trials may be such."""
    examples = table(100)
    heavy = hold_out(100, 0.1, 0)[1][:3]
    shares = np.zeros(100, np.float32)
    shares[heavy] = 1
    found = choose(replace(examples, shares=shares), 27, UNTOLD)
    assert (found.arity, found.epochs) == (27, 0)


@pytest.mark.parametrize(
    ("behind", "weights", "is_node"),
    [(0.035, 1.0, True), (0.046, 1.0, False), (0.1, 1e-6, True), (0.2, 1e-6, False)],
)
def test_a_node_is_taken_unless_a_tree_is_better_by_more_than_chance(
    behind: float, weights: float, is_node: bool, scores: Scores
) -> None:
    """Of 300 rows held out, half of which are right, a difference deviates by .041; of 30, by .13:
    the others count nothing."""
    examples = table()
    shares = np.where(np.random.default_rng(0).permutation(3000) < 300, 1, weights)
    weighed = replace(examples, shares=shares.astype(np.float32))
    held = weighed[hold_out(3000, 0.1, 0)[1]]
    assert held.effective == pytest.approx(held.shares.sum(), rel=1e-3)
    scores(lambda settings: 0.5 - behind * (settings.arity == 27))
    assert (choose(weighed, 27, UNTOLD).arity == 27) is is_node


def test_up_to_500_labels_a_node_is_tried_however_long_it_takes(
    scores: Scores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CHOICE + "WORK", 0)
    tried = scores(lambda settings: 0.5)
    for labels, there in ((500, True), (501, False)):
        tried.clear()
        choose(table(), labels, UNTOLD)
        assert (labels in {settings.arity for settings, _ in tried}) is there


@pytest.mark.parametrize(("score", "rates"), [(0.44, 1), (0.46, 3)])
def test_other_rates_of_a_tree_are_tried_where_the_first_comes_near(
    score: float, rates: int, scores: Scores
) -> None:
    """To nine tenths of what the node gets, which passes do not help."""
    tried = scores(lambda settings: 0.5 if settings.arity == 27 else score)
    choose(table(), 27, UNTOLD)
    assert sum(settings.arity == 20 for settings, _ in tried) == rates


def test_what_nobody_says_follows_from_the_number_of_examples() -> None:
    """Half a million steps, in 5 to 100 passes, with vectors of 50 where rows are not full."""
    for number, epochs in ((100, 100), (4_999, 100), (50_000, 10), (100_000, 5), (200_000, 5)):
        rows = Examples(Features.from_table(np.zeros((number, 1))), np.zeros(number, np.int64))
        found = filled_in(rows, 1000, UNTOLD)
        assert (found.epochs, found.vector_size, found.arity) == (epochs, 0, 32)
    assert filled_in(sparse(table(10)), 27, UNTOLD).vector_size == 50


def test_a_weight_is_a_number_of_rows() -> None:
    examples, times = table(60), np.arange(60) % 3
    weights = times / times.mean()
    for one in (examples, sparse(examples)):
        weighed = replace(one, shares=weights.astype(np.float32))
        for size in (0, 50):
            repeated = one[np.repeat(np.arange(60), times)]
            settings = LabelTreeSettings("huffman", 27, size, 1)
            rates = [base_rate(each, settings) for each in (weighed, repeated)]
            assert rates[0] == pytest.approx(rates[1], rel=1e-6)
    x, y = around_centres(5, 20, 3, 0.5, seed=0)
    how: dict[str, Any] = {"epochs": 1, "learning_rate": 0.1, "tree": "huffman", "random_state": 0}
    places = np.repeat(np.arange(100), np.arange(100) % 3)
    many = LabelTreeClassifier(**how).fit(x[places], y[places])
    few = LabelTreeClassifier(**how).fit(x, y, np.arange(100) % 3)
    np.testing.assert_allclose(few.input_scale_.mean, many.input_scale_.mean)
    np.testing.assert_allclose(few.input_scale_.sd, many.input_scale_.sd)


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
    assert (found.arity, found.vector_size) == (300, 0)


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


@pytest.mark.parametrize("tree", ["learned", "huffman", "clusters"])
@pytest.mark.parametrize("size", [0, 50])
def test_a_told_kind_of_tree_is_tried_with_vectors_of_sparse_columns_and_without(
    scores: Scores, tree: Any, size: int
) -> None:
    tried = scores(lambda settings: 0.5 + 0.1 * (settings.vector_size == size))
    found = choose(sparse(table()), 27, LabelTreeSettings(tree))
    assert {settings.vector_size for settings, _ in tried} == {0, 50}
    assert {(settings.tree, settings.arity) for settings, _ in tried} == {(tree, 20)}
    assert (found.vector_size, found.start) == (size, "groups" if size else "clusters")
    tried.clear()
    choose(sparse(table()), 27, LabelTreeSettings(tree, start="huffman"))
    assert {settings.vector_size for settings, _ in tried} == {50}
