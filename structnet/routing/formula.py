"""What a node computes of a row, where that is a sum over columns and units.

    f(x) = start + straight' x + sum_u effect_u min(max(weight_u . x + bias_u, 0), most_u)

A unit with a ceiling rises from 0 to it within a short interval: it is a step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from structnet.routing.protocol import RoutedTree


@dataclass(frozen=True, eq=False)
class Formula:
    """The output of a node as a function of a row.

    Attributes:
        start: constant.
        straight: weights of the columns.
        weight, bias: linear functions of units, which are 0 where these are below 0.
        most: ceilings of the units, infinite for those without.
        effect: effects of the units, for each 1 that they rise.
        classes: numbers of the classes that are the outputs; None for all, or for numbers. Several
            outputs may be parts of one class.

    Shapes:
        start, classes ``[outputs]``; straight ``[columns, outputs]``; weight ``[units, columns]``;
        bias, most ``[units]``; effect ``[units, outputs]``.

    Example:
        >>> linear = Formula.linear(np.array([1.0]), np.array([[2.0], [0.0]]))
        >>> start, parts = linear.parts(np.array([3.0, 4.0]))
        >>> start, parts[:, 0]
        (array([1.]), array([6., 0.]))
    """

    start: np.ndarray
    straight: np.ndarray
    weight: np.ndarray
    bias: np.ndarray
    most: np.ndarray
    effect: np.ndarray
    classes: np.ndarray | None = None

    @classmethod
    def linear(
        cls, start: np.ndarray, straight: np.ndarray, classes: np.ndarray | None = None
    ) -> Formula:
        """A formula without units. ``[outputs], [columns, outputs], [outputs]``."""
        (columns, outputs), none = straight.shape, np.zeros(0)
        units = np.zeros((0, columns)), none, none, np.zeros((0, outputs))
        return cls(start, straight, *units, classes)

    def at(self, x: np.ndarray) -> np.ndarray:
        """The outputs for rows. ``[n, columns] -> [n, outputs]``."""
        return self.start + x @ self.straight + self._clipped(x @ self.weight.T) @ self.effect

    def parts(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The output for a row of zeros, and what each column of a row adds to it.

        On the straight way from the zeros to the row each unit rises by its columns, each of which
        has a share in that by how much it moves the unit's linear function. So the parts add up to
        the output, and those of a column that no unit reads together with others are exact. These
        are the integrated gradients of the formula.

        Shapes:
            x ``[columns]`` -> ``[outputs]`` and ``[columns, outputs]``.

        Reference:
            Sundararajan, Taly, Yan, "Axiomatic Attribution for Deep Networks", ICML 2017.
        """
        moved = self.weight * x  # [units, columns]
        by = moved.sum(1)
        from_, to = self._clipped(np.zeros_like(by)), self._clipped(by)
        rise = np.divide(to - from_, by, out=np.zeros_like(by), where=by != 0)
        parts = self.straight * x[:, None] + (moved * rise[:, None]).T @ self.effect
        return self.start + from_ @ self.effect, parts

    def between(self, one: int, another: int) -> Formula:
        """The formula of the difference of two outputs, by their places."""
        pairs = {name: getattr(self, name) for name in ("start", "straight", "effect")}
        minus = {name: each[..., [one]] - each[..., [another]] for name, each in pairs.items()}
        return replace(self, **minus, classes=None)

    def steps(self) -> np.ndarray:
        """True for each unit that is a step, ``[units]``."""
        return np.isfinite(self.most)

    def of_units(self, kept: np.ndarray) -> Formula:
        """The formula with some of its units alone. kept ``[units]``, bool."""
        names = "weight", "bias", "most", "effect"
        return replace(self, **{name: getattr(self, name)[kept] for name in names})

    def _clipped(self, moved: np.ndarray) -> np.ndarray:
        return np.minimum(np.maximum(moved + self.bias, 0), self.most)


def formula_of(tree: RoutedTree, node: int) -> Formula | None:
    """The formula by which a node computes its output; None if the tree gives none.

    The tree may have a method ``formula(node)``, which returns that: of a leaf the logits of the
    classes or the means, of an inner node the logit of its first branch.

    Args:
        tree: model tree.
        node: number of the node.
    """
    of_node: Any = getattr(tree, "formula", None)
    return None if of_node is None else of_node(node)
