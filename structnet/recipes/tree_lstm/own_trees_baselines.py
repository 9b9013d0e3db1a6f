"""Linear models and boosting on counts of a tree's labels, or on the labels around a node."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression, RidgeCV

from structnet.recipes.tree_lstm.own_trees_tasks import Task
from structnet.trees.tree import Tree

SHOWN = 300  # labels that boosting uses


def baseline(model: str, seed: int, task: Task, learn: np.ndarray, test: np.ndarray) -> np.ndarray:
    """The predictions of a scikit-learn model for the test trees, or for their nodes. ``[m]``.

    Args:
        model: "bag", "pairs" or "boosting".
        seed: seed of boosting.
        task: trees with their targets.
        learn, test: places of the trees to learn from and to test on.
    """
    names, y = DictVectorizer(), task.answers(learn)

    def features(places: np.ndarray) -> list[dict[str, int]]:
        if not task.of_nodes:
            return [_counts_of(task.trees[i], model == "pairs") for i in places]
        rows = [row for i in places for row in around(task.trees[i], model == "pairs")]
        return [rows[i] for i in np.flatnonzero(task.has_class(places))]

    x, z = names.fit_transform(features(learn)), names.transform(features(test))
    if model == "boosting":
        most = np.argsort(-np.asarray((x > 0).sum(0)).ravel())[:SHOWN]
        kind = HistGradientBoostingRegressor if task.of_numbers else HistGradientBoostingClassifier
        return kind(random_state=seed).fit(x[:, most].toarray(), y).predict(z[:, most].toarray())
    if task.of_numbers:
        return RidgeCV(np.logspace(-2, 3, 6)).fit(x, y).predict(z)
    return LogisticRegression(max_iter=500).fit(x.log1p(), y).predict(z.log1p())


def counts(tree: Tree, pairs: bool) -> dict[str, int]:
    """The count of each label in a tree, separately for leaves, and with ``pairs`` of each pair."""
    number: Counter[str] = Counter()
    for node in tree.preorder():
        number[f"{bool(node.children):d} {node.label}"] += 1
        if pairs:
            number.update(f"{node.label} > {child.label}" for child in node.children)
    return number


def _counts_of(example: Tree | tuple[Tree, Tree], pairs: bool) -> dict[str, int]:
    """The counts of a tree; for two trees, the counts that they share, and the differences."""
    if isinstance(example, Tree):
        return counts(example, pairs)
    one, other = (Counter(counts(tree, pairs)) for tree in example)
    apart = (one - other) + (other - one)
    features = {f"both {name}": count for name, count in (one & other).items()}
    return features | {f"apart {name}": count for name, count in apart.items()}


def around(tree: Tree, neighbours: bool) -> list[dict[str, int]]:
    """Features of each node in preorder: its label and, with ``neighbours``, those around it.

    Neighbours are up to two nodes above it, those beside and below it and, for a leaf, the leaves
    before and after it. The place of the node and its number of children are features as well.
    """
    features: list[set[str]] = []
    waiting: list[tuple[Tree, int, Tree | None, Tree | None]] = [(tree, 0, None, None)]
    while waiting:
        node, place, parent, further = waiting.pop()
        features.append({f"{node.label}"})
        waiting += reversed([(x, i, node, parent) for i, x in enumerate(node.children)])
        if neighbours:
            beside = parent.children if parent else (node,)
            features[-1] |= {f"place {place}", f"{len(node.children)} children"}
            features[-1] |= {f"above {parent and parent.label} {further and further.label}"}
            features[-1] |= {f"above {parent and parent.label}"}
            features[-1] |= {f"below {child.label}" for child in node.children}
            features[-1] |= {f"before {x.label}" for x in beside[max(place - 1, 0) : place]}
            features[-1] |= {f"after {x.label}" for x in beside[place + 1 : place + 2]}
    if neighbours:
        leaves = [(i, x.label) for i, x in enumerate(tree.preorder()) if not x.children]
        for (i, one), (j, other) in pairwise(leaves):
            features[i].add(f"next leaf {other}")
            features[j].add(f"last leaf {one}")
    return [dict.fromkeys(each, 1) for each in features]
