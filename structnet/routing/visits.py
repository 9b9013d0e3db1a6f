"""What reaches the nodes of a model tree: how much of the samples, with which targets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
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
        coming: the samples, of all, that come to the node with such a probability: the path
            probabilities of the paper's Fig. 2 and 5.
        decided: the mean probability of the likeliest branch, over the samples at the node: 1 where
            all are sent one way for certain; nan where there are no two branches, or no samples.
        classes: the samples of each class at the node; None if the targets are numbers.
        mean, spread: the mean and the standard deviation of their targets, nan where nothing
            arrives; None if the targets are classes.

    Shapes:
        share, decided ``[nodes]``; going, coming ``[nodes, BINS]``; classes ``[nodes, classes]``;
        mean, spread ``[nodes, columns]``.

    Reference:
        Tanno et al., Adaptive Neural Trees, ICML 2019, Fig. 2 and 5.
    """

    share: np.ndarray
    going: np.ndarray
    coming: np.ndarray
    decided: np.ndarray
    classes: np.ndarray | None = None
    mean: np.ndarray | None = None
    spread: np.ndarray | None = None

    @property
    def all_decided(self) -> float | None:
        """How decided all routers are: the mean of theirs, each by its share of the samples.

        None if there is no router.
        """
        routers = np.isfinite(self.decided)
        if not routers.any():
            return None
        return float(np.average(self.decided[routers], weights=self.share[routers]))


def reach(tree: RoutedTree, samples: Samples, path: str = "multi") -> Reach:
    """Sends samples through a tree and counts what comes to its nodes: one walk, several sums.

    Args:
        samples: the samples, each counted by its weight if it has one.
        path: "multi" counts a sample at all nodes, by its probability of getting there; "greedy"
            at the nodes on its greedy path alone, there fully.

    Raises:
        TypeError: there are inputs without targets.
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
    if not isinstance(samples, Samples):
        raise TypeError(
            "expected samples with their targets, Samples(x, targets) or "
            "Samples.from_dataset(dataset) of a tree, or X and y of an estimator; "
            f"got inputs alone, of type {type(samples).__name__}"
        )
    weights, (terms, center) = samples.counts(), _terms(tree, samples)
    going, coming = np.zeros((2, tree.topology.num_nodes, BINS))
    decided = np.zeros(tree.topology.num_nodes)
    sums = np.zeros((tree.topology.num_nodes, terms(slice(0)).shape[1]))
    for rows, visits in _walks(tree, samples.x, path):
        here = np.stack([visit.arriving for visit in visits]) * weights[rows]
        sums[[visit.node for visit in visits]] += here @ terms(rows)
        for visit, arriving in zip(visits, here, strict=True):
            coming[visit.node] += histograms(visit.arriving[:, None], weights[rows])[0]
            if visit.branch is not None:
                below = tree.topology.children_of(visit.node)
                going[list(below)] += histograms(visit.branch, arriving)
                decided[visit.node] += arriving @ visit.branch.max(axis=1)
    total, sums = sums[:, 0], sums[:, 1:]
    coming[:, 0] += weights.sum() - coming.sum(axis=1)  # what a greedy walk leaves out
    routers = np.diff(tree.topology.offsets) > 1
    with np.errstate(invalid="ignore"):  # 0 / 0 where nothing arrives
        decided = np.where(routers, decided / total, np.nan)
        counts = Reach(total / total[0], going, coming, decided)
        if center is None:
            return replace(counts, classes=sums)
        mean, square = np.split(sums / total[:, None], 2, axis=1)
    spread = np.sqrt(np.maximum(square - mean**2, 0))
    return replace(counts, mean=mean + center, spread=spread)


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
    found, _ = passing(tree, x, path)
    return found / counted(x)[1].sum()


def passing(tree: RoutedTree, x: Any, path: str = "greedy") -> tuple[np.ndarray, float | None]:
    """The samples' weight that comes to each node, and how decided the routers on the way are.

    That is the mean probability of the likeliest branch, over all choices: 1 if all are certain,
    0.5 if two branches are as probable as one another; None if there is no choice.

    Args:
        x, path: the same as of :func:`shares`.

    Shapes:
        x ``[n, *shape]`` -> ``[num_nodes]``, float64.

    Raises:
        ValueError: another path, or samples of another shape, or none that counts.

    Example:
        >>> import torch
        >>> from structnet.neural_tree import NeuralTree, presets
        >>> tree = NeuralTree(presets.mlp(num_outputs=2, width=8), shape=(3,))
        >>> _ = tree.split(0)
        >>> for parameter in tree.parameters():
        ...     _ = torch.nn.init.zeros_(parameter)
        >>> came, decided = passing(tree, torch.rand(8, 3), "multi")
        >>> came.tolist(), decided
        ([8.0, 4.0, 4.0], 0.5)
    """
    x, counts = counted(x)
    came, choices, likeliest = np.zeros(tree.topology.num_nodes), 0.0, 0.0
    for rows, visits in _walks(tree, x, path):
        for visit in visits:
            here = counts[rows] * visit.arriving
            came[visit.node] += here.sum()
            if visit.branch is not None and visit.branch.shape[1] > 1:
                choices += here.sum()
                likeliest += here @ visit.branch.max(axis=1)
    return came, float(likeliest / choices) if choices else None


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
