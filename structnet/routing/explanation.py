"""Explains the prediction of a model tree for one sample."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from scipy.sparse import issparse

from structnet.routing.parts import Part, parts_of
from structnet.routing.protocol import RoutedTree
from structnet.routing.reasons import reason
from structnet.routing.sides import digits_of
from structnet.routing.words import in_digits, in_digits_each, percent


@dataclass(frozen=True)
class Choice:
    """The decision of one node.

    Attributes:
        node: number of the node.
        side: name of the branch taken, such as "left" or "right", or the class at its end.
        probability: probability of that branch.
        reason: why the sample takes it, such as "age = 0.9 > 0.02", see :func:`.reasons.reason`;
            empty if unknown.
        other: name of the likeliest branch beside it, if possible of another class; empty unless
            there are several others.
    """

    node: int
    side: str
    probability: float
    reason: str = ""
    other: str = ""

    def __str__(self) -> str:
        words = f"node {self.node}: {self.side}, {percent(self.probability, 1)}"
        against = f", rather than {self.other}" if self.other and self.reason else ""
        return words + against + (f", as {self.reason}" if self.reason else "")


@dataclass(frozen=True)
class Explanation:
    """How one sample is predicted; ``str`` describes it.

    Attributes:
        choices: decisions on the greedy path, from the root down.
        probability: probability of the whole path.
        leaf: number of the node where the path ends.
        prediction: prediction of that leaf alone: probability of each class, or means in the
            requested units.
        mixture: prediction of all leaves together, in the same form.
        class_names: names of the classes; None if the tree predicts numbers.
        parts: numbers that add up to the prediction of all leaves, see :func:`.parts_of`; empty
            if unknown.
        odds: the two classes to whose log-odds they add up; None if the tree predicts numbers.
        whole: prediction of a model of which the tree is only a part, in the same form; None if it
            is all of the model.
        whole_of: name of that model, such as "the tree and counts of n-grams".
        digits: numbers of digits of predicted numbers, see :func:`.digits_of`; empty for four.
        target_names: names of predicted numbers; None if they have none.
    """

    choices: tuple[Choice, ...]
    probability: float
    leaf: int
    prediction: tuple[float, ...]
    mixture: tuple[float, ...]
    class_names: tuple[str, ...] | None
    parts: tuple[Part, ...] = ()
    odds: tuple[str, str] | None = None
    whole: tuple[float, ...] | None = None
    whole_of: str = ""
    digits: tuple[int, ...] = ()
    target_names: tuple[str, ...] | None = None

    def __str__(self) -> str:
        of_odds = []
        if self.odds is not None:
            total = sum(part.values[0] for part in self.parts)
            of_odds = [
                f"  log-odds of {self.odds[0]} against {self.odds[1]}: {in_digits(total)}, of which"
            ]
        last = [] if self.whole is None else [f"of {self.whole_of}: {self.says(self.whole)}"]
        return "\n".join(
            [
                *map(str, self.choices),
                f"leaf {self.leaf}, reached with {percent(self.probability, 1)}",
                *([] if self.ends_at_class else [f"its prediction: {self.says(self.prediction)}"]),
                f"of all leaves: {self.says(self.mixture)}",
                *of_odds,
                *(f"  {part.words(self.digits)}" for part in self.parts),
                *last,
            ]
        )

    __repr__ = __str__  # what a notebook shows

    @property
    def ends_at_class(self) -> bool:
        """True if the leaf is a class, which the last choice names: it predicts nothing else."""
        if self.class_names is None or not self.choices:
            return False
        return self.choices[-1].side == f"class {self.class_names[int(np.argmax(self.prediction))]}"

    def says(self, prediction: tuple[float, ...]) -> str:
        """A prediction in words: the likeliest class with its probability, or the numbers."""
        if self.class_names is None:
            numbers = in_digits_each(prediction, self.digits)
            names = self.target_names or [""] * len(numbers)
            pairs = zip(names, numbers, strict=True)
            return ", ".join(f"{name} {number}".lstrip() for name, number in pairs)
        best = int(np.argmax(prediction))
        return f"class {self.class_names[best]}, {percent(prediction[best], 1)}"


def explain(
    tree: RoutedTree,
    x: Any,
    class_names: Sequence[str] | None = None,
    to_units: Callable[[np.ndarray], np.ndarray] | None = None,
    *,
    feature_names: Sequence[str] | None = None,
    units: Callable[[np.ndarray], np.ndarray] | None = None,
    original: Any = None,
) -> Explanation:
    """Explains the prediction for one sample by the decisions on its greedy path.

    Args:
        tree: model tree.
        x: one sample.
        class_names: names of the classes; by default their numbers.
        to_units: function that converts predicted means to the user's units, such as
            ``Standardizer.inverse``; by default they stay in the tree's units.
        feature_names: names of the columns of a table; by default their numbers.
        units: function from inputs of the tree to the user's units, ``[n, columns]`` -> the same.
        original: the same sample in the user's units, whose values are told; by default ``units``
            of x, which lacks the digits that were lost when the sample was scaled.

    Shapes:
        x, original ``[*shape]``, without a batch, or a sparse row; to_units ``[1, columns]`` -> the
        same.

    Raises:
        ValueError: the sample or the original has another shape, there is not one name for each
            class, or ``to_units`` is given for a tree that predicts classes.

    Example:
        >>> import torch
        >>> from structnet.neural_tree import NeuralTree, presets
        >>> tree = NeuralTree(presets.mlp(num_outputs=2, width=8), shape=(4,))
        >>> _ = tree.split(0)
        >>> for parameter in tree.parameters():
        ...     _ = torch.nn.init.zeros_(parameter)
        >>> print(explain(tree, torch.ones(4), class_names=["cat", "dog"]))
        node 0: left, 50.0 %
        leaf 1, reached with 50.0 %
        its prediction: class cat, 50.0 %
        of all leaves: class cat, 50.0 %
    """
    batch = x if issparse(x) else x[None]
    if tuple(batch.shape) != (1, *tree.shape):
        raise ValueError(
            f"x must be {list(tree.shape)}, one sample of the tree's shape. Got {list(x.shape)}."
        )
    names = names_of(tree, class_names)
    if names is not None and to_units is not None:
        raise ValueError("there are to_units for a tree that predicts classes, not numbers")
    row, values = _row(x), _row(original)
    if row is not None and values is not None and row.shape != values.shape:
        raise ValueError(f"original must be {list(row.shape)}, as x. Got {list(values.shape)}.")
    choices, leaf = _choices(tree, batch, row, feature_names, units, values, names)
    plain = [tree.predicted_at(batch, leaf), tree.predicted(batch)]  # each [1, outputs]
    shown = plain if names is None else [np.exp(part) for part in plain]
    if to_units is not None:
        shown = [to_units(part) for part in shown]
    probability = math.exp(sum(math.log(choice.probability) for choice in choices))
    prediction, mixture = (tuple(part[0].tolist()) for part in shown)
    reasons: tuple[Part, ...] = ()
    odds = None
    if row is not None:
        predicted = plain[0][0].astype(np.float64), plain[1][0].astype(np.float64)
        columns = feature_names, units, values, to_units
        reasons, classes = parts_of(tree, leaf, row, predicted, *columns)
        if names is not None and classes is not None:
            odds = names[classes[0]], names[classes[1]]
    # Log-odds are told in four digits, as many as what adds up to them.
    digits = () if names is not None else tuple(digits_of(len(mixture), to_units).tolist())
    about = choices, probability, leaf, prediction, mixture, names, reasons, odds
    return Explanation(*about, digits=digits)


def _row(x: Any) -> np.ndarray | None:
    """A sample as a row of numbers, ``[columns]``; None if it is an image or a bag of features."""
    if issparse(x):
        return x.toarray()[0].astype(np.float64)
    if not isinstance(x, np.ndarray | torch.Tensor) or x.ndim != 1:
        return None
    numbers = x.detach().double().cpu().numpy() if isinstance(x, torch.Tensor) else x
    return numbers.astype(np.float64)


def _choices(
    tree: RoutedTree,
    batch: Any,
    row: np.ndarray | None,
    names: Sequence[str] | None,
    units: Callable[[np.ndarray], np.ndarray] | None,
    values: np.ndarray | None,
    class_names: Sequence[str] | None,
) -> tuple[tuple[Choice, ...], int]:
    """The decisions on a sample's greedy path, and the leaf at its end."""
    # A tree may also yield nodes that the sample does not reach.
    path = [each for each in tree.visits(batch, "greedy") if each.arriving[0]]
    choices = []
    for here, below in pairwise(path):
        # From the node that was visited, as the probabilities may be tied.
        place = tree.topology.children_of(here.node).index(below.node)
        assert here.branch is not None  # since it is not a leaf
        sides, shares = _sides(tree, here.node, class_names), here.branch[0]
        why, against = "", ""
        if row is not None and len(sides) > 1:
            others = [other for other in range(len(sides)) if other != place]
            # Of a class's parts, what tells them from other classes.
            apart = [other for other in others if sides[other] != sides[place]]
            other = max(apart or others, key=lambda each: shares[each])
            why = reason(tree, here.node, place, other, row, names, units, values)
            against = sides[other] if len(others) > 1 else ""
        choices.append(Choice(here.node, sides[place], float(shares[place]), why, against))
    return tuple(choices), path[-1].node


def _sides(tree: RoutedTree, node: int, class_names: Sequence[str] | None) -> Sequence[str]:
    """The names of a node's branches; of those that only have numbers, the class, if it is one.

    The tree may have a method ``branch_classes(node)``, which returns for each branch the class of
    the leaf at its end, or None.
    """
    names, classes_of = tree.branch_names(node), getattr(tree, "branch_classes", None)
    if classes_of is None or class_names is None:
        return names
    classes = classes_of(node)
    parts = Counter(classes)
    return [
        name if k is None else "a part of " * (parts[k] > 1) + f"class {class_names[k]}"
        for name, k in zip(names, classes, strict=True)
    ]


def names_of(tree: RoutedTree, class_names: Sequence[str] | None) -> tuple[str, ...] | None:
    """The names of the classes; None if the tree predicts numbers.

    Args:
        tree: model tree.
        class_names: names of the classes; by default their numbers.

    Raises:
        ValueError: there is not one name for each class, or there are names and no classes.
    """
    if tree.num_classes is None:
        if class_names is not None:
            raise ValueError("there are class_names for a tree that predicts numbers, not classes")
        return None
    names = tuple(map(str, range(tree.num_classes) if class_names is None else class_names))
    if len(names) != tree.num_classes:
        raise ValueError(
            f"there are {len(names)} class_names for {tree.num_classes} classes; expected one each"
        )
    return names
