"""The arrays of floats that one compiled sweep computes in."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class States(NamedTuple):
    """What the nodes are and send, or its gradients.

    Attributes:
        h, c: the states, that of the bottom last.
        tanh: tanh of c.
        gates: i, o, u side by side and, if the aggregator gives them, f of each place; first what
            goes into their nonlinearity, then what comes out.
        sent: messages: what the aggregator makes of a child's h.
        forget: their forget gates, if each child opens its own.
        reduced: numbers that a low-rank form makes of what was received, not yet mapped out.
        products: left times the core, of all nodes with a type.
        partial: a tensor train's vector before each slot's matrix.

    Shapes:
        h, c, tanh ``[num_nodes + 1, c]``; gates ``[num_nodes + 1, G c]``; sent
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


class Gradients(NamedTuple):
    """Those of the states.

    Attributes:
        h, c, gates, sent, forget, reduced: those of what bears the name.
        slots: those of what each slot receives, if they are not those of the node's gates.
        own: parts of those of h and c that each message gives to its source, side by side.

    Shapes:
        slots ``[slots, width or c]``, or 0 for all; own ``[num_messages, 2 c]``; the others as in
        :class:`States`.
    """

    h: np.ndarray
    c: np.ndarray
    gates: np.ndarray
    sent: np.ndarray
    forget: np.ndarray
    reduced: np.ndarray
    slots: np.ndarray
    own: np.ndarray


def for_gradients(s: States, slots: tuple[int, int]) -> Gradients:
    """Room for those, zeros for what is added to."""
    h, c = np.zeros_like(s.h), np.zeros_like(s.c)
    others = (np.empty_like(x) for x in (s.gates, s.sent, s.forget, s.reduced))
    own = len(s.sent), 2 * s.h.shape[1]
    return Gradients(h, c, *others, *(np.empty(shape, s.h.dtype) for shape in (slots, own)))


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
