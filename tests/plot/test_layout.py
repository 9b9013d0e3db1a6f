"""Where the nodes of a picture stand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structnet import parse
from structnet.plot import Collapsed, layout
from structnet.trees.tree import Tree

TREE = parse.listops("[MAX 2 [MIN 4 7 [SM 1 2 ] ] 0 ]")
LABELS = ["MAX", "2", "MIN", "0", "4", "7", "SM", "1", "2"]  # level by level
trees = st.recursive(
    st.sampled_from("abc").map(Tree),
    lambda below: st.builds(Tree, st.just("n"), st.lists(below, min_size=1, max_size=4)),
    max_leaves=25,
)


def test_layout_by_hand() -> None:
    placed = layout(TREE)
    assert [node.label for node in placed.nodes] == LABELS
    assert placed.parent.tolist() == [-1, 0, 0, 0, 2, 2, 2, 6, 6]
    assert placed.depth.tolist() == [0, 1, 1, 1, 2, 2, 2, 3, 3]
    assert placed.x.tolist() == [2.5, 0, 2.25, 5, 1, 2, 3.5, 3, 4]


@given(trees, st.booleans())
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
    with pytest.raises(ValueError, match=r"must be an int in the range \[[01], inf\)"):
        layout(TREE, **limits)
