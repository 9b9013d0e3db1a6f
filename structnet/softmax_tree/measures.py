"""The quality and cost of a softmax tree, in the quantities of the papers."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from structnet.routing.samples import Samples
from structnet.softmax_tree.tree import SoftmaxTree

TIMED = 1000  # rows that are predicted one by one, to time a prediction


@dataclass(frozen=True)
class Measures:
    """Figures of a tree on samples; ``str`` shows them one on each line.

    Attributes:
        error: share of samples whose predicted class is wrong.
        depth, leaves: largest number of decisions on a path, and number of leaves.
        leaf_classes: mean number of classes over the leaves.
        path_classes: mean over the samples of the number of classes in their leaf.
        nonzeros: number of weights that are not 0, in all nodes.
        flops: mean over the samples of the number of nonzero weights on the path and in the leaf:
            the multiplications of a prediction, which the papers count as FLOPs.
        dense_flops: mean of ``D (depth + k)``, the same number if no weight were 0.
        microseconds: median time to predict a single sample.
        coverage: share of samples whose class is one of their leaf's.
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


def measured(tree: SoftmaxTree, samples: Samples) -> Measures:
    """Error, size and cost of a tree on samples, each counted by its weight.

    Samples of classes that the tree does not know, such as -1, are wrong and not covered.

    Args:
        tree: tree to measure.
        samples: samples, with classes as targets.

    Raises:
        ValueError: the samples have another shape.
    """
    x, y, counts = samples.x, samples.targets.cpu().numpy(), samples.counts()
    leaves, choices = tree.leaves_of(x), tree.choices(x)
    predicted = tree.classes_of(x)
    own = choices.classes == np.repeat(y, np.diff(choices.starts))
    rows = np.repeat(np.arange(len(y)), np.diff(choices.starts))[own]
    log_prob = choices.log_prob[own] - np.log1p(-choices.rest[rows])
    sizes, topology = tree.arrays.sizes(), tree.topology
    used = np.array([tree.used(v) for v in range(topology.num_nodes)])
    path = topology.sums_above(used)[leaves]
    covered = counts[rows].sum() / counts.sum()
    loss = -np.average(log_prob, weights=counts[rows]) if covered else math.inf
    return Measures(
        error=float(np.average(predicted != y, weights=counts)),
        depth=int(topology.depth.max()),
        leaves=len(topology.leaves),
        leaf_classes=float(sizes[topology.leaves].mean()),
        path_classes=float(np.average(sizes[leaves], weights=counts)),
        nonzeros=int(used.sum()),
        flops=float(np.average(path, weights=counts)),
        dense_flops=float(
            tree.shape[0] * np.average(topology.depth[leaves] + sizes[leaves], weights=counts)
        ),
        microseconds=one_by_one(tree, x),
        coverage=float(covered),
        perplexity=float(np.exp(loss)),
    )


def one_by_one(tree: SoftmaxTree, x: Any) -> float:
    """The median time to predict a single sample, in microseconds. ``[n, D] -> []``."""
    class_of, rows = tree.predictor().timed(x[:TIMED])
    class_of(*rows[0])  # compiles it
    times = []
    for row in rows:
        start = time.perf_counter()
        class_of(*row)
        times.append(time.perf_counter() - start)
    return 1e6 * float(np.median(times))


def _figure(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
