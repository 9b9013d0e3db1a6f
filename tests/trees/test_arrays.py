"""Forests from arrays by hand: a forest, or an error with a name; never a crash."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from forests import FIELDS, PAIR, exactly, forest_of, trees_of
from hypothesis import example, given, settings
from hypothesis import strategies as st
from random_trees import VOCABULARY, tree_lists

from structnet.errors import GraphError
from structnet.tensor_tree import ChildSum, TreeLSTM, Tucker
from structnet.trees.forest import Forest
from structnet.trees.tree import Tree

EDGES = [-(2**63), -2, -1, 0, 1, 2, 2**31, 2**62, 2**63 - 1]


def arrays_of(forest: Forest) -> dict[str, np.ndarray]:
    return {name: array.copy() for name, array in forest.arrays._asdict().items()}


@given(tree_lists)
def test_a_forest_of_its_own_arrays(trees: list[Tree]):
    forest = Forest(**arrays_of(forest_of(trees)), arity=3, vocabulary=VOCABULARY)
    assert trees_of(forest) == trees


WRONG = {
    "types": (
        np.array([-2, -1, 0, 1]),
        "a forest's 'types' holds -2; its numbers must be -1 or more",
    ),
    "tokens": (
        np.array([0, -7, -1, -1]),
        "a forest's 'tokens' holds -7; its numbers must be -1 or more",
    ),
    "height": (
        np.array([0, 0, 2, 1]),
        "node 2 has height 2; it must be the edges of its longest way to a leaf",
    ),
    "offsets": (np.array([0, 0, 0, 3, 2]), "a forest's 'offsets' must rise from 0 to its 3 edges"),
    "children": (
        np.array([0, 4, 2]),
        "a forest's 'children' holds 4; its numbers must be between 0 and 3",
    ),
    "pos": (np.array([0, 3, 0]), "a forest's 'pos' holds 3; its numbers must be between 0 and 2"),
    "roots": (np.array([2, 4]), "a forest's 'roots' holds 4; its numbers must be between 0 and 3"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_with_an_array(name: str):
    arrays = arrays_of(forest_of(PAIR))
    arrays[name], message = WRONG[name]
    with pytest.raises(GraphError, match=exactly(message)):
        Forest(**arrays, arity=3)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"children": np.array([0, 2, 2])},
            "node 2 has child 2; children have smaller numbers than parents",
        ),
        (
            {"pos": np.array([1, 1, 0])},
            "node 2 has a child in place 1 and then one in place 1; its places must rise",
        ),
        (
            {"types": np.array([1, 0, 0, 0])},
            "node 1 must not come after node 0: nodes go by height, then type",
        ),
        ({"pos": np.array([0, 1])}, "a forest's 'pos' must have 3 entries; got 2"),
        ({"offsets": np.array([0, 0, 3])}, "a forest's 'offsets' must have 5 entries; got 3"),
        (
            {"roots": np.array([0.0])},
            "a forest's 'roots' must be one row of int64 in numpy; got float64 [1]",
        ),
        ({"types": [0]}, "a forest's 'types' must be one row of int64 in numpy; got [0]"),
    ],
)
def test_arrays_that_do_not_go_together(changed: dict, message: str):
    with pytest.raises(GraphError, match=exactly(message)):
        Forest(**{**arrays_of(forest_of(PAIR)), **changed}, arity=3)


MODELS = [TreeLSTM(2, 2, 3, torch.eye(3), kind) for kind in (Tucker, ChildSum)]


@given(tree_lists, st.sampled_from(FIELDS), st.integers(0), st.sampled_from(EDGES))
@settings(max_examples=150)
@example([Tree("A", [Tree("x")])], "pos", 0, 2**63 - 1)
def test_one_number_changed(trees: list[Tree], name: str, place: int, value: int):
    """Refused, here or where a model meets it, or computed as any other forest."""
    arrays = arrays_of(forest_of(trees))
    if not len(arrays[name]):
        return
    arrays[name][place % len(arrays[name])] = value
    try:
        forest = Forest(**arrays, arity=3)
        found = [model(forest, backend) for model in MODELS for backend in ("levels", "dgl")]
    except GraphError:
        return
    for levels, dgl in (found[:2], found[2:]):
        torch.testing.assert_close(levels, dgl)
