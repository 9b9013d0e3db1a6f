"""Names that few trees have: counted, dropped in training, kept where their vectors are known."""

from __future__ import annotations

import random

import numpy as np
import pytest

from structnet import Tree, TreeLSTMClassifier, TreeLSTMRegressor
from structnet.parse import bracketed
from structnet.tensor_tree import ChildSumTreeLSTM, training
from structnet.tensor_tree.building import child_sum, labels_of_trees
from structnet.trees.forest import Forest
from structnet.trees.vocabulary import Vocabulary


def nested(rng: random.Random, inside: bool) -> Tree:
    """A loop in a condition or beside it, among names that few other trees have."""

    def names() -> list[Tree]:
        return [Tree(f"name{rng.randrange(200)}") for _ in range(rng.randint(1, 4))]

    loop = Tree("for", names())
    condition = Tree("if", [*names(), *[loop] * inside])
    return Tree("def", [*names(), condition, *[loop] * (not inside)])


def programs(count: int, seed: int) -> tuple[list[Tree], list[bool]]:
    rng = random.Random(seed)
    y = [rng.random() < 0.5 for _ in range(count)]
    return [nested(rng, inside) for inside in y], y


@pytest.mark.parametrize("share", [True, False])
def test_trees_with_a_label(share: bool) -> None:
    trees = [bracketed(text) for text in ("(a (b x) (b x))", "(a y y)", "(a (b x) (c z))")]
    trees.append(Tree("x"))
    vocabulary = Vocabulary.from_trees(trees, unknown=True)
    forest = Forest.from_trees(trees, vocabulary, share=share)
    types, tokens = labels_of_trees(forest, vocabulary)
    assert dict(zip((*vocabulary.types, None), types, strict=True)) == {
        "a": 3,
        "b": 2,
        "c": 1,
        None: 0,
    }
    assert dict(zip((*vocabulary.tokens, None), tokens, strict=True)) == {
        "x": 3,
        "y": 1,
        "z": 1,
        None: 0,
    }


def test_defaults_drop_rare_labels_of_large_vocabularies() -> None:
    X, y = programs(60, 0)
    model = TreeLSTMClassifier(epochs=1, random_state=0).fit(X, y)
    assert model.trained_.settings.label_dropout is None
    shares = child_sum(model.model_).token_dropout
    assert 0.2 < shares[:-1].min() < shares[:-1].max() == 0.75  # of 1 tree
    few = TreeLSTMClassifier(epochs=1, random_state=0).fit(["(a x)", "(a y)"] * 5, [0, 1] * 5)
    assert few.trained_.settings.label_dropout == 0
    assert child_sum(few.model_).token_dropout is None
    told = TreeLSTMClassifier(epochs=1, label_dropout=0.1, random_state=0).fit(X, y)
    assert child_sum(told.model_).label_dropout == 0.1
    assert child_sum(told.model_).token_dropout is None
    numbers = TreeLSTMRegressor(epochs=1, random_state=0).fit(X, np.arange(len(X)))
    assert child_sum(numbers.model_).label_dropout == 0.2  # each label may add its own
    assert child_sum(numbers.model_).token_dropout is None


def test_a_label_of_one_tree_has_a_vector_unless_there_are_too_many(monkeypatch) -> None:
    X, y = programs(60, 0)
    few = {"hidden_size": 4, "epochs": 1, "random_state": 0}
    every = TreeLSTMClassifier(**few).fit(X, y)
    monkeypatch.setattr(training, "FEW", len(every.trained_.vocabulary.tokens))  # of all labels
    shared = TreeLSTMClassifier(**few).fit(X, y)
    names = [
        Tree("f", [tree, *(Tree(f"text {i} {j}") for j in range(99))]) for i, tree in enumerate(X)
    ]
    monkeypatch.undo()
    assert TreeLSTMClassifier(**few).fit(names, y).trained_.settings.min_count == 2
    assert every.trained_.settings.min_count == 1
    assert shared.trained_.settings.min_count == 2
    told = TreeLSTMClassifier(min_count=3, **few).fit(X, y)
    assert told.trained_.settings.min_count == 3


def test_other_cells_drop_nothing_by_themselves() -> None:
    X, _ = programs(120, 0)
    model = TreeLSTMRegressor(cell="sum", min_count=1, hidden_size=2, epochs=1, random_state=0)
    assert model.fit(X, np.arange(len(X))).trained_.settings.label_dropout == 0


@pytest.mark.parametrize(
    ("types", "strength", "said"),
    [
        ([1.0], 3.0, "types must be 2 counts, one a type; got shape"),
        ([1.0, -1.0], 3.0, "the least -1.0"),
        ([1.0, 1.0], 0.0, "strength"),
    ],
)
def test_counts_that_are_none(types: list[float], strength: float, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        ChildSumTreeLSTM(4, 2, 3).drop_rare_labels(np.array(types), np.ones(3), strength)


def test_words_with_known_vectors_stay(tmp_path) -> None:
    X, y = programs(60, 0)
    known = sorted({str(leaf.label) for tree in X for leaf in tree.preorder() if not leaf.children})
    path = tmp_path / "vectors.txt"
    path.write_text("".join(f"{word} 0.5 {i}\n" for i, word in enumerate(known[:20])))
    model = TreeLSTMClassifier(epochs=1, vectors=path, random_state=0).fit(X, y)
    shares = child_sum(model.model_).token_dropout.numpy()
    words = list(model.trained_.vocabulary.tokens)
    stay = {words[i] for i in np.flatnonzero(shares == 0)}
    assert stay and stay == set(known[:20]) & set(words)
