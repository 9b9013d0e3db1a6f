"""What the inner nodes of a model tree ask and separate, in the user's names and units."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from structnet.routing.batches import answers
from structnet.routing.protocol import RoutedTree
from structnet.routing.reading import Reading
from structnet.routing.rules import MOST, rule_lines
from structnet.routing.samples import counted
from structnet.routing.sides import NAMED, are_yes_no, name_of, side_of
from structnet.routing.visits import Reach

FAR = 0.5  # least difference of a named column's means, in standard deviations of all samples
# Least shares for a class to be named: of its samples at the node in one branch, and of all its
# samples at the node.
MOSTLY, SOME = 0.6, 0.2
CLASSES = 5  # classes named on each side

Units = Callable[[np.ndarray], np.ndarray]


def questions(
    tree: RoutedTree, names: Sequence[str] | None = None, units: Units | None = None
) -> dict[int, str]:
    """The condition for the first branch of each inner node, as text by node; empty if unknown.

    The tree may have a method ``plane(node, branch=0, other=1)``, which returns the weights
    ``[columns]`` and the bias of a linear function of the inputs that is above 0 for samples that
    rather go to that branch than to the other, or None for other kinds of nodes. Only nodes with
    two branches are told. The text names the columns that make up most of the weights, the
    largest first, at most three; "…" stands for others that matter. This assumes that all columns
    have about the same spread, as the inputs from an estimator do. A single column is given with
    its threshold.

    Args:
        tree: model tree.
        names: names of the columns of a table; by default their numbers.
        units: function from inputs of the tree to the user's units, ``[n, columns]`` -> the same.

    Example:
        >>> import torch
        >>> from structnet.neural_tree import NeuralTree, presets
        >>> tree = NeuralTree(presets.table(num_outputs=2), shape=(2,))
        >>> _ = tree.split(0)
        >>> tree.nodes[0].router.weight.data = torch.tensor([[1.5, -2.0]])
        >>> questions(tree, ["age", "height"])
        {0: 'left: low height, high age'}
    """
    plane = getattr(tree, "plane", None)
    lines = {}
    for v in np.flatnonzero(tree.topology.inner).tolist():
        two = len(tree.topology.children_of(v)) == 2
        split = plane(v) if plane is not None and two else None
        side = "" if split is None else side_of(split[0], split[1], names, units)
        lines[v] = side and f"{tree.branch_names(v)[0]}: {side}"
    return lines


def class_lines(
    tree: RoutedTree,
    names: Sequence[str] | None = None,
    units: Units | None = None,
    class_names: Sequence[str] | None = None,
) -> list[str]:
    """The columns that speak most for each class, a line each, if one softmax is the whole tree.

    The tree may have a method ``class_plane(k)``, which returns the weights ``[columns]`` and the
    bias of the log-odds of a class against the mean of all others, or None if it has a branch. They
    are told as by :func:`questions`; of two classes for the second, and of many for eight, as many
    as :func:`.rule_lines` tells effects.

    Args:
        tree: model tree.
        names: names of the columns; by default their numbers.
        units: function from inputs of the tree to the user's units, ``[n, columns]`` -> the same.
        class_names: names of the classes; None if the tree predicts numbers.

    Example:
        >>> import numpy as np
        >>> from structnet.softmax_tree import SoftmaxTreeSettings, train
        >>> x = np.eye(3)[np.arange(60) % 3]
        >>> tree = train(x, np.arange(60) % 3, SoftmaxTreeSettings(depth=0, k=3)).tree
        >>> class_lines(tree, ["a", "b", "c"], class_names=["oak", "elm", "ash"])[0]
        'class oak: high a, low ...'
    """
    plane = getattr(tree, "class_plane", None)
    count = tree.num_classes
    # Of two classes as branches, a question tells the same.
    if plane is None or count is None or class_names is None or plane(0) is None:
        return []
    if count == 2 and tree.topology.inner[0]:
        return []
    lines = []
    for k in [1] if count == 2 else range(count)[:MOST]:
        weight, bias = plane(k)
        side = side_of(weight, bias, names, units)
        lines += [f"class {class_names[k]}: {side}"] * bool(side)
    return [*lines, f"… {count - MOST:,} more classes"] if lines and count > MOST else lines


def contrasts(
    tree: RoutedTree, x: Any, names: Sequence[str] | None = None, units: Units | None = None
) -> dict[int, str]:
    """The columns in which the samples of the two branches differ, as text by node.

    Works for all nodes with two branches, of trees over rows of a table. It names the columns whose
    means differ by at least half a standard deviation of all samples, the largest difference first,
    at most three. They show what a node separates, which need not be what it asks.

    Args:
        tree: model tree.
        x: inputs or samples, ``[n, columns]``, each weighted by its weight and by its probability
            to reach the node.
        names: names of the columns; by default their numbers.
        units: function from inputs of the tree to the user's units, ``[n, columns]`` -> the same.

    Example:
        >>> import torch
        >>> from structnet.neural_tree import NeuralTree, presets
        >>> tree = NeuralTree(presets.table(num_outputs=2), shape=(2,))
        >>> _ = tree.split(0)
        >>> tree.nodes[0].router.weight.data = torch.tensor([[0.0, -9.0]])
        >>> x = torch.tensor([[1.0, -1.0], [1.0, 1.0]])
        >>> contrasts(tree, x, ["age", "height"])
        {0: 'left has lower height'}
    """
    x, weights = counted(x)
    sums, squares = np.zeros((tree.topology.num_nodes, 1 + tree.shape[0])), np.zeros(tree.shape)
    for rows, (visits, values) in answers(tree, x, lambda part: (list(tree.visits(part)), part)):
        values = torch.as_tensor(values).detach().double().cpu().numpy()
        terms = np.concatenate([np.ones((len(values), 1)), values], axis=1)
        squares += weights[rows] @ values**2
        for visit in visits:
            sums[visit.node] += (weights[rows] * visit.arriving) @ terms
    center = sums[0, 1:] / sums[0, 0]
    spread = np.sqrt(np.maximum(squares / sums[0, 0] - center**2, 0))
    lines, yes_no = {}, are_yes_no(tree.shape[0], units)
    for v in np.flatnonzero(tree.topology.inner).tolist():
        below, lines[v] = list(tree.topology.children_of(v)), ""
        if len(below) != 2 or not sums[below, 0].all():
            continue
        first, second = sums[below, 1:] / sums[below, :1]
        gap = (first - second) / np.where(spread > 1e-7 * np.abs(center), spread, np.inf)
        largest = [i for i in np.argsort(-np.abs(gap), kind="stable")[:NAMED] if abs(gap[i]) >= FAR]
        words = [
            f"{name_of(names, i)} {'more' if gap[i] > 0 else 'less'} often"
            if yes_no[i]
            else f"{'higher' if gap[i] > 0 else 'lower'} {name_of(names, i)}"
            for i in largest
        ]
        lines[v] = (words and f"{tree.branch_names(v)[0]} has " + ", ".join(words)) or ""
    return lines


def sides(tree: RoutedTree, reached: Reach, names: Sequence[str]) -> dict[int, str]:
    """The classes that mostly go to each branch, such as "cat, dog | eel", as text by node.

    A class is named at a branch if at least 60 % of its samples at the node go there, and at least
    20 % of all its samples reach the node. The text is empty if all such classes go the same way.

    Args:
        tree: model tree, which predicts classes.
        reached: counts of the samples at each node.
        names: names of the classes.

    Example:
        >>> import torch
        >>> from structnet.neural_tree import NeuralTree, presets
        >>> from structnet.routing.samples import Samples
        >>> from structnet.routing.visits import reach
        >>> tree = NeuralTree(presets.table(num_outputs=2), shape=(1,))
        >>> _ = tree.split(0)
        >>> tree.nodes[0].router.weight.data = torch.tensor([[-9.0]])
        >>> samples = Samples(torch.tensor([[-1.0], [1.0]]), torch.tensor([0, 1]))
        >>> sides(tree, reach(tree, samples), ["cat", "dog"])
        {0: 'cat | dog'}
    """
    assert reached.classes is not None  # as for every tree that predicts classes
    lines = {}
    for v in np.flatnonzero(tree.topology.inner).tolist():
        here = reached.classes[v]
        comes = (here > 0) & (here >= SOME * reached.classes[0])
        goes = reached.classes[list(tree.topology.children_of(v))] >= MOSTLY * here
        parts = [_few([names[k] for k in np.flatnonzero(each & comes).tolist()]) for each in goes]
        separates = len(parts) > 1 and any(parts) and not (goes | ~comes).all(axis=1).any()
        lines[v] = " | ".join(part or "–" for part in parts) if separates else ""
    return lines


def _few(names: Sequence[str]) -> str:
    more = len(names) - CLASSES
    return ", ".join([*names] if more <= 1 else [*names[:CLASSES], f"{more} more"])


def all_questions(reading: Reading, reached: Reach | None = None) -> dict[int, str]:
    """What each inner node asks or, if that is unknown, what it separates, in up to two lines.

    The first line names columns, by :func:`questions` or else, for dense tables, by
    :func:`contrasts`. The second names classes (:func:`sides`), if there are more than two of them
    or no first line.

    Args:
        reading: tree with its samples and names.
        reached: counts of the samples at each node; None without samples.
    """
    tree, names = reading.tree, reading.feature_names
    lines = questions(tree, names, reading.units)
    for v in [v for v, line in lines.items() if not line]:
        lines[v] = ", ".join(rule_lines(tree, v, names, reading.units)[:NAMED])
    if reached is None:
        return lines
    rows = len(tree.shape) == 1 and (names is not None or reading.class_names is None)
    inputs = counted(reading.samples)[0]
    if rows and not all(lines.values()) and not hasattr(inputs, "tocsr"):
        differ = contrasts(tree, reading.samples, names, reading.units)
        lines = {v: line or differ[v] for v, line in lines.items()}
    if reading.class_names is not None:
        of_classes = sides(tree, reached, reading.class_names)
        many = len(reading.class_names) > 2
        lines = {
            v: "\n".join(filter(None, (line, of_classes[v] if many or not line else "")))
            for v, line in lines.items()
        }
    return lines
