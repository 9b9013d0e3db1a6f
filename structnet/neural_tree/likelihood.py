"""The joint prediction of the leaves of a neural tree, and its loss.

For the loss, each leaf l contributes a term computed from the log-probability of its path, the
output of its solver and the target; the terms of all leaves are joined into a total, from which the
loss follows. As joining is associative, the total of the leaves that are not being trained can be
computed once.

Eq. (1) of the paper, ``p(y|x) = sum_l pi_l(x) p_l(y|x)``  ->  ``Categorical``, ``GaussianMixture``
its mean, ``E[y|x] = sum_l pi_l(x) mu_l(x)``                ->  ``SquaredError``
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from structnet.checks import check_number
from structnet.training.targets import check_classes, check_form


@runtime_checkable
class Likelihood(Protocol):
    """The task of a neural tree: how its leaves predict together, and the loss.

    Shapes:
        log_prob ``[n, L]``, of the path to each of L leaves; outputs ``[n, L, k]``, of their
        solvers; targets ``[n]``, classes, or ``[n, columns]``.
    """

    def num_outputs(self, num_targets: int) -> int:
        """The number of outputs that a solver must have for this number of classes or columns."""

    def term(self, log_prob: Tensor, outputs: Tensor, targets: Tensor) -> Tensor:
        """The contribution of each leaf to the loss. ``[n, L], [n, L, k], targets -> [n, L, ...]``.

        Raises:
            ValueError: the targets do not fit the outputs.
        """

    def join(self, terms: Tensor) -> Tensor:
        """The total of all leaves. ``[n, L, ...] -> [n, ...]``."""

    def losses(self, total: Tensor, targets: Tensor) -> Tensor:
        """The loss of each sample. ``[n, ...], targets -> [n]``."""

    def mixture(self, log_prob: Tensor, outputs: Tensor) -> Tensor:
        """The prediction of all leaves together: log-probabilities of classes, or means.

        Shapes:
            ``[n, L], [n, L, k] -> [n, classes or columns]``.
        """

    def single(self, outputs: Tensor) -> Tensor:
        """The prediction of one leaf, in the same form. ``[n, k] -> [n, classes or columns]``."""


class _LogTotals(Likelihood):
    """Likelihoods whose total is the log-probability or log-density of the mixture."""

    def join(self, terms: Tensor) -> Tensor:
        return terms.logsumexp(1) if terms.shape[1] > 1 else terms.squeeze(1)

    def losses(self, total: Tensor, targets: Tensor) -> Tensor:
        return -total


@dataclass(frozen=True)
class Categorical(_LogTotals):
    """Classes; the loss is the negative log-likelihood of the mixture (nats).

    Solvers give one logit for each class; targets are int64 ``[n]``.

    Args:
        temperature: number by which the log-probabilities of several leaves together are divided;
            above 1 for a tree that is too sure of its classes. Growth knows none: ``term`` and
            ``join`` are those of the mixture at a temperature of 1.
        of_leaf: the same for a single leaf, which may be sure of what the mixture is not, as its
            routers are undecided.

    Raises:
        ValueError: a temperature is not above 0.

    Example:
        >>> log_prob = torch.tensor([[0.25, 0.75]]).log()
        >>> outputs = torch.tensor([[[0.8, 0.2], [0.4, 0.6]]]).log()
        >>> Categorical().mixture(log_prob, outputs).exp()
        tensor([[0.5000, 0.5000]])
    """

    temperature: float = 1.0
    of_leaf: float = 1.0

    def __post_init__(self) -> None:
        for name in ("temperature", "of_leaf"):
            check_number(name, getattr(self, name), 0, open=True, owner="Categorical")

    def num_outputs(self, num_targets: int) -> int:
        return num_targets

    def term(self, log_prob: Tensor, outputs: Tensor, targets: Tensor) -> Tensor:
        check_form(targets, len(outputs))
        index = targets.view(-1, *[1] * (outputs.dim() - 1)).expand(*outputs.shape[:-1], 1)
        try:
            chosen = outputs.log_softmax(-1).gather(-1, index).squeeze(-1)
        except RuntimeError:  # looking at each batch beforehand would wait for an accelerator
            check_classes(targets, outputs.shape[-1])
            raise
        return log_prob + chosen  # log pi_l + log p_l(y)

    def mixture(self, log_prob: Tensor, outputs: Tensor) -> Tensor:
        if outputs.shape[1] == 1:
            return self.single(outputs.squeeze(1))
        mixed = (log_prob.unsqueeze(-1) + outputs.log_softmax(-1)).logsumexp(1)
        return mixed if self.temperature == 1 else (mixed / self.temperature).log_softmax(-1)

    def single(self, outputs: Tensor) -> Tensor:
        return (outputs / self.of_leaf).log_softmax(-1)


class SquaredError(Likelihood):
    """Numbers; the loss is the squared error of the mixture's mean, averaged over the columns.

    Solvers give one mean for each column; targets are ``[n, columns]``.

    Example:
        >>> total = torch.tensor([[1.0, 2.0]])
        >>> SquaredError().losses(total, torch.tensor([[1.0, 4.0]]))
        tensor([2.])
    """

    def num_outputs(self, num_targets: int) -> int:
        return num_targets

    def term(self, log_prob: Tensor, outputs: Tensor, targets: Tensor) -> Tensor:
        _check_columns(targets, outputs, outputs.shape[-1])
        return log_prob.exp().unsqueeze(-1) * outputs  # pi_l mu_l

    def join(self, terms: Tensor) -> Tensor:
        return terms.sum(1)

    def losses(self, total: Tensor, targets: Tensor) -> Tensor:
        return (total - targets).square().mean(-1)

    def mixture(self, log_prob: Tensor, outputs: Tensor) -> Tensor:
        return (log_prob.exp().unsqueeze(-1) * outputs).sum(1)

    def single(self, outputs: Tensor) -> Tensor:
        return outputs


class GaussianMixture(_LogTotals):
    """Numbers; the loss is the negative log-likelihood of a mixture of Gaussians (nats).

    Solvers give a mean and a log standard deviation for each column, all means first; targets are
    ``[n, columns]``. Predictions are the mixture's means.

    Example:
        >>> task = GaussianMixture()
        >>> term = task.term(torch.zeros(1, 1), torch.zeros(1, 1, 2), torch.zeros(1, 1))
        >>> task.losses(task.join(term), torch.zeros(1, 1))  # log sqrt(2 pi)
        tensor([0.9189])
    """

    def num_outputs(self, num_targets: int) -> int:
        return 2 * num_targets

    def term(self, log_prob: Tensor, outputs: Tensor, targets: Tensor) -> Tensor:
        columns, odd = divmod(outputs.shape[-1], 2)
        if odd:
            raise ValueError(
                "solvers must give a mean and a log standard deviation for each column. Got "
                f"{outputs.shape[-1]} outputs."
            )
        _check_columns(targets, outputs, columns)
        mean, log_sd = outputs.chunk(2, dim=-1)
        y = targets.view(len(targets), *[1] * (outputs.dim() - 2), columns)
        squares = ((y - mean) * torch.exp(-log_sd)).square()
        log_density = -0.5 * squares - log_sd - 0.5 * math.log(2 * math.pi)
        return log_prob + log_density.sum(-1)  # log pi_l + log p_l(y)

    def mixture(self, log_prob: Tensor, outputs: Tensor) -> Tensor:
        return (log_prob.exp().unsqueeze(-1) * self.single(outputs)).sum(1)

    def single(self, outputs: Tensor) -> Tensor:
        return outputs.chunk(2, dim=-1)[0]

    def second_moment(self, log_prob: Tensor, outputs: Tensor) -> Tensor:
        """The second moment of the mixture, from which its variance follows.

        Shapes:
            ``[n, L], [n, L, 2 columns] -> [n, columns]``.
        """
        mean, log_sd = outputs.chunk(2, dim=-1)
        return (log_prob.exp().unsqueeze(-1) * (mean.square() + (2 * log_sd).exp())).sum(1)


def _check_columns(targets: Tensor, outputs: Tensor, columns: int) -> None:
    # Targets [n] would broadcast against one column and give a plausible but wrong loss.
    if targets.shape != (len(outputs), columns):
        raise ValueError(
            f"targets must be numbers [{len(outputs)}, {columns}]. Got {list(targets.shape)}."
        )
