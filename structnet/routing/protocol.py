"""What a model tree must be able to say, so that it can be explained, reported, pruned and drawn.

Every family's tree joins by these few methods. All that is said of any of them is written once,
against them: shares and class counts (:mod:`.visits`), :func:`.explain`, :func:`.summary`,
:func:`.export_text`, :func:`structnet.to_networkx`, ``Topology.survivors`` and the pictures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from structnet.routing.topology import Topology


class Visit(NamedTuple):
    """One node of a walk from the root down, children after their parents.

    Attributes:
        node: its number.
        arriving: the probability of each sample to come here; 0 or 1 on a hard path.
        branch: the probability of each to go on to each child, in the order of places; None at a
            leaf. Where nothing arrives, it says nothing.

    Shapes:
        arriving ``[n]``; branch ``[n, children]``; float64.
    """

    # Numpy: what is counted and drawn needs no gradients, and a family need not be torch.
    node: int
    arriving: np.ndarray
    branch: np.ndarray | None


class Facts(NamedTuple):
    """What a node is made of.

    Attributes:
        kind: one word, "router" or "solver", "hyperplane" or "softmax".
        words: a few of them, "1 transformer, router" or "12 of 128 weights".
        parameters: the number of numbers that the node learns.
        transformers: the number of modules that change a sample on the edge above the node.
        shape: the shape of one sample where the node decides or predicts; None if nothing changes
            samples.
    """

    kind: str
    words: str
    parameters: int
    transformers: int = 0
    shape: tuple[int, ...] | None = None


class RoutedTree(Protocol):
    """A tree that is the model: it sends each sample to leaves, which predict.

    What it is asked, it answers in evaluation mode and without gradients, in numpy.

    Attributes:
        topology: its nodes.
        shape: the shape of one sample.

    Shapes:
        x: ``[n, *shape]``, an array, tensor or sparse matrix, whatever the family takes.
    """

    topology: Topology
    shape: tuple[int, ...]

    @property
    def num_classes(self) -> int | None:
        """The number of classes; None if the tree predicts numbers."""

    def visits(self, x: Any, path: str = "multi") -> Iterator[Visit]:
        """The nodes that samples come to, parents first.

        Args:
            path: "multi" goes to all leaves, each as probable as it is; "greedy" follows the
                likeliest branch at every node, and leaves out nodes that no sample comes to.

        Raises:
            ValueError: another path, or samples of another shape.
        """

    def predicted(self, x: Any, path: str = "multi") -> np.ndarray:
        """Log-probabilities of the classes, or means. ``[n, outputs]``."""

    def predicted_at(self, x: Any, leaf: int) -> np.ndarray:
        """What one leaf predicts by itself, in the same form. ``[n, outputs]``."""

    def facts(self, node: int) -> Facts:
        """What a node is made of."""

    # Apart from the facts, as counting may mean to run the node.
    def flops(self, node: int) -> int:
        """The floating-point operations of one sample at a node, 2 a multiply-add."""

    def branch_names(self, node: int) -> Sequence[str]:
        """What the branches of an inner node are called, in the order of their places."""
