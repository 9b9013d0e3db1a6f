"""Trees that are models, at a million nodes: their shape, path probabilities, hard paths.

Full binary trees, trees whose nodes have 1 to 30 children at random, and chains as deep as they are
long. ``dgl`` is the reference, DGL's own messages from parent to child, on a smaller tree; its
ratio is to the fast form on the same tree. One thread; medians of processor time in seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from common import arguments, medians, report
from torch import Tensor

from structnet.routing import Topology, follow, leaf_log_prob
from structnet.routing.dgl_backend import hard_route


def full(nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Offsets and children of a binary tree, level by level."""
    inner = nodes // 2
    counts = np.where(np.arange(2 * inner + 1) < inner, 2, 0)
    return np.append(0, np.cumsum(counts)), np.arange(1, 2 * inner + 1)


def chain(nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Offsets and children of nodes with one child each."""
    return np.append(np.arange(nodes), nodes - 1), np.arange(1, nodes)


def wide(nodes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Offsets and children of a tree with up to 30 children a node."""
    counts = np.random.default_rng(seed).integers(1, 31, size=nodes)
    ends = np.minimum(np.cumsum(counts), nodes - 1)
    return np.append(0, ends), np.arange(1, nodes)


def trees(nodes: int, seed: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    return {"full": full(nodes), "wide": wide(nodes, seed), "chain": chain(nodes)}


def row(what: str, name: str, nodes: int, *functions: Callable, repeats: int) -> dict[str, object]:
    times = medians(*functions, repeats=repeats)
    found = {"what": what, "tree": name, "nodes": nodes, "seconds": times[0]}
    return found if len(times) == 1 else found | {"dgl": times[1], "ratio": times[1] / times[0]}


def shape_rows(nodes: int, seed: int, repeats: int) -> list[dict]:
    rows = []
    for name, arrays in trees(nodes, seed).items():
        topology = Topology.from_arrays(*arrays)
        at_leaves = np.zeros(topology.num_nodes)
        at_leaves[topology.leaves] = 1
        for what, function in (
            ("Topology.from_arrays", partial(Topology.from_arrays, *arrays)),
            ("Topology of lists", partial(Topology, topology.to_lists())),
            ("sums_above", partial(topology.sums_above, at_leaves)),
            ("sums_below", partial(topology.sums_below, at_leaves)),
            ("from_left", topology.from_left),
            ("survivors", partial(topology.survivors, at_leaves, 0.5)),
        ):
            rows.append(row(what, name, topology.num_nodes, function, repeats=repeats))
    return rows


def route(tree: Topology, place: Tensor) -> Tensor:
    """The leaf that each sample reaches, by the places chosen. ``[n, num_nodes] -> [n]``"""

    def step(node: int, rows: Tensor, x: Tensor) -> tuple[Tensor, Tensor | None]:
        return x, place[rows, node] if tree.children_of(node) else None

    return follow(tree, place[:, 0], step)[0]


def path_rows(nodes: int, batch: int, seed: int, repeats: int) -> list[dict]:
    rows, generator = [], torch.Generator().manual_seed(seed)
    for name, arrays in trees(nodes, seed).items():
        topology = Topology.from_arrays(*arrays)
        branches = torch.rand(batch, topology.num_nodes, generator=generator).log()
        arity = torch.from_numpy(np.diff(topology.offsets))
        place = (torch.rand(batch, topology.num_nodes, generator=generator) * arity).long()
        sums = partial(leaf_log_prob, topology, branches)
        for what, *both in (
            ("leaf_log_prob", sums, partial(sums, backend="dgl")),
            ("follow", partial(route, topology, place), partial(hard_route, topology, place)),
        ):
            rows.append(row(what, name, topology.num_nodes, *both, repeats=repeats))
    return rows


def main() -> None:
    options = arguments(__doc__)
    torch.set_num_threads(1)
    repeats = 1 if options.quick else 5
    rows = shape_rows(100_000 if options.quick else 1_000_000, options.seed, repeats)
    rows += path_rows(500 if options.quick else 2_000, 64, options.seed, repeats)
    report(rows, threads=torch.get_num_threads(), seed=options.seed)


if __name__ == "__main__":
    main()
