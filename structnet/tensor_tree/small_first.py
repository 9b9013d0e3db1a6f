"""Trains on small trees first: what a node's label means is clearest where few others are near."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from structnet.training.history import History
from structnet.trees.examples import NodeExamples, TreeExamples

WHOLE = 2 / 3  # share of the epochs after which all examples are used
LEAST = 64  # examples of the first epoch


class SmallFirst:
    """Examples that a training sees in the order of their sizes: each epoch repeats the smallest.

    The share of the examples that are used rises with the square of the epoch, up to all of them.

    Args:
        examples: the examples.
        epochs: number of epochs of the training.
        history: records of the training, from which the number of the epoch is known.

    Example:
        >>> from structnet import Forest, Tree, Vocabulary
        >>> trees = [Tree("a", [Tree("b")] * 2), Tree("b")] * 64
        >>> forest = Forest.from_trees(trees, Vocabulary.from_trees(trees))
        >>> examples, history = TreeExamples(forest, range(128)), History()
        >>> shown = SmallFirst(examples, epochs=3, history=history)
        >>> sorted(set(shown[range(128)].targets.tolist()))[:4]
        [1, 3, 5, 7]
    """

    def __init__(self, examples: TreeExamples | NodeExamples, epochs: int, history: History):
        self.examples, self.epochs, self.history = examples, epochs, history
        forest = examples.forest
        order = forest.preorder()
        sizes = np.bincount(order.trees, minlength=len(forest))
        sizes = sizes.reshape(len(examples), -1).sum(1)
        self.order = np.argsort(sizes, kind="stable")

    @property
    def partial_epochs(self) -> int:
        """The number of epochs before all examples are used; their losses tell little."""
        return math.ceil(WHOLE * self.epochs)

    def __len__(self) -> int:
        return len(self.examples)

    def __getitem__(self, indices: Sequence[int] | np.ndarray) -> TreeExamples | NodeExamples:
        """The examples that stand for those of the epoch with these numbers, ``[n]``."""
        size = len(self)
        share = min((len(self.history) + 1) / (WHOLE * self.epochs), 1.0) ** 2
        used = min(max(int(share * size), LEAST), size)
        return self.examples[self.order[np.asarray(indices) * used // size]]
