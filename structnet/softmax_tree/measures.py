"""The quality and cost of a softmax tree, in the quantities of the papers."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from structnet.routing.samples import Samples
from structnet.softmax_tree.members import choices_about, likeliest, mean_choices
from structnet.softmax_tree.tree import SoftmaxTree

TIMED = 1000  # rows that are predicted one by one, to time a prediction


@dataclass(frozen=True)
class Measures:
    """Figures of a tree on samples; ``str`` shows them one on each line.

    Sizes and costs of several trees are sums, their depth is the largest, and all else is of the
    mean of their probabilities.

    Attributes:
        error: share of samples whose predicted class is wrong.
        depth, leaves: largest number of decisions on a path, and number of leaves.
        leaf_classes: mean number of classes over the leaves.
        path_classes: mean over the samples of the number of classes in their leaves.
        nonzeros: number of weights that are not 0, in all nodes.
        flops: mean over the samples of the number of nonzero weights on their path and in its leaf:
            the multiplications of a prediction, which the papers count as FLOPs.
        dense_flops: mean of ``D (depth + k)``, the same number if no weight were 0.
        microseconds: median time to predict a single sample.
        coverage: share of samples whose class is in one of the leaves that they reach.
        perplexity: exponential of the mean negative log-likelihood of these samples, among the
            classes of their leaves.
    """

    error: float
    depth: int
    leaves: int
    leaf_classes: float
    path_classes: float
    nonzeros: int
    flops: float
    dense_flops: float
    microseconds: float
    coverage: float
    perplexity: float

    def __str__(self) -> str:
        width = max(len(field.name) for field in fields(self)) + 2
        named = (
            (field.name.replace("_", " "), getattr(self, field.name)) for field in fields(self)
        )
        return "\n".join(f"{name:<{width}}{_figure(value)}" for name, value in named)

    __repr__ = __str__  # what a notebook shows


def measured(trees: Sequence[SoftmaxTree], samples: Samples) -> Measures:
    """Error, size and cost of one or more trees on samples, each counted by its weight.

    Samples of classes that no tree knows, such as -1, are wrong and not covered.

    Args:
        trees: trees whose probabilities are averaged.
        samples: samples, with classes as targets.

    Raises:
        ValueError: the samples have another shape.
    """
    x, y, counts = samples.x, samples.targets.cpu().numpy(), samples.counts()
    choices, predicted = mean_choices(trees, x), likeliest(trees, x)
    own = choices.classes == np.repeat(y, np.diff(choices.starts))
    rows = np.repeat(np.arange(len(y)), np.diff(choices.starts))[own]
    log_prob = choices.log_prob[own] - np.log1p(-choices.rest[rows])
    covered = counts[rows].sum() / counts.sum()
    loss = -np.average(log_prob, weights=counts[rows]) if covered else math.inf
    size = _Size(*map(sum, zip(*(_size(tree, x, counts) for tree in trees), strict=True)))
    return Measures(
        error=float(np.average(predicted != y, weights=counts)),
        depth=max(int(tree.topology.depth.max()) for tree in trees),
        leaves=size.leaves,
        leaf_classes=size.classes / size.leaves,
        path_classes=size.path_classes,
        nonzeros=size.nonzeros,
        flops=size.flops,
        dense_flops=size.dense_flops,
        microseconds=one_by_one(trees, x),
        coverage=float(covered),
        perplexity=float(np.exp(loss)),
    )


class _Size(NamedTuple):
    """The size of a tree and the cost of a prediction, as in :class:`Measures`.

    ``classes`` counts those of all leaves.
    """

    leaves: int
    classes: int
    path_classes: float
    nonzeros: int
    flops: float
    dense_flops: float


def _size(tree: SoftmaxTree, x: Any, counts: np.ndarray) -> _Size:
    """The size of a tree, and its cost on samples of these weights. ``[n, D], [n]``."""
    leaves, sizes, topology = tree.leaves_of(x), tree.arrays.sizes(), tree.topology
    used = np.array([tree.used(v) for v in range(topology.num_nodes)])
    longest = topology.depth[leaves] + sizes[leaves]
    # Parts are those of a single leaf, which has all classes.
    known = np.array([tree.num_classes]) if tree.arrays.has_parts else sizes
    return _Size(
        leaves=len(topology.leaves),
        classes=int(known[topology.leaves].sum()),
        path_classes=float(np.average(known[leaves], weights=counts)),
        nonzeros=int(used.sum()),
        flops=float(np.average(topology.sums_above(used)[leaves], weights=counts)),
        dense_flops=float(tree.shape[0] * np.average(longest, weights=counts)),
    )


def one_by_one(trees: Sequence[SoftmaxTree], x: Any) -> float:
    """The median time to predict a single sample, in microseconds. ``[n, D] -> []``."""
    predictors = [tree.predictor() for tree in trees]
    class_of, rows = predictors[0].timed(x[:TIMED])
    if len(trees) > 1:

        def class_of(*row: np.ndarray) -> int:
            return choices_about(predictors, *row).likeliest()[0]

    class_of(*rows[0])  # compiles it
    times = []
    for row in rows:
        start = time.perf_counter()
        class_of(*row)
        times.append(time.perf_counter() - start)
    return 1e6 * float(np.median(times))


def _figure(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
