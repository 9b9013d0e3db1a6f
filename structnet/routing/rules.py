"""The rules of a node that decides or predicts by steps of columns, in the user's names and units.

A leaf may predict by a sum of steps, each of which adds something to the prediction where it holds.
These are told as rules, such as ``income > 3.2: +1.5``, the largest effect first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from structnet.routing.protocol import RoutedTree
from structnet.routing.sides import side_of

MOST = 8  # rules told of a node
Units = Callable[[np.ndarray], np.ndarray]


class Rule(NamedTuple):
    """A rule that adds its effect to the output of a node where it holds.

    Attributes:
        weight, bias: linear function of the inputs, above 0 where the rule holds.
        effect: effect on the logit of the first branch, on the log-odds of the classes, or on the
            means.

    Shapes:
        weight ``[columns]``; effect ``[outputs]``.
    """

    weight: np.ndarray
    bias: float
    effect: np.ndarray

    def holds(self, x: Any) -> bool:
        """True if the rule holds for a sample ``[columns]``, an array or a tensor."""
        values = torch.as_tensor(x).detach().double().cpu().numpy()
        return bool(values @ self.weight + self.bias > 0)


def rule_lines(
    tree: RoutedTree,
    node: int,
    names: Sequence[str] | None = None,
    units: Units | None = None,
    class_names: Sequence[str] | None = None,
    target_units: Units | None = None,
    x: Any = None,
) -> list[str]:
    """The rules of a node, one line each; none if it has no rules.

    The tree may have a method ``rules(node)``, which returns :class:`Rule` objects. At most eight
    lines are rules; a last one then counts the others.

    Args:
        tree: model tree.
        node: number of the node.
        names: names of the columns; by default their numbers.
        units: function from inputs of the tree to the user's units, ``[n, columns]`` -> the same.
        class_names: names of the classes; None if the tree predicts numbers.
        target_units: function from the predicted means to the user's units, likewise.
        x: sample, for those rules alone that hold for it; None for all.

    Shapes:
        x ``[columns]``.
    """
    rules: list[Rule] = getattr(tree, "rules", lambda node: [])(node)
    if x is not None:
        rules = [rule for rule in rules if rule.holds(x)]
    found = []
    for rule in rules:
        if tree.topology.inner[node]:
            effect = rule.effect, f"log-odds of {tree.branch_names(node)[0]} "
        elif class_names is not None:
            effect = _of_class(rule.effect, class_names)
        else:
            both = np.stack([np.zeros_like(rule.effect), rule.effect])
            effect = np.diff(both if target_units is None else target_units(both), axis=0)[0], ""
        values = ", ".join(f"{value:+.4g}" for value in effect[0])
        said = side_of(rule.weight, rule.bias, names, units)
        found.append((np.abs(effect[0]).max(), f"{said}: {effect[1]}{values}"))
    found.sort(key=lambda each: -each[0])
    lines = [line for _, line in found[:MOST]]
    return [*lines, f"… {len(found) - MOST} smaller"] if len(found) > MOST else lines


def _of_class(effect: np.ndarray, names: Sequence[str]) -> tuple[np.ndarray, str]:
    """The change of the log-odds of a class, ``[1]``, and what it is: of two classes, the second;
    of more, that which changes most against the mean of the others."""
    odds = effect - (effect.sum() - effect) / (len(effect) - 1)
    k = 1 if len(effect) == 2 else int(np.abs(odds).argmax())
    return odds[k : k + 1], f"log-odds of class {names[k]} "
