"""The penalised optimum of squares, for any strength of the penalty from one decomposition.

    min_W,b  mean_i w_i |y_i - x_i W - b|^2 / c + strength / 2 * |W|^2

Of centred x and y, with G = mean_i w_i x_i' x_i = V diag(g) V' and k = strength * c / 2:

    W = V (g + k)^-1 V' mean_i w_i x_i' y_i                                   -> ``Ridge.optimum``
    h_i = w_i / n * (1 / mean w + x_i V (g + k)^-1 V' x_i')

Sample i draws its own value by h_i: without it, the same model would miss it by
(y_i - x_i W - b) / (1 - h_i). So each sample is held out in turn, and none fitted anew
-> ``Ridge.unseen``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import torch
from torch import Tensor

from structnet.routing.samples import Samples

LEAST = 1e-12  # of 1 - h: below that it is but rounding


class Ridge:
    """The penalised optima of the squares of a table.

    Args:
        batches: function that gives the samples, batch by batch, each time that it is called.

    Raises:
        RuntimeError: they are no numbers, or too large for any float.

    Example:
        >>> x = torch.linspace(-1, 1, 20)[:, None]
        >>> ridge = Ridge(lambda: [Samples(x, 3 * x)])
        >>> [part.round(decimals=3).tolist() for part in ridge.optimum(1e-9)]
        [[[3.0]], [0.0]]
    """

    def __init__(self, batches: Callable[[], Iterable[Samples]]):
        self._batches = batches
        told = [(len(x), w.sum(), w @ x, w @ y) for x, y, w in self._doubles()]
        self.count = sum(each[0] for each in told)
        total, x, y = (torch.stack(part).sum(0) for part in list(zip(*told, strict=True))[1:])
        self.weight = total / self.count
        self.x, self.y = x / total, y / total
        squares, moments = (
            torch.zeros(len(x), len(x)).double(),
            torch.zeros(len(x), len(y)).double(),
        )
        for x, y, w in self._centred():
            squares += (x * w[:, None]).T @ x / self.count
            moments += (x * w[:, None]).T @ y / self.count
        if not squares.isfinite().all() or not moments.isfinite().all():
            raise RuntimeError(
                "squares of the inputs, or products with the targets, are not finite"
            )
        self.squares, self.directions = torch.linalg.eigh(squares)
        self.squares = self.squares.clamp(min=0.0)  # below it is but rounding
        self.moments = self.directions.T @ moments

    def optimum(self, strength: float) -> tuple[Tensor, Tensor]:
        """Weights ``[c, m]`` and biases ``[c]``, float64, at a strength above 0."""
        free = 1 / (self.squares + strength * len(self.y) / 2)[:, None]
        weights = (self.directions @ (self.moments * free)).T
        return weights, self.y - weights @ self.x

    def unseen(self, strengths: Sequence[float]) -> Tensor:
        """The mean loss of samples held out one by one, at each strength above 0. ``[s]``."""
        losses = torch.zeros(len(strengths)).double()
        free = 1 / (
            self.squares[:, None] + torch.tensor(strengths).double() * len(self.y) / 2
        )  # [m, s]
        for x, y, w in self._centred():
            along = x @ self.directions
            own = w[:, None] / self.count * (1 / self.weight + along.square() @ free)  # [b, s]
            for i, left in enumerate((1 - own).clamp(min=LEAST).T):
                missed = (y - along @ (self.moments * free[:, i, None])) / left[:, None]
                losses[i] += (w * missed.square().mean(1)).sum() / self.count
        return losses

    def _doubles(self) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Inputs, targets and weights of each batch, on the processor."""
        for batch in self._batches():
            x, y = batch.x.double().cpu(), batch.targets.double().cpu()
            weights = batch.weights
            yield x, y, torch.ones(len(x)).double() if weights is None else weights.double().cpu()

    def _centred(self) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        return ((x - self.x, y - self.y, w) for x, y, w in self._doubles())
