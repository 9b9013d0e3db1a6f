"""Which cells are worth a training, and which of them says held-out examples best.

Child-sum fits any tree, and is the better one of most. Where labels are operators, each with so
many children, what a node means is often a product of what these mean; sums learn that slowly, and
a Tucker tensor at once. Which it is, only a training shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from structnet.tensor_tree.settings import Cell, TreeLSTMSettings
from structnet.trees.tree import Tree

MOST_CHILDREN = 3
OPERATORS = range(2, 17)  # labels of inner nodes; more have too many weights
ENOUGH = 10  # held-out trees, or it would be chance that chooses
BETTER = 1.0  # deviations of chance by which another cell is better than the first


def cells(
    settings: TreeLSTMSettings, learn: Iterable[Tree], held: Iterable[Tree]
) -> tuple[Cell, ...]:
    """The cells that may fit some trees, the first of which fits any.

    Args:
        settings: hyper-parameters; those that child-sum alone has leave no other.
        learn, held: trees to learn from, and those by which it is chosen.
    """
    told, held = (settings.words, settings.dropout, settings.label_dropout), list(held)
    most = 0 if any(told) or len(held) < ENOUGH else max(_operators(learn).values(), default=0)
    fit = all(len(node.children) <= most for tree in held for node in tree.postorder(once=True))
    return ("child-sum", "tucker") if most > 1 and fit else ("child-sum",)


def _operators(trees: Iterable[Tree]) -> dict[object, int]:
    """The number of children of each label of inner nodes; none if there are too many of either,
    or a label has several."""
    found: dict[object, int] = {}
    for tree in trees:
        for node in tree.postorder(once=True):
            number = len(node.children)
            if not number:
                continue
            if number > MOST_CHILDREN or found.setdefault(node.label, number) != number:
                return {}
            if len(found) >= OPERATORS.stop:
                return {}
    return found if len(found) in OPERATORS else {}


def best_of(losses: Mapping[Cell, np.ndarray]) -> Cell:
    """The first cell, unless another loses less by more than chance.

    Args:
        losses: loss of each held-out example, times its count, of each cell.

    Shapes:
        each ``[n]``.

    Example:
        >>> best_of({"child-sum": np.array([1.0, 2.0]), "tucker": np.array([0.5, 1.4])})
        'tucker'
    """
    first, *others = losses
    best = first
    for cell in others:
        gain = losses[best] - losses[cell]
        if gain.mean() > BETTER * gain.std() / len(gain) ** 0.5:
            best = cell
    return best
