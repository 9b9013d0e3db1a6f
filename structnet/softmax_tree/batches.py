"""The classes of many rows: products of matrices for the hyperplanes near the root and for leaves.

Their sums are in another order than those of a row alone. Where that might send a row to the other
side, or make another class the likeliest, the row is asked alone, so that a batch gives the same
classes as its rows one by one.
"""

from __future__ import annotations

import numpy as np

from structnet.softmax_tree import _kernels
from structnet.softmax_tree._kernels import LEFT, WEIGHTS
from structnet.softmax_tree.arrays import Packed
from structnet.softmax_tree.nodes import Leaf
from structnet.trees._kernels import grouped

FEW = 4  # rows of a leaf below which a product of matrices is not worth its call
MANY = 64  # rows from which one with the hyperplanes is
LEVELS = 6  # of them: below, a row passes too few of all
WIDE = 16  # rows or columns that products of matrices take at a time
NUMBERS = 2**22  # made at once of the rows of a leaf
ROUNDING = 4 * float(np.finfo(np.float32).eps)
Rows = tuple[np.ndarray, ...]  # rows in full, or none and CSR, as the kernels take them


def leaves_of(
    rows: Rows, number: int, arrays: Packed, lengths: np.ndarray | None = None
) -> np.ndarray:
    """The leaf of each row.

    Args:
        rows: rows.
        number: count of rows.
        arrays: arrays of the tree.
        lengths: lengths of rows in full, if they are known.

    Shapes:
        lengths ``[n]`` -> ``[n]``, int64.
    """
    leaves = np.empty(number, np.int64)
    if number < MANY or _sparse(rows, arrays):
        _kernels.leaves_of(*rows, *arrays, leaves)
        return leaves
    x, (table, weights, _) = rows[0], arrays
    nodes, places = _nodes_near_root(arrays)
    planes = np.zeros((len(nodes) + -len(nodes) % WIDE, x.shape[1]), x.dtype)
    for place, start in enumerate(arrays.nodes[nodes, WEIGHTS] + 1):
        planes[place] = weights[start : start + x.shape[1]]
    biases = np.abs(weights[arrays.nodes[nodes, WEIGHTS]])
    doubts = ROUNDING * (x.shape[1] + 1) * (_lengths(planes[: len(nodes)]) + biases)
    lengths = np.maximum(_lengths(x) if lengths is None else lengths, 1)
    step = max(1, NUMBERS // max(planes.shape))
    for part in (slice(first, first + step) for first in range(0, number, step)):
        scores = x[part] @ planes.T
        told = scores, places, doubts.astype(x.dtype), lengths[part]
        _kernels.leaves_by_scores(x[part], *told, table, weights, leaves[part])
    return leaves


def classes_of(rows: Rows, number: int, arrays: Packed) -> np.ndarray:
    """The likeliest class of each row.

    Args:
        rows, number, arrays: the same as of :func:`leaves_of`.

    Shapes:
        ``[n]``, int64.
    """
    sparse = _sparse(rows, arrays)  # most products of matrices would be with 0
    lengths = None if sparse else _lengths(rows[0])
    leaves, found = leaves_of(rows, number, arrays, lengths), np.full(number, -1)
    order, starts = grouped(leaves, len(arrays.nodes))
    if lengths is not None:
        for node in np.flatnonzero(np.diff(starts) >= FEW).tolist():
            here = order[starts[node] : starts[node + 1]]
            _sure(rows[0], here, lengths, arrays.leaf(node, rows[0].shape[1]), found)
        order = order[found[order] < 0]
    _kernels.classes_of(*rows, order, leaves, *arrays, found)
    return found


def _sure(
    x: np.ndarray, here: np.ndarray, lengths: np.ndarray, leaf: Leaf, found: np.ndarray
) -> None:
    """Finds the classes of a leaf's rows, -1 where rounding decides. ``[n, D], [rows], [n]``."""
    weight, bias = leaf.weight, leaf.bias
    rounding = weight.dtype.type(ROUNDING * (len(weight) + 1))
    for piece in np.array_split(here, 1 + len(here) * max(weight.shape) // NUMBERS):
        told = lengths, rounding, weight, bias, leaf.classes
        # Rows are collected in about the time of the product; x[piece] takes half as long again.
        _kernels.sure_classes(x.take(piece, axis=0) @ weight, *told, piece, found)


def _nodes_near_root(arrays: Packed) -> tuple[np.ndarray, np.ndarray]:
    """The hyperplanes of the first levels, and the place of each node among them, or -1."""
    level, found = np.zeros(1, np.int64), []
    for _ in range(LEVELS):
        level = level[arrays.nodes[level, LEFT] >= 0]
        found.append(level)
        level = arrays.nodes[level, :2].ravel()
    nodes, places = np.concatenate(found), np.full(len(arrays.nodes), -1)
    places[nodes] = np.arange(len(nodes))
    return nodes, places


def _lengths(x: np.ndarray) -> np.ndarray:
    """The lengths of rows. ``[n, D] -> [n]``."""
    return np.sqrt(np.einsum("nd,nd->n", x, x))


def _sparse(rows: Rows, arrays: Packed) -> bool:
    """Are the rows or the weights sparse?"""
    return bool(len(rows[1]) or len(arrays.places))
