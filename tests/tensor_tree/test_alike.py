"""Pairs of trees, of which the linear model counts how alike they are."""

from __future__ import annotations

import copy
import random
from pathlib import Path

import numpy as np
import pytest
from label_counts import SIZES, counted
from random_trees import VOCABULARY, random_trees

from structnet import Tree, TreeLSTMClassifier, TreeLSTMRegressor
from structnet.tensor_tree.counts.counted import BELOW_LABEL, BOTH, ONE
from structnet.tensor_tree.counts.form_choice import fit_in_best_form
from structnet.tensor_tree.counts.label_bag import FORMS, LabelBag
from structnet.trees.examples import TreeExamples
from structnet.trees.forest import Forest
from structnet.trees.vocabulary import Vocabulary


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("numbers", [False, True])
def test_how_alike_the_trees_of_a_pair_are_is_counted_too(form: str, numbers: bool) -> None:
    trees = [tree for seed in range(20) for tree in random_trees(random.Random(seed))][:100]
    forest = Forest.from_trees(trees, VOCABULARY)
    sizes = {**SIZES, "num_outputs": 1, "roots": 2, "numbers": numbers}
    bag = LabelBag.knowing(forest, **sizes, form=form)
    bag.take_form(form, bag.rarity_in(forest))
    alone = copy.copy(bag)
    alone.alike = False
    found = bag.counts(forest).toarray()
    assert found.shape == (50, len(bag.weight)) and len(bag.weight) == 2 * bag.width + 4
    assert (found[:, :-4] == alone.counts(forest).toarray()).all()

    first, second = np.divmod(bag.pairs.numpy(), bag.num_labels)
    blocks = np.minimum(first // bag.num_labels, 2)  # of siblings, and of names
    first += (5 - bag.num_labels) * blocks
    assert (first >= 15).any() and (first // 5 == 2).any()
    rows = np.log1p(counted(trees, (5 * first + second).tolist(), alike=True))
    met = (rows > 0).sum(0)
    rows *= 1 + np.log((1 + len(trees)) / (1 + met))
    for column, block in enumerate((slice(0, 2), slice(2, 5), slice(5, None), slice(None))):
        left, right = rows[0::2, block], rows[1::2, block]
        lengths = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
        cosine = np.divide((left * right).sum(1), lengths, where=lengths > 0, out=np.zeros(50))
        np.testing.assert_allclose(found[:, column - 4], cosine, atol=1e-12)
    assert (found[:, -4:] > 0).any(0).all() and (found[:, -4:] < 0.999).any(0).all()


def test_a_name_that_is_everywhere_in_the_other_tree_is_only_in_both() -> None:
    labels = [f"f{i}" for i in range(17)]
    known = Vocabulary(labels, ["x"], arity=None)
    for number in (16, 17):
        right = Tree("f0", [Tree(label, [Tree("x")]) for label in labels[:number]])
        left = Tree("f0", [Tree("x")])
        bag = LabelBag.knowing(
            Forest.from_trees([left, right] * 2, known),
            **{"num_types": 17, "num_tokens": 1, "num_outputs": 1, "roots": 2, "form": "count"},
        )
        kinds = bag.pairs.numpy() // bag.num_labels - 2 * bag.num_labels
        own = kinds == BELOW_LABEL + 0  # of the left, below f0
        assert own.sum() == (16 if number == 16 else 1)
        assert (kinds == BOTH).sum() == number and not (kinds == ONE).any()


def name(rng: random.Random) -> str:
    return f"{rng.choice('abcdefgh')}{rng.randint(100, 9999)}"


def used(rng: random.Random) -> tuple[tuple[Tree, Tree], bool]:
    """Declarations and uses, and whether something is called that is not declared as a function."""
    names = [name(rng) for _ in range(5)]
    kinds = [rng.choice(["function", "value"]) for _ in names]
    kinds[0] = "function"
    uses = [Tree(rng.choice(["call", "read"]), [Tree(rng.choice(names))]) for _ in range(4)]
    kind_of = dict(zip(names, kinds, strict=True))
    wrong = any(u.label == "call" and kind_of[u.children[0].label] == "value" for u in uses)
    declared = [Tree(kind, [Tree(each)]) for each, kind in kind_of.items()]
    return (Tree("all", declared), Tree("block", uses)), wrong


def test_names_in_both_trees_tell_what_they_are_in_the_other() -> None:
    (X, y), (new, expected) = (
        zip(*(used(rng) for _ in range(300)), strict=True) for rng in map(random.Random, (0, 1))
    )
    model = TreeLSTMClassifier(epochs=1, hidden_size=4, random_state=0).fit(list(X), y)
    assert model.score(list(new), expected) > 0.97


@pytest.mark.parametrize("kind", [TreeLSTMClassifier, TreeLSTMRegressor])
def test_a_model_of_pairs_says_how_alike_they_are(kind: type, tmp_path: Path) -> None:
    rng = random.Random(0)

    def document(words: list[str]) -> Tree:
        return Tree("all", [Tree(rng.choice(words)) for _ in range(8)])

    topics = [[f"{topic}{i}" for i in range(8)] for topic in range(20)]
    X, y = [], []
    for i in range(300):
        one, other = rng.sample(topics, 2)
        X.append((document(one), document(one if i % 2 else other)))
        y.append(i % 2)
    how = {"hidden_size": 4, "epochs": 1, "numbers": False, "random_state": 0}
    model = kind(**how).fit(X[:240], y[:240])
    assert ((model.predict(X[240:]) > 0.5) == y[240:]).mean() > 0.95
    model.save(tmp_path / "model.pt")
    again = kind.load(tmp_path / "model.pt")
    assert (again.predict(X[240:]) == model.predict(X[240:])).all()


@pytest.mark.parametrize("kind", [TreeLSTMClassifier, TreeLSTMRegressor])
def test_pairs_of_leaves_have_no_edges_to_compare(kind: type) -> None:
    X = [(Tree("a"), Tree("b")), (Tree("a"), Tree("a"))] * 20
    model = kind(epochs=2, hidden_size=4, random_state=0).fit(X, [0, 1] * 20)
    assert (np.round(model.predict(X)) == [0, 1] * 20).all()


def test_pairs_have_a_stronger_penalty_to_choose() -> None:
    bag = LabelBag(**SIZES, num_outputs=2, roots=2, form="logarithm")
    rng = random.Random(0)
    trees = [tree for seed in range(60) for tree in random_trees(random.Random(seed))]
    y = np.array([rng.random() < 0.5 for _ in range(len(trees) // 2)]).astype(int)  # by chance
    forest = Forest.from_trees(trees[: 2 * len(y)], VOCABULARY)
    examples = TreeExamples(forest, y, roots_per_example=2)
    cut = len(y) * 3 // 4
    fit_in_best_form(bag, examples[:cut], examples[cut:], seed=0)
    assert (bag.form, bag.penalty) == ("tf-idf", 1.0)
