"""Softmax trees: a prediction beside a flat softmax in numpy and torch, and the cost of training.

Predictions are of trees with drawn weights: what a product costs does not depend on them. ``flat``
is the product with all classes and the place of its maximum; ``gather`` that of the columns of a
sparse row. Training is timed on clusters of several modes a class, against the number of rows,
classes and features, and beside it the choice of what is left open. One thread, processor time. The
nodes of a depth are trained on one thread and on two, by the clock of the wall; ``unlocked`` is the
share of the processor time on one thread in compiled loops, which hold no lock, and ``of one`` the
processor time that two take for one's: where other programs fill the cores, the wall shows nothing.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import torch
from common import arguments, medians, report
from scipy.sparse import csr_matrix
from scipy.sparse import random as random_rows

from structnet.datasets import clusters
from structnet.softmax_tree import (
    GrowthSettings,
    SoftmaxTree,
    SoftmaxTreeSettings,
    _kernels,
    _scaling_kernels,
    _solver_kernels,
    decision_update,
    draft,
    train,
)
from structnet.softmax_tree.choice import chosen
from structnet.softmax_tree.draft import Draft
from structnet.softmax_tree.nodes import Hyperplane, Leaf
from structnet.softmax_tree.objective import Objective
from structnet.softmax_tree.optimisation import alternate, updated
from structnet.softmax_tree.points import Points
from structnet.softmax_tree.start import complete_draft
from structnet.training.one_thread import ONE_THREAD

CALLS = 200


def drawn_tree(depth: int, k: int, features: int, classes: int, seed: int) -> SoftmaxTree:
    """A complete tree whose weights are drawn."""
    rng, inner = np.random.default_rng(seed), 2**depth - 1
    children = [(2 * v + 1, 2 * v + 2) for v in range(inner)] + [()] * (inner + 1)
    nodes = []
    for below in children:
        if below:
            nodes.append(Hyperplane(rng.standard_normal(features).astype(np.float32), 0.0))
            continue
        own = np.sort(rng.choice(classes, k, replace=False))
        weight = rng.standard_normal((features, k)).astype(np.float32)
        nodes.append(Leaf(own, weight, np.zeros(k, np.float32), k))
    return SoftmaxTree.from_draft(Draft(children, nodes), features, classes)


def each(ask: Callable, rows: list) -> None:
    for row in rows:
        ask(*row)


def latency(depth: int, k: int, features: int, classes: int, seed: int, repeats: int) -> dict:
    """Microseconds of one prediction: of a tree, of all classes, and of a sparse row's columns."""
    rng = np.random.default_rng(seed)
    tree = drawn_tree(depth, k, features, classes, seed)
    weight = rng.standard_normal((classes, features)).astype(np.float32)
    by_column, tensor = np.ascontiguousarray(weight.T), torch.from_numpy(weight)
    sparse = random_rows(CALLS, features, 0.05, "csr", np.float32, rng)
    sparse.sort_indices()
    x = rng.standard_normal((CALLS, features)).astype(np.float32)
    class_of, rows = tree.predictor().timed(x)
    thin_of, thin = tree.predictor().timed(sparse)
    tensors = [(torch.from_numpy(row),) for row in x]
    times = medians(
        partial(each, class_of, rows),
        partial(each, lambda row: (weight @ row).argmax(), rows),
        partial(each, lambda row: (tensor @ row).argmax(), tensors),
        partial(each, thin_of, thin),
        partial(each, lambda at, v: (v @ by_column[at]).argmax(), thin),
        repeats=repeats,
    )
    one, flat, in_torch, one_thin, gather = (1e6 * t / CALLS for t in times)
    return {
        "what": "one prediction, us",
        "K": classes,
        "D": features,
        "k": k,
        "tree": one,
        "flat numpy": flat,
        "flat torch": in_torch,
        "ratio": flat / one,
        "sparse tree": one_thin,
        "gather": gather,
        "sparse ratio": gather / one_thin,
    }


def batches(depth: int, k: int, features: int, classes: int, seed: int, repeats: int) -> dict:
    """Microseconds a row of a batch."""
    rng, number = np.random.default_rng(seed), 5000
    tree = drawn_tree(depth, k, features, classes, seed)
    weight = rng.standard_normal((classes, features)).astype(np.float32)
    x = rng.standard_normal((number, features)).astype(np.float32)
    tensor, rows = torch.from_numpy(weight), torch.from_numpy(x)
    times = medians(
        partial(tree.classes_of, x),
        lambda: (x @ weight.T).argmax(axis=1),
        lambda: (rows @ tensor.T).argmax(dim=1),
        repeats=repeats,
    )
    ours, flat, in_torch = (1e6 * t / number for t in times)
    found = {"what": "a row of a batch, us", "K": classes, "D": features, "k": k, "tree": ours}
    return found | {"flat numpy": flat, "flat torch": in_torch, "ratio": flat / ours}


def training(what: str, rows: int, classes: int, features: int, seed: int, **told: object) -> dict:
    """Processor seconds of a training, its error, and the most memory of the process so far."""
    growth = told.pop("growth", None)
    data = clusters.generate(rows, 1000, classes=classes, features=features, seed=seed)
    x = csr_matrix(np.where(data.x_train > 1.5, data.x_train, 0)) if told.pop("sparse", 0) else None
    own: dict = {"start": "clusters", "decision_penalty": 1.0, "leaf_penalty": 1.0, "depth": 5}
    own |= {"max_leaf_classes": min(classes, max(10, classes // 5)), **told}
    begin, wall = time.process_time(), time.perf_counter()
    given = data.x_train if x is None else x
    trained = train(given, data.y_train, SoftmaxTreeSettings(**own), growth, num_classes=classes)
    spent = time.process_time() - begin
    error = (
        None
        if x is not None
        else float((trained.tree.classes_of(data.x_test) != data.y_test).mean())
    )
    return {
        "what": what,
        "N": rows,
        "K": classes,
        "D": features,
        "seconds": spent,
        "wall": time.perf_counter() - wall,
        "error": error,
        "MB so far": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def trials(rows: int, classes: int, features: int, seed: int) -> dict:
    """Processor seconds of the choice of settings, beside those of the training that follows."""
    data = clusters.generate(rows, 1, classes=classes, features=features, seed=seed)
    points = Points.made(data.x_train, data.y_train, classes)
    begin = time.process_time()
    settings, _ = chosen(points, SoftmaxTreeSettings(seed=seed), None)
    middle = time.process_time()
    train(data.x_train, data.y_train, settings, num_classes=classes)
    choice, fit = middle - begin, time.process_time() - middle
    found = {"what": "choice of settings", "N": rows, "K": classes, "D": features}
    return found | {"seconds": fit, "choice": choice, "of fit": choice / fit}


def depths(rows: int, classes: int, features: int, seed: int, repeats: int) -> list[dict]:
    """How the nodes of a depth, and whole iterations, gain from a second thread."""
    data = clusters.generate(rows, 1, classes=classes, features=features, seed=seed)
    points = Points.made(data.x_train, data.y_train, classes)
    aim = Objective(1.0, 1.0, SoftmaxTreeSettings().loss_of_missing(classes), 40)
    begun = complete_draft(points, 5, classes // 5, "clusters", seed)
    tree = alternate(begun, points, aim, 1)
    reach, depth, found = tree.reach(points), tree.topology.depth, []
    for level in (5, 3):
        nodes = [v for v in reach if depth[v] == level]

        def train(jobs: int) -> None:
            with ONE_THREAD, ThreadPoolExecutor(jobs) as pool:
                list(pool.map(lambda v: updated(tree, v, points, reach[v], aim), nodes))  # noqa: B023

        (one, two), (first, second) = (
            medians(partial(train, 1), partial(train, 2), repeats=repeats, clock=clock)
            for clock in (time.perf_counter, time.process_time)
        )
        row = {"what": f"nodes of depth {level}", "N": rows, "K": classes, "D": features}
        row |= {"wall": one, "two threads": two, "ratio": one / two, "of one": second / first}
        found.append(row | {"unlocked": unlocked(partial(train, 1))})

    def iterate(jobs: int) -> None:
        alternate(begun, points, aim, 4, 0.0, n_jobs=jobs)

    calls = partial(iterate, 1), partial(iterate, 2)
    one, two = medians(*calls, repeats=max(repeats // 3, 3), clock=time.perf_counter)
    row = {"what": "four iterations", "N": rows, "K": classes, "D": features}
    return [*found, row | {"wall": one, "two threads": two, "ratio": one / two}]


def unlocked(work: Callable[[], object]) -> float:
    """The share of processor time in compiled loops, of work whose threads are one at a time."""
    spent, held = 0.0, {}

    def timed(function: Callable) -> Callable:
        def call(*args: object) -> object:
            nonlocal spent
            begin = time.thread_time()
            found = function(*args)
            spent += time.thread_time() - begin
            return found

        return call

    loops = (
        (_scaling_kernels, "scale"),
        (_scaling_kernels, "scale_weights"),
        (_scaling_kernels, "scale_back"),
        (_solver_kernels, "fista"),
        (decision_update, "best_plane"),
        (draft, "losses_of_rows"),
        (_kernels, "leaves_of"),
        (_kernels, "projections"),
    )
    for module, name in loops:
        held[module, name] = getattr(module, name)
    try:
        for (module, name), function in held.items():
            setattr(module, name, timed(function))
        begin = time.process_time()
        work()
        return spent / (time.process_time() - begin)
    finally:
        for (module, name), function in held.items():
            setattr(module, name, function)


def main() -> None:
    options = arguments(__doc__)
    torch.set_num_threads(1)
    repeats = 5 if options.quick else 15
    with ONE_THREAD:  # else numpy's products would take two, and the sum of their times counts
        rows = [
            latency(5, 60, 128, 1000, options.seed, repeats),
            latency(6, 100, 1000, 12_000, options.seed, repeats),
            batches(5, 60, 128, 1000, options.seed, repeats),
        ]
    few = {"max_iter": 2} if options.quick else {}
    sizes = (1000, 4000) if options.quick else (1000, 10_000, 100_000, 1_000_000)
    rows += [training("rows", n, 50, 32, options.seed, **few) for n in sizes]
    sizes = (10, 100) if options.quick else (10, 100, 1000, 10_000)
    number = 4000 if options.quick else 20_000
    rows += [training("classes", number, k, 32, options.seed, **few) for k in sizes]
    sizes = (10, 1000) if options.quick else (10, 100, 1000, 10_000)
    for features in sizes:
        given = {"sparse": 1, **few}
        rows.append(training("sparse features", 2000, 20, features, options.seed, **given))
    size = (4000, 100, 64) if options.quick else (20_000, 200, 64)
    rows.append(training("ST", *size, options.seed, max_leaf_classes=size[1] // 5, **few))
    growth = GrowthSettings(alpha=0.6, rho=0.95, start_depth=3, max_rounds=3)
    rows.append(
        training(
            "AST", *size, options.seed, depth=None, max_leaf_classes=None, growth=growth, **few
        )
    )
    sizes = ((4000, 100),) if options.quick else ((5000, 10), (12_500, 500), (50_000, 2000))
    rows += [trials(n, k, 64, options.seed) for n, k in sizes]
    rows += depths(*size, options.seed, repeats)
    report(rows, threads=torch.get_num_threads(), seed=options.seed)


if __name__ == "__main__":
    main()
