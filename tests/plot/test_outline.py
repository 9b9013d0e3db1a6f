"""Large trees on one page: rows, columns, parts, and that all of it can be read."""

from __future__ import annotations

import ast
import heapq
import inspect
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from matplotlib.axes import Axes
from random_trees import chain, plain_trees

from structnet import parse
from structnet.plot import layout, plot_tree
from structnet.plot.outline import DEEPEST, INDENT, LONGEST, ROW, Row, headings, in_columns, rows_of
from structnet.plot.page import A4
from structnet.trees.tree import Tree


def rows(tree: Tree, width: float = 20.0) -> list[Row]:
    placed = layout(tree)
    return rows_of(placed.parent.tolist(), [width] * tree.size, mark=10.0)


def right_branching(length: int) -> Tree:
    tree = Tree("end")
    for number in range(length):
        tree = Tree("cons", [Tree(f"item {number}"), tree])
    return tree


def source_tree() -> Tree:
    """The longest tree of at most 600 nodes of a function of the standard library's heapq."""
    source = inspect.getsource(heapq)
    functions = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    trees = [parse.python(ast.get_source_segment(source, each)) for each in functions]
    return max((tree for tree in trees if tree.size <= 600), key=lambda tree: tree.size)


@given(plain_trees)
def test_every_node_has_its_place(tree: Tree) -> None:
    placed, found = layout(tree), rows(tree)
    assert sorted(v for row in found for v in row.nodes) == list(range(tree.size))
    row_of = {v: number for number, row in enumerate(found) for v in row.nodes}
    for number, row in enumerate(found):
        for above, below in zip(row.nodes, row.nodes[1:], strict=False):
            assert placed.parent[below] == above  # an only child
            assert (placed.parent == above).sum() == 1
        if row.nodes and row.above >= 0:
            assert found[row.above].nodes[-1] == placed.parent[row.nodes[0]]
            assert row.indent == found[row.above].indent + 1
            assert number > row.above == row_of[placed.parent[row.nodes[0]]]


def test_what_is_deep_goes_on_in_parts() -> None:
    found = rows(right_branching(100))
    assert max(row.indent for row in found) <= DEEPEST + 3
    begins = [row.begins for row in found if row.begins]
    assert begins == [row.goes_on for row in found if row.goes_on] == list(range(1, 6))
    empty = [number for number, row in enumerate(found) if not row.nodes and not row.goes_on]
    assert [found[number + 1].begins for number in empty] == begins


def test_only_children_share_rows() -> None:
    found = rows(chain(100))
    assert max(row.width for row in found) <= LONGEST
    assert len(found) < 20


def test_a_chain_is_linear() -> None:
    assert sum(len(row.nodes) for row in rows(chain(100_000))) == 100_000


def test_columns_by_hand() -> None:
    found = rows(Tree("r", [Tree(str(i)) for i in range(99)]))
    outline, scale = in_columns(found, width=1000.0, height=400.0)
    assert scale == 1.0
    assert outline.size[0] <= 1000 and outline.size[1] <= 400
    assert np.bincount(outline.column).tolist() == [25, 25, 25, 25]
    assert outline.line[:2].tolist() == [1, 2] and outline.line[25] == 1  # below the headings
    assert headings(outline) == [[0], [0], [0]]
    assert outline.x(25) == outline.left[1] + INDENT  # room for the line down from the root


def test_columns_lose_the_indentation_that_all_their_rows_have() -> None:
    outline, _ = in_columns(rows(right_branching(30)), width=400.0, height=400.0)
    assert len(outline.left) > 1
    for column, (left, base) in enumerate(zip(outline.left, outline.base, strict=True)):
        here = np.flatnonzero(outline.column == column)
        assert min(outline.rows[row].indent for row in here) - base == (base > 0)
        assert min(outline.x(row) for row in here) == left + INDENT * (base > 0)


@pytest.mark.parametrize(
    "tree",
    [
        pytest.param(source_tree(), id="source"),
        pytest.param(right_branching(150), id="right branching"),
        pytest.param(chain(500), id="chain"),
        pytest.param(Tree("r", [Tree(f"child {i}") for i in range(200)]), id="star"),
    ],
)
def test_a_large_tree_can_be_read_on_a_page(tree: Tree) -> None:
    ax = plot_tree(tree)
    points = np.sort(ax.figure.get_size_inches() * 72)
    assert (points <= A4 + 0.01).all()
    shown = [text for text in ax.texts if (text.get_gid() or "").startswith("node-")]
    assert len(shown) == tree.size
    assert min(text.get_fontsize() for text in shown) >= 6
    assert_clear(ax)


@pytest.mark.parametrize("size", [(3, 2), (6, 9)])
def test_on_given_axes_nothing_overlaps(size: tuple[float, float]) -> None:
    from matplotlib.figure import Figure

    ax = Figure(figsize=size).add_axes((0.1, 0.1, 0.8, 0.8))
    plot_tree(right_branching(60), ax=ax, form="outline")
    assert_clear(ax)


def test_larger_trees_have_larger_pages() -> None:
    tree = Tree("r", [Tree(f"a rather long word {i}") for i in range(900)])
    ax = plot_tree(tree)
    assert len(ax.texts) > tree.size  # headings beside them
    assert ax.texts[0].get_fontsize() == pytest.approx(6)
    assert (np.sort(ax.figure.get_size_inches() * 72) > A4).any()


def test_several_trees_stand_side_by_side() -> None:
    ax = plot_tree([Tree("a", [Tree("b")]), Tree("c")], form="outline")
    assert [text.get_text() for text in ax.texts] == ["a", "b", "c", "tree 1", "tree 2"]
    a, b, c, first, second = (text.get_position() for text in ax.texts)
    assert a[1] == b[1] == c[1] < first[1] and a[0] < b[0] < c[0]
    assert first[1] == second[1] and first[0] <= a[0] < b[0] < second[0] <= c[0]


def test_each_of_several_trees_has_columns_of_its_own() -> None:
    trees = [right_branching(length) for length in (60, 2, 100)]
    placed = layout(trees)
    found = rows_of(placed.parent.tolist(), [20.0] * len(placed.nodes), mark=10.0)
    firsts = [
        i for i, row in enumerate(found) if 0 in row.nodes or 1 in row.nodes or 2 in row.nodes
    ]
    outline, _ = in_columns(found, width=600.0, height=500.0)
    assert outline.line.max() * ROW < 2000
    owner = [-1] * len(placed.nodes)
    for v, above in enumerate(placed.parent):
        owner[v] = v if above < 0 else owner[above]
    for column in range(len(outline.left)):
        here = [found[row] for row in np.flatnonzero(outline.column == column)]
        assert len({owner[v] for row in here for v in row.nodes}) == 1
    assert (outline.line[firsts] == 1).all() and len(firsts) == 3


@pytest.mark.parametrize("letters", [17, 22])
def test_headings_stand_apart(letters: int) -> None:
    tree = Tree("items", [Tree("x" * letters) for _ in range(300)])
    for name in ["enum", "properties", "object", "array", "definitions"] * 3:
        tree = Tree(name, [tree, Tree("type")])
    ax = plot_tree(tree)
    ax.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in ax.texts if not text.get_gid()]
    assert all(right.x0 - left.x1 > 15 for left, right in pairwise(boxes))


def test_lines_of_a_label_are_joined() -> None:
    tree = Tree("nsubj", [Tree("det", token="the")], token="cat")
    texts = [text.get_text() for text in plot_tree(tree, form="outline").texts]
    assert texts == ["nsubj  cat", "det  the"]


def assert_clear(ax: Axes) -> None:
    """No box overlaps another, none is outside of the axes, and each holds its text."""
    ax.figure.draw_without_rendering()
    [drawn] = [each for each in ax.collections if each.get_label() == "_boxes"]
    boxes = np.array([path.get_extents(ax.transData).extents for path in drawn.get_paths()])
    x0, y0, x1, y1 = boxes.T
    inside = ax.get_window_extent()
    assert (x0 >= inside.x0).all() and (x1 <= inside.x1).all()
    assert (y0 >= inside.y0).all() and (y1 <= inside.y1).all()
    apart = (x1[:, None] <= x0) | (x0[:, None] >= x1) | (y1[:, None] <= y0) | (y0[:, None] >= y1)
    assert (apart | np.eye(len(boxes), dtype=bool)).all()
    named = [text for text in ax.texts if text.get_color() in ("black", "white")]
    extents = np.array([text.get_window_extent().extents for text in named])
    middle = (extents[:, :2] + extents[:, 2:]) / 2
    holds = (
        (x0 < middle[:, :1]) & (middle[:, :1] < x1) & (y0 < middle[:, 1:]) & (middle[:, 1:] < y1)
    )
    width = (holds * (x1 - x0)).sum(axis=1)
    assert (holds.sum(axis=1) == 1).all()
    assert (extents[:, 2] - extents[:, 0] <= width + 2).all()  # dots
