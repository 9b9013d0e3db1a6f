"""Pictures of explanations: the words of texts, and several trees."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from matplotlib.colors import to_hex
from pictures import assert_apart, assert_within, axes, boxes_of_texts, written

from structnet import Tree
from structnet.plot import plot_explanation, plot_tree
from structnet.plot.explanation import FOR
from structnet.trees import with_words


def told(tree: Tree, **effects: float) -> SimpleNamespace:
    """An explanation by the effect of each label."""
    values = {id(node): effects.get(str(node.label), 0.0) for node in tree.preorder()}
    return SimpleNamespace(tree=tree, heading="spam", values=lambda: values)


def test_numbers_in_texts_are_drawn_as_they_were_written() -> None:
    tree = Tree("f", [with_words(Tree("error 404 #5")), Tree("#7")])
    assert written(plot_tree(tree, ax=axes())) == ["f", "error 404 #5", "#7", "error", "404", "5"]
    own = plot_tree(tree, ax=axes(), labels=lambda node: str(node.label))
    assert "#404" in written(own)  # as the user's function says


def test_words_are_drawn_where_they_matter() -> None:
    tree = with_words(Tree("f", [Tree("error 404"), Tree("main page"), Tree("x")]))
    found = told(tree, **{"main page": 3.0, "#404": -2.0, "error": 0.1, "main": 0.2})
    before = [(node.label, len(node.children)) for node in tree.preorder()]
    ax = plot_explanation(found, ax=axes())
    assert written(ax) == ["f", "error 404", "main page", "x", "404"]
    box = {text.get_text(): text.get_bbox_patch() for text in ax.texts}["main page"]
    assert to_hex(box.get_facecolor()).upper() == FOR
    assert [(node.label, len(node.children)) for node in tree.preorder()] == before
    assert written(plot_explanation(told(tree), ax=axes())) == ["f", "error 404", "main page", "x"]


def test_headings_stand_as_they_are_written() -> None:
    tree = Tree("f", [Tree("x")])
    shown = told(tree, x=1.0)
    shown.heading = "$5 or $6"
    ax = plot_explanation(shown, ax=axes())
    assert ax.get_title().startswith("$5 or $6\n") and not ax.title.get_parse_math()


@pytest.mark.parametrize(("wrong", "got"), [(Tree("f"), "Tree"), ([], "an empty list")])
def test_what_is_no_explanation(wrong: object, got: str) -> None:
    with pytest.raises(TypeError, match=f"explain of an estimator returns; got {got}$"):
        plot_explanation(wrong)


def test_the_heading_is_within_the_picture() -> None:
    shown = told(Tree("f", [Tree("x"), Tree("y")]), x=1.0, y=-2.0)
    shown.heading = "a heading that is far wider than so small a tree"
    ax = plot_explanation(shown)
    ax.figure.draw_without_rendering()
    assert_within([ax.title.get_window_extent(), *boxes_of_texts(ax)], ax.figure.bbox)
    assert_apart([ax.title.get_window_extent(), ax.get_window_extent()])
    small = plot_tree(shown.tree).get_window_extent()
    assert ax.get_window_extent().size == pytest.approx(small.size, abs=1)
