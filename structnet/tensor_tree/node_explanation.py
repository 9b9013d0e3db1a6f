"""Explains predictions for nodes: how much each part of the tree matters to the class of one."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor, nn

from structnet.tensor_tree.explanation import (
    MAX_EDGES,
    TreeExplanation,
    apart,
    falls,
    gradients,
    hidden_one_by_one,
    written,
)
from structnet.training.metrics import evaluating
from structnet.training.modules import device_of, with_same_weights
from structnet.trees.forest import Forest
from structnet.trees.label_words import own_children, own_nodes
from structnet.trees.tree import Tree
from structnet.trees.vocabulary import Vocabulary
from structnet.trees.ways_down import entries_along


@dataclass(frozen=True, repr=False)
class NodeExplanation(TreeExplanation):
    """How much each part of a tree matters to the class of one of its nodes.

    The attributes are those of :class:`.explanation.TreeExplanation`; but of the node itself and of
    those above it only their own labels are hidden, so that the node is still there.

    Attributes:
        node: number of the node, in preorder from 0, without the words of texts.
    """

    node: int

    @property
    def heading(self) -> str:
        """The node, its answer and the score, in a few words."""
        label = written(Tree(own_nodes(self.tree)[self.node].label), word=False)
        return f"node {self.node}, {label}: {super().heading}"

    def alone(self) -> set[int]:
        """The ``id`` of the node and of those above it, of which only the labels are hidden."""
        return {id(own_nodes(self.tree)[place]) for place in lineage(self.tree, self.node)}


def lineage(tree: Tree, place: int) -> list[int]:
    """The places of a node and of those above it, in preorder, from the root down.

    Example:
        >>> lineage(Tree.fromstring("(f (g x) (h y))"), 4)
        [0, 3, 4]
    """
    found, at, node = [0], 0, tree
    while at < place:
        at += 1
        for child in own_children(node):
            size = len(own_nodes(child))
            if place < at + size:
                found.append(at)
                node = child
                break
            at += size
    return found


def explain_node(
    model: nn.Module,
    vocabulary: Vocabulary,
    tree: Tree,
    node: int,
    scored: Callable[[Tensor], Tensor],
    answer: Any,
) -> NodeExplanation:
    """Explains a node's class by predicting it again with each part of the tree hidden.

    Args:
        model: model that gives outputs for each node of a forest, with an unknown label in its
            vocabulary.
        vocabulary: numbers of its labels.
        tree: the tree as the model reads it.
        node: number of the node in preorder.
        scored: function that computes the score from the outputs of nodes.
        answer: class whose score it is.

    Shapes:
        ``scored`` maps ``[n, outputs]`` -> ``[n]``.

    Reference: that of :func:`.explanation.explain`.
    """
    model, tree = with_same_weights(model), apart(tree)
    device, above = device_of(model), lineage(tree, node)
    steps = _steps(tree, above)

    def score_of(outputs: Tensor) -> Tensor:
        return scored(outputs[node : node + 1])

    with evaluating(model):
        whole = Forest.from_trees([tree], vocabulary).to(device)
        score = score_of(model(whole)).item()
        (gradient,) = gradients(model, vocabulary, [tree], score_of)
        without: list[float] = []
        for forest in hidden_one_by_one(tree, vocabulary, MAX_EDGES, labels_alone=above):
            # Of the nodes above it alone, as for all nodes the time would be quadratic.
            entries = entries_along(forest, steps)
            outputs = model(forest.to(device), entries=entries)[len(steps) :: len(above)]
            without += scored(outputs).tolist()
    return NodeExplanation(tree, answer, score, falls(score, np.array(without)), gradient, node)


def _steps(tree: Tree, above: list[int]) -> list[int]:
    """Which of its children each node on the way down to a node is followed by."""
    nodes = own_nodes(tree)
    row = [nodes[place] for place in above]
    return [
        next(i for i, child in enumerate(own_children(each)) if child is below)
        for each, below in itertools.pairwise(row)
    ]
