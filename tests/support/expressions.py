"""Nested expressions of and and or, whose value an estimator of trees learns in a few epochs."""

from __future__ import annotations

import random

from structnet import Tree

QUICK = {"epochs": 6, "hidden_size": 8, "random_state": 0}


def expression(rng: random.Random, depth: int = 3) -> Tree:
    if depth == 0 or rng.random() < 0.2:
        return Tree(rng.choice("01"))
    return Tree(rng.choice(["and", "or"]), [expression(rng, depth - 1) for _ in range(2)])


def value(tree: Tree) -> int:
    rules = {"and": min, "or": max}
    return tree.fold(lambda n, of: rules[n.label](of) if of else int(n.label))


def data(count: int = 120, seed: int = 0) -> tuple[list[Tree], list[str]]:
    rng = random.Random(seed)
    trees = [expression(rng) for _ in range(count)]
    return trees, [("no", "yes")[value(tree)] for tree in trees]
