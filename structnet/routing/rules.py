"""What the columns and the steps of a node add to its output, in the user's names and units.

A leaf may predict by a sum over columns and units (:class:`.Formula`). Its steps are told as rules,
such as ``income > 3.2: +1.5``, and what a column adds besides as a difference, such as ``age from
20 to 40: +0.7``; the largest effect first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from structnet.routing.formula import Formula, formula_of
from structnet.routing.protocol import RoutedTree
from structnet.routing.sides import (
    Edge,
    are_yes_no,
    digits_of,
    edge_of,
    name_of,
    side_of,
    value_text,
)
from structnet.routing.words import in_digits

MOST = 8  # effects told of a node
NOTHING = 1e-6  # effect, relative to the largest, below which rounding alone may explain it
Units = Callable[[np.ndarray], np.ndarray]
Effect = tuple[str, np.ndarray]  # where it holds, and what it adds to the outputs


def rule_lines(
    tree: RoutedTree,
    node: int,
    names: Sequence[str] | None = None,
    units: Units | None = None,
    class_names: Sequence[str] | None = None,
    target_units: Units | None = None,
) -> list[str]:
    """What columns and steps add to the output of a node, one line each; none if that is unknown,
    or if the outputs are some of the classes alone, which may differ from leaf to leaf.

    A column whose steps are smaller than what it adds besides has one line, with all that it adds
    between its values at -1 and 1 in the tree's inputs, while the others are at 0: where these are
    standardized, one standard deviation below and above its mean (a column of zeros and ones: what
    a one adds), while the others are at their means. Else its steps have a line each, and what it
    adds besides has one, too. At most eight lines are told; a last one then counts the others.

    Args:
        tree: model tree; it may have ``formula``, see :func:`.formula_of`.
        node: number of the node.
        names: names of the columns; by default their numbers.
        units: function from inputs of the tree to the user's units, ``[n, columns]`` -> the same.
        class_names: names of the classes; None if the tree predicts numbers.
        target_units: function from the predicted means to the user's units, likewise.
    """
    formula = formula_of(tree, node)
    if formula is None or formula.classes is not None:
        return []
    inner, sized = bool(tree.topology.inner[node]), []
    for where, effect in effects_of(formula, names, units):
        what = ""
        if inner:
            what = f"log-odds of {tree.branch_names(node)[0]} "
        elif class_names is not None:
            effect, what = _of_class(effect, class_names)
        else:
            effect = in_units(effect, target_units)
        values = ", ".join(in_digits(value, plus=True) for value in effect)
        sized.append((np.abs(effect).max(), f"{where}: {what}{values}"))
    sized.sort(key=lambda each: -each[0])
    lines = [line for size, line in sized if size > NOTHING * sized[0][0]]
    return [*lines[:MOST], f"… {len(lines) - MOST} smaller"] if len(lines) > MOST else lines


def effects_of(
    formula: Formula, names: Sequence[str] | None = None, units: Units | None = None
) -> Iterator[Effect]:
    """What columns and steps add, as :func:`rule_lines` tells it, in no order.

    Args:
        formula: formula of a node.
        names: names of the columns; by default their numbers.
        units: function from inputs of the tree to the user's units, ``[n, columns]`` -> the same.
    """
    steps, columns = formula.steps(), len(formula.straight)
    yes_no, digits = are_yes_no(columns, units), digits_of(columns, units)
    low, high = _between(columns, units, yes_no)
    ends = np.stack([low, high])
    ends = ends if units is None else units(ends)
    rest = _added(formula.of_units(~steps), low, high)
    by_column: dict[int, list[tuple[Edge, np.ndarray]]] = {i: [] for i in range(columns)}
    for unit in np.flatnonzero(steps).tolist():
        weight, height = formula.weight[unit], formula.most[unit] * formula.effect[unit]
        bias = float(formula.bias[unit] - formula.most[unit] / 2)
        edge = edge_of(weight, bias, units)
        if edge is None and weight.any():
            yield side_of(weight, bias, names, units), height
        elif edge is not None:
            by_column[edge.column].append((edge, height))
    # Among many columns, as of words, most have no effect.
    for i in {*np.flatnonzero(rest.any(1)).tolist(), *(i for i, each in by_column.items() if each)}:
        besides, (a, b), after = rest[i], ends[:, i].tolist(), ""
        largest = max((np.abs(height).max() for _, height in by_column[i]), default=0.0)
        for edge, height in by_column[i]:
            if np.abs(besides).max() > largest and a < edge.at < b:
                besides = besides + (height if edge.sign == ">" else -height)
            else:
                after = ", besides its steps"
                yield edge.words(names, yes_no, digits), height
        if not besides.any():
            continue
        if yes_no[i]:
            yield value_text(names, i, 1.0, yes_no) + after, besides
        else:
            change = f"from {a:.{digits[i]}g} to {b:.{digits[i]}g}"
            yield f"{name_of(names, i)} {change}{after}", besides


def in_units(effect: np.ndarray, target_units: Units | None) -> np.ndarray:
    """Effects on means in the user's units. ``[outputs] -> [outputs]``."""
    if target_units is None:
        return effect
    return np.diff(target_units(np.stack([np.zeros_like(effect), effect])), axis=0)[0]


def _between(
    columns: int, units: Units | None, yes_no: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The two values of each column between which its effect is told. Both ``[columns]``."""
    low, high = -np.ones(columns), np.ones(columns)
    if units is not None and yes_no.any():
        mean, above = units(np.stack([np.zeros(columns), np.ones(columns)]))
        low = np.where(yes_no, -mean / (above - mean), low)
        high = np.where(yes_no, (1 - mean) / (above - mean), high)
    return low, high


def _added(formula: Formula, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """What each column adds between two values, all others at 0. ``-> [columns, outputs]``."""
    change = formula.straight * (high - low)[:, None]
    for weight, bias, most, effect in zip(
        formula.weight, formula.bias, formula.most, formula.effect, strict=True
    ):
        ends = [np.clip(weight * at + bias, 0, most) for at in (low, high)]
        change = change + np.outer(ends[1] - ends[0], effect)
    return change


def _of_class(effect: np.ndarray, names: Sequence[str]) -> tuple[np.ndarray, str]:
    """The change of the log-odds of a class, ``[1]``, and what it is: of two classes, the second;
    of more, that which changes most against the mean of the others."""
    odds = effect - (effect.sum() - effect) / (len(effect) - 1)
    k = 1 if len(effect) == 2 else int(np.abs(odds).argmax())
    return odds[k : k + 1], f"log-odds of class {names[k]} "
