"""The arrays of floats that one compiled sweep computes in."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class States(NamedTuple):
    """What the nodes are and send, or its gradients.

    Attributes:
        h, c: the states, those of the bottom last, one a part.
        tanh: tanh of c.
        gates: i, o, u side by side and, if the aggregator gives them, f of each place; first what
            goes into their nonlinearity, then what comes out.
        sent: messages: what the aggregator makes of a child's h, then, if each child opens its
            own, the forget gate.
        reduced: numbers that a low-rank form makes of what was received, not yet mapped out.
        products: left times the core, of all nodes with a type.
        partial: a tensor train's vector before each slot's matrix.

    Shapes:
        h, c, tanh ``[num_nodes + parts, c]``; gates ``[num_nodes + parts, G c]``; sent
        ``[num_messages, width (+ c)]``; reduced ``[num_nodes, G r]``; products
        ``[parts of the core, typed nodes, b k]``; partial ``[slots, G r]``.
    """

    h: np.ndarray
    c: np.ndarray
    tanh: np.ndarray
    gates: np.ndarray
    sent: np.ndarray
    reduced: np.ndarray
    products: np.ndarray
    partial: np.ndarray

    def for_gradients(self) -> States:
        """Room for those: zeros for what is added to, and nothing for what has none."""
        h, c, sent = (np.zeros(x.shape, x.dtype) for x in (self.h, self.c, self.sent))
        gates, reduced = np.empty_like(self.gates), np.empty_like(self.reduced)
        return States(
            h, c, self.tanh[:0], gates, sent, reduced, self.products[:0], self.partial[:0]
        )


class Messages(NamedTuple):
    """The weights that turn a child's h into its messages, or their gradients.

    Attributes:
        weight, bias: a matrix and a vector for each key, the forget gates' columns last.

    Shapes:
        weight ``[num_keys, c, width (+ c)]``; bias ``[num_keys, width (+ c)]``.
    """

    weight: np.ndarray
    bias: np.ndarray
