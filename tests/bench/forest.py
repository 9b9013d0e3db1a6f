"""Building forests, cutting minibatches, planning sweeps, and a chain as deep as it is long."""

from __future__ import annotations

import time

import numpy as np
import torch
from common import arguments, medians, report

from structnet.datasets import listops
from structnet.message_passing.scheduling import Layout, schedule
from structnet.tensor_tree import ChildSum, TreeLSTM
from structnet.trees.forest import Forest
from structnet.trees.tree import Tree
from structnet.trees.vocabulary import Vocabulary


def timed(function, *args):
    start = time.process_time()
    result = function(*args)
    return result, time.process_time() - start


def forest_rows(num_trees: int, seed: int) -> list[dict]:
    trees, generating = timed(listops.generate, num_trees, seed)
    vocabulary = Vocabulary(["MAX", "MIN", "MED", "SM"], "0123456789", arity=5)
    forest, building = timed(Forest.from_trees, trees, vocabulary)
    nodes = sum(tree.size for tree in trees)
    rows = [
        {"what": f"generate {num_trees:,} trees, {nodes:,} nodes", "seconds": generating},
        {"what": f"forest of them, {forest.num_nodes:,} distinct", "seconds": building},
    ]
    generator = np.random.default_rng(seed)
    layout = Layout(4, 5, True, True)
    for size in (25, 250):
        batches = iter([generator.choice(num_trees, size, replace=False) for _ in range(220)])
        (cut,) = medians(lambda b=batches: forest[next(b)], repeats=100)
        (plan,) = medians(lambda b=batches: schedule(forest[next(b)], layout), repeats=100)
        rows.append({"what": f"minibatch of {size} shuffled roots", "seconds": cut})
        rows.append({"what": "the same, with the plan of a sweep", "seconds": plan})
    return rows


def chain_rows(length: int) -> list[dict]:
    def build() -> Tree:
        tree = Tree("a")
        for _ in range(length):
            tree = Tree("s", [tree])
        return tree

    tree, making = timed(build)
    vocabulary = Vocabulary(["s"], ["a"], arity=1)
    forest, building = timed(Forest.from_trees, [tree], vocabulary)
    _, printing = timed(lambda: (str(tree), tree.pretty()))
    model = TreeLSTM(2, 1, 1, torch.eye(1), ChildSum)
    h, forward = timed(model, forest)
    _, backward = timed(h.sum().backward)
    name = f"chain of {length:,}: "
    return [
        {"what": name + "make the tree", "seconds": making},
        {"what": name + "forest", "seconds": building},
        {"what": name + "print", "seconds": printing},
        {"what": name + "forward", "seconds": forward},
        {"what": name + "backward", "seconds": backward},
    ]


def main() -> None:
    options = arguments(__doc__)
    torch.set_num_threads(1)
    chain_rows(100)  # compiles the kernels
    rows = forest_rows(10_000 if options.quick else 100_000, options.seed)
    for length in (2_000, 20_000) if options.quick else (10_000, 100_000):
        rows += chain_rows(length)
    long, short = (sum(r["seconds"] for r in rows[-k:][:5]) for k in (5, 10))
    report(rows, seed=options.seed, chain_time_ratio=long / short, chain_length_ratio=10)


if __name__ == "__main__":
    main()
