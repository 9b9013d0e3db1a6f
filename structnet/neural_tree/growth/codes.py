"""Columns of codes: numbers with few values, each of which may mean something else.

A line in a code says that the answer rises or falls with it. Where codes are names, it does
neither: lines explain little, and regions between all the codes of several columns are too many and
too small. But a sum of steps between the values of a column is any function of it. So the codes
become steps, one between each two neighbouring values, and regions are sought among these: where
the cells of a grid of 12 by 12 codes have classes at random, they are 12, each with 11 steps. Of
many columns that are no codes, only the few count that explain most by themselves: with all of 60,
a search would take seconds, and a region cost more than it tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from structnet.neural_tree.growth.criterion import Criterion
from structnet.neural_tree.growth.regions import EVIDENCE, VALUES, Regions, most_telling, paying
from structnet.neural_tree.growth.sums import ALIKE, Step, set_step

OTHERS = 8  # largest number of columns that are no codes along which regions are sought


class Codes(NamedTuple):
    """Regions among steps of codes and other columns.

    Attributes:
        others: columns that are no codes.
        steps: steps between neighbouring values of each of the other columns.
        regions: regions, with axes among the other columns and the steps, in this order.
    """

    others: Sequence[int]
    steps: Sequence[Step]
    regions: Regions


def find_codes(
    x: np.ndarray, residuals: np.ndarray, weights: np.ndarray, most: int, least: float, units: int
) -> Codes | None:
    """The regions with the best criterion among the steps of codes; None if there are no codes.

    Nor if these have too many steps for the units of a transformer, or so many that even the
    cheapest cut, of the column with most steps, costs more than the samples can tell.

    Args:
        x, residuals, weights, most, least: see :func:`.find_regions`.
        units: number of units that a transformer has for steps; another column takes two.

    Shapes:
        x ``[n, columns]``, residuals ``[n, outputs]``, weights ``[n]``.

    Example:
        >>> codes = np.random.default_rng(0).integers(6, size=(500, 2))
        >>> y = (7 * codes[:, :1] + 5 * codes[:, 1:] ** 2) % 3 - 1.0
        >>> found = find_codes(codes, y, np.ones(500), most=8, least=8, units=128)
        >>> len(found.steps), len(found.regions.children) > 1
        (10, True)
    """
    others, steps = _codes(x)
    if not steps or 2 * len(others) + len(steps) > units:
        return None
    criterion, chosen = Criterion.of(residuals, weights), min(len(others), OTHERS)
    longest = int(np.bincount([step.column for step in steps]).max())
    number = chosen + len(steps) - longest - 1
    if criterion.price_of_line(number) > EVIDENCE * criterion.outputs * len(x):
        return None
    unfolded = np.column_stack([x[:, others], *(x[:, at.column] > at.threshold for at in steps)])
    axes = np.eye(unfolded.shape[1])
    if chosen < len(others):
        telling = most_telling(x[:, others], residuals, weights, least)[:chosen]
        axes = axes[[*np.sort(telling), *range(len(others), len(axes))]]
    regions = paying(unfolded, residuals, weights, axes, most, least)
    return Codes(others, steps, regions)


def _codes(x: np.ndarray) -> tuple[list[int], list[Step]]:
    """The columns that are no codes, and the steps between the values of all others.

    There are no steps if no column has more than two values but few: lines are as good then.
    """
    others, steps, codes = list[int](), list[Step](), False
    for number, column in enumerate(x.T):
        values = np.unique(column)
        values = values[np.diff(values, prepend=-np.inf) > ALIKE]
        if len(values) > min(VALUES, len(column) / 2):
            others.append(number)
            continue
        codes = codes or len(values) > 2
        middles, halves = (values[1:] + values[:-1]) / 2, np.diff(values) / 2
        steps += [
            Step(number, *each) for each in zip(middles.tolist(), halves.tolist(), strict=True)
        ]
    return others, steps if codes else []


@torch.no_grad()
def start_units(transformer: Any, codes: Codes) -> Regions:
    """Turns the units of a transformer into steps of codes, and passes on the other columns.

    Args:
        transformer: layer of units with ceilings, as in :func:`.may_have_steps`.
        codes: steps and other columns.

    Returns:
        The regions along axes that are units: both units, one for each sign, of other columns.
    """
    layer, clipped = transformer
    layer.weight.zero_()
    layer.bias.zero_()
    among = np.zeros((len(codes.others) + len(codes.steps), layer.out_features))
    for number, column in enumerate(codes.others):
        for sign, unit in ((1.0, 2 * number), (-1.0, 2 * number + 1)):
            layer.weight[unit, column] = among[number, unit] = sign
    for unit, step in enumerate(codes.steps, 2 * len(codes.others)):
        set_step(layer, clipped, unit, step)
        among[unit - len(codes.others), unit] = 1.0
    return codes.regions._replace(axes=codes.regions.axes @ among)
