"""Speed of a neural tree: all paths, one path, growth with a cache, and path probabilities.

``modules`` compares the multi-path forward with the sum of its modules' own times, each on the
samples that come to it. ``greedy`` compares one path a sample with all paths; ``bound`` is the same
ratio of the modules' own times, which no routing can exceed. ``candidate`` compares training steps
of a new split or transformer on samples that are taken through the fixed tree at every step, and on
what reached the leaf once. ``leaf_log_prob`` compares the doubling of all paths with a walk down
the levels. One thread; medians of processor time in seconds. The trees are those of MNIST's images,
most with their leaves at one depth: "sd" splits every leaf and then deepens every leaf.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import torch
from common import arguments, medians, report
from torch import Tensor, nn

from structnet.neural_tree import NeuralTree, presets
from structnet.neural_tree.growth.candidate import Candidate, Deepening, Split, cached
from structnet.routing import Samples
from structnet.routing.path_log_prob import leaf_log_prob
from structnet.routing.topology import Topology

IMAGE = (1, 28, 28)


def make_tree(grown: str, seed: int) -> NeuralTree:
    """A root of mnist_a, which has a transformer, and what is done to all leaves in turn: "s"
    splits each, "d" deepens each."""
    torch.manual_seed(seed)
    tree = NeuralTree(presets.mnist_a(), IMAGE)
    for step in grown:
        for leaf in tree.topology.leaves.tolist():
            tree.split(leaf) if step == "s" else tree.deepen(leaf)
    return tree.eval()


def make_samples(count: int, seed: int) -> Samples:
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(count, *IMAGE, generator=generator)
    return Samples(x, torch.arange(count) % 10)


def halve(tree: NeuralTree, x: Tensor) -> dict[int, Tensor]:
    """Sets the routers' last biases so that each sends half of what comes to it either way; gives
    the samples that come to each node."""
    rows = {0: torch.arange(len(x))}
    for v in range(len(tree.nodes)):
        node = tree.nodes[v]
        if node.router is None:
            continue
        last = [module for module in node.router.modules() if isinstance(module, nn.Linear)][-1]
        with torch.no_grad():
            features = dict(tree.features(x))[v][rows[v]]
            last.bias -= node.logit(features).median()
            left = node.logit(features) >= 0
        for child, side in zip(tree.topology.children_of(v), (left, ~left), strict=True):
            rows[child] = rows[v][side]
    return rows


def without_gradients(function: Callable[[], object]) -> Callable[[], object]:
    return torch.no_grad()(function)


# ---- all paths and one


def modules_of(
    tree: NeuralTree, x: Tensor, rows: dict[int, Tensor] | None = None
) -> Callable[[], None]:
    """All modules of the tree, each on the samples that come to it: all, or its node's rows."""
    found, arriving = [], {0: x}
    with torch.no_grad():
        for v, features in tree.features(x):
            node, here = tree.nodes[v], slice(None) if rows is None else rows[v]
            if len(node.transformers):
                found.append(partial(node.transformers, arriving[v][here]))
            found.append(partial(node.router or node.solver, features[here]))
            arriving |= dict.fromkeys(tree.topology.children_of(v), features)
    return without_gradients(partial(in_turn, found))


def in_turn(functions: Sequence[Callable[[], object]]) -> None:
    for function in functions:
        function()


def forward_row(name: str, grown: str, batch: int, repeats: int, seed: int) -> dict:
    tree, samples = make_tree(grown, seed), make_samples(batch, seed)
    ours = without_gradients(partial(tree, samples.x))
    whole, modules = medians(ours, modules_of(tree, samples.x), repeats=repeats, warm_up=2)
    return row("modules", name, batch, whole, modules, whole / modules)


def greedy_row(name: str, grown: str, batch: int, repeats: int, seed: int) -> dict:
    tree, samples = make_tree(grown, seed), make_samples(batch, seed)
    rows = halve(tree, samples.x)
    multi = without_gradients(partial(tree.output, samples.x))
    greedy = without_gradients(partial(tree.output, samples.x, "greedy"))
    modules = modules_of(tree, samples.x), modules_of(tree, samples.x, rows)
    many, one, bare_many, bare_one = medians(multi, greedy, *modules, repeats=repeats, warm_up=2)
    return row("greedy", name, batch, one, many, many / one) | {"bound": bare_many / bare_one}


# ---- candidates


def step_of(candidate: Candidate, data: object, batch_size: int, seed: int) -> Callable[[], None]:
    """A training step as ``fit`` makes it: choose, take, forward, backward, optimiser."""
    optimizer = torch.optim.Adam(candidate.parameters())
    generator = np.random.default_rng(seed)

    def step() -> None:
        chosen = generator.choice(len(data), batch_size, replace=False)
        optimizer.zero_grad()
        candidate.loss(data[chosen]).backward()
        optimizer.step()

    return step


def candidate_row(name: str, kind: str, grown: str, batch: int, repeats: int, seed: int) -> dict:
    tree, samples = make_tree(grown, seed), make_samples(2 * batch, seed)
    leaf = int(tree.topology.leaves[0])
    make, new = (Split, tree.new_split) if kind == "split" else (Deepening, tree.new_deepening)
    how = {"batch_size": batch, "max_bytes": 4e9}
    at_leaf = cached(tree, leaf, samples, **how)
    fast, slow = (
        step_of(make(tree, leaf, new(leaf)), data, batch, seed) for data in (at_leaf, samples)
    )
    with_cache, without = medians(fast, slow, repeats=repeats, warm_up=2)
    return row("candidate", f"{kind} at {name}", batch, with_cache, without, without / with_cache)


# ---- path probabilities


def chain(leaves: int) -> Topology:
    """Every right child splits."""
    splits = [(v + 1, v + 2) if v % 2 == 0 else () for v in range(2 * leaves - 2)]
    return Topology([*splits, ()])


def full(depth: int) -> Topology:
    inner = 2**depth - 1
    return Topology([*((2 * v + 1, 2 * v + 2) for v in range(inner)), *[()] * (inner + 1)])


def level_by_level(topology: Topology, branch_log_prob: Tensor) -> Tensor:
    """What ``leaf_log_prob`` gives, by a walk down the levels."""
    log_prob = branch_log_prob.clone()
    for level in range(1, int(topology.depth.max()) + 1):
        nodes = torch.from_numpy(np.flatnonzero(topology.depth == level))
        parents = torch.from_numpy(topology.parent[nodes.numpy()])
        log_prob[:, nodes] += log_prob[:, parents]
    return log_prob[:, torch.from_numpy(topology.leaves)]


def paths_row(name: str, topology: Topology, batch: int, repeats: int) -> dict:
    branches = torch.rand(batch, topology.num_nodes).log()
    ours, theirs = medians(
        partial(leaf_log_prob, topology, branches),
        partial(level_by_level, topology, branches),
        repeats=repeats,
        warm_up=2,
    )
    return row("leaf_log_prob", name, batch, ours, theirs, theirs / ours)


def row(
    what: str, name: str, batch: int, ours: float, theirs: float, ratio: float
) -> dict[str, object]:
    return {
        "what": what,
        "tree": name,
        "batch": batch,
        "seconds": ours,
        "compared with": theirs,
        "ratio": ratio,
    }


def main() -> None:
    options = arguments(__doc__)
    torch.set_num_threads(1)
    batch, repeats, seed = 128 if options.quick else 512, 4 if options.quick else 15, options.seed
    rows = [
        forward_row(name, grown, size, 3 * repeats, seed)
        for name, grown in (("T", ""), ("T,T,T,R", "dds"), ("8 leaves at 12x12", "sssd"))
        for size in (1, batch)
    ]
    rows += [
        greedy_row(name, grown, batch, repeats, seed)
        for name, grown in (
            ("8 leaves, T on each branch", "sdsdsd"),
            ("8 leaves at 12x12, T on each leaf", "sssd"),
        )
    ]
    rows += [
        candidate_row(name, kind, grown, batch, repeats, seed)
        for name, kind, grown in (
            ("2x2", "split", "dd"),
            ("8x8", "split", "d"),
            ("8x8", "deepen", "d"),
            ("12x12", "split", ""),
            ("12x12", "deepen", ""),
            ("2x2 of 8", "split", "sssdd"),
        )
    ]
    rows += [
        paths_row(name, topology, batch, 3 * repeats)
        for name, topology in (
            ("8 leaves, full", full(3)),
            ("1,024 leaves, full", full(10)),
            ("33 leaves, chain", chain(33)),
            ("501 leaves, chain", chain(501)),
        )
    ]
    report(rows, threads=torch.get_num_threads(), seed=seed)


if __name__ == "__main__":
    main()
