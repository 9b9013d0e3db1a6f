"""The linear model on trees with something hidden, against the same on those trees written out."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from hiding import without
from random_trees import random_trees, with_texts

from structnet import Tree, TreeLSTMClassifier, TreeLSTMRegressor
from structnet.tensor_tree import explanation
from structnet.tensor_tree.counts import bag_occlusion
from structnet.tensor_tree.counts.bag_occlusion import outputs_without_each
from structnet.tensor_tree.counts.extra_trees import ExtraTrees
from structnet.tensor_tree.counts.label_bag import FORMS, LabelBag
from structnet.tensor_tree.explanation import HIDDEN
from structnet.trees.forest import Forest
from structnet.trees.vocabulary import Vocabulary


def with_numbers(tree: Tree, rng: random.Random) -> Tree:
    """The same, with numbers in the place of some leaves and tokens."""

    def visit(node: Tree, below: list[Tree]) -> Tree:
        number = str(rng.choice([1, 2.5, -40, 1e6]))
        if node.token is not None:
            return Tree(node.label, below, number if rng.random() < 0.5 else node.token)
        return Tree(number if not below and rng.random() < 0.5 else node.label, below)

    return tree.fold(visit)


@pytest.mark.parametrize("kind", ["plain", "names", "texts", "numbers", "letters"])
@pytest.mark.parametrize("inner_tokens", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_counts_without_a_subtree(
    form: str, inner_tokens: bool, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, trees = random.Random(0), random_trees(random.Random(0), inner_tokens)
    if kind != "plain":
        change = with_numbers if kind == "numbers" else with_texts
        trees = [change(tree, rng) for tree in trees]
    numbers = kind == "numbers"
    vocabulary = Vocabulary.from_trees(trees, unknown=True, any_arity=True, numbers=numbers)
    sizes = {"num_types": vocabulary.num_types, "num_tokens": vocabulary.num_tokens}
    of = {**sizes, "num_outputs": 3, "roots": 1, "form": form, "numbers": vocabulary.numbers}
    learnt = [
        *trees,
        *(without(tree, tree.size - 1) for tree in trees),
    ]  # pairs with what is hidden
    vocabulary = vocabulary.changed(letters=True) if kind == "letters" else vocabulary
    vocabulary = vocabulary.changed(names=True) if kind != "plain" else vocabulary
    bag = LabelBag.knowing(Forest.from_trees(learnt, vocabulary), letters=True, **of).double()
    assert (bag.pieces is not None) == (kind == "letters")
    generator = torch.Generator().manual_seed(0)
    bag.weight.normal_(generator=generator)
    bag.bias.normal_(generator=generator)
    bag.rarity.uniform_(1, 3, generator=generator)
    counts = bag.simple_counts(Forest.from_trees(learnt, vocabulary))
    extra, y = (
        ExtraTrees(3, 1, "numbers", bag.num_labels),
        np.random.default_rng(0).normal(size=(len(learnt), 3)),
    )
    extra.fit(counts, y, None, 0)
    hidden = vocabulary.encode(HIDDEN)[1]
    for tree in trees:
        forest = Forest.from_trees([tree], vocabulary)
        each = [without(tree, place) for place in range(tree.size)]
        hiding = Forest.from_trees(each, vocabulary)
        expected = extra(extra.rows(bag.simple_counts(hiding)))
        for most in (1, 10**6):
            monkeypatch.setattr(bag_occlusion, "MOST", most)
            found, by_extra = outputs_without_each(bag, forest, hidden, extra)
            torch.testing.assert_close(found, bag(hiding), rtol=1e-9, atol=1e-9)
            assert (by_extra == expected).all()


@pytest.mark.parametrize("names", [False, True])
def test_names_that_are_hidden_leave_the_others_of_their_name(names: bool) -> None:
    """The first of a name, the last, or all but one may be hidden at once."""
    vocabulary, with_names = Vocabulary("fg", "xy", None, unknown=True, names=names), 0
    for seed in range(40):
        rng = random.Random(seed)

        def drawn(depth: int, rng: random.Random = rng) -> Tree:
            if depth == 0 or rng.random() < 0.2:
                return Tree(rng.choice("xyuv"), token=rng.choice([None, None, "x", "w"]))
            below = [drawn(depth - 1) for _ in range(rng.randint(1, 3))]
            return Tree(rng.choice("fg"), below, rng.choice([None, None, "y", "u"]))

        tree = Tree("f", [drawn(3), drawn(2)])
        each = [without(tree, place) for place in range(tree.size)]
        hiding = Forest.from_trees(each, vocabulary)
        sizes = {"num_types": vocabulary.num_types, "num_tokens": vocabulary.num_tokens}
        bag = LabelBag.knowing(hiding, **sizes, num_outputs=2, roots=1, form="count").double()
        with_names += bool((bag.pairs >= 2 * bag.num_labels**2).any())
        bag.weight.normal_(generator=torch.Generator().manual_seed(seed))
        (found,) = outputs_without_each(
            bag, Forest.from_trees([tree], vocabulary), vocabulary.encode(HIDDEN)[1]
        )
        torch.testing.assert_close(found, bag(hiding), rtol=1e-9, atol=1e-9)
    assert with_names > 30


@pytest.mark.parametrize("share", [0.3, 0.0])
@pytest.mark.parametrize("estimator", [TreeLSTMClassifier, TreeLSTMRegressor])
def test_a_mixed_model_is_explained_as_its_parts_are_predicted(
    estimator: type, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(0)

    def drawn(size: int) -> Tree:
        words = [Tree("Call", [Tree(rng.choice(["getItem", "x", "setItem"]))]) for _ in range(size)]
        return Tree("f", [*words, Tree("g", words[:2])])

    X = [drawn(rng.randint(2, 5)) for _ in range(80)]
    y = np.array([sum("get" in str(node.label) for node in tree.leaves()) > 1 for tree in X])
    model = estimator(epochs=4, words=True, random_state=0).fit(X, y * 1.0)
    assert model.model_.extra is not None  # of which the answer is a function
    # All say something, whatever held-out trees chose; or the Tree-LSTM nothing.
    model.model_.shares.copy_(torch.tensor([share, 0.3]))
    if not share:
        monkeypatch.delattr(explanation, "hidden_one_by_one")
    explained = model.explain(drawn(5))
    assert "get" in [node.label for node in explained.tree.preorder()]
    each = [without(explained.tree, place) for place in range(explained.tree.size)]
    forest = Forest.from_trees([explained.tree, *each], model.trained_.vocabulary)
    with torch.no_grad():
        outputs = model.model_.eval()(forest).double()
    if estimator is TreeLSTMClassifier:
        scores = (outputs[:, 1] - outputs[:, 0]) * (1 if explained.answer else -1)
    else:
        scores = outputs[:, 0] * model.target_scale_.sd[0]
    np.testing.assert_allclose(explained.occlusion, scores[0] - scores[1:], atol=1e-5)
    assert np.abs(explained.occlusion).max() > 0.1
