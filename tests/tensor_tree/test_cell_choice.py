"""Which cells are tried on trees, and which of them is taken."""

from __future__ import annotations

import random
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from small_estimators import held_out
from torch import nn

from structnet import TreeLSTMClassifier, TreeLSTMNodeClassifier, TreeLSTMRegressor
from structnet.tensor_tree import reading, training
from structnet.tensor_tree.cell_choice import Settled, best_of, cells, stop_when_settled
from structnet.tensor_tree.counts.word_choice import WordChoice
from structnet.tensor_tree.samples import as_sample
from structnet.tensor_tree.settings import TreeLSTMSettings
from structnet.training.history import History
from structnet.trees.vocabulary import VocabularyError

BOTH = ("child-sum", "tucker")
ANY_ARITY = ("child-sum", "automaton")
ALL = (*ANY_ARITY, "tucker")


def asked(*trees: str, kind: str = "classes", **told: object) -> tuple[str, ...]:
    learn = [as_sample(tree, 0)[0] for tree in trees]
    return cells(TreeLSTMSettings(**told), learn, learn[:1] * 10, kind)


def test_trees_of_operators_are_worth_another_cell() -> None:
    assert asked("(and (not a) b)", "(if a b (not c))") == ALL
    for trees in (("(and (not a) b)", "(and a b c)"), ("(f a b c d)", "(g a b)")):
        assert asked(*trees) == ANY_ARITY  # two numbers of children; four children
    assert asked("(f (f a b) b)") == asked("(f a)", "(g b)") == ("child-sum",)
    for kind in ("labels", "numbers", "nodes"):
        assert asked("(and (not a) (not b))", kind=kind) == BOTH
    assert asked("(and (not a) b)", hidden_size=21) == BOTH
    many = [f"(f{i} a b)" for i in range(17)]
    assert asked(*many) == ("child-sum",) and asked(*many[:16]) == ALL
    assert asked("(and (not a) b)", numbers=True) == BOTH
    leaves = [f"(and (not a{i}) b)" for i in range(100)]
    assert asked(*leaves) == BOTH and asked(*leaves[1:]) == ALL
    for told in ({"words": True}, {"dropout": 0.1}, {"label_dropout": 0.1}):
        assert asked("(and (not a) b)", **told) == ("child-sum",)


def test_another_is_taken_where_it_is_better_by_more_than_chance() -> None:
    first = np.array([1.0, 1.0, 1.0, 1.0])
    for gains, cell in (([1, 1, 1, 1], "tucker"), ([5, -1, -1, -1], "child-sum"),
                        ([-1, -1, -1, -1], "child-sum"), ([0, 0, 0, 0], "child-sum")):  # fmt: skip
        assert best_of({"child-sum": first, "tucker": first - np.array(gains)}) == cell


def test_few_held_out_trees_choose_nothing() -> None:
    tree = as_sample("(and (not a) b)", 0)[0]
    for number, found in ((9, ("child-sum",)), (10, ALL)):
        assert cells(TreeLSTMSettings(), [tree], [tree] * number) == found


def products(number: int) -> tuple[list[str], np.ndarray]:
    """Is a product, or a difference, above 0?"""
    rng, texts, signs = random.Random(0), [], []
    for _ in range(number):
        (a, b), sign = rng.choices(range(-3, 4), k=2), rng.choice("*-")
        texts.append(f"({sign} {a} {b})")
        signs.append((a * b if sign == "*" else a - b) > 0)
    return texts, np.array(signs)


def test_products_choose_tucker_and_the_state_of_both_is_kept(tmp_path: Path) -> None:
    X, y = products(400)
    told = {"hidden_size": 24, "random_state": 0, "folder": tmp_path / "both", "epochs": 15}
    model = TreeLSTMClassifier(**told).fit(X[:300], y[:300])
    assert model.settings_.cell == "tucker" and "tucker cell" in model.summary()
    assert model.score(X[300:], y[300:]) > 0.9
    again = TreeLSTMClassifier(**told).fit(X[:300], y[:300])  # from what is in the folder
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    with pytest.raises(VocabularyError, match=r"'\*' has 3 children; .*arity is 2, the most that "):
        model.predict(["(* 1 2 3)"])
    wider = (["(+ 1 2 3)"] * 20, [True, False] * 10)
    assert TreeLSTMClassifier(epochs=1).fit(X, y, **held_out(wider)).settings_.cell == ("child-sum")
    alone = TreeLSTMClassifier(**{**told, "cell": "tucker", "folder": None}).fit(X[:300], y[:300])
    np.testing.assert_allclose(alone.predict_proba(X), model.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("kind", [TreeLSTMClassifier, TreeLSTMRegressor])
def test_the_best_is_taken_before_it_learns_from_what_is_held_out(
    kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    monkeypatch.setattr(training, "best_of", lambda losses: found.append(losses) or "tucker")
    X, y = products(100)
    model = kind(hidden_size=4, epochs=2, random_state=0)
    model.fit(X[:60], y[:60].astype(float), X_val=X[60:], y_val=y[60:].astype(float))
    (losses,) = found
    assert (
        losses.keys() == set(ALL if kind is TreeLSTMClassifier else BOTH)
        and model.settings_.cell == "tucker"
    )
    assert {each.shape for each in losses.values()} == {(40,)}
    if kind is TreeLSTMClassifier:  # of the user's own, nothing learns
        own = -model.predict_log_proba(X[60:])[np.arange(40), y[60:].astype(int)]
        np.testing.assert_allclose(losses["tucker"], own, atol=1e-5)


def test_what_is_held_out_is_learnt_from_once_it_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    done = []
    monkeypatch.setattr(training, "best_of", lambda losses: done.append("chosen") or "tucker")
    monkeypatch.setattr(training._Candidate, "refit", lambda self: done.append("learnt"))
    X, y = products(100)
    TreeLSTMClassifier(hidden_size=4, epochs=1, random_state=0).fit(X, y)
    assert done == ["chosen", "learnt"]


@pytest.mark.parametrize("words", [False, True])
def test_counts_are_fitted_once_for_all_cells_that_read_the_same(
    words: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted, real = [], training._fitted_counts
    monkeypatch.setattr(training, "best_of", lambda losses: "tucker")
    monkeypatch.setattr(reading, "choose_words", lambda *_: WordChoice(words))
    monkeypatch.setattr(
        training, "_fitted_counts", lambda *given: fitted.append(given[0]) or real(*given)
    )
    numbers, y = products(120)
    X = [each.replace("1", "numberOne") for each in numbers]
    told = {"hidden_size": 4, "epochs": 2, "random_state": 0}
    model = TreeLSTMClassifier(**told).fit(X, y)
    assert len(fitted) == 1 + words
    assert [each.settings.words for each in fitted] == [True, False][1 - words :]
    alone = TreeLSTMClassifier(**told, cell="tucker").fit(X, y)
    np.testing.assert_array_equal(alone.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("table", [False, True])
def test_nodes_with_a_class_choose_a_cell(table: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    monkeypatch.setattr(training, "best_of", lambda losses: found.append(losses) or "tucker")
    X, signs = products(100)
    y = [[bool(sign), None, child] for sign, child in zip(signs, signs[::-1], strict=True)]
    model = TreeLSTMNodeClassifier(hidden_size=4, epochs=2, bag=table, random_state=0)
    model.fit(X[:60], y[:60], X_val=X[60:], y_val=y[60:])
    (losses,) = found
    assert model.settings_.cell == "tucker"
    said = np.stack(model.predict_log_proba(X[60:]))[:, ::2]  # of nodes that have a class
    classes = np.array(y[60:])[:, ::2].astype(int)
    own = -np.take_along_axis(said, classes[..., None], 2).sum((1, 2))  # of each tree
    np.testing.assert_allclose(losses["tucker"], own, atol=1e-5)


def test_a_cell_that_is_clearly_behind_is_not_trained_to_the_end() -> None:
    for accuracy, number, ends in ((0.5, 5, True), (0.5, 4, False), (0.88, 5, False)):
        check = stop_when_settled(held=99, epochs=10, rival=0.9)
        history = History([{"validation_accuracy": accuracy}] * number)
        with pytest.raises(Settled) if ends else nullcontext():
            check(nn.Module(), history)


def test_a_cell_without_mistakes_is_not_trained_to_the_end() -> None:
    for held, before, ends in ((100, 0.9, False), (100, 1.0, True), (99, 1.0, False)):
        history = History({"validation_accuracy": each} for each in (before, 1.0))
        with pytest.raises(Settled) if ends else nullcontext():
            stop_when_settled(held, epochs=10)(nn.Module(), history)


def test_weights_may_round_an_accuracy_above_1() -> None:
    history = History({"validation_accuracy": 1 + 1e-8} for _ in range(4))
    stop_when_settled(held=20, epochs=4, rival=1 + 1e-8)(nn.Module(), history)
    with pytest.raises(Settled):
        stop_when_settled(held=200, epochs=4, rival=1 + 1e-8)(nn.Module(), history)


def test_wide_nodes_are_not_read_child_by_child() -> None:
    wide, deep = f"(f {'a ' * 101})", "(g a b)"
    for _ in range(99):
        deep = f"(g a {deep})"
    assert asked(wide, "(g a b)") == ("child-sum",)
    assert asked(f"(f {'a ' * 99})", "(g a b)") == ANY_ARITY
    assert "automaton" not in asked(deep, "(f a b)")


def test_no_other_cell_is_tried_if_one_makes_no_mistakes(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def candidate(settings: TreeLSTMSettings, *others: object, **how: object) -> object:
        tried.append(settings.cell)
        return real(settings, *others, **how)

    real = training._candidate
    monkeypatch.setattr(training, "_candidate", candidate)
    monkeypatch.setattr(training._Candidate, "makes_no_mistakes", lambda self: len(tried) == 2)
    X, y = products(60)
    model = TreeLSTMClassifier(hidden_size=4, epochs=1, random_state=0)
    model.fit(X[:40], y[:40], X_val=X[40:], y_val=y[40:])
    assert tried == [*ANY_ARITY]


def test_the_others_show_what_an_automaton_is_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def stop(*told: float) -> object:
        asked.append(told)
        return stop_when_settled(10**9, int(told[1]), 1.0)  # no accuracy is near enough

    monkeypatch.setattr(training, "stop_when_settled", stop)
    monkeypatch.setattr(training, "best_of", lambda losses: "automaton")
    X, y = products(60)
    model = TreeLSTMClassifier(hidden_size=4, epochs=4, random_state=0)
    model.fit(X[:40], y[:40], X_val=X[40:], y_val=y[40:])
    ((*told, rival),) = asked
    assert 0 < rival <= 1 and told == [20, 4] and len(model.history_) == 2
