"""Trees with targets: what a training loop cuts into batches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from structnet.trees.forest import Forest
from structnet.trees.numbering import positions


class TreeExamples:
    """A forest and one target an example; an example is one tree or several in a row.

    Args:
        forest: ``roots_per_example * n`` trees, those of one example next to each other.
        targets: ``[n]`` class numbers.

    Raises:
        ValueError: the trees cannot be shared out evenly among the targets.

    Example:
        >>> from structnet.trees.tree import Tree
        >>> from structnet.trees.vocabulary import Vocabulary
        >>> trees = [Tree("a"), Tree("b"), Tree("a"), Tree("a")]
        >>> pairs = TreeExamples(Forest.from_trees(trees, Vocabulary([], "ab", 0)), [1, 0])
        >>> len(pairs), pairs.roots_per_example, pairs[[1]].forest.tree(0)
        (2, 2, <Tree a>)
    """

    def __init__(self, forest: Forest, targets: Sequence[int] | np.ndarray | Tensor):
        self.forest = forest
        self.targets = torch.as_tensor(targets)
        n = len(self.targets)
        if len(forest) % max(n, 1) or (n == 0) != (len(forest) == 0):
            raise ValueError(f"{len(forest)} trees cannot be shared evenly by {n} targets")
        self.roots_per_example = len(forest) // n if n else 1

    def __len__(self) -> int:
        return len(self.targets)

    def __getitem__(self, indices: slice | Sequence[int] | np.ndarray) -> TreeExamples:
        """The chosen examples, with a forest of just their trees."""
        chosen = positions(indices, len(self))
        k = self.roots_per_example
        roots = chosen if k == 1 else (chosen[:, None] * k + np.arange(k)).ravel()
        return TreeExamples(self.forest[roots], self.targets[torch.from_numpy(chosen)])

    def to(self, device: str | torch.device) -> TreeExamples:
        """The same examples for models on ``device``."""
        return TreeExamples(self.forest.to(device), self.targets.to(device))
