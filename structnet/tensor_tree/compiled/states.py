"""The floating-point arrays of a compiled sweep."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class States(NamedTuple):
    """The states of nodes, and the messages that they send.

    Attributes:
        h, c: states; those of the bottom are last.
        tanh: tanh of c.
        gates: i, o, u side by side and, if the aggregator computes them, f of each place; first
            the arguments of their nonlinearities, then the values.
        sent: messages that the aggregator computes from a child's h.
        forget: forget gates of the messages, if each is computed from its child alone.
        reduced: numbers that a low-rank form computes from what was received, before the map to
            the gates.
        products: left times the core, for all typed nodes; see :mod:`..kernels.core`.
        partial: vectors of a tensor train before the matrix of each slot.

    Shapes:
        h, c, tanh ``[num_nodes + 1, c]``; gates ``[num_nodes + 1, G c]``; sent
        ``[num_messages, width]``; forget ``[num_messages, c]``, or without columns; reduced
        ``[num_nodes, G r]``; products ``[typed nodes, parts of the core * b k]``; partial
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
    """The gradients of the states.

    Attributes:
        h, c, gates, sent, forget, reduced: gradients of the arrays with these names.
        slots: gradients of what each slot receives, if they differ from those of the node's gates.
        own: parts of the gradients of h and c that each message adds to its source, side by side.

    Shapes:
        slots ``[slots, width or c]``, or empty; own ``[num_messages, 2 c]``; the others as in
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
    """Arrays for the gradients; those of h and c, which are added to, are zeros."""
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
