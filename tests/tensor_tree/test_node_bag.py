"""The linear model on labels around nodes, and what stands beside it."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from random_trees import TOKENS, TYPES, VOCABULARY, random_trees
from repeated_names import repeated
from scipy.sparse import csr_matrix

from structnet import Tree, TreeLSTMNodeClassifier
from structnet.tensor_tree import ChildSumTreeLSTM, NodePredictor
from structnet.tensor_tree.counts import linear_model, node_bag
from structnet.tensor_tree.counts.beside import BesideNodeBag
from structnet.tensor_tree.counts.label_table import LabelTable
from structnet.tensor_tree.counts.node_bag import PLACES, NodeBag
from structnet.trees.examples import NodeExamples
from structnet.trees.forest import Forest
from structnet.trees.repeats import BELOW
from structnet.trees.vocabulary import Vocabulary
from structnet.trees.ways_down import all_entries, entries_along

CLASSES = 3
NONE = max(len(TYPES) + len(TOKENS), PLACES)  # stands for a label that is not there
SIZES = {"num_types": len(TYPES), "num_tokens": len(TOKENS), "num_classes": CLASSES}


def labelled(seed: int, inner_tokens: bool = False) -> tuple[list[Tree], list[list[int]]]:
    """Trees with classes of their nodes, of which some have none."""
    rng = random.Random(seed)
    trees = [tree for seed in range(10) for tree in random_trees(random.Random(seed), inner_tokens)]
    return trees, [[rng.randrange(-1, CLASSES) for _ in tree.preorder()] for tree in trees]


def fitted(bag: NodeBag, examples: NodeExamples, seed: int = 0) -> NodeBag:
    bag.fit(examples, torch.ones(len(examples.labels)), seed)
    return bag


def around(tree: Tree, top_down: bool) -> list[Counter]:
    """What is counted for each node of a tree, by a walk over the tree itself."""
    found: list[Counter] = []
    none = NONE
    again = repeated(tree)  # where the name of each node occurs again

    def number(node: Tree) -> int:
        kind, token = VOCABULARY.encode(node)
        return kind if kind >= 0 else len(TYPES) + token

    def visit(node: Tree, above: list[int], place: int, beside: tuple[int, int]) -> None:
        label = number(node)
        children = [number(child) for child in node.children]
        ends = [(0, label)] * 4
        if children:
            first, last = node.children[0], node.children[-1]
            ends[0], ends[2] = (0, children[0]), (0, children[-1])
            while first.children:
                first = first.children[0]
            while last.children:
                last = last.children[-1]
            ends[1], ends[3] = (0, number(first)), (0, number(last))
        kinds: list[list[tuple[int, int]]] = [[]]
        kinds += [[(0, child) for child in children], [(label, child) for child in children]]
        kinds += [[end] for end in ends]
        if top_down:
            parent, higher = above[-1], above[-2]
            kinds += [[(0, parent)], [(label, parent)], [(place, parent)], [(higher, parent)]]
            kinds += [[(0, each)] for each in beside]
        flags, others = again[len(found)]
        kinds += [[(0, each) for each in flags if top_down or each == BELOW]]
        kinds += [[(label, each) for _, each in kinds[-1]]]
        if top_down:
            kinds += [[(parent, each) for each in flags]]
            kinds += [[(0, none if each is None else TYPES.index(each)) for each in others]]
            kinds += [[(parent, each) for _, each in kinds[-1]]]
        found.append(Counter((k, *pair) for k, pairs in enumerate(kinds) for pair in pairs))
        row = [none, *children, none]
        for i, child in enumerate(node.children):
            visit(child, [*above, label], min(i, PLACES), (row[i], row[i + 2]))

    visit(tree, [none, none], PLACES, (none, none))
    return found


@pytest.mark.parametrize("inner_tokens", [False, True])
@pytest.mark.parametrize("share", [False, True])
@pytest.mark.parametrize("top_down", [False, True])
def test_what_is_counted_by_the_definition(inner_tokens: bool, share: bool, top_down: bool):
    trees, _ = labelled(0, inner_tokens)
    forest = Forest.from_trees(trees, VOCABULARY, share=share)
    bag = NodeBag(**SIZES, top_down=top_down)
    entries = all_entries(forest)
    row, code = bag.met(forest, entries, np.arange(len(entries.nodes)))
    size = NONE + 1
    found = [Counter() for _ in range(sum(tree.size for tree in trees))]
    for node, number in zip(row.tolist(), code.tolist(), strict=True):
        rest, second = divmod(number, size)
        found[node][(*divmod(rest, size), second)] += 1
    assert found == [each for tree in trees for each in around(tree, top_down)]


def test_nodes_of_one_path_are_as_among_all():
    trees = [Tree.fromstring("(A x (B y (A y)) x)"), Tree.fromstring("(B y (A x (B x) y))")]
    forest = Forest.from_trees(trees, VOCABULARY)
    classes = [[0, 1, 2, 0, 1, 2, 0], [1, 1, 0, 2, -1, 2, 0]]
    bag = fitted(NodeBag(**SIZES), NodeExamples(forest, classes))
    every, start = bag(forest), trees[0].size
    assert every.std() > 0
    for steps, place in (([], 0), ([1], 2), ([1, 1], 4)):
        some = bag(forest, entries_along(forest, steps)).view(2, len(steps) + 1, CLASSES)
        torch.testing.assert_close(some[:, -1], every[[place, start + place]])


def test_a_child_above_or_beside_says_the_class():
    rng = random.Random(0)

    def drawn(number: int) -> tuple[list[Tree], list[list[int]]]:
        trees, classes = [], []
        for _ in range(number):
            letters = [rng.choice("xy") for _ in range(3)]
            kind = rng.choice("AB")
            trees.append(Tree(kind, [Tree(letter) for letter in letters]))
            # That of the first is its parent's label, that of the second the one before it.
            said = ["AB".index(kind), "xy".index(letters[0]), "xy".index(letters[1])]
            classes.append(["xy".index(letters[0]), *said])
        return trees, classes

    bag = NodeBag(**{**SIZES, "num_classes": 2})
    for learn in (True, False):
        trees, classes = drawn(200)
        examples = NodeExamples(Forest.from_trees(trees, VOCABULARY), classes)
        if learn:
            fitted(bag, examples)
    right = (bag(examples.forest).argmax(1) == examples.labels).view(-1, 4).double().mean(0)
    assert right[[0, 2, 3]].min() == 1 and right[1] > 0.9


def test_of_very_many_nodes_some_are_learned_from(monkeypatch: pytest.MonkeyPatch):
    trees, classes = labelled(2)
    examples = NodeExamples(Forest.from_trees(trees, VOCABULARY), classes)
    bags = [NodeBag(**SIZES) for _ in range(3)]
    fitted(bags[0], examples)
    monkeypatch.setattr(node_bag, "MOST", 90)
    for bag in bags[1:]:
        fitted(bag, examples, seed=3)
    assert len(bags[1].features) < len(bags[0].features)
    torch.testing.assert_close(bags[1].weight, bags[2].weight)


def test_a_class_without_nodes_is_hardly_predicted():
    forest = Forest.from_trees([Tree("x"), Tree("y")] * 20, VOCABULARY)
    bag = fitted(NodeBag(**SIZES), NodeExamples(forest, [[0], [2]] * 20))
    found = bag(forest).softmax(1)
    assert found[0, 0] > 0.9 and found[1, 2] > 0.9 and 0 < found[:, 1].max() < 0.01


@pytest.mark.parametrize(("labels", "expected"), [([1], [0.01, 0.98, 0.01]), ([-1], [1 / 3] * 3)])
def test_nodes_of_one_class_and_of_none(labels: list[int], expected: list[float]):
    forest = Forest.from_trees([Tree("x"), Tree("y")] * 20, VOCABULARY)
    bag = fitted(NodeBag(**SIZES), NodeExamples(forest, [labels] * 40))
    found = bag(forest).softmax(1)
    np.testing.assert_allclose(found, np.broadcast_to(expected, (40, 3)), atol=0.02)


@pytest.mark.parametrize("given", [{}, {"class_weight": {"a": 1, "b": 0}}])
def test_only_one_class_counts_among_those_learned_from(given: dict):
    """Where all other nodes are held out, or weigh nothing."""
    X = ["(A x y)", "(B y x)"] * 15
    y = [["a", "a", None], ["b", None, "b"]] * 15
    groups = None if given else [i % 2 for i in range(30)]
    few = {"hidden_size": 4, "epochs": 2, "random_state": 0}
    model = TreeLSTMNodeClassifier(**few, **given).fit(X, y, groups=groups)
    assert np.isfinite(np.concatenate(model.predict_proba(X))).all()


def test_the_only_labelled_nodes_may_be_held_out():
    X, y = ["(A x y)", "(B y x)"] * 15, [["a", "b", None], [None] * 3] * 15
    few = {"hidden_size": 4, "epochs": 2, "random_state": 0}
    model = TreeLSTMNodeClassifier(**few).fit(X, y, groups=[i % 2 for i in range(30)])
    assert np.isfinite(np.concatenate(model.predict_proba(X))).all()


def test_the_table_leaves_each_node_out_of_its_own_row():
    trees = [Tree("x")] * 3 + [Tree("y")]
    forest = Forest.from_trees(trees, VOCABULARY)
    table = LabelTable(**SIZES)
    nodes, y, count = (
        forest.preorder().nodes,
        np.array([0, 0, 1, 2]),
        np.array([1.0, 2.0, 1.0, 1.0]),
    )
    table.fit(forest, nodes, y, count)
    share = (np.array([3, 1, 1]) + 1 / 3) / 6
    expected = (np.array([3, 1, 0]) + share) / 5
    np.testing.assert_allclose(table(forest, nodes[:1]).exp()[0], expected, rtol=1e-5)
    without = torch.from_numpy(y), torch.from_numpy(count)
    expected = np.array([[2, 1, 0], [1, 1, 0], [3, 0, 0], [0, 0, 0]]) + share
    expected /= expected.sum(1, keepdims=True)
    np.testing.assert_allclose(table(forest, nodes, without).exp(), expected, rtol=1e-5)


def test_classes_that_are_not_drawn_are_known_from_the_table(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(node_bag, "MOST", 600)
    letters = [f"t{i}" for i in range(60)]
    trees = [Tree(letter) for letter in letters * 5]
    forest = Forest.from_trees(trees, Vocabulary.from_trees(trees))
    bag = fitted(NodeBag(0, 60, 60), NodeExamples(forest, [[i] for i in list(range(60)) * 5]))
    assert (bag(forest).argmax(1) == torch.arange(60).repeat(5)).all()


def test_coordinates_of_rows_pay_by_no_more_than_some_classes(monkeypatch: pytest.MonkeyPatch):
    """Steps take longer with more of them, in coordinates as in columns."""
    asked: list[float] = []
    monkeypatch.setattr(linear_model, "space_of", lambda x, outputs: asked.append(outputs))
    for k in (3, 40):
        linear_model.linear_classes(csr_matrix(np.eye(80)), np.arange(80) % k, k, 1.0, np.ones(80))
    assert asked == [3, linear_model.SHARED]


def test_the_better_of_both_counts_more():
    torch.manual_seed(0)
    trees, classes = labelled(1)
    forest = Forest.from_trees(trees, VOCABULARY)
    tree = NodePredictor(ChildSumTreeLSTM(4, len(TYPES), len(TOKENS)), CLASSES)
    model = BesideNodeBag(tree, NodeBag(**SIZES)).eval()
    model.fit_bag(NodeExamples(forest, classes), None, 0)
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
    assert ("labels and pairs around nodes" in model.summary()) is bag
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
