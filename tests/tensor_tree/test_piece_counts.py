"""Pieces of words, by which the linear model reads words that it has not met."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hiding import without

from structnet import Tree, TreeLSTMClassifier, TreeLSTMRegressor
from structnet.tensor_tree.counts import piece_counts
from structnet.tensor_tree.counts.label_bag import CLASS_FORMS, FORMS, PIECES, LabelBag
from structnet.tensor_tree.counts.piece_counts import PieceCounts
from structnet.tensor_tree.counts.word_choice import choose_words
from structnet.tensor_tree.settings import TreeLSTMSettings
from structnet.tensor_tree.targets import Question, Targets
from structnet.trees import with_words
from structnet.trees.forest import Forest
from structnet.trees.label_words import own_nodes, spelled
from structnet.trees.vocabulary import Vocabulary

ENDINGS = ("ung", "ismo")
QUICK: dict[str, Any] = {"epochs": 1, "hidden_size": 4, "random_state": 0}


def word(rng: random.Random, ending: str = "") -> str:
    return "".join(rng.choice("abcdefghijklmn") for _ in range(6)) + ending


def told_by_endings(number: int, seed: int = 0) -> tuple[list[Tree], np.ndarray]:
    """Trees of words that no other tree has; how one of them ends is the class."""
    rng, y = random.Random(seed), np.arange(number) % 2
    return [Tree("all", [Tree("of", [Tree(word(rng, ENDINGS[i])), Tree(word(rng))])]) for i in y], y


X, Y = told_by_endings(400)
LEARN, TEST = slice(0, 300), slice(300, 400)


def lettered(trees: list[Tree]) -> Forest:
    known = Vocabulary.from_trees(trees, unknown=True, min_count=2, any_arity=True)
    return Forest.from_trees(trees, known.changed(letters=True))


def counted(trees: list[Tree]) -> list[Counter]:
    """The runs of one to four letters of the words of each tree, by the definition."""
    return [
        Counter(
            each[begin : begin + size]
            for node in own_nodes(tree)
            for each in spelled(node)
            for size in range(1, 5)
            for begin in range(len(each) - size + 1)
        )
        for tree in trees
    ]


def test_pieces_of_two_trees_are_counted() -> None:
    trees = [with_words(Tree("f", [Tree(label)])) for label in ("getItem x1", "setItem", "lib-get")]
    forest, runs = lettered(trees), counted(trees)
    met = Counter(run for each in runs for run in each)
    kept = [run for run, count in met.items() if count >= 2]
    pieces = PieceCounts.knowing(forest)
    assert len(pieces.codes) == len(kept)
    rows = np.array([[np.log1p(each[run]) * (1 + np.log(4 / (1 + met[run]))) for run in kept]
                     for each in runs])  # fmt: skip
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    found = pieces(forest).toarray()
    np.testing.assert_allclose(np.sort(found), np.sort(rows), rtol=1e-6)
    np.testing.assert_allclose(found @ found.T, rows @ rows.T, rtol=1e-6)  # in another order


def test_the_pieces_that_most_trees_have_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    forest = lettered([Tree("ab"), Tree("ab"), Tree("abz"), Tree("cz"), Tree("cz")])
    monkeypatch.setattr(piece_counts, "MOST", 1)
    kept = PieceCounts.knowing(forest)  # the space before and behind a word
    assert kept(forest).toarray().tolist() == [[1.0]] * 5
    assert (kept.codes[1:] > kept.codes[:-1]).all()


def test_forests_without_letters_have_no_pieces() -> None:
    trees = [Tree("f", [Tree("ab")])] * 2
    known = Vocabulary.from_trees(trees, unknown=True)
    assert not len(PieceCounts.knowing(Forest.from_trees(trees, known)).codes)
    bag = LabelBag.knowing(Forest.from_trees(trees, known), letters=True, num_types=2,
                           num_tokens=2, num_outputs=1, roots=1, form="count")  # fmt: skip
    assert bag.pieces is None and not any("pieces" in name for name in bag.state_dict())


@pytest.mark.parametrize("form", FORMS)
def test_they_stand_behind_the_other_counts(form: str) -> None:
    forest = lettered(X[:40])
    sizes: dict[str, Any] = {"num_types": 3, "num_tokens": 1, "num_outputs": 1, "form": form}
    bag, alone = (LabelBag.knowing(forest, letters, **sizes, roots=2)
                  for letters in (True, False))  # fmt: skip
    assert bag.pieces is not None
    rows, other, pieces = bag.counts(forest), alone.counts(forest), bag.pieces(forest)
    first, number = alone.width, pieces.shape[1]
    assert rows.shape == (20, len(bag.weight)) and bag.width == first + number
    length = 1.0 if form == "tf-idf" else PIECES
    for tree in (0, 1):
        begin = tree * bag.width
        said = rows[:, begin : begin + first], other[:, tree * first : (tree + 1) * first]
        assert abs(said[0] - said[1]).max() < 1e-12
        said = rows[:, begin + first : begin + bag.width], pieces[tree::2] * length
        assert abs(said[0] - said[1]).max() < 1e-12
    cosines = rows[:, 2 * bag.width :].toarray()
    assert cosines.shape == (20, 5)
    dense = pieces.toarray()
    np.testing.assert_allclose(cosines[:, 4], (dense[::2] * dense[1::2]).sum(1), atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_new_words_are_read_by_their_letters(weighted: bool, tmp_path: Path) -> None:
    wrong = np.arange(300) % 4 < 2
    y = np.where(wrong, 1 - Y[LEARN], Y[LEARN]) if weighted else Y[LEARN]
    weights = np.where(wrong, 1e-6, 1.0) if weighted else None
    model = TreeLSTMClassifier(**QUICK).fit(X[LEARN], y, sample_weight=weights)
    assert model.trained_.vocabulary.letters
    assert model.score(X[TEST], Y[TEST]) > 0.9
    model.save(tmp_path / "model")
    again = TreeLSTMClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(X[TEST]), model.predict_proba(X[TEST]))


def test_numbers_and_pairs_are_read_by_letters_too() -> None:
    model = TreeLSTMRegressor(**QUICK).fit(X[LEARN], 2.0 * Y[LEARN])
    assert model.trained_.vocabulary.letters
    assert model.score(X[TEST], 2.0 * Y[TEST]) > 0.7
    rng, names = random.Random(1), [word(random.Random(i)) for i in range(800)]
    written = [name[:2] + rng.choice("xyz") + name[2:] for name in names]  # a slip of the pen
    pairs = [(Tree("name", [Tree(name)]), Tree("name", [Tree(written[i - (i % 2)])]))
             for i, name in enumerate(names)]  # fmt: skip
    same = np.arange(800) % 2 == 0
    alike = TreeLSTMClassifier(**QUICK).fit(pairs[:600], same[:600])
    assert alike.score(pairs[600:], same[600:]) > 0.9
    assert len(alike.explain(pairs[0])) == 2


def test_letters_that_say_nothing_are_not_read() -> None:
    rng = random.Random(0)
    trees = [Tree(rng.choice("ab"), [Tree(word(rng)) for _ in range(3)]) for _ in range(300)]
    for kind, y in ((TreeLSTMClassifier, [tree.label for tree in trees]),
                    (TreeLSTMRegressor, [float(tree.label == "a") for tree in trees])):  # fmt: skip
        model = kind(**QUICK).fit(trees, y)
        assert not model.trained_.vocabulary.letters and model.model_.bag.pieces is None


def letters_tell(learn: Targets, held: Targets | None, question: Question) -> bool:
    return choose_words(learn, held, question, TreeLSTMSettings()).letters


def test_there_must_be_many_labels_and_a_way_to_tell() -> None:
    targets, question = Targets([(tree,) for tree in X], Y), Question("classes", 2)
    learn, held = targets.take(np.arange(300)), targets.take(np.arange(300, 400))
    assert letters_tell(learn, held, question)
    assert not letters_tell(learn, None, question)
    assert not letters_tell(learn.take(np.arange(20)), held, question)  # 40 words
    assert not letters_tell(learn.take(np.arange(0, 300, 2)), held, question)  # one class
    labels = Targets(learn.samples, np.stack((Y, 1 - Y), 1)[:300])
    assert not letters_tell(labels, None, Question("labels", 2))


def test_what_was_fitted_to_choose_words_chooses_letters_too(monkeypatch) -> None:
    texts = [Tree("all", [Tree(f"{tree[0][0].label} {tree[0][1].label}")]) for tree in X]
    targets, fit = Targets([(with_words(text),) for text in texts], Y), LabelBag.fit_form
    learn, held = targets.take(np.arange(300)), targets.take(np.arange(300, 400))
    fitted = []

    def counting(bag: LabelBag, *given: Any) -> None:
        fitted.append(bag)
        fit(bag, *given)

    monkeypatch.setattr(LabelBag, "fit_form", counting)
    chosen = choose_words(learn, held, Question("classes", 2), TreeLSTMSettings())
    assert chosen.words and chosen.letters
    forms = len(CLASS_FORMS) + 1
    assert len(fitted) == 2 * forms + 1  # with words, without, with letters in the best form


def test_who_asks_for_no_words_or_counts_gets_no_letters() -> None:
    for asked in ({"words": False}, {"bag": False}, {"cell": "sum"}):
        assert not TreeLSTMClassifier(**QUICK, **asked).fit(X, Y).trained_.vocabulary.letters


@pytest.mark.parametrize("estimator", [TreeLSTMClassifier, TreeLSTMRegressor])
def test_they_are_explained_with_the_words_that_have_them(estimator: type) -> None:
    trees = [Tree("f", [*tree.children, Tree(f"{tree[0, 0].label} soon")]) for tree in X]
    model = estimator(**QUICK).fit(trees[LEARN], Y[LEARN])
    assert model.model_.bag.pieces is not None
    explained = model.explain(trees[301])
    nodes = list(explained.tree.preorder())
    each = [without(explained.tree, place) for place in range(len(nodes))]
    outputs = model.model_.eval()(
        Forest.from_trees([explained.tree, *each], model.trained_.vocabulary)
    ).detach().double()  # fmt: skip
    if estimator is TreeLSTMClassifier:
        scores = (outputs[:, 1] - outputs[:, 0]) * (1 if explained.answer else -1)
    else:
        scores = outputs[:, 0] * model.target_scale_.sd[0]
    np.testing.assert_allclose(explained.occlusion, scores[0] - scores[1:], atol=1e-5)
    telling = [value for node, value in zip(nodes, explained.occlusion, strict=True)
               if str(node.label).endswith("ismo") and not node.children]  # fmt: skip
    assert len(telling) == 2 and min(np.abs(telling)) > 0.01
