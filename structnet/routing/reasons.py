"""Why one sample takes a branch, in words: the values of its columns against what the node asks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from structnet.routing.formula import formula_of
from structnet.routing.protocol import RoutedTree
from structnet.routing.sides import are_yes_no, digits_of, edge_of, most_of, name_of, value_text
from structnet.routing.words import in_digits

MORE = 3  # digits of a number that must be told apart from another

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
    node whose logit is a sum of units (:class:`.Formula`) likewise, by what each column adds to it.

    Args:
        tree: model tree; it may have ``plane``, see :func:`.questions`, or ``formula``.
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
    separation = None if plane is None else plane(node, taken, other)
    formula = formula_of(tree, node) if separation is None else None
    if separation is None and formula is None:
        return ""
    yes_no, digits = are_yes_no(len(x), units), digits_of(len(x), units)
    if values is None:
        values = x if units is None else units(x[None])[0]
    if formula is not None:
        start, parts = (each[..., 0] * (1 if taken < other else -1) for each in formula.parts(x))
        weight = parts
    else:
        assert separation is not None  # as there is no formula
        weight, start = separation
        edge = edge_of(weight, start, units)
        if edge is not None:
            value = float(values[edge.column])
            # Other columns, if they count too, may outvote the one that decides for most samples.
            if value >= edge.at if edge.sign == ">" else value <= edge.at:
                if edge.between(yes_no) and round(value, 3) in (0, 1):
                    return value_text(names, edge.column, value, yes_no)
                about = "about " if edge.others else ""
                here, there = _apart(value, edge.at, digits[edge.column])
                sign = edge.sign + "=" * (here == there)
                return f"{name_of(names, edge.column)} = {here} {sign} {about}{there}"
        parts = weight * x
    parts = parts + 0.0  # turns -0 into 0
    named, _ = most_of(parts if parts.any() else weight)  # what a row lacks may be the reason, too
    rest = float(parts.sum() - parts[named].sum() + start)
    words = [
        f"{value_text(names, i, values[i], yes_no, digits)} ({parts[i]:+.3g})"
        for i in named.tolist()
    ]
    return ", ".join([*words, f"all else ({rest:+.3g})"]) if words else ""


def _apart(one: float, another: float, digits: int) -> tuple[str, str]:
    """Two numbers in a few digits, or in as many as it takes to tell them apart."""
    few, more = ((in_digits(one, k), in_digits(another, k)) for k in (digits, digits + MORE))
    return more if few[0] == few[1] else few
