"""The start of a tree on a table as a penalised linear model, which it may stay.

The modules that grow from the model are trained with the same penalty, except on few columns: there
a linear model may explain nothing, so that its best penalty holds all weights at 0, while regions
explain everything. Where it explains little of more columns, what grows decides
(``growth.lighter``).
"""

from __future__ import annotations

import copy
import math
from typing import cast

import torch
from torch import nn

from structnet.neural_tree.growth.measures import decrease, of_each
from structnet.neural_tree.likelihood import GaussianMixture, SquaredError
from structnet.neural_tree.linear import (
    fit_linear,
    is_linear,
    is_linear_model,
    mean_square,
    target_columns,
    target_unit,
)
from structnet.neural_tree.settings import INPUTS
from structnet.neural_tree.tree import NeuralTree
from structnet.routing.samples import Samples
from structnet.training.metrics import evaluate

SURE = 2  # standard errors by which a network must be better to stay
NEAR = 0.25  # share of the largest strength for what grows from which on it says little
LEAST_DEVIATION = 1e-3  # smallest initial deviation of Gaussians, in deviations of the targets


def start_linear(
    tree: NeuralTree,
    samples: Samples,
    validation: Samples,
    *,
    seed: int,
    strength: float | None = None,
) -> float | None:
    """Starts a tree on a table as the model of :func:`fit_linear`, unless it is better already.

    A trained network may be better, by more than chance: where lines explain nothing, an untrained
    tree may be as good as they are on a few validation samples. For a mixture of Gaussians, the
    means start as the linear model of the targets, with the deviation of its errors on the
    validation samples. Samples that are not all finite leave the tree as it is.

    Args:
        tree: tree, which is changed in place.
        samples, seed, strength: see :func:`fit_linear`.
        validation: samples by which the tree and the model are compared.

    Returns:
        The strength of the penalty for what grows from the tree, in units of its loss; 0 for up to
        16 columns. None if the tree is left unchanged, as are all trees that are not a linear map
        of a table, or that have another loss.
    """
    gaussian = isinstance(tree.likelihood, GaussianMixture)
    if not (gaussian and is_linear(tree, samples)) and not is_linear_model(tree, samples):
        return None
    found = copy.deepcopy(tree)
    if gaussian:
        strength = _begin_gaussian(found, samples, validation, seed, strength)
    else:
        strength = _kept(fit_linear(found, samples, seed=seed, strength=strength), samples)
    if strength is None:
        return None
    losses = [of_each(each.losses, each, validation) for each in (found, tree)]
    by = validation.counts(), tree.likelihood, validation.group_numbers()
    gain, error = decrease(losses[0], losses[1], *by)
    if not gain <= SURE * error:  # or nan, if the samples are not all finite
        return None
    tree.load_state_dict(found.state_dict())
    return strength


def _kept(strength: float | None, samples: Samples) -> float | None:
    """The strength of the penalty on what grows from a linear model.

    It is limited to that of weights which share in explaining all targets: a stronger one only says
    that lines explain nothing.
    """
    if strength is None:
        return None
    return min(strength, _most(samples)) if samples.x.shape[1] > INPUTS else 0.0


def says_little(strength: float | None, samples: Samples) -> bool:
    """True if a strength is near the limit, as where lines explain little."""
    return strength is not None and strength > NEAR * _most(samples)


def _most(samples: Samples) -> float:
    return mean_square(samples) / target_columns(samples) / len(samples)


def _begin_gaussian(
    tree: NeuralTree, samples: Samples, validation: Samples, seed: int, strength: float | None
) -> float | None:
    """Sets the means to the optimum of squared errors, and all deviations to what these leave.

    The deviations start independent of the sample. Means and deviations have no joint optimum:
    where the means fit all samples, the loss falls without limit as the deviations shrink.
    """
    solver = cast(nn.Linear, tree.nodes[0].solver)
    columns = solver.out_features // 2
    means = nn.Linear(solver.in_features, columns).to(solver.weight)
    alone = copy.deepcopy(tree)
    alone.likelihood, alone.nodes[0].solver = SquaredError(), means
    strength = _kept(fit_linear(alone, samples, seed=seed, strength=strength), samples)
    if strength is None:
        return None
    square = evaluate(alone, validation)["loss"]
    square = max(square, (LEAST_DEVIATION * target_unit(samples)) ** 2)
    with torch.no_grad():
        solver.weight.copy_(torch.cat([means.weight, torch.zeros_like(means.weight)]))
        solver.bias.copy_(
            torch.cat([means.bias, torch.full_like(means.bias, math.log(square) / 2)])
        )
    return strength * columns / (2 * square)  # a Gaussian's loss has the mean square so many times
