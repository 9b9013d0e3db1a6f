"""A forest's arrays and their checks: compiled loops rely on them without checking any index."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structnet.checks import check_integer
from structnet.errors import GraphError
from structnet.trees import _kernels
from structnet.trees.vocabulary import NONE

# Places are multiplied by numbers of types, and neither may leave 64 bits.
MAX_PLACE = 2**31 - 1


class ForestArrays(NamedTuple):
    """The nodes of a :class:`~structnet.trees.forest.Forest`, where the arrays are described.

    Shapes:
        types, tokens, height: ``[num_nodes]``; offsets: ``[num_nodes + 1]``.
        children, pos: ``[num_edges]``; roots: ``[len(forest)]``.
    """

    types: np.ndarray
    tokens: np.ndarray
    height: np.ndarray
    offsets: np.ndarray
    children: np.ndarray
    pos: np.ndarray
    roots: np.ndarray


class Level(NamedTuple):
    """The nodes of one height.

    Shapes:
        nodes: ``[n]``, ascending.
        children: ``[n, arity]``, -1 where there is no child.
    """

    nodes: np.ndarray
    children: np.ndarray


def check_arrays(arrays: ForestArrays, arity: int) -> None:
    """Checks that arrays are those of a forest, in linear time.

    Raises:
        GraphError: the arrays are not those of a forest.
        ValueError: the arity is not an int, or negative.
    """
    check_integer("arity", arity, 0, owner="Forest")
    for name, array in arrays._asdict().items():
        _check_kind(name, array)
    types, tokens, height, offsets, children, pos, roots = arrays
    n, edges = len(types), len(children)
    for name, array, length in (
        ("tokens", tokens, n), ("height", height, n), ("offsets", offsets, n + 1),
        ("pos", pos, edges),
    ):  # fmt: skip
        if len(array) != length:
            raise GraphError(f"a forest's {name!r} must have {length} entries; got {len(array)}")
    if offsets[0] != 0 or offsets[-1] != edges or (np.diff(offsets) < 0).any():
        raise GraphError(f"a forest's 'offsets' must rise from 0 to its {edges} edges")
    check_numbers("a forest's 'types'", types, NONE)
    check_numbers("a forest's 'tokens'", tokens, NONE)
    check_numbers("a forest's 'children'", children, 0, n - 1)
    check_numbers("a forest's 'roots'", roots, 0, n - 1)
    check_numbers("a forest's 'pos'", pos, 0, min(arity - 1, MAX_PLACE))
    _check_order(arrays)


def check_numbers(name: str, array: np.ndarray, least: int, most: int | None = None) -> None:
    """Checks the range of numbers, ``[n]``.

    Args:
        name: name of the numbers in the error.
        least, most: ends of the range; None for no upper end.

    Raises:
        GraphError: a number is outside the range.
    """
    outside = array < least if most is None else (array < least) | (array > most)
    if outside.any():
        allowed = f"{least} or more" if most is None else f"between {least} and {most}"
        raise GraphError(f"{name} holds {array[outside.argmax()]}; its numbers must be {allowed}")


def _check_kind(name: str, array: np.ndarray) -> None:
    if not isinstance(array, np.ndarray) or array.dtype != np.int64 or array.ndim != 1:
        kind = f"{array.dtype} {list(array.shape)}" if hasattr(array, "dtype") else repr(array)
        raise GraphError(f"a forest's {name!r} must be one row of int64 in numpy; got {kind}")


def _check_order(arrays: ForestArrays) -> None:
    """Checks that children come before parents, by place, and nodes by height, then type."""
    types, _, height, offsets, children, pos, _ = arrays
    parent = np.repeat(np.arange(len(types)), np.diff(offsets))
    late = children >= parent
    if late.any():
        e = int(late.argmax())
        raise GraphError(
            f"node {parent[e]} has child {children[e]}; children have smaller numbers than parents"
        )
    unordered = (parent[1:] == parent[:-1]) & (pos[1:] <= pos[:-1])
    if unordered.any():
        e = int(unordered.argmax())
        raise GraphError(
            f"node {parent[e]} has a child in place {pos[e]} and then one in place {pos[e + 1]}; "
            "its places must rise"
        )
    wrong = height != _kernels.heights(offsets, children)
    if wrong.any():
        v = int(wrong.argmax())
        raise GraphError(
            f"node {v} has height {height[v]}; it must be the edges of its longest way to a leaf"
        )
    before, after = slice(None, -1), slice(1, None)
    falls = (height[after] < height[before]) | (
        (height[after] == height[before]) & (types[after] < types[before])
    )
    if falls.any():
        v = int(falls.argmax()) + 1
        raise GraphError(
            f"node {v} must not come after node {v - 1}: nodes go by height, then type"
        )
