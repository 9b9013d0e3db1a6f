"""Pictures, by their numbers: where nodes stand, what is written, what overlaps."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Text

from structnet import parse
from structnet.datasets import listops
from structnet.plot import Collapsed, layout, plot_accuracy_by, plot_history, plot_tree
from structnet.plot.style import INNER, LEAF
from structnet.training.history import History
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

trees = st.recursive(
    st.sampled_from("abc").map(Tree),
    lambda below: st.builds(Tree, st.just("n"), st.lists(below, min_size=1, max_size=4)),
    max_leaves=25,
)


@pytest.fixture(autouse=True)
def agg() -> None:
    before = matplotlib.get_backend()
    plt.switch_backend("agg")
    yield
    plt.close("all")
    plt.switch_backend(before)


def axes(width: float = 6, height: float = 4) -> Axes:
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure.add_axes((0, 0, 1, 1))


def chain(length: int) -> Tree:
    tree = Tree("x")
    for _ in range(length - 1):
        tree = Tree("not", [tree])
    return tree


def boxes(ax: Axes) -> list:
    """The boxes of the nodes in pixels, as they come out."""
    ax.figure.canvas.draw()
    patches = [text.get_bbox_patch() for text in ax.texts]
    return [patch.get_window_extent(ax.figure.canvas.get_renderer()) for patch in patches]


def overlaps(ax: Axes) -> int:
    pairs = combinations(boxes(ax), 2)
    return sum(a.fully_overlaps(b) for a, b in pairs)


def outside(ax: Axes) -> int:
    figure = ax.figure.bbox
    return sum(
        box.x0 < -1 or box.y0 < -1 or box.x1 > figure.x1 + 1 or box.y1 > figure.y1 + 1
        for box in boxes(ax)
    )


# Layout


def test_layout_by_hand() -> None:
    placed = layout(TREE)
    assert [node.label for node in placed.nodes] == LABELS
    assert placed.parent.tolist() == [-1, 0, 0, 0, 2, 2, 2, 6, 6]
    assert placed.depth.tolist() == [0, 1, 1, 1, 2, 2, 2, 3, 3]
    assert placed.x.tolist() == [2.5, 0, 2.25, 5, 1, 2, 3.5, 3, 4]


@given(trees, st.booleans())
@settings(max_examples=60, deadline=None)
def test_layout_of_random_trees(tree: Tree, wide: bool) -> None:
    placed = layout(tree, width=(lambda node: 1.0 + 2.5 * bool(node.children)) if wide else None)
    assert len(placed.nodes) == tree.size
    x, parent = placed.x, placed.parent
    children = [np.flatnonzero(parent == v) for v in range(tree.size)]
    for v, below in enumerate(children):
        assert [placed.nodes[u] for u in below] == list(placed.nodes[v].children)
        if len(below):
            assert x[v] == pytest.approx((x[below[0]] + x[below[-1]]) / 2)
    for depth in range(tree.height + 1):
        level = np.flatnonzero(placed.depth == depth)
        room = (placed.width[level][1:] + placed.width[level][:-1]) / 2
        assert (np.diff(x[level]) >= room - 1e-9).all()
    in_order, stack = [], [0]
    while stack:
        v = stack.pop()
        stack.extend(reversed(children[v].tolist()))
        if not len(children[v]):
            in_order.append(x[v])
    if wide:
        assert (np.diff(in_order) >= 1 - 1e-9).all()
    else:
        assert in_order == pytest.approx(range(len(in_order)))


def test_trees_side_by_side() -> None:
    placed = layout([TREE, Tree("a"), TREE])
    assert placed.parent.tolist()[:3] == [-1, -1, -1]
    assert placed.x[:3].tolist() == [2.5, 7, 11.5]  # with a gap of one between them


@given(trees, st.integers(1, 12), st.integers(0, 4))
@settings(max_examples=60, deadline=None)
def test_what_is_left_out_is_counted(tree: Tree, max_nodes: int, max_depth: int) -> None:
    nodes = layout(tree, max_nodes, max_depth).nodes
    shown = [node for node in nodes if isinstance(node, Tree)]
    hidden = [node.size for node in nodes if isinstance(node, Collapsed)]
    assert len(shown) + sum(hidden) == tree.size
    # One leaf is drawn instead of its stand-in, even beyond the limits.
    assert len(nodes) <= 2 * max_nodes and 1 not in hidden


def test_a_wide_node_is_cut() -> None:
    nodes = layout(Tree("r", [Tree(str(i)) for i in range(1000)]), max_nodes=10).nodes
    assert [n.label for n in nodes[:-1]] == ["r", *"012345678"]
    assert nodes[-1] == Collapsed(991)


@pytest.mark.parametrize("limits", [{"max_nodes": 0}, {"max_depth": -1}])
def test_limits_too_small(limits: dict) -> None:
    with pytest.raises(ValueError, match="must be at least"):
        layout(TREE, **limits)


# Trees


def test_plot_tree_writes_every_node(capfd) -> None:
    ax = plot_tree(TREE, axes())
    assert [text.get_text() for text in ax.texts] == LABELS
    colors = [to_hex(text.get_bbox_patch().get_facecolor()).upper() for text in ax.texts]
    assert colors[:3] == [INNER, LEAF, INNER]
    assert not ax.axison
    ax.figure.canvas.draw()
    assert capfd.readouterr() == ("", "")


def test_lines_join_boxes() -> None:
    """Stems and drops end at the edges of the boxes, bars join them, and nothing crosses one."""
    ax = plot_tree(TREE, axes())
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
    ax = plot_tree(tree, axes(8, 5) if given_axes else None)
    assert overlaps(ax) == 0
    assert outside(ax) == 0


def test_new_figures_grow() -> None:
    small, large = plot_tree(TREE).figure, plot_tree(SENTENCE).figure
    assert (large.get_size_inches() > small.get_size_inches()).all()
    wide = plot_tree(Tree("r", [Tree("a long word")] * 150)).figure
    assert wide.get_size_inches().max() <= 40


def test_labels_keep_their_size_unless_room_is_short() -> None:
    sizes = [
        plot_tree(SENTENCE, axes(*size)).texts[0].get_fontsize() for size in ((30, 20), (5, 4))
    ]
    assert sizes[0] == 10 and 1 < sizes[1] < 5


def test_a_chain_says_what_is_left_out() -> None:
    ax = plot_tree(chain(100_000), axes())
    assert len(ax.texts) == 32
    assert ax.texts[-1].get_text() == "… 99,969\nmore"


def test_own_labels_and_colors() -> None:
    ax = plot_tree(
        TREE,
        axes(),
        labels=lambda node: f"{node.label}\n{listops.evaluate_expression(node)}",
        colors=lambda node: "#000000" if node.label == "MIN" else None,
    )
    assert ax.texts[0].get_text() == "MAX\n3"
    assert ax.texts[2].get_color() == "white"  # on black
    assert ax.texts[0].get_color() == "black"
    ax = plot_tree(TREE, axes(), colors={"2": "#FF0000"})
    assert to_hex(ax.texts[1].get_bbox_patch().get_facecolor()) == "#ff0000"


def test_a_label_is_asked_for_once() -> None:
    asked = []
    plot_tree(parse.listops("[MAX 1 2 ]"), axes(), labels=lambda node: asked.append(node) or "x")
    assert len(asked) == 3


def test_labels_of_default() -> None:
    tree = Tree("nsubj", [Tree("det", [], "the")], token="cat")
    assert [t.get_text() for t in plot_tree(tree, axes()).texts] == ["nsubj\ncat", "det\nthe"]
    tree = Tree("p", [Tree("one\n  two " + "x" * 50)])
    assert plot_tree(tree, axes()).texts[1].get_text() == "one two " + "x" * 15 + "…"
    assert not plot_tree(Tree("$x$"), axes()).texts[0].get_parse_math()


def test_other_representations() -> None:
    forest = Forest.from_trees([TREE, Tree("7")], Vocabulary.from_trees([TREE, Tree("7")]))
    expected = sorted(text.get_text() for text in plot_tree([TREE, Tree("7")], axes()).texts)
    assert sorted(text.get_text() for text in plot_tree(forest, axes()).texts) == expected
    assert len(plot_tree(forest[[1]].graph, axes()).texts) == 1
    graph = nx.DiGraph()
    graph.add_edge("and", "b", pos=1)
    graph.add_edge("and", "a", pos=0)
    assert [text.get_text() for text in plot_tree(graph, axes()).texts] == ["and", "a", "b"]


@pytest.mark.parametrize("wrong", [3, "text", [TREE, 3]])
def test_what_is_no_tree(wrong: object) -> None:
    with pytest.raises(TypeError, match="got"):
        plot_tree(wrong, axes())


@pytest.mark.parametrize("number", [0, 9])
def test_number_of_trees(number: int) -> None:
    with pytest.raises(ValueError, match=f"1 to 8 trees; got {number}"):
        plot_tree([TREE] * number, axes())


def test_settings_are_left_alone() -> None:
    before = dict(matplotlib.rcParams)
    plot_tree(TREE)
    plot_history(RECORDS)
    plot_accuracy_by({"sum": {0: 1.0}})
    assert dict(matplotlib.rcParams) == before


def test_import_leaves_matplotlib_out() -> None:
    code = "import sys, structnet.plot; sys.exit('matplotlib' in sys.modules)"
    root = Path(__file__).parents[2]
    result = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": str(root)},
        capture_output=True,
        timeout=120,
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")


# Histories

RECORDS = [
    {
        "epoch": epoch,
        "loss": math.exp(-epoch / 5),
        "validation_loss": math.exp(-epoch / 5) + 0.05 * max(0, epoch - 20),
        "validation_accuracy": 1 - math.exp(-epoch / 4),
        "best": epoch in (1, 2, 20),
        "seconds": 1.5,
    }
    for epoch in range(1, 31)
]


def values(ax: Axes) -> dict[str, list]:
    return {str(line.get_label()): list(line.get_ydata()) for line in ax.lines}


def test_history_on_new_axes() -> None:
    losses, accuracy = plot_history(RECORDS)
    assert list(values(losses)) == ["training", "validation", "best epoch, 20"]
    assert values(losses)["training"] == [record["loss"] for record in RECORDS]
    assert list(values(accuracy)) == ["accuracy", "best epoch, 20"]
    assert losses.figure is accuracy.figure
    assert accuracy.get_ylabel() == "validation accuracy"
    assert accuracy.yaxis.get_major_formatter()(0.5) == "50 %"


def test_history_on_given_axes() -> None:
    figure = Figure()
    pair = list(figure.subplots(1, 2))
    assert plot_history(RECORDS, pair) == pair
    one = axes()
    losses, accuracy = plot_history(RECORDS, one)
    assert losses is one and accuracy is not one
    legend = [text.get_text() for text in losses.get_legend().get_texts()]
    assert legend == ["training", "validation", "best epoch, 20", "accuracy"]
    assert accuracy.get_legend() is None
    with pytest.raises(ValueError, match="needs 2 axes; got 0"):
        plot_history(RECORDS, [])


def test_history_from_a_file(tmp_path: Path) -> None:
    History(RECORDS).save(tmp_path / "history.jsonl")
    for source in (tmp_path / "history.jsonl", str(tmp_path / "history.jsonl"), History(RECORDS)):
        assert values(plot_history(source)[0]) == values(plot_history(RECORDS)[0])


def test_history_of_few_fields() -> None:
    [losses] = plot_history([{"train_loss": 2.0}, {"train_loss": 1.0}], axes())
    assert values(losses) == {"training": [2.0, 1.0]}
    assert list(losses.lines[0].get_xdata()) == [1, 2]
    [losses] = plot_history([{"loss": 2.0, "validation_loss": v} for v in (3, 1, 2)], axes())
    assert list(values(losses))[-1] == "best epoch, 2"  # none is marked, so the lowest


def test_history_with_gaps() -> None:
    records = [{"epoch": 1, "loss": 1.0, "validation_loss": None}, {"epoch": 2, "loss": 0.5}]
    assert list(values(plot_history(records, axes())[0])) == ["training"]
    records.append({"epoch": 3, "validation_loss": 0.7})
    losses = values(plot_history(records, axes())[0])
    assert np.isnan(losses["validation"]).tolist() == [True, True, False]
    assert np.isnan(losses["training"]).tolist() == [False, False, True]


@pytest.mark.parametrize("records", [[], [{"epoch": 1}]])
def test_empty_history(records: list) -> None:
    with pytest.raises(ValueError, match="nothing to draw"):
        plot_history(records)


# Accuracy by group


def test_accuracy_by_group() -> None:
    results = {"Tucker": {1: 0.9, 0: 1.0}, "sum": {0: (0.99, 6), 1: (0.8, 410), 2: (0.7, 5)}}
    ax = plot_accuracy_by(results, "operators", axes(), trained_up_to=1)
    assert values(ax) == {"Tucker": [1.0, 0.9], "sum": [0.99, 0.8, 0.7]}
    assert list(ax.lines[0].get_xdata()) == [0, 1]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("operators", "accuracy")
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == ["Tucker", "sum", "trained on"]
    [span] = ax.patches
    assert (span.get_x(), span.get_width()) == (-0.5, 2.0)


def test_names_of_models_are_drawn_as_they_are_written() -> None:
    names = ["$x_1$", "_plain", "sum"]
    ax = plot_accuracy_by({name: {0: 0.5} for name in names}, "US$, $", axes(), trained_up_to=0)
    texts = ax.get_legend().get_texts()
    assert [text.get_text() for text in texts] == [*names, "trained on"]
    assert not any(text.get_parse_math() for text in (*texts, ax.xaxis.label))


def test_many_models_can_be_told_apart() -> None:
    ax = plot_accuracy_by({f"model {i}": {0: 0.5} for i in range(12)}, ax=axes())
    looks = {(line.get_color(), line.get_linestyle()) for line in ax.lines}
    assert len(looks) == 12


@pytest.mark.parametrize("results", [{}, {"sum": {}}, {"sum": {0: 97.5}}])
def test_results_that_cannot_be_drawn(results: dict) -> None:
    with pytest.raises(ValueError, match=r"no results|must be in \[0, 1\]"):
        plot_accuracy_by(results)


def test_legends_are_readable() -> None:
    ax = plot_accuracy_by({"sum": {0: 0.5, 1: 0.4}})
    assert all(isinstance(text, Text) and text.get_fontsize() >= 8 for text in ax.findobj(Text))
