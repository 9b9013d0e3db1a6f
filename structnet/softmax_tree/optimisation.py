"""Tree alternating optimisation (TAO): node by node, deepest first, on a fixed structure.

The points are routed once in each iteration. Nodes of the same depth have disjoint points and do
not affect each other, so that they can be trained in parallel; each is trained with the nodes below
it already updated. No update raises the objective. Nearly all the work for a node is in a few calls
of compiled loops, which hold no lock. Matrix products use one thread each, so that their sums and
the tree do not depend on the number of threads.

Reference:
    Carreira-Perpinan and Tavallali, "Alternating Optimization of Decision Trees, with Application
    to Learning Sparse Oblique Trees", NeurIPS 2018.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np

from structnet.checks import num_threads
from structnet.softmax_tree.decision_update import updated_hyperplane
from structnet.softmax_tree.draft import Draft, Node
from structnet.softmax_tree.leaf_update import updated_leaf
from structnet.softmax_tree.nodes import Leaf
from structnet.softmax_tree.objective import Objective
from structnet.softmax_tree.points import Points
from structnet.training.one_thread import ONE_THREAD

# A function of the tree, its objective, and True if that has hardly fallen.
AfterIteration = Callable[[Draft, float, bool], None]


def alternate(
    draft: Draft,
    points: Points,
    objective: Objective,
    max_iter: int = 20,
    tol: float = 1e-3,
    n_jobs: int | None = None,
    after_iteration: AfterIteration = lambda draft, value, settled: None,
) -> Draft:
    """Trains all nodes in turn until the objective hardly falls, and returns a new draft.

    Args:
        draft: tree to start from, which is not changed.
        points: samples to learn from.
        objective: objective to lower.
        max_iter: largest number of iterations.
        tol: relative fall of the objective up to which training stops.
        n_jobs: number of threads that train the nodes of one depth, -1 for all cores; None is 1.
        after_iteration: function called after every iteration with the tree, its objective, and
            True if that hardly fell, in which case the iteration was the last.
    """
    draft, value = draft.copy(), objective.of(draft, points)
    depth = draft.topology.depth
    levels = [np.flatnonzero(depth == d).tolist() for d in range(depth.max(), -1, -1)]
    with ONE_THREAD, mapper(n_jobs) as mapped:
        for _ in range(max_iter):
            reach = draft.reach(points)
            for level in levels:
                # The largest nodes first, so that threads do not wait for a late large one.
                busy = [node for node in level if node in reach]
                busy.sort(key=lambda node: -len(reach[node]))

                def train(node: int) -> Node:
                    return updated(draft, node, points, reach[node], objective)  # noqa: B023

                for node, new in zip(busy, list(mapped(train, busy)), strict=True):
                    draft.nodes[node] = new
            before, value = value, objective.of(draft, points)
            settled = before - value <= tol * before
            after_iteration(draft, value, settled)
            if settled:
                break
    return draft


def updated(
    draft: Draft, node: int, points: Points, rows: np.ndarray, objective: Objective
) -> Node:
    """A node that is better on the rows ``[m]`` that reach a given one, or the node itself."""
    here = draft.nodes[node]
    if isinstance(here, Leaf):
        return updated_leaf(here, points, rows, objective)
    return updated_hyperplane(draft, node, points, rows, objective)


@contextmanager
def mapper(n_jobs: int | None) -> Iterator[Callable]:
    """``map`` in this thread, or in as many threads as ``n_jobs`` asks for, -1 for all cores."""
    threads = num_threads(n_jobs)
    if threads == 1:
        yield map
        return
    with ThreadPoolExecutor(threads) as pool:
        yield pool.map
