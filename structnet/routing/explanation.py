"""Why a model tree predicts what it predicts for one sample."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import issparse

from structnet.routing.protocol import RoutedTree
from structnet.routing.words import percent


@dataclass(frozen=True)
class Choice:
    """One node's decision.

    Attributes:
        node: its number.
        side: the name of the branch that is taken, "left" or "right" of a router.
        probability: the probability of that branch.
    """

    node: int
    side: str
    probability: float


@dataclass(frozen=True)
class Explanation:
    """How one sample is predicted; ``str`` tells it.

    Attributes:
        choices: on the greedy path, from the root down.
        probability: that of the whole path.
        leaf: the node it ends in.
        prediction: the leaf's own answer: the probability of each class, or the means, in the
            units that were asked for.
        mixture: the answer of all leaves together, likewise.
        class_names: the names of the classes; None if the prediction is of numbers.
    """

    choices: tuple[Choice, ...]
    probability: float
    leaf: int
    prediction: tuple[float, ...]
    mixture: tuple[float, ...]
    class_names: tuple[str, ...] | None

    def __str__(self) -> str:
        return "\n".join(
            [
                *(f"node {c.node}: {c.side}, {percent(c.probability, 1)}" for c in self.choices),
                f"leaf {self.leaf}, reached with {percent(self.probability, 1)}",
                f"its prediction: {self._says(self.prediction)}",
                f"of all leaves: {self._says(self.mixture)}",
            ]
        )

    def _says(self, prediction: tuple[float, ...]) -> str:
        if self.class_names is None:
            return ", ".join(f"{mean:.4g}" for mean in prediction)
        best = int(np.argmax(prediction))
        return f"class {self.class_names[best]}, {percent(prediction[best], 1)}"


def explain(
    tree: RoutedTree,
    x: Any,
    class_names: Sequence[str] | None = None,
    to_units: Callable[[np.ndarray], np.ndarray] | None = None,
) -> Explanation:
    """The decisions on one sample's greedy path, and what they lead to.

    Args:
        x: one sample.
        class_names: the names of the classes; their numbers by default.
        to_units: the function that takes means from the tree's units to those to tell them in, as
            ``Standardizer.inverse`` does; by default they stay as the tree gives them.

    Shapes:
        x ``[*shape]``, without a batch, or a sparse row; to_units ``[1, columns]`` -> the same.

    Raises:
        ValueError: the sample has another shape, there is not one name a class, or there are units
            for classes.

    Example:
        >>> import torch
        >>> from structnet.neural_tree import NeuralTree, presets
        >>> tree = NeuralTree(presets.mlp(num_outputs=2, width=8), shape=(4,))
        >>> _ = tree.split(0)
        >>> for parameter in tree.parameters():
        ...     _ = torch.nn.init.zeros_(parameter)
        >>> print(explain(tree, torch.ones(4), class_names=["cat", "dog"]))
        node 0: left, 50.0 %
        leaf 1, reached with 50.0 %
        its prediction: class cat, 50.0 %
        of all leaves: class cat, 50.0 %
    """
    batch = x if issparse(x) else x[None]
    if tuple(batch.shape) != (1, *tree.shape):
        raise ValueError(
            f"x must be {list(tree.shape)}, one sample of the tree's shape. Got {list(x.shape)}."
        )
    names = names_of(tree, class_names)
    if names is not None and to_units is not None:
        raise ValueError("there are to_units for a tree that predicts classes, not numbers")
    choices, leaf = _choices(tree, batch)
    said = [tree.predicted_at(batch, leaf), tree.predicted(batch)]  # each [1, outputs]
    if names is not None:
        said = [np.exp(part) for part in said]
    if to_units is not None:
        said = [to_units(part) for part in said]
    probability = math.exp(sum(math.log(choice.probability) for choice in choices))
    prediction, mixture = (tuple(part[0].tolist()) for part in said)
    return Explanation(choices, probability, leaf, prediction, mixture, names)


def _choices(tree: RoutedTree, batch: Any) -> tuple[tuple[Choice, ...], int]:
    """The decisions on a sample's greedy path, and the leaf at its end."""
    # A family may also walk through nodes that the sample does not come to.
    path = [each for each in tree.visits(batch, "greedy") if each.arriving[0]]
    choices = []
    for here, below in pairwise(path):
        # The branch that was taken, whatever a tie would say.
        place = tree.topology.children_of(here.node).index(below.node)
        assert here.branch is not None  # it is no leaf
        side = tree.branch_names(here.node)[place]
        choices.append(Choice(here.node, side, float(here.branch[0, place])))
    return tuple(choices), path[-1].node


def names_of(tree: RoutedTree, class_names: Sequence[str] | None) -> tuple[str, ...] | None:
    """The names of the classes; None if the tree predicts numbers.

    Args:
        class_names: the names; the classes' numbers by default.

    Raises:
        ValueError: there is not one name a class.
    """
    if tree.num_classes is None:
        if class_names is not None:
            raise ValueError("there are class_names for a tree that predicts numbers, not classes")
        return None
    names = tuple(map(str, range(tree.num_classes) if class_names is None else class_names))
    if len(names) != tree.num_classes:
        raise ValueError(
            f"there are {len(names)} class_names for {tree.num_classes} classes; expected one each"
        )
    return names
