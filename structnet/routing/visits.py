"""What reaches the nodes of a model tree: how much of the samples, with which targets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from structnet.routing.batches import answers
from structnet.routing.protocol import RoutedTree, Visit
from structnet.routing.samples import Samples, check_targets, counted

BINS = 10  # of the probabilities of a branch
EDGES = np.linspace(0, 1, BINS + 1)


@dataclass(frozen=True)
class Reach:
    """The samples at each node, every sample counted by its probability of getting there.

    Attributes:
        share: the part of all samples that reaches the node; 1 at the root.
        going: the samples at the node's parent that go on to the node with a probability in
            [0, 0.1), [0.1, 0.2), ..., [0.9, 1]; 0 at the root.
        classes: the samples of each class at the node; None if the targets are numbers.
        mean, spread: the mean and the standard deviation of their targets, nan where nothing
            arrives; None if the targets are classes.

    Shapes:
        share ``[nodes]``; going ``[nodes, BINS]``; classes ``[nodes, classes]``; mean, spread
        ``[nodes, columns]``.
    """

    share: np.ndarray
    going: np.ndarray
    classes: np.ndarray | None = None
    mean: np.ndarray | None = None
    spread: np.ndarray | None = None


def reach(tree: RoutedTree, samples: Samples, path: str = "multi") -> Reach:
    """Sends samples through a tree and counts what comes to its nodes: one walk, several sums.

    Args:
        samples: the samples, each counted by its weight if it has one.
        path: "multi" counts a sample at all nodes, by its probability of getting there; "greedy"
            at the nodes on its greedy path alone, there fully.

    Raises:
        ValueError: there are no samples, they have another shape, or targets that are no classes
            of the tree.

    Example:
        >>> import torch
        >>> from structnet.neural_tree import NeuralTree, presets
        >>> tree = NeuralTree(presets.mlp(num_outputs=2, width=8), shape=(3,))
        >>> _ = tree.split(0)
        >>> for parameter in tree.parameters():
        ...     _ = torch.nn.init.zeros_(parameter)
        >>> found = reach(tree, Samples(torch.rand(8, 3), torch.arange(8) % 2))
        >>> found.share.tolist(), found.classes.tolist()
        ([1.0, 0.5, 0.5], [[4.0, 4.0], [2.0, 2.0], [2.0, 2.0]])
    """
    weights, (terms, center) = samples.counts(), _terms(tree, samples)
    going = np.zeros((tree.topology.num_nodes, BINS))
    sums = np.zeros((tree.topology.num_nodes, terms(slice(0)).shape[1]))
    for rows, visits in _walks(tree, samples.x, path):
        here = np.stack([visit.arriving for visit in visits]) * weights[rows]
        sums[[visit.node for visit in visits]] += here @ terms(rows)
        for visit, arriving in zip(visits, here, strict=True):
            if visit.branch is not None:
                below = tree.topology.children_of(visit.node)
                going[list(below)] += histograms(visit.branch, arriving)
    total, sums = sums[:, 0], sums[:, 1:]
    if center is None:
        return Reach(total / total[0], going, classes=sums)
    with np.errstate(invalid="ignore"):  # 0 / 0 where nothing arrives
        mean, square = np.split(sums / total[:, None], 2, axis=1)
    spread = np.sqrt(np.maximum(square - mean**2, 0))
    return Reach(total / total[0], going, mean=mean + center, spread=spread)


def shares(tree: RoutedTree, x: Any, path: str = "greedy") -> np.ndarray:
    """The share of the samples' weight that comes to each node.

    Args:
        x: inputs, or :class:`Samples` with weights.
        path: the way the samples go, as in :meth:`RoutedTree.visits`.

    Shapes:
        x ``[n, *shape]`` -> ``[num_nodes]``, float64.

    Raises:
        ValueError: another path, or samples of another shape, or none that counts.
    """
    x, counts = counted(x)
    found = np.zeros(tree.topology.num_nodes)
    for rows, visits in _walks(tree, x, path):
        for visit in visits:
            found[visit.node] += counts[rows] @ visit.arriving
    return found / counts.sum()


def leaf_of(tree: RoutedTree, x: Any) -> np.ndarray:
    """The leaf in which each sample's greedy path ends.

    Shapes:
        ``[n, *shape]`` -> ``[n]``, int64.

    Raises:
        ValueError: samples of another shape, or none.
    """
    leaf = np.zeros(x.shape[0], np.int64)  # a sparse matrix has no length
    for rows, visits in _walks(tree, x, "greedy"):
        for visit in visits:
            if visit.branch is None:
                leaf[rows][visit.arriving > 0] = visit.node
    return leaf


def histograms(branch: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """How much weight has each branch's probability in each bin.

    Shapes:
        branch ``[n, children]``; weights ``[n]`` -> ``[children, BINS]``.

    Example:
        >>> histograms(np.array([[0.25, 0.75], [0.0, 1.0]]), np.array([2.0, 1.0])).argmax(axis=1)
        array([2, 7])
    """
    children = branch.shape[1]
    # As numpy.histogram counts: a bin has its lower edge, and the last one both.
    place = np.clip(np.searchsorted(EDGES, branch, side="right") - 1, 0, BINS - 1)
    place += BINS * np.arange(children)
    weights = np.repeat(weights, children)
    return np.bincount(place.ravel(), weights, children * BINS).reshape(children, BINS)


def _walks(tree: RoutedTree, x: Any, path: str) -> Iterator[tuple[slice, list[Visit]]]:
    """Each batch's rows and visits."""
    return answers(tree, x, lambda part: list(tree.visits(part, path)))


def _terms(
    tree: RoutedTree, samples: Samples
) -> tuple[Callable[[slice], np.ndarray], np.ndarray | None]:
    """What is summed at the nodes for some rows: ones, then classes, or numbers and their squares;
    and what was subtracted from the numbers."""
    targets = samples.targets.cpu().numpy()
    if tree.num_classes is not None:
        check_targets(samples.targets, tree.num_classes)
        width = 1 + tree.num_classes

        def one_hot(rows: slice) -> np.ndarray:
            found = np.zeros((len(targets[rows]), width))
            found[:, 0] = found[np.arange(len(found)), 1 + targets[rows]] = 1
            return found

        return one_hot, None
    targets = targets.reshape(len(targets), -1).astype(np.float64)
    center = targets.mean(axis=0)  # the squares of what is far from 0 would cancel
    y = targets - center
    terms = np.concatenate([np.ones((len(y), 1)), y, y**2], axis=1)
    return lambda rows: terms[rows], center
