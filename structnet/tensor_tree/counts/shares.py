"""The weights with which the outputs of models are mixed, chosen by held-out examples."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from scipy.optimize import minimize
from torch import Tensor

from structnet.training.gains import is_better

NOTHING = 1e-6  # weight up to which an output is left out, so that it need not be computed


def best_share(tree: Tensor, lacking: Tensor, count: Tensor, most: float) -> float:
    """The factor of a model's numbers with which they add up best to what another one lacks, or 0.

    Args:
        tree: numbers of the model, float64.
        lacking: numbers that they should be.
        count: weight of each example.
        most: largest factor.

    Shapes:
        tree, lacking ``[n, outputs]``; count ``[n]``.
    """
    share = best_factor(tree, lacking, count, most)
    before, after = ((lacking - part * tree).square().sum(1).numpy() for part in (0.0, share))
    # A gain that is no larger than its own noise may come from a single example.
    sure = len(tree) < 2 or is_better(before, after, 1, count.numpy())
    return share if sure else 0.0


def best_factor(tree: Tensor, lacking: Tensor, count: Tensor, most: float) -> float:
    """The same factor, however surely it is above 0.

    Shapes:
        tree, lacking ``[n, outputs]``; count ``[n]``, as of :func:`best_share`.
    """
    weight = count.unsqueeze(1)
    best = (weight * tree * lacking).sum() / (weight * tree.square()).sum()
    return best.nan_to_num(0.0).clamp(0, most).item()


def best_shares(outputs: Tensor, targets: Tensor, count: Tensor) -> Tensor:
    """The weights with which the log-probabilities of some models fit some examples best.

    Args:
        outputs: log-probabilities of all models, float64, of which the first is the Tree-LSTM. If
            few examples cannot tell the models apart, the others count: they are simpler, and the
            epoch of the Tree-LSTM was chosen by the same examples.
        targets: classes.
        count: weight of each example.

    Shapes:
        outputs ``[m, n, classes]``; targets, count ``[n]`` -> ``[m]``, with a sum of at most 1.
    """
    number = len(outputs)
    prior = torch.full((number,), 1 / (number - 1)).double()
    prior[0] = 0.0

    def loss(shares: np.ndarray) -> tuple[float, np.ndarray]:
        weight = torch.from_numpy(shares).requires_grad_()
        with torch.enable_grad():
            mixed = torch.einsum("m,mnk->nk", weight, outputs)
            total = F.cross_entropy(mixed, targets.long(), reduction="none") @ count.double()
            total = total + (weight - prior).square().sum()
        return total.item(), torch.autograd.grad(total, weight)[0].numpy()

    # With a sum above 1, a few examples that both get right would allow any degree of certainty.
    at_most = {"type": "ineq", "fun": lambda x: 1 - x.sum(), "jac": lambda x: -np.ones(number)}
    how: dict[str, Any] = {"method": "SLSQP", "bounds": [(0.0, 1.0)] * number}
    found = minimize(loss, np.full(number, 1 / number), jac=True, constraints=at_most, **how)
    shares = np.clip(found.x, 0, 1)
    return torch.from_numpy(np.where(shares < NOTHING, 0, shares))
