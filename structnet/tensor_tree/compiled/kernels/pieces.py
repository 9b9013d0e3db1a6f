"""Divides the rows of a sweep into pieces."""

from __future__ import annotations

import numpy as np

from structnet.tensor_tree.compiled.kernels.gates import compiled, internal

# ``level``, ``end``: the first level of a piece, and the end; ``node``, ``node_end``, ``message``,
# ``message_end``: its first node and message, and the ends; ``first``, ``last``: the first piece of
# its stage, and the end.
PIECE_FIELDS = ("level", "end", "node", "node_end", "message", "message_end", "first", "last")
PIECE = np.dtype([(name, np.int64) for name in PIECE_FIELDS])
_WORTH = 1 << 15  # multiplications that are worth a piece, about ten microseconds
# A piece has at least _FEW rows, as each reads all weights. A level has at most _USUAL pieces,
# or more if each has at least _MANY rows, but never more than _MAX_PIECES.
_FEW, _MANY = 2, 128
_USUAL, _MAX_PIECES = 4, 32


@compiled
def shares_of(rows, work):
    """The number of pieces for ``rows`` rows of ``work`` multiplications each."""
    number = min(rows * work // _WORTH, rows // _FEW, max(_USUAL, rows // _MANY))
    return max(1, min(number, _MAX_PIECES))


@compiled
def cut(nodes, messages, of_node, of_message):
    """The pieces of a sweep, from the leaves up.

    ``nodes`` and ``messages`` are the first rows of each level, and the end; ``of_node`` and
    ``of_message`` are multiplications per row. Consecutive levels that are not worth dividing are
    one piece.
    """
    pieces = np.empty(0, PIECE)
    for _ in range(2):  # the first time only counts them
        n, whole = 0, False
        for level in range(len(nodes) - 1):
            lo, hi = nodes[level], nodes[level + 1]
            first, last = messages[level], messages[level + 1]
            shares, sent = shares_of(hi - lo, of_node), shares_of(last - first, of_message)
            if first == last:
                sent = 0
            if shares == 1 and sent < 2:
                if not whole:
                    _set(pieces, n, level, lo, lo, first, first, n, n + 1)
                    n += 1
                whole = True
                if n <= len(pieces):
                    piece = pieces[n - 1]
                    piece.end, piece.node_end, piece.message_end = level + 1, hi, last
                continue
            whole = False
            for i in range(shares):
                a, b = lo + (hi - lo) * i // shares, lo + (hi - lo) * (i + 1) // shares
                _set(pieces, n + i, level, a, b, first, first, n, n + shares)
            n += shares
            for i in range(sent):
                a, b = first + (last - first) * i // sent, first + (last - first) * (i + 1) // sent
                _set(pieces, n + i, level, hi, hi, a, b, n, n + sent)
            n += sent
        if n > len(pieces):
            pieces = np.empty(n, PIECE)
    return pieces


@internal
def _set(pieces, n, level, node, node_end, message, message_end, first, last):
    if n < len(pieces):
        piece = pieces[n]
        piece.level, piece.end, piece.first, piece.last = level, level + 1, first, last
        piece.node, piece.node_end = node, node_end
        piece.message, piece.message_end = message, message_end


@internal
def rows_of(runs, levels, level, lo, hi):
    """The first of the rows of one level that are from ``lo`` to ``hi``, and the end."""
    return max(runs[levels[level]], lo), min(runs[levels[level + 1]], hi)
