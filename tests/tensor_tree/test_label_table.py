"""The table of the classes of labels, and what stands beside it."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from random_trees import TOKENS, TYPES, VOCABULARY, random_trees

from structnet import Tree, TreeLSTMNodeClassifier
from structnet.tensor_tree import ChildSumTreeLSTM, NodePredictor
from structnet.tensor_tree.counts.beside import BesideTable
from structnet.tensor_tree.counts.label_table import LabelTable
from structnet.trees.examples import NodeExamples
from structnet.trees.forest import Forest

CLASSES = 3
SIZES = {"num_types": len(TYPES), "num_tokens": len(TOKENS), "num_classes": CLASSES}


def labelled(seed: int, inner_tokens: bool = False) -> tuple[list[Tree], list[list[int]]]:
    """Trees with classes of their nodes, of which some have none."""
    rng = random.Random(seed)
    trees = [tree for seed in range(10) for tree in random_trees(random.Random(seed), inner_tokens)]
    return trees, [[rng.randrange(-1, CLASSES) for _ in tree.preorder()] for tree in trees]


@pytest.mark.parametrize("inner_tokens", [False, True])
def test_shares_by_the_definition(inner_tokens: bool):
    trees, classes = labelled(0, inner_tokens)
    forest = Forest.from_trees(trees, VOCABULARY)
    table = LabelTable(**SIZES)
    table.fit(NodeExamples(forest, classes))
    labels = [VOCABULARY.encode(node) for tree in trees for node in tree.preorder()]
    flat = [c for each in classes for c in each]
    given = [(label, c) for label, c in zip(labels, flat, strict=True) if c >= 0]
    of_class = Counter(c for _, c in given)
    found = table(forest).exp()
    assert inner_tokens is any(kind >= 0 and token >= 0 for kind, token in labels)
    for row, label in zip(found.tolist(), labels, strict=True):
        expected = [(of_class[c] + 1 / CLASSES) / (len(given) + 1) for c in range(CLASSES)]
        for part in range(2):  # the type, and then the token
            if label[part] >= 0:
                count = Counter(c for other, c in given if other[part] == label[part])
                total = count.total() + 1
                expected = [(count[c] + expected[c]) / total for c in range(CLASSES)]
        np.testing.assert_allclose(row, expected, rtol=1e-5)


def test_the_better_of_both_counts_more():
    torch.manual_seed(0)
    trees, classes = labelled(1)
    forest = Forest.from_trees(trees, VOCABULARY)
    tree = NodePredictor(ChildSumTreeLSTM(4, len(TYPES), len(TOKENS)), CLASSES)
    model = BesideTable(tree, LabelTable(**SIZES)).eval()
    model.bag.count[:-1].random_(9)
    with torch.no_grad():
        parts = [part.argmax(1) for part in model.parts(forest)]
    given = torch.tensor([c for each in classes for c in each])
    sizes = [tree.size for tree in trees]
    for better, said in enumerate(parts):
        rows = torch.where(given >= 0, said, -1).split(sizes)
        model.choose(NodeExamples(forest, [row.tolist() for row in rows]))
        assert model.shares[better] > 2 * model.shares[1 - better]
    model.shares.fill_(0.5)
    model.choose(NodeExamples(forest, [[-1] * size for size in sizes]))
    assert model.shares.tolist() == [0.5, 0.5]  # nothing says which is better


def sentences(number: int, seed: int, carried: bool) -> tuple[list[Tree], list[list[str]]]:
    """Words below each other, most of them rare, whose class is said by the word alone.

    They are the nodes' labels or, as in dependency trees, carried beside a label.
    """
    rng, trees, classes = random.Random(seed), [], []
    for _ in range(number):
        words = [rng.randrange(400) for _ in range(6)]
        below: list[Tree] = []
        for word in words:
            below = [Tree("*", below, token=f"w{word}") if carried else Tree(f"w{word}", below)]
        trees += below
        classes.append(["abcd"[word * 7 % 11 % 4] for word in reversed(words)])
    return trees, classes


@pytest.mark.parametrize("carried", [False, True])
@pytest.mark.parametrize("bag", [True, False])
def test_words_that_few_trees_have(bag: bool, carried: bool, tmp_path: Path):
    X, y = sentences(150, 0, carried)
    few = {"hidden_size": 8, "epochs": 4, "random_state": 0}
    model = TreeLSTMNodeClassifier(bag=bag, **few).fit(X, y)
    assert (model.score(X, y) > 0.9) is bag
    assert ("a table of the classes of each label" in model.summary()) is bag
    model.save(tmp_path / "model.safetensors")
    again = TreeLSTMNodeClassifier.load(tmp_path / "model.safetensors")
    for one, other in zip(model.predict_proba(X), again.predict_proba(X), strict=True):
        np.testing.assert_array_equal(one, other)


def test_rare_labels_are_known_where_nodes_are_asked_about():
    X, y = sentences(150, 0, carried=False)
    few = {"hidden_size": 2, "epochs": 1, "random_state": 0}
    assert TreeLSTMNodeClassifier(**few).fit(X, y).settings_.min_count == 1
    assert TreeLSTMNodeClassifier(min_count=3, **few).fit(X, y).settings_.min_count == 3
    X, y = ["(f a b)", "(g b a)"] * 9, [[0, 1, 0], [1, 0, 1]] * 9
    assert TreeLSTMNodeClassifier(**few).fit(X, y).settings_.min_count == 2
