"""How sure a tree of labels is: the scores of its nodes are divided by a temperature.

Nodes of sparse rows or text are trained without a penalty, with the steps by which they make the
fewest mistakes, and end too sure of their labels.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scipy.optimize import minimize_scalar

from structnet.estimators.temperature import HOTTEST
from structnet.label_tree.examples import Examples
from structnet.label_tree.tree import LabelTree

FEW, ENOUGH = 100, 2000  # held-out examples; fewer tell too little, and more hardly more
NEAR = {"xatol": 1e-3}  # of the logarithm


def temperature_for(tree: LabelTree, held_out: Examples) -> float:
    """The temperature from 1 to 8 of the least loss of held-out examples; 1 of a table, or of few.

    Below 1, the loss falls a little for most examples and rises much for the few that are wrong, of
    which a few hundred tell too little.

    Args:
        tree: tree of the temperature 1.
        held_out: held-out examples, in random order.

    Reference:
        Guo, Pleiss, Sun, Weinberger, "On Calibration of Modern Neural Networks", ICML 2017.
    """
    if held_out.features.is_table or held_out.effective < FEW:
        return 1.0
    some = held_out[:ENOUGH]
    arrays, values = tree.arrays(some.features), some.features.values

    def loss(log_temperature: float) -> float:
        by = np.float32(math.exp(log_temperature))  # scores are linear in features and biases
        at = arrays._replace(bias=arrays.bias / by)
        return -some.mean(at.scored(replace(some.features, weights=values / by), some.labels))

    found = minimize_scalar(loss, bounds=(0, math.log(HOTTEST)), method="bounded", options=NEAR)
    return math.exp(found.x) if found.fun < loss(0) else 1.0
