"""What reaches the nodes of a neural tree: how much of the samples, with which targets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from structnet.neural_tree.likelihood import Categorical, check_targets
from structnet.neural_tree.tree import NeuralTree
from structnet.routing.batches import answers
from structnet.routing.samples import Samples
from structnet.routing.topology import Topology

BINS = 10  # of a router's probabilities


@dataclass(frozen=True)
class Reach:
    """The samples at each node, every sample counted by its probability of getting there.

    Attributes:
        share: of all samples that reach the node; 1 at the root.
        going_left: how many of them the router sends left with a probability in [0, 0.1), [0.1,
            0.2), ..., [0.9, 1]; 0 at leaves.
        classes: how many of them are of each class; None if the targets are numbers.
        mean, spread: the mean and the standard deviation of their targets, nan where nothing
            arrives; None if the targets are classes.

    Shapes:
        share ``[nodes]``; going_left ``[nodes, BINS]``; classes ``[nodes, classes]``; mean, spread
        ``[nodes, columns]``.
    """

    share: np.ndarray
    going_left: np.ndarray
    classes: np.ndarray | None = None
    mean: np.ndarray | None = None
    spread: np.ndarray | None = None


def reach(tree: NeuralTree, samples: Samples, *, greedy: bool = False) -> Reach:
    """Sends samples through a tree and counts what comes to its nodes.

    Args:
        tree: the tree.
        samples: with their weights, if they have any.
        greedy: count a sample at the nodes on its greedy path alone, there fully.

    Raises:
        ValueError: there are no samples, they have another shape, or targets that are no classes
            of the tree.

    Example:
        >>> import torch
        >>> from structnet.neural_tree import presets
        >>> tree = NeuralTree(presets.mlp(num_outputs=2, width=8), shape=(3,))
        >>> _ = tree.split(0)
        >>> for parameter in tree.parameters():
        ...     _ = torch.nn.init.zeros_(parameter)
        >>> found = reach(tree, Samples(torch.rand(8, 3), torch.arange(8) % 2))
        >>> found.share.tolist(), found.classes.tolist()
        ([1.0, 0.5, 0.5], [[4.0, 4.0], [2.0, 2.0], [2.0, 2.0]])
    """
    weights, (terms, center) = samples.counts(), _terms(tree, samples)
    going_left, sums = np.zeros((len(tree.nodes), BINS)), 0
    for rows, visits in answers(tree, samples.x, lambda x: list(_visits(tree, x, greedy))):
        here = np.zeros((len(tree.nodes), len(weights[rows])))
        for v, arriving, left in visits:
            here[v] = arriving * weights[rows]
            if left is not None:
                going_left[v] += np.histogram(left, BINS, (0, 1), weights=here[v])[0]
        sums = sums + here @ terms(rows)
    total, sums = sums[:, 0], sums[:, 1:]
    if center is None:
        return Reach(total / total[0], going_left, classes=sums)
    with np.errstate(invalid="ignore"):  # 0 / 0 where nothing arrives
        mean, square = np.split(sums / total[:, None], 2, axis=1)
    spread = np.sqrt(np.maximum(square - mean**2, 0))
    return Reach(total / total[0], going_left, mean=mean + center, spread=spread)


def _terms(
    tree: NeuralTree, samples: Samples
) -> tuple[Callable[[slice], np.ndarray], np.ndarray | None]:
    """What is summed at the nodes for some rows: ones, then classes, or targets and their squares.

    Also what was subtracted from the targets, if they are numbers.
    """
    targets = samples.targets.cpu().numpy()
    if isinstance(tree.likelihood, Categorical):
        check_targets(tree.likelihood, samples.targets, tree.num_outputs)
        one_hot = np.insert(np.eye(tree.num_outputs), 0, 1, axis=1)
        return lambda rows: one_hot[targets[rows]], None
    targets = targets.reshape(len(targets), -1).astype(np.float64)
    center = targets.mean(axis=0)  # the squares of what is far from 0 would cancel
    y = targets - center
    terms = np.concatenate([np.ones((len(y), 1)), y, y**2], axis=1)
    return lambda rows: terms[rows], center


def from_left(topology: Topology) -> list[int]:
    """The leaves as they stand in a picture, from left to right.

    Example:
        >>> from_left(Topology([(1, 2), (3, 4), (), (), ()]))
        [3, 4, 2]
    """
    found, stack = [], [0]
    while stack:
        v = stack.pop()
        stack += reversed(topology.children[v])
        if not topology.children[v]:
            found.append(v)
    return found


def _visits(
    tree: NeuralTree, x: Tensor, greedy: bool
) -> Iterator[tuple[int, np.ndarray, np.ndarray | None]]:
    """Each node, how probably the samples reach it, and go left there unless it is a leaf."""
    arriving = {0: np.ones(len(x))}
    for v, features in tree.features(x):
        here = arriving.pop(v)
        if tree.nodes[v].router is None:
            yield v, here, None
            continue
        logit = tree.nodes[v].logit(features).double().cpu()
        left = logit.sigmoid().numpy()
        side = (logit >= 0).numpy() if greedy else left
        first, second = tree.topology.children[v]
        arriving |= {first: here * side, second: here * (1.0 - side)}
        yield v, here, left
