"""Which samples reach the nodes of a model tree: their shares, probabilities and targets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from structnet.routing.batches import answers
from structnet.routing.protocol import RoutedTree, Visit
from structnet.routing.samples import Samples, counted
from structnet.training.targets import check_classes

BINS = 10  # for the probabilities of branches
SURE = 1e-9  # distance from 1 of probabilities that rounding may make
EDGES = np.linspace(0, 1, BINS + 1)


@dataclass(frozen=True)
class Reach:
    """The samples at each node, each counted by its weight times its probability to reach the node.

    Attributes:
        share: share of all samples that reaches the node; 1 at the root.
        going: count of the samples at the node's parent that go on to the node with a probability
            in [0, 0.1), [0.1, 0.2), ..., [0.9, 1]; 0 at the root.
        coming: weight of all samples that reach the node with a probability in each bin: the path
            probabilities in the paper's Fig. 2 and 5.
        decided: mean probability of the likeliest branch, over the samples at the node: 1 if each
            is certain to go one way; nan for less than two branches or without samples.
        classes: count of the samples of each class at the node; None if the targets are numbers.
        mean, spread: mean and standard deviation of the targets at the node, nan without samples;
            None if the targets are classes.

    Shapes:
        share, decided ``[nodes]``; going, coming ``[nodes, BINS]``; classes ``[nodes, classes]``;
        mean, spread ``[nodes, columns]``.

    Reference:
        Tanno et al., "Adaptive Neural Trees", ICML 2019, Fig. 2 and 5.
    """

    share: np.ndarray
    going: np.ndarray
    coming: np.ndarray
    decided: np.ndarray
    classes: np.ndarray | None = None
    mean: np.ndarray | None = None
    spread: np.ndarray | None = None

    @property
    def sure(self) -> bool:
        """True if every sample takes each branch with probability 0 or 1, or there is none."""
        decided = self.all_decided
        return decided is None or decided > 1 - SURE

    @property
    def all_decided(self) -> float | None:
        """The mean of ``decided`` over all routers, weighted by share; None without routers."""
        routers = np.isfinite(self.decided)
        if not routers.any():
            return None
        return float(np.average(self.decided[routers], weights=self.share[routers]))


def reach(tree: RoutedTree, samples: Samples, path: str = "multi") -> Reach:
    """Sends samples through a tree and counts them at its nodes.

    Args:
        tree: model tree.
        samples: samples, each counted by its weight if there are weights.
        path: "multi" to count a sample at all nodes, by its probability to reach each; "greedy" to
            count it fully at the nodes on its greedy path, and nowhere else.

    Raises:
        TypeError: the samples have no targets.
        ValueError: there are no samples, they have another shape, or a target is not a class of the
            tree.

    Example:
        >>> import torch
        >>> from structnet.neural_tree import NeuralTree, presets
        >>> tree = NeuralTree(presets.mlp(num_outputs=2, width=8), shape=(3,))
        >>> _ = tree.split(0)
        >>> for parameter in tree.parameters():
        ...     _ = torch.nn.init.zeros_(parameter)
        >>> reached = reach(tree, Samples(torch.rand(8, 3), torch.arange(8) % 2))
        >>> reached.share.tolist(), reached.classes.tolist()
        ([1.0, 0.5, 0.5], [[4.0, 4.0], [2.0, 2.0], [2.0, 2.0]])
    """
    if not isinstance(samples, Samples):
        raise TypeError(
            "expected samples with their targets, Samples(x, targets) or "
            "Samples.from_dataset(dataset) for a tree, or X and y for an estimator; "
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
    coming[:, 0] += weights.sum() - coming.sum(axis=1)  # samples that a greedy walk leaves out
    routers = np.diff(tree.topology.offsets) > 1
    with np.errstate(invalid="ignore"):  # 0 / 0 at nodes without samples
        decided = np.where(routers, decided / total, np.nan)
        counts = Reach(total / total[0], going, coming, decided)
        if center is None:
            return replace(counts, classes=sums)
        mean, square = np.split(sums / total[:, None], 2, axis=1)
    spread = np.sqrt(np.maximum(square - mean**2, 0))
    return replace(counts, mean=mean + center, spread=spread)


def shares(tree: RoutedTree, x: Any, path: str = "greedy") -> np.ndarray:
    """The share of the samples, by weight, that reaches each node.

    Args:
        tree: model tree.
        x: inputs, or :class:`Samples` with weights.
        path: path of the samples, "greedy" or "multi", as in :meth:`RoutedTree.visits`.

    Shapes:
        x ``[n, *shape]`` -> ``[num_nodes]``, float64.

    Raises:
        ValueError: the path is unknown, the samples have another shape, there are none, or their
            weights are below 0 or all 0.
    """
    sums, _ = passing(tree, x, path)
    return sums / counted(x)[1].sum()


def passing(tree: RoutedTree, x: Any, path: str = "greedy") -> tuple[np.ndarray, float | None]:
    """The weight of the samples that reach each node, and how decided the routers are.

    The latter is the mean probability of the likeliest branch, over all decisions: 1 if all are
    certain, 0.5 if both branches are always equally probable; None if there are no decisions.

    Args:
        tree, x, path: arguments of :func:`shares`.

    Shapes:
        x ``[n, *shape]`` -> ``[num_nodes]``, float64.

    Raises:
        ValueError: an argument is wrong, as in :func:`shares`.

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

    Args:
        tree: model tree.
        x: inputs.

    Shapes:
        ``[n, *shape]`` -> ``[n]``, int64.

    Raises:
        ValueError: there are no inputs, or they have another shape.
    """
    leaf = np.zeros(x.shape[0], np.int64)  # len() of a sparse matrix raises an error
    for rows, visits in _walks(tree, x, "greedy"):
        for visit in visits:
            if visit.branch is None:
                leaf[rows][visit.arriving > 0] = visit.node
    return leaf


def histograms(branch: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The weight of the samples whose probability of each branch is in each bin.

    Shapes:
        branch ``[n, children]``; weights ``[n]`` -> ``[children, BINS]``.

    Example:
        >>> histograms(np.array([[0.25, 0.75], [0.0, 1.0]]), np.array([2.0, 1.0])).argmax(axis=1)
        array([2, 7])
    """
    children = branch.shape[1]
    # As in numpy.histogram, a bin includes its lower edge, and the last one also its upper edge.
    place = np.clip(np.searchsorted(EDGES, branch, side="right") - 1, 0, BINS - 1)
    place += BINS * np.arange(children)
    weights = np.repeat(weights, children)
    return np.bincount(place.ravel(), weights, children * BINS).reshape(children, BINS)


def _walks(tree: RoutedTree, x: Any, path: str) -> Iterator[tuple[slice, list[Visit]]]:
    """The rows and the visits of each batch."""
    return answers(tree, x, lambda part: list(tree.visits(part, path)))


def _terms(
    tree: RoutedTree, samples: Samples
) -> tuple[Callable[[slice], np.ndarray], np.ndarray | None]:
    """The terms to sum at the nodes for some rows, and the centre that was subtracted from numbers.

    The terms are ones, and then classes in one-hot form, or numbers and their squares.
    """
    targets = samples.targets.cpu().numpy()
    if tree.num_classes is not None:
        check_classes(samples.targets, tree.num_classes, "the samples")
        width = 1 + tree.num_classes

        def one_hot(rows: slice) -> np.ndarray:
            table = np.zeros((len(targets[rows]), width))
            table[:, 0] = table[np.arange(len(table)), 1 + targets[rows]] = 1
            return table

        return one_hot, None
    targets = targets.reshape(len(targets), -1).astype(np.float64)
    center = targets.mean(axis=0)  # squares of numbers far from 0 would cancel in the variance
    y = targets - center
    terms = np.concatenate([np.ones((len(y), 1)), y, y**2], axis=1)
    return lambda rows: terms[rows], center
