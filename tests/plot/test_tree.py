"""Trees as pictures, by their numbers: where nodes stand, what is written, what overlaps."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from fresh_python import python
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.transforms import Bbox
from pictures import assert_apart, assert_within, axes, collection
from random_trees import chain

from structnet import parse
from structnet.datasets import listops
from structnet.plot import plot_tree
from structnet.plot.style import INNER, LEAF
from structnet.trees.forest import Forest
from structnet.trees.tree import Tree
from structnet.trees.vocabulary import Vocabulary

TREE = parse.listops("[MAX 2 [MIN 4 7 [SM 1 2 ] ] 0 ]")

LABELS = ["MAX", "2", "MIN", "0", "4", "7", "SM", "1", "2"]  # level by level

SENTENCE = parse.bracketed(
    """(S (NP (DT The) (JJ industrious) (NN correspondent) (PP (IN of) (NP (DT the) (NN paper))))
    (VP (VBD reported) (SBAR (IN that) (S (NP (NNS shareholders)) (VP (VBD had) (VP (VBN voted)
    (PP (IN for) (NP (DT an) (JJ unprecedented) (NN restructuring))) (PP (IN on) (NP (NNP Friday)
    )))))) (. .)))"""
)


def boxes(ax: Axes) -> list[Bbox]:
    """The boxes of the nodes in pixels, as they come out."""
    ax.figure.canvas.draw()
    patches = [text.get_bbox_patch() for text in ax.texts]
    if any(patches):
        return [patch.get_window_extent(ax.figure.canvas.get_renderer()) for patch in patches]
    return [path.get_extents(ax.transData) for path in collection(ax, "_boxes").get_paths()]


def test_plot_tree_writes_every_node(capfd) -> None:
    ax = plot_tree(TREE, ax=axes())
    assert [text.get_text() for text in ax.texts] == LABELS
    colors = [to_hex(text.get_bbox_patch().get_facecolor()).upper() for text in ax.texts]
    assert colors[:3] == [INNER, LEAF, INNER]
    assert not ax.axison
    ax.figure.canvas.draw()
    assert capfd.readouterr() == ("", "")


def test_lines_join_boxes() -> None:
    """Stems and drops end at the edges of the boxes, bars join them, and nothing crosses one."""
    ax = plot_tree(TREE, ax=axes())
    drawn = boxes(ax)
    [lines] = ax.collections
    segments = [ax.transData.transform(path.vertices) for path in lines.get_paths()]
    assert len(segments) == 3 + 3 + 8  # stems, bars, drops
    for number, ((x0, y0), (x1, y1)) in enumerate(segments):
        assert x0 == pytest.approx(x1) or y0 == pytest.approx(y1)
        bottoms = [box for box in drawn if box.x0 < x0 < box.x1 and abs(box.y0 - y0) < 3]
        tops = [box for box in drawn if box.x0 < x1 < box.x1 and abs(box.y1 - y1) < 3]
        assert number in range(3, 6) or bottoms or tops
        assert not any(
            box.x0 < (x0 + x1) / 2 < box.x1 and box.y0 < (y0 + y1) / 2 < box.y1 for box in drawn
        )


@pytest.mark.parametrize(
    "tree",
    [
        pytest.param(Tree("x"), id="one node"),
        pytest.param(SENTENCE, id="sentence"),
        pytest.param(listops.generate(300, seed=3, max_depth=6)[11], id="expression"),
        pytest.param(chain(100_000), id="chain"),
        pytest.param(Tree("W" * 90, [Tree("i" * 20), Tree(""), Tree("$5$ $^")]), id="labels"),
        pytest.param(Tree("rel", [Tree("a", [], "word"), Tree("b")], "verb"), id="tokens"),
    ],
)
@pytest.mark.parametrize("given_axes", [False, True])
def test_nothing_overlaps_or_is_cut_off(tree: Tree, given_axes: bool) -> None:
    ax = plot_tree(tree, ax=axes(8, 5) if given_axes else None)
    assert_apart(boxes(ax))
    assert_within(boxes(ax), ax.figure.bbox)


def test_new_figures_grow() -> None:
    small, large = plot_tree(TREE).figure, plot_tree(SENTENCE).figure
    assert (large.get_size_inches() > small.get_size_inches()).all()
    wide = plot_tree(Tree("r", [Tree("a long word")] * 150), form="levels").figure
    assert wide.get_size_inches().max() <= 40


def test_labels_keep_their_size_unless_room_is_short() -> None:
    sizes = [
        plot_tree(SENTENCE, ax=axes(*size), form="levels").texts[0].get_fontsize()
        for size in ((30, 20), (5, 4))
    ]
    assert sizes[0] == 10 and 1 < sizes[1] < 5
    assert plot_tree(SENTENCE, ax=axes(5, 4)).texts[0].get_fontsize() > sizes[1]  # as an outline


def test_a_chain_says_what_is_left_out() -> None:
    ax = plot_tree(chain(100_000), ax=axes(), form="levels")
    assert len(ax.texts) == 32
    assert ax.texts[-1].get_text() == "… 99,969\nmore"
    outline = plot_tree(chain(100_000), ax=axes(), max_nodes=50)
    assert "… 99,950 more" in [text.get_text() for text in outline.texts]


@pytest.mark.parametrize("form", ["levels", "outline"])
def test_limits_and_colours_hold_in_each_form(form: str) -> None:
    colors = {"MIN": "#FF0000"}
    ax = plot_tree(TREE, ax=axes(), form=form, max_depth=1, max_label=2, colors=colors)
    texts = [text.get_text().replace("\n", " ") for text in ax.texts]
    assert sorted(texts) == sorted(["M…", "2", "M…", "0", "… 5 more"])
    drawn = [text.get_bbox_patch() for text in ax.texts]
    boxes = drawn if all(drawn) else [collection(ax, "_boxes")]
    faces = np.concatenate([np.atleast_2d(each.get_facecolor()) for each in boxes])
    assert [to_hex(face) for face in faces].count("#ff0000") == 1


def test_an_unknown_form() -> None:
    with pytest.raises(ValueError, match=r"'form' parameter must be one of .*Got 'circle'"):
        plot_tree(TREE, ax=axes(), form="circle")


def test_own_labels_and_colors() -> None:
    ax = plot_tree(
        TREE,
        ax=axes(),
        labels=lambda node: f"{node.label}\n{listops.evaluate_expression(node)}",
        colors=lambda node: "#000000" if node.label == "MIN" else None,
    )
    assert ax.texts[0].get_text() == "MAX\n3"
    assert ax.texts[2].get_color() == "white"  # on black
    assert ax.texts[0].get_color() == "black"
    ax = plot_tree(TREE, ax=axes(), colors={"2": "#FF0000"})
    assert to_hex(ax.texts[1].get_bbox_patch().get_facecolor()) == "#ff0000"


def test_a_label_is_asked_for_once() -> None:
    asked = []
    plot_tree(parse.listops("[MAX 1 2 ]"), ax=axes(), labels=lambda node: asked.append(node) or "x")
    assert len(asked) == 3


def test_labels_of_default() -> None:
    tree = Tree("nsubj", [Tree("det", [], "the")], token="cat")
    assert [t.get_text() for t in plot_tree(tree, ax=axes()).texts] == ["nsubj\ncat", "det\nthe"]
    tree = Tree("p", [Tree("one\n  two " + "x" * 50)])
    assert plot_tree(tree, ax=axes()).texts[1].get_text() == "one⏎  two " + "x" * 13 + "…"
    assert not plot_tree(Tree("$x$"), ax=axes()).texts[0].get_parse_math()


def test_other_representations() -> None:
    forest = Forest.from_trees([TREE, Tree("7")], Vocabulary.from_trees([TREE, Tree("7")]))
    expected = sorted(text.get_text() for text in plot_tree([TREE, Tree("7")], ax=axes()).texts)
    assert sorted(text.get_text() for text in plot_tree(forest, ax=axes()).texts) == expected
    assert len(plot_tree(forest[[1]].graph, ax=axes()).texts) == 1
    graph = nx.DiGraph()
    graph.add_edge("and", "b", pos=1)
    graph.add_edge("and", "a", pos=0)
    assert [text.get_text() for text in plot_tree(graph, ax=axes()).texts] == ["and", "a", "b"]


@pytest.mark.parametrize("wrong", [3, "text", [TREE, 3]])
def test_what_is_no_tree(wrong: object) -> None:
    with pytest.raises(TypeError, match="got"):
        plot_tree(wrong, ax=axes())


@pytest.mark.parametrize("number", [0, 9])
def test_number_of_trees(number: int) -> None:
    with pytest.raises(ValueError, match=f"1 to 8 trees; got {number}"):
        plot_tree([TREE] * number, ax=axes())


def test_import_leaves_matplotlib_out() -> None:
    code = "import sys, structnet.plot; sys.exit('matplotlib' in sys.modules)"
    done = python("-c", code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
