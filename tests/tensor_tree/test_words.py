"""Models read the words of texts and names, which they met elsewhere."""

from __future__ import annotations

import random

import numpy as np
import pytest

from structnet import TreeLSTMClassifier, TreeLSTMRegressor, TreeNodeClassifier
from structnet.trees import Tree

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
    assert model.trained_.settings.words is True
    assert model.score(X[160:], Y[160:]) > 0.9
    why = model.explain(X[200])
    assert {n.label for n in why.tree.leaves()} & set(GOOD + BAD)
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


def test_other_cells_and_nodes_read_labels_whole() -> None:
    tucker = TreeLSTMClassifier(cell="tucker", hidden_size=4, epochs=1, random_state=0)
    assert tucker.fit(X[:40], Y[:40]).trained_.settings.words is False
    labels = [["x", "y", None, None] for _ in X[:40]]
    nodes = TreeNodeClassifier(epochs=1, words=True, random_state=0).fit(X[:40], labels)
    assert nodes.trained_.settings.words is False
    assert len(nodes.predict(X[:1])[0]) == X[0].size


def test_words_are_a_flag() -> None:
    with pytest.raises(ValueError, match="'words'"):
        TreeLSTMClassifier(words="yes").fit(X, Y)


def test_with_vectors_labels_stay_whole(tmp_path) -> None:
    file = tmp_path / "vectors.txt"
    file.write_text("ice-cream 1 0\nmid-day 0 1\n")
    trees = [Tree("f", [Tree("ice-cream" if i % 2 else "mid-day")]) for i in range(20)]
    model = TreeLSTMClassifier(epochs=1, vectors=file, random_state=0)
    model.fit(trees, [i % 2 for i in range(20)])
    assert model.trained_.settings.words is False
