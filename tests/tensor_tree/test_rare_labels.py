"""Names that few trees have: counted, dropped in training, kept where their vectors are known."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import numpy as np
import pytest
from small_estimators import held_out

from structnet import Tree, TreeLSTMClassifier, TreeLSTMRegressor
from structnet.parse import bracketed
from structnet.tensor_tree import ChildSumTreeLSTM, reading
from structnet.tensor_tree.building import child_sum
from structnet.tensor_tree.counts.rare_labels import (
    ALONE,
    MOST,
    PRIOR,
    SURE,
    TOLD,
    known_labels,
    labels_of_trees,
)
from structnet.training.checkpoint import CheckpointError
from structnet.trees.forest import Forest
from structnet.trees.label_words import Text
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


def records(count: int, seed: int) -> tuple[list[Tree], list[str]]:
    """A city, which says where somebody lives, and the number of a visit, which says nothing."""
    rng = random.Random(seed)
    X, y = [], []
    for _ in range(count):
        city = min(rng.randrange(200), rng.randrange(200))
        visits = [Tree(f"visit {rng.randrange(1500)}") for _ in range(3)]
        X.append(Tree("record", [Tree("city", [Tree(f"city {city}")]), Tree("visits", visits)]))
        y.append(("north", "south", "east")[city % 3])
    return X, y


@pytest.mark.parametrize("share", [True, False])
def test_trees_with_a_label(share: bool) -> None:
    trees = [bracketed(text) for text in ("(a (b x) (b x))", "(a y y)", "(a (b x) (c z))")]
    trees += [Tree("x"), Tree("a", [Text("y", [Tree("z"), Tree("x"), Tree("z")])])]
    vocabulary = Vocabulary.from_trees(trees, unknown=True)
    forest = Forest.from_trees(trees, vocabulary, share=share)
    types, tokens = labels_of_trees(forest, vocabulary)
    assert dict(zip((*vocabulary.types, None), types, strict=True)) == {
        "a": 4,
        "b": 2,
        "c": 1,
        None: 0,
    }
    assert dict(zip((*vocabulary.tokens, None), tokens, strict=True)) == {
        "x": 4,
        "y": 2,
        "z": 2,
        None: 0,
    }


def test_defaults_drop_rare_labels_of_large_vocabularies() -> None:
    X, y = records(300, 0)
    model = TreeLSTMClassifier(epochs=1, random_state=0).fit(X, y)
    assert model.settings_.label_dropout is None
    shares = child_sum(model.model_).token_dropout
    assert 0.2 < shares[:-1].min() < shares[:-1].max() == 0.75  # of 1 tree
    few = TreeLSTMClassifier(epochs=1, random_state=0).fit(["(a x)", "(a y)"] * 5, [0, 1] * 5)
    assert few.settings_.label_dropout == 0
    assert child_sum(few.model_).token_dropout is None
    told = TreeLSTMClassifier(epochs=1, label_dropout=0.1, random_state=0).fit(X[:60], y[:60])
    assert child_sum(told.model_).label_dropout == 0.1
    assert child_sum(told.model_).token_dropout is None
    numbers = TreeLSTMRegressor(epochs=1, random_state=0).fit(X, np.arange(len(X)))
    assert child_sum(numbers.model_).label_dropout == 0.2  # each label may add its own
    assert child_sum(numbers.model_).token_dropout is None


def by_definition(trees: list[Tree], targets: np.ndarray) -> dict[tuple[bool, str], bool]:
    """Which labels below a root are to be known, told as slowly as it is defined."""
    where: dict[tuple[bool, str], set[int]] = {}
    field: dict[tuple[bool, str], str] = {}
    for i, tree in enumerate(trees):
        for parent in tree.preorder():
            if isinstance(parent, Text):
                continue
            met = [(child, str(parent.label)) for child in parent.children]
            for child in parent.children:
                if isinstance(child, Text):
                    met += [(word, f"words below {parent.label}") for word in child.children]
            for child, of in met:
                label = (bool(child.children) and type(child) is Tree, str(child.label))
                where.setdefault(label, set()).add(i)
                field.setdefault(label, of)
    centred = targets - targets.mean(0)
    unit = np.square(centred).sum(1).mean()
    said: dict[str, list[float]] = {}
    for label, those in where.items():
        both = [centred[i] @ centred[j] / unit for i, j in itertools.permutations(those, 2)]
        if len(those) <= MOST:
            said.setdefault(field[label], []).append(np.mean(both) if both else np.nan)

    def shrunk(values: list[float], prior: float) -> float:
        weight = sum(ALONE if np.isnan(each) else 1 for each in values)
        return max((np.nansum(values) + PRIOR * prior) / (weight + PRIOR), 0)

    overall = shrunk([each for values in said.values() for each in values], 0.0)
    found = {}
    for label, those in where.items():
        n, r = len(those), shrunk(said.get(field[label], []), overall)
        found[label] = n >= SURE or n * r / (1 + (n - 1) * r) >= TOLD
    return found


def in_words(leaf: Tree) -> Tree:
    return Text(leaf.label, [Tree(f"the {word}") for word in str(leaf.label).split()])


@pytest.mark.parametrize("texts", [False, True])
@pytest.mark.parametrize("several", [False, True])
def test_labels_are_known_by_the_definition(several: bool, texts: bool) -> None:
    X, y = records(300, 0)
    if texts:
        X = [x.fold(lambda n, of: Tree(n.label, of) if of else in_words(n)) for x in X]
    X[0] = Tree("record", [Tree("city", [Tree("visit 3")]), X[0][1]])  # of two fields
    classes = np.array([("north", "south", "east").index(name) for name in y])
    rows = np.stack([classes == k for k in range(3)], 1)
    if several:
        rows[:, 0] |= rows[:, 2]
    vocabulary = Vocabulary.from_trees(X, unknown=True)
    forest = Forest.from_trees(X, vocabulary)
    targets = rows.astype(np.float32) if several else classes
    sizes = vocabulary.num_types, vocabulary.num_tokens
    types, tokens = known_labels(forest, targets, *sizes)
    expected = by_definition(X, rows.astype(float))
    told = {(True, label): types[i] for label, i in vocabulary.types.items() if label != "record"}
    told |= {(False, label): tokens[i] for label, i in vocabulary.tokens.items()}
    assert told == expected
    assert 0 < sum(told.values()) < len(told)


def test_rare_labels_are_known_where_they_say_something() -> None:
    X, y = records(400, 0)
    model = TreeLSTMClassifier(hidden_size=4, epochs=1, random_state=0)
    fitted = model.fit(X, y, **held_out(records(50, 1)))
    count = Counter(label for tree in X for label in {str(leaf.label) for leaf in tree.preorder()})
    tokens = set(fitted.trained_.vocabulary.tokens)
    once = {label for label, n in count.items() if n == 1}
    assert {label for label in once if label.startswith("city")} <= tokens
    assert not any(label.startswith("visit") for label in once & tokens)
    assert any(label.startswith("visit") for label in tokens)  # of so many trees that they may say
    told = TreeLSTMClassifier(min_count=3, hidden_size=4, epochs=1, random_state=0).fit(X, y)
    assert told.settings_.min_count == 3


def test_of_very_many_labels_those_of_one_tree_share_a_vector(monkeypatch) -> None:
    X, y = records(300, 0)
    few = {"hidden_size": 4, "epochs": 1, "random_state": 0}
    every = TreeLSTMClassifier(**few).fit(X, y).trained_.vocabulary
    monkeypatch.setattr(reading, "FEW", 10)
    fewer = TreeLSTMClassifier(**few).fit(X, y).trained_.vocabulary
    assert set(fewer.tokens) < set(every.tokens)


def test_a_training_begun_by_default_is_not_that_of_another_count(tmp_path) -> None:
    X, y = programs(60, 0)
    few = {"hidden_size": 4, "epochs": 1, "random_state": 0, "folder": tmp_path}
    TreeLSTMClassifier(**few).fit(X, y)
    with pytest.raises(CheckpointError, match=r"min_count is None there and 2 here; expected"):
        TreeLSTMClassifier(min_count=2, **few).fit(X, y)


def test_other_cells_drop_nothing_by_themselves() -> None:
    X, _ = programs(120, 0)
    model = TreeLSTMRegressor(cell="sum", min_count=1, hidden_size=2, epochs=1, random_state=0)
    assert model.fit(X, np.arange(len(X))).settings_.label_dropout == 0


@pytest.mark.parametrize(
    ("types", "strength", "said"),
    [
        ([1.0], 3.0, "types must be 2 counts, one per type; got shape"),
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
