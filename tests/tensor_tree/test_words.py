"""Models read the words of texts and names, which they met elsewhere."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from structnet import TreeLSTMClassifier, TreeLSTMNodeClassifier, TreeLSTMRegressor
from structnet.tensor_tree.building import child_sum
from structnet.tensor_tree.counts.label_bag import FORMS, LabelBag
from structnet.tensor_tree.counts.word_choice import choose_words
from structnet.tensor_tree.settings import TreeLSTMSettings
from structnet.tensor_tree.targets import Question, Targets
from structnet.trees import Tree, with_words

GOOD, BAD = ("fine", "lovely", "superb", "bright"), ("awful", "dull", "poor", "broken")
REST = ("door", "window", "table", "lamp", "chair", "wall")


def review(rng: random.Random, good: bool) -> Tree:
    """A text that no other tree has, among whose words one tells."""
    words = [rng.choice(REST) for _ in range(6)] + [rng.choice(GOOD if good else BAD)]
    rng.shuffle(words)
    return Tree("review", [Tree("text", [Tree(" ".join(words))]), Tree(rng.choice("ab"))])


RNG = random.Random(0)
Y = np.array([i % 2 for i in range(240)])
X = [review(RNG, bool(y)) for y in Y]


def test_texts_are_read_by_default(tmp_path) -> None:
    model = TreeLSTMClassifier(epochs=8, random_state=0).fit(X[:160], Y[:160])
    assert model.settings_.words is True
    assert model.score(X[160:], Y[160:]) > 0.9
    why = model.explain(X[200])
    words = [node.label for node in why.tree.preorder()]
    place = next(i for i, word in enumerate(words) if word in GOOD + BAD)
    assert np.argmax(np.abs(why.occlusion[3:])) == np.argmax(np.abs(why.gradient[3:])) == place - 3
    model.save(tmp_path / "model")
    again = TreeLSTMClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(X[160:]), model.predict_proba(X[160:]))
    without = TreeLSTMClassifier(epochs=8, words=False, random_state=0).fit(X[:160], Y[:160])
    assert without.score(X[160:], Y[160:]) < 0.7
    assert without.explain(X[200]).tree == X[200]


def test_numbers_and_pairs() -> None:
    pairs = [(tree, tree) for tree in X]
    model = TreeLSTMRegressor(epochs=8, random_state=0).fit(pairs[:160], Y[:160] * 2.0)
    assert model.score(pairs[160:], Y[160:] * 2.0) > 0.5


def test_other_cells_read_labels_whole() -> None:
    tucker = TreeLSTMClassifier(cell="tucker", hidden_size=4, epochs=1, random_state=0)
    assert tucker.fit(X[:40], Y[:40]).settings_.words is False
    with pytest.raises(ValueError, match=r"'words'.*None or False for the cell 'tucker'"):
        TreeLSTMClassifier(cell="tucker", words=True).fit(X, Y)


def test_nodes_are_told_by_words_if_asked_which_are_none_themselves() -> None:
    labels = [[None, "good" if y else "bad", None, None] for y in Y]
    model = TreeLSTMNodeClassifier(epochs=8, words=True, random_state=0).fit(X[:160], labels[:160])
    assert model.score(X[160:], labels[160:]) > 0.9
    assert [len(each) for each in model.predict(X)] == [tree.size for tree in X]
    whole = TreeLSTMNodeClassifier(epochs=8, random_state=0).fit(X[:160], labels[:160])
    assert whole.settings_.words is False
    assert whole.score(X[160:], labels[160:]) < 0.7


def test_words_that_say_nothing_are_not_read() -> None:
    rng = random.Random(1)
    trees = [
        Tree(kind, [Tree(" ".join(rng.choices(REST, k=6))) for _ in range(4)])
        for kind in rng.choices("ab", k=300)
    ]
    y = [(tree.label == "a") != (rng.random() < 0.2) for tree in trees]
    model = TreeLSTMClassifier(epochs=1, random_state=0).fit(trees, y)
    assert model.settings_.words is False
    assert model.explain(trees[0]).tree == trees[0]
    asked = TreeLSTMClassifier(epochs=1, words=True, random_state=0).fit(trees, y)
    assert asked.settings_.words is True


def words_tell(learn: Targets, held: Targets | None, question: Question) -> bool:
    return choose_words(learn, held, question, TreeLSTMSettings(bag=False)).words


def told_by_structure(seed: int, size: int = 120) -> tuple[list[Tree], np.ndarray]:
    """Trees of texts of many words, and two answers that their structure gives, ``[size, 2]``."""
    rng, trees = random.Random(seed), []
    words = [a + b for a in "pqrstuvwxy" for b in "aeioudlmn"]
    for _ in range(size):
        texts = [Tree(" ".join(rng.choices(words, k=6))) for _ in range(rng.randint(1, 5))]
        trees.append(Tree("review", [Tree(rng.choice("ab"), [text]) for text in texts]))
    return trees, np.array([[len(x.children) > 2, x[0].label == "a"] for x in trees], int)


@pytest.mark.parametrize("kind", ["numbers", "labels"])
def test_folds_say_whether_words_tell_numbers_and_labels(kind: str) -> None:
    trees, answers = told_by_structure(0)
    by_structure, by_words = [(with_words(x),) for x in trees], [(with_words(x),) for x in X[:120]]
    question, of_words = Question(kind, 2), np.stack((Y[:120], Y[:120]), axis=1)
    assert not words_tell(Targets(by_structure, answers), None, question)
    assert words_tell(Targets(by_words, of_words), None, question)
    assert words_tell(Targets(by_words, np.zeros_like(of_words)), None, question)
    # What counts nothing is not heard.
    both, of_both = [*by_structure, *by_words], np.concatenate((answers, of_words))
    for weights, tell in (([1.0, 1e-9], False), ([1e-9, 1.0], True)):
        given = Targets(both, of_both, np.repeat(weights, 120))
        assert words_tell(given, None, question) == tell


def test_words_that_say_nothing_of_numbers_or_labels_are_not_read() -> None:
    trees, y = told_by_structure(0)
    for kind, targets in ((TreeLSTMRegressor, y[:, 0]), (TreeLSTMClassifier, y)):
        model = kind(epochs=1, random_state=0).fit(trees, targets)
        assert model.settings_.words is False
        assert model.explain(trees[0]).tree == trees[0]
        assert kind(epochs=1, words=True, random_state=0).fit(trees, targets).settings_.words


@pytest.mark.parametrize("telling", [True, False])
def test_the_form_of_counts_is_asked_for_once(telling: bool, monkeypatch) -> None:
    tried = []
    counts, fit = LabelBag.counts, LabelBag.fit_numbers
    monkeypatch.setattr(LabelBag, "counts", lambda bag, x: tried.append(bag.form) or counts(bag, x))
    chosen = []

    def noted(bag: LabelBag, *given: Any, **told: Any) -> np.ndarray:
        tried.clear()
        found = fit(bag, *given, **told)
        chosen.append(tuple(dict.fromkeys(tried)))
        return found

    monkeypatch.setattr(LabelBag, "fit_numbers", noted)
    y = np.log1p(Y) if telling else np.log1p([tree[1].label == "a" for tree in X])
    told = {"cell": "child-sum", "epochs": 1, "hidden_size": 4, "random_state": 0}
    model = TreeLSTMRegressor(**told).fit(X, y)
    assert model.settings_.words is telling
    # With words, without them, and what is left to the tree.
    assert chosen == [FORMS, *[(model.model_.bag.form,)] * 2]
    TreeLSTMRegressor(**told, words=False).fit(X, y)
    assert chosen[3:] == [FORMS]


def test_of_many_examples_some_say_whether_words_tell(monkeypatch) -> None:
    targets = Targets([(with_words(tree),) for tree in X], Y, np.arange(1.0, 241))
    learn, held = targets.take(np.arange(160)), targets.take(np.arange(160, 240))
    question = Question("classes", 2)
    assert words_tell(learn, held, question)
    monkeypatch.setattr("structnet.tensor_tree.counts.word_choice.MOST", 50)
    assert words_tell(learn, held, question)
    noise = learn._replace(y=np.random.default_rng(0).permutation(learn.y))
    assert not words_tell(noise, held, question)


def test_a_few_held_out_examples_do_not_say_alone_whether_words_tell() -> None:
    targets, question = Targets([(with_words(tree),) for tree in X], Y), Question("classes", 2)
    misled = targets.take(np.arange(236, 240))._replace(y=1 - Y[236:])
    assert words_tell(targets.take(np.arange(200)), misled, question)
    groups = np.zeros(200, int)  # nothing can be held out of one group: the four decide
    assert not words_tell(targets.take(np.arange(200))._replace(groups=groups), misled, question)


def test_who_asks_for_no_words_gets_none_whatever_trees_have_them() -> None:
    read = [with_words(tree) for tree in X]
    for kw in ({"words": False}, {"cell": "tucker", "hidden_size": 4}, {"words": True}):
        given = {"epochs": 1, "random_state": 0, **kw}
        model = TreeLSTMClassifier(**given).fit(X[:60], Y[:60])
        again = TreeLSTMClassifier(**given).fit(read[:60], Y[:60])
        np.testing.assert_array_equal(again.predict_proba(read), model.predict_proba(X))
    labels = [[None, "good" if y else "bad", None, None] for y in Y]
    nodes = TreeLSTMNodeClassifier(epochs=1, random_state=0).fit(read[:60], labels[:60])
    assert [len(each) for each in nodes.predict(read)] == [4] * len(read)


@pytest.mark.parametrize("part", [0, 1])
def test_examples_say_by_their_weights_whether_words_tell(part: int, monkeypatch) -> None:
    enough = "structnet.tensor_tree.counts.form_choice.ENOUGH"
    monkeypatch.setattr(enough, 80)  # the validation examples
    samples, wrong = [(with_words(tree),) for tree in X], np.arange(240) % 4 < 2
    parts = [Targets(samples[:160], Y[:160]), Targets(samples[160:], Y[160:])]
    for weights, tell in ((np.where(wrong, 1e-6, 1.0), True), (None, False)):
        mixed = Targets(samples, np.where(wrong, 1 - Y, Y), weights)
        given = list(parts)
        given[part] = mixed.take(np.arange(160) if part == 0 else np.arange(160, 240))
        assert words_tell(*given, Question("classes", 2)) == tell


def test_gradients_of_several_texts_are_those_of_their_own_words() -> None:
    model = TreeLSTMClassifier(epochs=1, words=True, bag=False, random_state=0)
    model.fit(X[:40], Y[:40])
    tree = Tree("review", [Tree("door wall wall fine"), Tree("text", [Tree("wall fine")])])
    vectors = child_sum(model.model_).token_vectors.weight
    kept = model.trained_.vocabulary.token_of("fine")
    with torch.no_grad():
        vectors[np.arange(len(vectors)) != kept] = 0.0
    why = model.explain(tree)
    labels = np.array([node.label for node in why.tree.preorder()])
    share = why.gradient[np.isin(labels, ("fine", "door", "wall"))]
    assert ((share != 0) == [False, False, False, True, False, True]).all()


def test_words_are_a_flag() -> None:
    with pytest.raises(ValueError, match="'words'"):
        TreeLSTMClassifier(words="yes").fit(X, Y)


def test_with_vectors_labels_stay_whole(tmp_path) -> None:
    file = tmp_path / "vectors.txt"
    file.write_text("ice-cream 1 0\nmid-day 0 1\n")
    trees = [Tree("f", [Tree("ice-cream" if i % 2 else "mid-day")]) for i in range(20)]
    model = TreeLSTMClassifier(epochs=1, vectors=file, random_state=0)
    model.fit(trees, [i % 2 for i in range(20)])
    assert model.settings_.words is False


def test_vectors_of_words_that_one_tree_each_has(tmp_path: Path):
    X, y = [f"(f w{i} w{i + 300})" for i in range(200)], [i % 2 for i in range(200)]
    (tmp_path / "v.txt").write_text("".join(f"w{i} {i % 2 * 2 - 1} 0.5\n" for i in range(500)))
    given = {"vectors": tmp_path / "v.txt", "train_vectors": False}
    model = TreeLSTMClassifier(epochs=10, hidden_size=8, random_state=0, **given).fit(X, y)
    assert model.score(X, y) > 0.9
    assert {"w0", "w300"} & set(model.trained_.vocabulary.tokens)
