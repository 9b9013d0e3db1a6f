"""What each column of a row adds to the prediction of a tree, in the user's names and units."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from structnet.routing.formula import formula_of
from structnet.routing.protocol import RoutedTree
from structnet.routing.rules import NOTHING, in_units
from structnet.routing.sides import are_yes_no, digits_of, value_text
from structnet.routing.words import in_digits_each

MOST = 8  # columns told
ZEROS, AVERAGE = "a row of zeros", "an average row"
REST = "all else"
OTHER_PARTS = "the other parts of both classes"
OTHERS = "the other leaves"
LEAST = 1e-4  # of the largest number, which is told in four digits: what less changes is not seen
Units = Callable[[np.ndarray], np.ndarray]


class Part(NamedTuple):
    """One of the numbers that add up to the prediction of a tree; ``str`` describes it.

    Attributes:
        name: a column with its value; the row from which all is counted; all other columns; other
            parts of classes; or the other leaves.
        values: numbers that it adds to each predicted mean, or to the log-odds of two classes.
    """

    name: str
    values: tuple[float, ...]

    def __str__(self) -> str:
        return self.words()

    def words(self, digits: Sequence[int] = ()) -> str:
        """The part in words.

        Args:
            digits: numbers of digits of the values of the first part, from which the others are
                counted and which may be far larger than these; empty for four.
        """
        plus = self.name not in (ZEROS, AVERAGE)
        values = in_digits_each(self.values, () if plus else digits, plus)
        return f"{self.name}: {', '.join(values)}"


def parts_of(
    tree: RoutedTree,
    leaf: int,
    x: np.ndarray,
    predicted: tuple[np.ndarray, np.ndarray],
    names: Sequence[str] | None = None,
    units: Units | None = None,
    values: np.ndarray | None = None,
    target_units: Units | None = None,
) -> tuple[tuple[Part, ...], tuple[int, int] | None]:
    """What a leaf predicts for a row of average values, what each column of x adds to that, and
    what the other leaves change.

    The parts add up to the means that all leaves predict, or to the log-odds of their likeliest
    class against the second of those that the leaf has: the columns that add most come first, at
    most eight, then all others together, then the other leaves if they change a digit. Of classes
    that are several outputs of the leaf, a part each, columns tell of the likeliest parts, and what
    the others change comes behind them. There are none if the tree does not say what the leaf
    computes, see :func:`.formula_of`, or if the leaf lacks the likeliest class or has no other.

    Args:
        tree: model tree.
        leaf: number of the leaf.
        x: row, as the tree takes it.
        predicted: log-probabilities of the classes, or means, of the leaf and of all leaves.
        names: names of the columns; by default their numbers.
        units: function from inputs of the tree to the user's units, ``[n, columns]`` -> the same.
        values: the row in the user's units; by default ``units`` of x.
        target_units: function from the predicted means to the user's units, likewise.

    Returns:
        The parts, and the two classes; None for numbers.

    Shapes:
        x, values ``[columns]``; predicted each ``[outputs]``.

    Example:
        >>> import torch
        >>> from structnet.neural_tree import NeuralTree, SquaredError, presets
        >>> tree = NeuralTree(presets.table(1), (2,), SquaredError())
        >>> solver = tree.nodes[0].solver
        >>> solver.weight.data, solver.bias.data = torch.tensor([[0.5, -2.0]]), torch.ones(1)
        >>> mean = np.array([8.0])
        >>> parts, _ = parts_of(tree, 0, np.array([30.0, 4.0]), (mean, mean), ["age", "height"])
        >>> for part in parts:
        ...     print(part)
        a row of zeros: 1
        age = 30: +15
        height = 4: -8
    """
    formula = formula_of(tree, leaf)
    if formula is None:
        return (), None
    (alone, together), classes, divided = predicted, None, False
    if tree.num_classes is not None:
        shown = np.arange(len(alone)) if formula.classes is None else formula.classes
        divided = len(np.unique(shown)) < len(shown)
        order = np.lexsort((-formula.at(x[None])[0], -together[shown])).tolist()
        places = [order[0], *(i for i in order if shown[i] != shown[order[0]])][:2]
        if len(places) < 2 or together[shown].max() < together.max():
            return (), None
        formula, classes = formula.between(*places), (int(shown[places[0]]), int(shown[places[1]]))
        alone, together = (each[[classes[0]]] - each[[classes[1]]] for each in predicted)
    start, parts = formula.parts(x)
    others, undivided = together - alone, alone - start - parts.sum(0)
    least = LEAST * max(np.abs(start).max(), np.abs(parts).max())
    change = np.abs(others).max() > least
    if classes is None and target_units is not None:
        start = target_units(start[None])[0]
        parts = np.stack([in_units(each, target_units) for each in parts])
        others = in_units(others, target_units)
    if values is None:
        values = x if units is None else units(x[None])[0]
    zeros = np.zeros((1, len(x)))
    average = units is not None and bool(np.nan_to_num(units(zeros)).any())
    size = np.abs(parts).max(1)
    yes_no, digits = are_yes_no(len(x), units), digits_of(len(x), units)
    order = np.argsort(-size, kind="stable")
    counts = size > NOTHING * size[order[0]]
    named = [i for i in order[:MOST].tolist() if counts[i]]
    listed = [Part(AVERAGE if average else ZEROS, tuple(start.tolist()))]
    for i in named:
        text = value_text(names, i, values[i], yes_no, digits)
        listed.append(Part(text, tuple(parts[i].tolist())))
    if counts.sum() > len(named):
        rest = parts.sum(0) - parts[named].sum(0)
        listed.append(Part(REST, tuple(rest.tolist())))
    if divided and np.abs(undivided).max() > least:
        listed.append(Part(OTHER_PARTS, tuple(undivided.tolist())))
    if change:
        listed.append(Part(OTHERS, tuple(others.tolist())))
    return tuple(listed), classes
