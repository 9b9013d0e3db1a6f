"""Measures of a leaf for a decision: how many samples reach it, and whether they can gain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from structnet.neural_tree.growth.candidate import AtLeaf, at_leaf
from structnet.neural_tree.likelihood import Categorical, Likelihood, SquaredError
from structnet.neural_tree.tree import NeuralTree
from structnet.routing.samples import Samples
from structnet.routing.visits import shares
from structnet.training.gains import gained
from structnet.training.metrics import (
    batch_starts,
    evaluating,
    in_order,
    most_at_once,
    to_device,
)
from structnet.training.modules import device_of

HEAVY = 6.0  # kurtosis of errors with heavy tails; that of normal ones is 3


def of_each(
    answer: Callable[[Any], Tensor],
    tree: NeuralTree,
    samples: Samples | AtLeaf,
    places: np.ndarray | None = None,
) -> np.ndarray:
    """The results of a function for samples, with the tree in evaluation mode.

    Only one batch of the inputs is in memory at a time.

    Args:
        answer: function of a batch on the tree's device, ``[batch, ...]``.
        tree: tree that is put into evaluation mode.
        samples: samples.
        places: numbers of the samples to take; by default all.

    Shapes:
        places ``[n]`` -> ``[n, ...]``, float64.
    """
    size, device = most_at_once(samples, 1000), device_of(tree)  # as in validation
    places = np.arange(len(samples)) if places is None else places
    batches = [places[start : start + size] for start in batch_starts(places, size)]
    with evaluating(tree):
        found = [
            answer(to_device(batch, device)).double().cpu().numpy()
            for batch in in_order(samples, batches)
        ]
    return np.concatenate(found)


def decrease(
    before: np.ndarray,
    after: np.ndarray,
    weights: np.ndarray | None,
    likelihood: Likelihood,
    groups: np.ndarray | None = None,
) -> tuple[float, float]:
    """The mean decrease of the samples' losses, and its standard error.

    Where numbers have heavy tails, a few samples make most of a squared error, and nearly all of
    the noise of its mean: a tree that halves it may gain only one standard error. So if the errors
    have heavy tails, and their absolute values decrease more surely, these tell how sure it is.

    Args:
        before, after, weights, groups: see :func:`.gained`.
        likelihood: likelihood whose losses they are.

    Shapes:
        before, after, weights, groups ``[n]``.

    Example:
        >>> before, after = np.append(np.ones(9), 100.0), np.zeros(10)
        >>> [round(x, 1) for x in decrease(before, after, None, Categorical())]
        [10.9, 9.9]
        >>> [round(x, 1) for x in decrease(before, after, None, SquaredError())]
        [10.9, 5.2]
    """
    gain, error = gained(before, after, weights, groups)
    if isinstance(likelihood, SquaredError) and _are_heavy(before, weights):
        fall, noise = gained(np.sqrt(before), np.sqrt(after), weights, groups)
        if gain * fall > 0:
            error = min(error, gain / fall * noise)
    return gain, error


def has_heavy_tails(tree: NeuralTree, samples: Samples) -> bool:
    """Whether a few samples have most of the squares of the numbers that a tree predicts.

    Then a branch of a few samples may be worth more than one of many.
    """
    if not isinstance(tree.likelihood, SquaredError):
        return False
    squares = (samples.targets - samples.targets.mean(0)).square().mean(-1)
    return _are_heavy(squares.double().cpu().numpy(), samples.counts())


def _are_heavy(squares: np.ndarray, weights: np.ndarray | None) -> bool:
    """Whether numbers have heavy tails, by their squares. Both ``[n]``."""
    mean, square = (np.average(part, weights=weights) for part in (squares, squares**2))
    return bool(square > HEAVY * mean**2)


def expected(tree: NeuralTree, leaf: int, train: Samples | AtLeaf) -> float:
    """The number of samples expected to reach a leaf, each counted by its weight."""
    if isinstance(train, AtLeaf):
        reached = train.log_prob.exp()
        return len(train) * (train.mean(reached) / train.mean(torch.ones_like(reached))).item()
    return len(train) * shares(tree, train, "multi")[leaf]


def can_gain(
    tree: NeuralTree,
    leaf: int,
    samples: Samples | AtLeaf,
    losses: np.ndarray,
    counts: np.ndarray | None,
    least: float,
) -> bool:
    """True if the samples at a leaf have a loss above the gain that a decision requires.

    Always true for likelihoods whose loss may fall below 0.

    Args:
        tree, leaf: tree, and node of the leaf.
        samples: validation samples.
        losses: loss of each sample in the present tree, ``[n]``.
        counts: weights of the samples, ``[n]``; None counts each as one.
        least: required gain, a mean over all samples.
    """
    if not isinstance(tree.likelihood, Categorical | SquaredError):
        return True

    def reached(batch: Samples | AtLeaf) -> Tensor:
        here = at_leaf(tree, leaf, batch) if isinstance(batch, Samples) else batch
        return here.log_prob.exp()

    lost = of_each(reached, tree, samples) * losses
    return bool(np.average(lost, weights=counts) > least)
