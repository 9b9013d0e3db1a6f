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
        sent: messages: what the aggregator makes of a child's h.
        forget: their forget gates, if each child opens its own.
        reduced: numbers that a low-rank form makes of what was received, not yet mapped out.
        products: left times the core, of all nodes with a type.
        partial: a tensor train's vector before each slot's matrix.

    Shapes:
        h, c, tanh ``[num_nodes + parts, c]``; gates ``[num_nodes + parts, G c]``; sent
        ``[num_messages, width]``; forget ``[num_messages, c]``, or 0 for c; reduced
        ``[num_nodes, G r]``; products ``[parts of the core, typed nodes, b k]``; partial
        ``[slots, G r]``.
    """

    h: np.ndarray
    c: np.ndarray
    tanh: np.ndarray
    gates: np.ndarray
    sent: np.ndarray
    forget: np.ndarray
    reduced: np.ndarray
    products: np.ndarray
    partial: np.ndarray

    def for_gradients(self) -> States:
        """Room for those: zeros for what is added to, and nothing for what has none."""
        zeros = {name: np.zeros_like(getattr(self, name)) for name in ("h", "c", "sent", "forget")}
        gates, reduced = np.empty_like(self.gates), np.empty_like(self.reduced)
        none = {name: getattr(self, name)[:0] for name in ("tanh", "products", "partial")}
        return States(**zeros, **none, gates=gates, reduced=reduced)


class Linear(NamedTuple):
    """A matrix and a vector for each key, or their gradients.

    Shapes:
        weight ``[num_keys, c, n]``; bias ``[num_keys, n]``.
    """

    weight: np.ndarray
    bias: np.ndarray


class Messages(NamedTuple):
    """The weights that turn a child's h into its messages and its forget gates."""

    sent: Linear
    forget: Linear
