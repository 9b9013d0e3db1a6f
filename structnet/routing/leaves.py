"""What the leaves of a model tree predict on their own, in numbers and in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from structnet.routing.batches import answers
from structnet.routing.protocol import RoutedTree
from structnet.routing.reading import Reading
from structnet.routing.samples import Samples, counted
from structnet.routing.sides import digits_of
from structnet.routing.words import in_digits_each, percent

SAID, MOST_SAID = 0.15, 3  # least share of a class that is named, and most classes named


def leaf_predictions(
    tree: RoutedTree, x: Any, leaves: Iterable[int] | None = None
) -> dict[int, np.ndarray]:
    """The average prediction of each leaf for the samples whose greedy path ends in it, by leaf.

    Args:
        tree: model tree.
        x: inputs or samples, each weighted by its weight.
        leaves: leaves to return, by default all; those without samples are left out.

    Shapes:
        x ``[n, *shape]`` -> for each leaf ``[classes]``, the share of its samples for which it
        predicts each class, or ``[columns]``, the mean of its predictions.

    Raises:
        ValueError: there are no samples, or they have another shape.

    Example:
        >>> import torch
        >>> from structnet.neural_tree import NeuralTree, presets
        >>> tree = NeuralTree(presets.table(num_outputs=2), shape=(1,))
        >>> tree.nodes[0].solver.weight.data = torch.tensor([[-1.0], [1.0]])
        >>> leaf_predictions(tree, torch.tensor([[-1.0], [1.0], [2.0], [3.0]]))[0].tolist()
        [0.25, 0.75]
    """
    return _means(tree, x, leaves, lambda rows, prediction: prediction)


def leaf_accuracies(
    tree: RoutedTree, samples: Samples, leaves: Iterable[int] | None = None
) -> dict[int, float]:
    """The accuracy of each leaf on its own, on the samples whose greedy path ends in it, by leaf.

    Args:
        tree: model tree that predicts classes.
        samples: samples, each weighted by its weight.
        leaves: leaves to return, by default all; those without samples are left out.

    Raises:
        ValueError: there are no samples, or they have another shape.

    Example:
        >>> import torch
        >>> from structnet.neural_tree import NeuralTree, presets
        >>> tree = NeuralTree(presets.table(num_outputs=2), shape=(1,))
        >>> tree.nodes[0].solver.weight.data = torch.tensor([[-1.0], [1.0]])
        >>> x = torch.tensor([[-1.0], [1.0], [2.0], [3.0]])
        >>> leaf_accuracies(tree, Samples(x, torch.tensor([0, 0, 1, 1])))
        {0: 0.75}
    """
    targets = samples.targets.cpu().numpy()
    hits = _means(
        tree,
        samples,
        leaves,
        lambda rows, prediction: prediction[np.arange(len(rows)), targets[rows]],
    )
    return {leaf: float(share) for leaf, share in hits.items()}


def _means(
    tree: RoutedTree,
    x: Any,
    leaves: Iterable[int] | None,
    judged: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> dict[int, Any]:
    """The weighted mean of ``judged(samples, predictions)``, ``[m], [m, outputs]``, by leaf."""
    x, counts = counted(x)
    wanted = set(tree.topology.leaves.tolist() if leaves is None else leaves)
    sums: dict[int, Any] = dict.fromkeys(wanted, 0.0)
    weights = dict.fromkeys(wanted, 0.0)

    def ask(part: Any) -> list[tuple[int, np.ndarray, np.ndarray]]:
        """Each leaf, the samples of this part that reach it, and its predictions for them."""
        ends = [
            (visit.node, np.flatnonzero(visit.arriving > 0))
            for visit in tree.visits(part, "greedy")
            if visit.branch is None and visit.node in wanted
        ]
        return [(v, here, _answers(tree, part[here], v)) for v, here in ends if len(here)]

    for rows, predictions in answers(tree, x, ask):
        for leaf, here, prediction in predictions:
            places = rows.start + here
            sums[leaf] += counts[places] @ judged(places, prediction)
            weights[leaf] += counts[places].sum()
    return {leaf: sums[leaf] / weights[leaf] for leaf in sorted(wanted) if weights[leaf]}


def _answers(tree: RoutedTree, x: Any, leaf: int) -> np.ndarray:
    """The predictions of a leaf, one-hot for classes. ``[m, ...] -> [m, outputs]``."""
    prediction = tree.predicted_at(x, leaf)
    if tree.num_classes is None:
        return prediction.astype(np.float64)
    return np.eye(prediction.shape[1])[prediction.argmax(axis=1)]


def leaf_words(reading: Reading, predictions: Mapping[int, np.ndarray]) -> dict[int, str]:
    """Predictions in words, "ill (54 %), healthy (46 %)", or means in the user's units, by leaf.

    A class is named if its share is at least 15 % or the largest, at most three classes.

    Args:
        reading: tree with its names and units.
        predictions: shares of the classes, or means, from :func:`leaf_predictions`.

    Shapes:
        predictions ``[classes]`` or ``[columns]`` each.

    Example:
        >>> reading = Reading(None, class_names=("healthy", "ill"))
        >>> leaf_words(reading, {3: np.array([0.1, 0.9]), 4: np.array([0.25, 0.75])})
        {3: 'ill (90 %)', 4: 'ill (75 %), healthy (25 %)'}
    """
    if reading.class_names is None:
        scale = reading.target_units or (lambda means: means)
        means = {leaf: scale(mean[None])[0] for leaf, mean in predictions.items()}
        return {
            leaf: ", ".join(in_digits_each(mean, digits_of(len(mean), reading.target_units)))
            for leaf, mean in means.items()
        }
    words = {}
    for leaf, shares in predictions.items():
        order = np.argsort(-shares, kind="stable")[:MOST_SAID].tolist()
        named = [k for k in order if shares[k] >= SAID] or order[:1]
        words[leaf] = ", ".join(f"{reading.class_names[k]} ({percent(shares[k])})" for k in named)
    return words
