"""The classes of many rows: those of a leaf share one product of matrices.

Its sums are in another order than those of a row alone. Where that might make another class the
likeliest, the row is asked alone, so that a batch gives the same classes as its rows one by one.
"""

from __future__ import annotations

import numpy as np

from structnet.softmax_tree import _kernels
from structnet.softmax_tree.arrays import Packed

FEW = 4  # rows of a leaf below which a product of matrices is not worth its call
NUMBERS = 2**22  # made at once of the rows of a leaf
ROUNDING = float(np.finfo(np.float32).eps)


def likeliest_classes(
    rows: tuple[np.ndarray, ...], leaves: np.ndarray, arrays: Packed
) -> np.ndarray:
    """The likeliest class of each row.

    Args:
        rows: rows in full, or none and CSR, as the kernels take them.
        leaves: leaf of each row.
        arrays: arrays of the tree.

    Shapes:
        leaves ``[n]`` -> ``[n]``, int64.
    """
    found, order = np.empty(len(leaves), np.int64), np.argsort(leaves, kind="stable")
    if len(rows[1]) or len(arrays.places):  # of sparse ones, most products would be with 0
        _kernels.classes_of(*rows, order, leaves, *arrays, found)
        return found
    left = []
    for here in np.split(order, np.flatnonzero(np.diff(leaves[order])) + 1):
        if len(here) < FEW:
            left.append(here)
            continue
        leaf = int(leaves[here[0]])
        classes = arrays.classes(leaf)
        pieces = 1 + len(here) * max(len(classes), rows[0].shape[1]) // NUMBERS
        for piece in np.array_split(here, pieces):
            places = _sure(rows[0][piece], leaf, arrays)
            found[piece] = classes[places]
            left.append(piece[places < 0])
    _kernels.classes_of(*rows, np.concatenate(left), leaves, *arrays, found)
    return found


def _sure(x: np.ndarray, leaf: int, arrays: Packed) -> np.ndarray:
    """The places of the likeliest of a leaf's classes, -1 where rounding decides. ``[n, D]``."""
    own = arrays.leaf(leaf, x.shape[1])
    scores = x @ own.weight
    scores += own.bias
    # A sum of D products errs by D roundings of the sum of their sizes, at most, and that is at
    # most the product of the lengths of the two vectors.
    longest = np.sqrt(np.einsum("dk,dk->k", own.weight, own.weight).max())
    sizes = np.sqrt(np.einsum("nd,nd->n", x, x)) * longest + np.abs(own.bias).max()
    doubt = (4 * ROUNDING * (x.shape[1] + 1)) * sizes
    places = np.empty(len(x), np.int64)
    _kernels.sure_places(scores, doubt.astype(scores.dtype), places)
    return places
