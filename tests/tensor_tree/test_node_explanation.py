"""What matters to the class of a node, against predictions of trees in which it is hidden."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
import torch
from hiding import without
from matplotlib.figure import Figure

from structnet import Tree, TreeLSTMNodeClassifier
from structnet.plot import plot_explanation
from structnet.tensor_tree import node_explanation
from structnet.tensor_tree.child_sum_cell import ChildSumCell
from structnet.tensor_tree.explanation import HIDDEN
from structnet.trees.forest import Forest
from structnet.trees.label_words import Text, own_nodes

QUICK = {"epochs": 2, "hidden_size": 8, "random_state": 0}


def formula(rng: random.Random, depth: int = 3) -> Tree:
    if depth == 0 or rng.random() < 0.2:
        return Tree(rng.choice(["red fox", "grey wolf", "a", "b"]))
    arity = rng.randint(1, 3)
    return Tree("not" if arity == 1 else "and", [formula(rng, depth - 1) for _ in range(arity)])


def negated(tree: Tree, under: bool = False) -> list[bool]:
    """Whether each node is below a "not", in preorder, by recursion."""
    below = [negated(child, under or tree.label == "not") for child in tree.children]
    return [under, *(each for some in below for each in some)]


def samples(number: int, seed: int) -> tuple[list[Tree], list[list[bool]]]:
    rng = random.Random(seed)
    trees = [formula(rng) for _ in range(number)]
    return trees, list(map(negated, trees))


def blank(tree: Tree, place: int) -> Tree:
    """The tree without the label of the node at a place, by recursion."""
    if place == 0:
        return Tree(HIDDEN.label, [] if isinstance(tree, Text) else tree.children)
    children, start = [], 1
    for child in tree.children:
        inside = start <= place < start + child.size
        children.append(blank(child, place - start) if inside else child)
        start += child.size
    return type(tree)(tree.label, children, tree.token)


@pytest.mark.parametrize("options", [{}, {"words": True}, {"top_down": False}, {"bag": False}])
def test_parts_matter_as_much_as_predictions_change(
    options: dict, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = TreeLSTMNodeClassifier(**QUICK, **options).fit(*samples(60, seed=0))
    tree = max(samples(4, seed=1)[0], key=lambda each: each.size)

    def log_odds(read: Tree) -> list[float]:
        with torch.no_grad():
            scores = model.model_(Forest.from_trees([read], model.trained_.vocabulary))
        return (scores[:, 1] - scores[:, 0]).tolist()

    @cache  # for all nodes, not once more for each
    def changed(change: Callable, place: int) -> tuple[Tree, list[float]]:
        return (found := change(whole, place)), log_odds(found)

    whole = model.explain(tree, 0, True).tree
    nodes, before = list(whole.preorder()), log_odds(whole)
    assert (whole.size > tree.size) == bool(options.get("words"))
    for node, most in itertools.product(range(tree.size), (1, 2**19)):
        monkeypatch.setattr(node_explanation, "MAX_EDGES", most)
        found = model.explain(tree, node, True)
        assert found.tree == whole
        assert len(found.occlusion) == len(found.gradient) == whole.size
        assert found.score == pytest.approx(before[node], abs=1e-4)
        at = index_of(own_nodes(whole)[node], nodes)
        for place, each in enumerate(nodes):
            has = place <= at < place + each.size
            other, after = changed(blank if has else without, place)
            gone = each.size - 1 if place < at and not has else 0
            row = index_of(list(other.preorder())[at - gone], own_nodes(other))
            left = found.score - found.occlusion[place]
            assert left == pytest.approx(after[row], abs=1e-4)


def index_of(node: Tree, nodes: list[Tree]) -> int:
    return next(i for i, each in enumerate(nodes) if each is node)


def test_what_negates_a_node_matters_most() -> None:
    model = TreeLSTMNodeClassifier(epochs=10, bag=False, random_state=0).fit(*samples(300, seed=0))
    told = model.explain("(and a (not (and b a)) b)", 4)
    assert told.answer and told.node == 4
    assert str(told.top(1)[0][0]) == "(not (and b a))"
    first, second = repr(told).splitlines()[:2]
    assert first.startswith("node 4, b: True: log-odds ")
    assert second.endswith(" without the label of (not (and b a))")
    ax = plot_explanation(told, ax=Figure().add_subplot())
    assert ax.get_title().startswith("node 4, b: True: log-odds ")
    thick = [text for text in ax.texts if text.get_bbox_patch().get_linewidth() > 1]
    assert [(text.get_text(), text.get_position()[1]) for text in thick] == [("b", -3)]
    faces = {text.get_gid(): text.get_bbox_patch().get_facecolor() for text in ax.texts}
    assert faces["node-0"][:3] != (1, 1, 1)  # the label of the root was hidden, too


def test_a_marked_node_among_texts_and_in_an_outline() -> None:
    model = TreeLSTMNodeClassifier(**QUICK, words=True).fit(*samples(60, seed=0))
    pair = Tree("and", [Tree("a"), Tree("b")])
    told = model.explain(Tree("and", [Tree("not", [Tree("red fox")]), pair]), 4)
    assert told.tree.size > 6  # the words, of which a picture may leave some out
    for form in ("levels", "outline"):
        ax = plot_explanation(told, ax=Figure().add_subplot(), form=form)
        if form == "levels":
            thick = [text for text in ax.texts if text.get_bbox_patch().get_linewidth() > 1]
            assert [text.get_text() for text in thick] == ["a"]
        else:
            (boxes,) = (each for each in ax.collections if each.get_label() == "_boxes")
            assert sum(width > 1 for width in boxes.get_linewidths()) == 1


def test_only_what_can_reach_the_node_is_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    model = TreeLSTMNodeClassifier(**QUICK, words=False).fit(*samples(20, seed=0))
    swept, states = [], ChildSumCell.states_from

    def counting(self: ChildSumCell, forest: Forest, *given: object, **how: object) -> object:
        swept.append(forest.num_nodes)
        return states(self, forest, *given, **how)

    monkeypatch.setattr(ChildSumCell, "states_from", counting)
    tree = Tree("and", [Tree("and", [Tree("a"), Tree("b")]) for _ in range(200)])
    model.explain(tree, 300)
    # Each part's is one path down and one path up, of at most 3 nodes, and not the whole tree.
    assert 3 * tree.size < sum(swept) < 20 * tree.size


def test_a_class_or_node_that_is_not_there() -> None:
    model = TreeLSTMNodeClassifier(**QUICK).fit(*samples(20, seed=0))
    for node in (3, -1, True, 1.0):
        with pytest.raises(
            ValueError, match="'node' parameter of explain must be an int from 0 to"
        ):
            model.explain("(and a b)", node)
    with pytest.raises(ValueError, match=r"must be one of \[False, True\]. Got 'odd'"):
        model.explain("(and a b)", 0, "odd")


def test_the_callers_tree_is_left_as_it_is() -> None:
    model = TreeLSTMNodeClassifier(**QUICK).fit(*samples(20, seed=0))
    leaf = Tree("a")
    tree = Tree("and", [leaf, leaf])
    found = model.explain(tree, 2)
    assert len({id(node) for node in found.tree.preorder()}) == 3 and tree[0] is tree[1] is leaf
    assert np.isfinite(found.occlusion).all()
