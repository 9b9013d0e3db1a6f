"""Summary of a file of trees: sizes, labels, copies, and the distribution of targets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from statistics import fmean, median, pstdev
from typing import Any

from structnet.datasets.tree_file import TreeFile

MOST = 8  # labels listed, the most frequent ones
FAULTS = 5  # unreadable examples listed


def summarize_trees(data: TreeFile) -> dict[str, Any]:
    """Counts what matters to a model of the trees.

    Args:
        data: trees, as :func:`.tree_file.read_trees` returns them.

    Returns:
        A dictionary for JSON: the numbers of examples, trees and nodes; the least, median and
        largest size and height of a tree and arity of an inner node; the numbers of different
        labels of inner nodes, of leaves and of tokens, with the 8 most frequent; the number of
        copies (examples equal to an earlier one), and of copies with another target than the first;
        the distribution of the targets; and the number of unreadable examples, with the first 5.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from pathlib import Path
        >>> from structnet.datasets import read_trees
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "expressions.tsv")
        ...     _ = path.write_text("even\\t[MAX 2 4 ]\\nodd\\t[MIN 3 7 ]\\nodd\\t[MAX 2 4 ]\\n")
        ...     found = summarize_trees(read_trees(path))
        >>> found["nodes"], found["arity"], found["inner_labels"]
        (9, {'least': 2, 'median': 2, 'most': 2}, {'different': 2, 'most': {'MAX': 2, 'MIN': 1}})
        >>> found["copies"], found["copies_with_other_target"]
        (1, 1)
        >>> found["classes"]
        {'odd': 2, 'even': 1}
    """
    trees = data.each_tree
    inner: Counter[Hashable] = Counter()
    leaves: Counter[Hashable] = Counter()
    tokens: Counter[Hashable] = Counter()
    arities: Counter[int] = Counter()
    for tree in trees:
        for node in tree.preorder():
            (inner if node.children else leaves)[node.label] += 1
            if node.children:
                arities[len(node.children)] += 1
            if node.token is not None:
                tokens[node.token] += 1
    copies, contradicted = _copies(data.trees, data.targets)
    return {
        "examples": len(data),
        "trees": len(trees),
        "nodes": sum(tree.size for tree in trees),
        "size": _spread([tree.size for tree in trees]),
        "height": _spread([tree.height for tree in trees]),
        "arity": _spread(list(arities.elements())),
        "inner_labels": _labels(inner),
        "leaf_labels": _labels(leaves),
        "tokens": _labels(tokens),
        "copies": copies,
        "copies_with_other_target": contradicted,
        **_targets(data),
        "unreadable": len(data.unreadable),
        "unreadable_first": [
            place.as_dict | {"fault": fault} for place, fault in data.unreadable[:FAULTS]
        ],
    }


def _copies(trees: Sequence[Any], targets: Sequence[Any] | None) -> tuple[int, int]:
    """The number of examples equal to an earlier one, and of those with another target than it."""
    first: dict[Any, Any] = {}
    copies = contradicted = 0
    for example, target in zip(trees, targets or [None] * len(trees), strict=True):
        if example in first:
            copies += 1
            contradicted += None not in (first[example], target) and first[example] != target
        else:
            first[example] = target
    return copies, contradicted


def _targets(data: TreeFile) -> dict[str, Any]:
    """The counts of the classes, most frequent first; for regression, statistics of the targets."""
    if data.task == "regression":
        values = data.each_target
        mean, deviation = fmean(values), pstdev(values)
        return {"target": {**_spread(values), "mean": mean, "deviation": deviation}}
    return {"classes": dict(_sorted(Counter(data.each_target)))}


def _spread(values: Sequence[float]) -> dict[str, float]:
    if not values:
        return {}
    middle = median(values)
    middle = int(middle) if middle == int(middle) else middle
    return {"least": min(values), "median": middle, "most": max(values)}


def _labels(count: Counter[Hashable]) -> dict[str, Any]:
    return {"different": len(count), "most": dict(_sorted(count)[:MOST])}


def _sorted(count: Counter[Any]) -> list[tuple[str, int]]:
    """Names and counts, most frequent first, equally frequent ones by name."""
    entries: Iterable[tuple[str, int]] = ((str(name), n) for name, n in count.items())
    return sorted(entries, key=lambda each: (-each[1], each[0]))
