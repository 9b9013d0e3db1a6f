"""Why one sample takes a branch, in words: the values of its columns against what the node asks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from structnet.routing.protocol import RoutedTree
from structnet.routing.rules import rule_lines
from structnet.routing.sides import NAMED, edge_of, most_of, name_of

DIGITS = 4, 7  # of a number, and of one that must be told apart from another

Units = Callable[[np.ndarray], np.ndarray]


def reason(
    tree: RoutedTree,
    node: int,
    taken: int,
    other: int,
    x: np.ndarray,
    names: Sequence[str] | None = None,
    units: Units | None = None,
    values: np.ndarray | None = None,
) -> str:
    """Why a sample takes one branch of a node and not another, as text; empty if unknown.

    Where one column decides, as :func:`.questions` tells it, it is that column's value against the
    threshold. Where several do, it is the values of those that count most, each with what it adds
    to the linear function that is above 0 for the branch taken; with "all else" these numbers add
    up to that function, which is the log-odds of the branch where branches have probabilities. Of a
    node that decides by rules, it is the largest that hold.

    Args:
        tree: model tree; it may have ``plane``, see :func:`.questions`, or ``rules``.
        node: number of the inner node.
        taken, other: places of the two branches.
        x: sample, as the tree takes it.
        names: names of the columns; by default their numbers.
        units: function from inputs of the tree to the user's units, ``[n, columns]`` -> the same.
        values: the sample in the user's units; by default ``units`` of x.

    Shapes:
        x, values ``[columns]``.

    Example:
        >>> import torch
        >>> from structnet.neural_tree import NeuralTree, presets
        >>> tree = NeuralTree(presets.table(num_outputs=2), shape=(2,))
        >>> _ = tree.split(0)
        >>> router, x = tree.nodes[0].router, np.array([30.0, 4.0])
        >>> router.weight.data, router.bias.data = torch.tensor([[-1.0, 0.0]]), torch.tensor([25.5])
        >>> reason(tree, 0, 1, 0, x, ["age", "height"])
        'age = 30 > 25.5'
        >>> router.weight.data = torch.tensor([[-1.0, 1.0]])
        >>> reason(tree, 0, 1, 0, x, ["age", "height"])
        'age = 30 (+30), all else (-29.5)'
    """
    plane = getattr(tree, "plane", None)
    found = None if plane is None else plane(node, taken, other)
    if found is None:
        return ", ".join(rule_lines(tree, node, names, units, x=x)[:NAMED])
    weight, bias = found
    if values is None:
        values = x if units is None else units(x[None])[0]
    edge = edge_of(weight, bias, units)
    if edge is not None:
        value = float(values[edge.column])
        # Other columns, if they count too, may outvote the one that decides for most samples.
        if value >= edge.at if edge.sign == ">" else value <= edge.at:
            about = "" if edge.exact else "about "
            here, there = _apart(value, edge.at)
            sign = edge.sign + "=" * (here == there)
            return f"{name_of(names, edge.column)} = {here} {sign} {about}{there}"
    parts = weight * x + 0.0  # + 0.0 turns -0 into 0
    told, _ = most_of(parts if parts.any() else weight)  # what a row lacks may be the reason, too
    rest = float(parts.sum() - parts[told].sum() + bias)
    words = [f"{name_of(names, i)} = {values[i]:.4g} ({parts[i]:+.3g})" for i in told.tolist()]
    return ", ".join([*words, f"all else ({rest:+.3g})"]) if words else ""


def _apart(one: float, another: float) -> tuple[str, str]:
    """Two numbers in few digits, or in more if they are else alike."""
    few, more = ((f"{one:.{digits}g}", f"{another:.{digits}g}") for digits in DIGITS)
    return more if few[0] == few[1] else few
