"""The methods that a model tree needs in order to be explained, reported, pruned and drawn.

The tree of every model family has them. Everything about such trees is written once, in terms of
these methods: shares and class counts (:mod:`.visits`), :func:`.explain`, :func:`.summary`,
:func:`.export_text`, :func:`structnet.to_networkx`, ``Topology.survivors`` and the pictures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from structnet.routing.topology import Topology


class Visit(NamedTuple):
    """One node in a walk from the root down, in which children come after their parents.

    Attributes:
        node: number of the node.
        arriving: probability of each sample to reach the node; 0 or 1 on a hard path.
        branch: probability of each sample at the node to go on to each child, in the order of
            places; None at a leaf. Meaningless for samples that do not reach the node.

    Shapes:
        arriving ``[n]``; branch ``[n, children]``; float64.
    """

    # In numpy, as counts and pictures need no gradients, and a family need not use torch.
    node: int
    arriving: np.ndarray
    branch: np.ndarray | None


class Facts(NamedTuple):
    """What a node consists of.

    Attributes:
        kind: one word, such as "router", "solver", "hyperplane" or "softmax".
        words: short description, such as "1 transformer, router" or "12 of 128 weights".
        parameters: number of parameters of the node.
        transformers: number of modules that transform samples on the edge above the node.
        shape: shape of one sample where the node decides or predicts; None if samples are not
            transformed.
    """

    kind: str
    words: str
    parameters: int
    transformers: int = 0
    shape: tuple[int, ...] | None = None


class RoutedTree(Protocol):
    """A tree that is a model: it sends each sample to leaves, which predict.

    Its methods return numpy arrays, computed in evaluation mode and without gradients.

    Attributes:
        topology: shape of the tree.
        shape: shape of one sample.

    Shapes:
        x: ``[n, *shape]``, an array, a tensor or a sparse matrix, as the family takes.
    """

    topology: Topology
    shape: tuple[int, ...]

    @property
    def num_classes(self) -> int | None:
        """The number of classes; None if the tree predicts numbers."""

    def visits(self, x: Any, path: str = "multi") -> Iterator[Visit]:
        """Yields the nodes that samples reach, parents first.

        Args:
            x: samples.
            path: "multi" for the probabilities of all nodes; "greedy" to follow the likeliest
                branch at every node and leave out nodes that no sample reaches.

        Raises:
            ValueError: the path is unknown, or the samples have another shape.
        """

    def predicted(self, x: Any) -> np.ndarray:
        """Log-probabilities of the classes, or means. ``[n, outputs]``."""

    def predicted_at(self, x: Any, leaf: int) -> np.ndarray:
        """The predictions of one leaf alone, in the same form. ``[n, outputs]``."""

    def facts(self, node: int) -> Facts:
        """What a node consists of."""

    # Not among the facts, as counting may require running the node.
    def flops(self, node: int) -> int:
        """The floating-point operations for one sample at a node; a multiply-add counts as 2."""

    def branch_names(self, node: int) -> Sequence[str]:
        """The names of an inner node's branches, in the order of their places."""
