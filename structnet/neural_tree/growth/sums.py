"""Sums of steps: numbers that rise or fall at thresholds of several columns.

    residual = h_1 [x_{c_1} > t_1] + h_2 [x_{c_2} > t_2] + ...

A tree needs a region for each combination of the steps, 32 of them for five; a layer of units needs
one unit for each step. The steps are found one by one, each where it explains most of what the
others leave; then all heights are fitted anew. There are as many as have the best
:class:`.Criterion`.

Reference:
    Friedman, Hastie, Tibshirani, "Additive Logistic Regression", Annals of Statistics, 2000.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from structnet.neural_tree.clipped import Clipped
from structnet.neural_tree.growth.candidate import Deepening
from structnet.neural_tree.growth.criterion import Criterion
from structnet.neural_tree.growth.regions import border_at
from structnet.neural_tree.growth.steps import HARD
from structnet.neural_tree.tree import NeuralTree

AHEAD = 2  # steps in a row that do not pay after which no more are sought
ALIKE = 1e-7  # difference up to which two values are not told apart, as in scikit-learn's trees
NOTHING = 1e-12  # share of the sum of squares up to which a step explains nothing but rounding


class Step(NamedTuple):
    """A threshold of a column.

    Attributes:
        column: number of the column.
        threshold: value on that column.
        reach: distance from the threshold at which a router would be decided.
    """

    column: int
    threshold: float
    reach: float


class Sum(NamedTuple):
    """Steps whose sum explains residuals.

    Attributes:
        steps: steps, in the order of how much they explain.
        value: criterion in nats: 0 for no step, lower for better sums.
    """

    steps: list[Step]
    value: float = 0.0


def find_sum(
    x: np.ndarray, residuals: np.ndarray, weights: np.ndarray, most: int, least: float
) -> Sum:
    """The steps whose sum has the best criterion, possibly none.

    Args:
        x, residuals, weights: see :func:`.find_regions`.
        most: largest number of steps.
        least: smallest sum of weights on either side of a threshold.

    Shapes:
        x ``[n, columns]``, residuals ``[n, outputs]``, weights ``[n]``.

    Example:
        >>> x = np.random.default_rng(0).uniform(size=(200, 2))
        >>> y = (x > [0.5, 0.2]) @ [[2.0], [1.0]]
        >>> found = find_sum(x, y - y.mean(), np.ones(200), most=4, least=8)
        >>> [(step.column, round(step.threshold, 1)) for step in found.steps]
        [(0, 0.5), (1, 0.2)]
    """
    counted = weights > 0
    x, y, weights = x[counted], residuals[counted], weights[counted]
    total, found = float(weights.sum()), Sum([])
    if total < 2 * least or len(x) < 2:
        return found
    columns = [_sorted(column, weights, least) for column in x.T]
    criterion, roots = Criterion.of(y, weights), np.sqrt(weights)
    price = criterion.price_of_step(x.shape[1])
    steps, basis = list[Step](), roots[:, None] / math.sqrt(total)  # the constant
    rest = y * roots[:, None]
    rest = rest - basis @ (basis.T @ rest)
    left = whole = float(np.square(rest).sum())
    while len(steps) < min(most, len(found.steps) + AHEAD):
        gain, column, place = _best(columns, rest * roots[:, None])
        if gain <= NOTHING * whole:
            break
        steps = [*steps, Step(column, *border_at(x[:, column], place))]
        unit = (x[:, column] > steps[-1].threshold) * roots
        for _ in range(2):  # once is not exact enough for steps that are much alike
            unit = unit - basis @ (basis.T @ unit)
        unit /= np.linalg.norm(unit)
        # What the others leave has no part along them, so all heights are fitted anew by this.
        basis, rest = np.column_stack([basis, unit]), rest - np.outer(unit, unit @ rest)
        left = float(np.square(rest).sum())
        value = float(criterion.values([whole, left])[1]) + price * len(steps)
        if value < found.value:
            found = Sum(steps, value)
    return found


class Column(NamedTuple):
    """A column in ascending order, sorted once for all steps.

    Attributes:
        order: places of the samples.
        values: values in that order.
        per_square: factor on the square of the sum of the residuals up to each sample, for what a
            threshold after it explains; 0 where there can be none.

    Shapes:
        order, values ``[n]``, per_square ``[n - 1]``.
    """

    order: np.ndarray
    values: np.ndarray
    per_square: np.ndarray


def _sorted(column: np.ndarray, weights: np.ndarray, least: float) -> Column:
    order = column.argsort(kind="stable")
    values, below = column[order], weights[order].cumsum()
    below, above = below[:-1], below[-1] - below[:-1]
    may = (np.diff(values) > ALIKE) & (np.minimum(below, above) >= least)
    return Column(order, values, may * weights.sum() / np.maximum(below * above, 1e-12))


def _best(columns: Sequence[Column], rest: np.ndarray) -> tuple[float, int, float]:
    """What the best threshold explains, its column and its value.

    Args:
        columns: sorted columns.
        rest: residuals times weights, whose sum is 0.

    Shapes:
        rest ``[n, outputs]``.
    """
    best = (0.0, 0, 0.0)
    for number, (order, values, per_square) in enumerate(columns):
        sums = rest[order].cumsum(0)[:-1]
        gains = np.square(sums).sum(1) * per_square
        place = int(gains.argmax())
        if gains[place] > best[0]:
            middle = (values[place] + values[place + 1]) / 2
            best = float(gains[place]), number, float(middle)
    return best


def may_have_steps(tree: NeuralTree, leaf: int, modules: Sequence[nn.Module]) -> bool:
    """True if the modules are a layer of such units on columns and a linear map, as is the leaf's.

    Args:
        tree, leaf: tree, and node of the leaf.
        modules: transformer and solver of a deepening.
    """
    if tree.num_transformers(leaf):  # a step of what transformers make of columns says little
        return False
    layer, *maps = (*modules, tree.nodes[leaf].end)
    if not isinstance(layer, nn.Sequential) or len(layer) != 2 or type(layer[1]) is not Clipped:
        return False
    return all(type(each) is nn.Linear and each.bias is not None for each in (layer[0], *maps))


@torch.no_grad()
def deepen_by(
    tree: NeuralTree, leaf: int, modules: Sequence[Any], found: Sum, alone: bool
) -> Deepening | None:
    """A deepening some of whose units start as steps; others pass on what the leaf knows.

    Before it is trained, the tree says what it said: the heights of the steps are 0.

    Args:
        tree, leaf: tree, and node of the leaf.
        modules: transformer and solver for which :func:`may_have_steps` is true.
        found: steps.
        alone: True if units that are left over stay 0, as samples are few; False if they start at
            random, for what is no sum of steps.

    Returns:
        The deepening; None if there are too few units.
    """
    (layer, clipped), solver = modules
    old: Any = tree.nodes[leaf].end
    passed, answer = old.weight, torch.eye(len(old.weight)).to(old.weight)
    if old.in_features <= old.out_features:  # then columns take fewer units than outputs
        passed, answer = torch.eye(old.in_features).to(old.weight), old.weight
    first = 2 * len(passed)  # a rectified unit passes on one sign
    used = first + len(found.steps)
    if used > layer.out_features:
        return None
    for part in (layer.weight, layer.bias):
        part[: None if alone else used] = 0.0  # units at 0 have no gradient, and stay there
    layer.weight[:first] = torch.cat([passed, -passed])
    solver.weight.zero_()
    solver.weight[:, :first] = torch.cat([answer, -answer], dim=1)
    solver.bias.copy_(old.bias)
    for unit, step in enumerate(found.steps, first):
        set_step(layer, clipped, unit, step)
    return Deepening(tree, leaf, modules, steps=True)


@torch.no_grad()
def set_step(layer: Any, clipped: Clipped, unit: int, step: Step) -> None:
    """Turns a unit of a layer, whose weights are 0, into a step, from 0 to 1 at its threshold."""
    slope = HARD / max(step.reach, 1e-6)
    layer.weight[unit, step.column] = slope
    layer.bias[unit] = 0.5 - slope * step.threshold
    clipped.most[unit] = 1.0
