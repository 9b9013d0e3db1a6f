"""Trees with targets, which a training loop cuts into batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data._utils.collate import default_collate_fn_map

from structnet.checks import check_integer
from structnet.trees.end_to_end import ranges
from structnet.trees.forest import Forest, Preorder
from structnet.trees.numbering import positions


class TreeExamples:
    """A forest with one target per example, where an example is one or more consecutive trees.

    Args:
        forest: ``roots_per_example * n`` trees, with those of an example next to each other.
        targets: class numbers ``[n]``, or numbers ``[n, ..]``.
        weights: weight of each example, of mean 1; None for equal weights.
        roots_per_example: number of trees of each example; 2 for pairs.

    Shapes:
        weights ``[n]``.

    Raises:
        ValueError: there are not ``roots_per_example`` trees or not one weight per target, or a
            target is not a number or a row of numbers.

    Example:
        >>> from structnet.trees.tree import Tree
        >>> from structnet.trees.vocabulary import Vocabulary
        >>> trees = [Tree("a"), Tree("b"), Tree("a"), Tree("a")]
        >>> forest = Forest.from_trees(trees, Vocabulary([], "ab", 0))
        >>> pairs = TreeExamples(forest, [1, 0], roots_per_example=2)
        >>> len(pairs), pairs[[1]].forest.tree(0)
        (2, <Tree a>)
    """

    def __init__(
        self,
        forest: Forest,
        targets: Sequence[int] | np.ndarray | Tensor,
        weights: np.ndarray | Tensor | None = None,
        roots_per_example: int = 1,
    ):
        check_integer("roots_per_example", roots_per_example, 1, owner="TreeExamples")
        self.forest, self.roots_per_example = forest, roots_per_example
        self.targets = _tensor_of(targets)
        self.weights = None if weights is None else torch.as_tensor(_in_order(weights))
        n = len(self.targets)
        if len(forest) != roots_per_example * n:
            raise ValueError(
                f"got {len(forest)} trees and {n} targets; expected one target for "
                + ("each tree" if roots_per_example == 1 else f"{roots_per_example} trees")
                + ", as roots_per_example says"
            )
        if self.weights is not None and len(self.weights) != n:
            raise ValueError(
                f"{len(self.weights)} weights for {n} targets; expected one per target"
            )

    def __len__(self) -> int:
        return len(self.targets)

    def __getitem__(self, indices: slice | Sequence[int] | np.ndarray) -> TreeExamples:
        """The chosen examples, with a forest of their trees only."""
        chosen = positions(indices, len(self))
        k = self.roots_per_example
        roots = chosen if k == 1 else (chosen[:, None] * k + np.arange(k)).ravel()
        places = torch.from_numpy(chosen)
        weights = None if self.weights is None else self.weights[places]
        return TreeExamples(self.forest[roots], self.targets[places], weights, k)

    def counts(self) -> Tensor:
        """How much each example counts: its weight, or 1 without weights. ``[n]``."""
        if self.weights is None:
            return torch.ones(len(self), device=self.targets.device)
        return self.weights

    def __getitems__(self, indices: Sequence[int]) -> TreeExamples:
        return self[indices]  # by which a DataLoader takes a whole batch at once

    def to(self, device: str | torch.device) -> TreeExamples:
        """The same examples for models on ``device``."""
        weights = None if self.weights is None else self.weights.to(device)
        forest, targets = self.forest.to(device), self.targets.to(device)
        return TreeExamples(forest, targets, weights, self.roots_per_example)


class NodeExamples:
    """A forest with classes for some nodes of each tree, where an example is a tree.

    Args:
        forest: the trees.
        labels: for each tree, a class number for each of its nodes in preorder, -1 for none.
        weights: for each tree, a weight for each of its nodes; of mean 1 over all nodes with a
            class. None for equal weights.

    Raises:
        ValueError: a tree does not have as many labels, or weights, as nodes.

    Example:
        >>> from structnet.trees.tree import Tree
        >>> from structnet.trees.vocabulary import Vocabulary
        >>> trees = [Tree("f", [Tree("x"), Tree("y")]), Tree("x")]
        >>> forest = Forest.from_trees(trees, Vocabulary.from_trees(trees))
        >>> examples = NodeExamples(forest, [[2, 0, -1], [0]])
        >>> examples[[1]].labels.tolist()
        [0]
    """

    def __init__(
        self,
        forest: Forest,
        labels: Sequence[Sequence[int]],
        weights: Sequence[Sequence[float]] | None = None,
    ):
        order = forest.preorder()
        flat = torch.tensor(_flat(labels, order, "label", ", -1 for none"), dtype=torch.int64)
        shares = None if weights is None else torch.tensor(_flat(weights, order, "weight"))
        self._hold(forest, order, flat, shares)

    def _hold(
        self, forest: Forest, order: Preorder, labels: Tensor, weights: Tensor | None
    ) -> NodeExamples:
        self.forest, self.order, self.labels, self.weights = forest, order, labels, weights
        return self

    @property
    def nodes(self) -> Tensor:
        """The node of the forest that each label belongs to, ``[labels]``."""
        return torch.from_numpy(self.order.nodes).to(self.forest.device)

    @property
    def counted(self) -> int:
        """The number of labelled nodes, over which a loss is a mean."""
        return int((self.labels >= 0).sum())

    def __len__(self) -> int:
        return len(self.forest)

    def __getitem__(self, indices: slice | Sequence[int] | np.ndarray) -> NodeExamples:
        """The chosen trees, with their labels.

        Shapes:
            indices ``[n]``, as a forest takes them.
        """
        chosen = positions(indices, len(self))
        starts = self.order.offsets
        forest = self.forest[chosen]
        order = forest.preorder()
        places = torch.from_numpy(ranges(starts[chosen], np.diff(order.offsets)))
        weights = None if self.weights is None else self.weights[places]
        held = NodeExamples.__new__(NodeExamples)
        return held._hold(forest, order, self.labels[places], weights)

    def __getitems__(self, indices: Sequence[int]) -> NodeExamples:
        return self[indices]  # by which a DataLoader takes a whole batch at once

    def to(self, device: str | torch.device) -> NodeExamples:
        """The same examples for models on ``device``."""
        weights = None if self.weights is None else self.weights.to(device)
        held = NodeExamples.__new__(NodeExamples)
        return held._hold(self.forest.to(device), self.order, self.labels.to(device), weights)


def _in_order(values: Any) -> Any:
    """Values that torch takes, in C order: an array or a column of a data frame may be strided."""
    foreign = hasattr(values, "__array__") and not isinstance(values, Tensor)
    return np.ascontiguousarray(values) if foreign else values


def _tensor_of(targets: Sequence[int] | np.ndarray | Tensor) -> Tensor:
    """The targets as a tensor ``[n, ..]``.

    Raises:
        ValueError: they are not numbers, or rows of different lengths.
    """
    try:
        tensor = torch.as_tensor(_in_order(targets))
    except (TypeError, ValueError, RuntimeError):  # torch's errors name types, not targets
        tensor = torch.tensor(0)
    if tensor.dim() == 0:
        raise ValueError(
            "targets must be the number of each example's class, or rows of numbers of one length; "
            f"got {targets!r:.60}"
        )
    return tensor


def _flat(rows: Sequence[Sequence[Any]], order: Preorder, what: str, note: str = "") -> list[Any]:
    """The values of all nodes, tree after tree.

    Raises:
        ValueError: a tree does not have as many values as nodes.
    """
    count, sizes = [len(each) for each in rows], np.diff(order.offsets).tolist()
    if count != sizes:
        i = next((i for i, (a, b) in enumerate(zip(count, sizes)) if a != b), len(sizes))  # noqa: B905
        expected = f"tree {i} has {sizes[i]} nodes" if i < len(sizes) else f"{len(sizes)} trees"
        got = f"{count[i]} {what}s" if i < min(len(count), len(sizes)) else f"{len(count)} lists"
        raise ValueError(f"{expected}; got {got}, expected one {what} per node{note}")
    return [value for each in rows for value in each]


def _as_cut(batch: Any, *, collate_fn_map: Any = None) -> TreeExamples | NodeExamples:
    """The batch as it is, for a DataLoader: ``__getitems__`` has made it already.

    Raises:
        TypeError: it is a list of single examples, which have a forest each.
    """
    if isinstance(batch, list):
        raise TypeError(
            f"a batch is cut from one {type(batch[0]).__name__}; got a list of {len(batch)} of "
            "them, expected a DataLoader of one, or of a Subset of one"
        )
    return batch


# By this a DataLoader's default_collate knows batches of these classes.
default_collate_fn_map.update(dict.fromkeys((TreeExamples, NodeExamples), _as_cut))
