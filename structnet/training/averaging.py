"""A running mean of a model's weights: steps that go to and fro around an optimum cancel in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn


class Average:
    """The running mean of a model's weights, and of its buffers of real numbers.

    It is the plain mean over the first steps, until there are as many as it remembers, and
    exponential from then on.

    Args:
        model: model whose weights change from step to step, in place.
        steps: number of steps that the mean remembers; None leaves the weights as they are.

    Reference:
        Polyak and Juditsky, Acceleration of Stochastic Approximation by Averaging, SIAM Journal on
        Control and Optimization, 1992.

    Example:
        >>> model = nn.Linear(1, 1, bias=False)
        >>> average = Average(model, steps=10)
        >>> for weight in (1.0, 3.0):
        ...     _ = nn.init.constant_(model.weight, weight)
        ...     average.update()
        >>> with average.in_place():
        ...     model.weight.item()
        2.0
        >>> model.weight.item()
        3.0
    """

    def __init__(self, model: nn.Module, steps: int | None):
        parts = [] if steps is None else [*model.parameters(), *model.buffers()]
        self._weights = [part.detach() for part in parts if part.is_floating_point()]
        self._mean = [part.clone() for part in self._weights]
        self._most, self._taken = steps or 1, 0

    def update(self) -> None:
        """Takes in the weights after a step."""
        self._taken += 1
        if self._mean:
            torch._foreach_lerp_(self._mean, self._weights, 1 / min(self._taken, self._most))

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Inside, the model has the mean; afterwards its own weights again."""
        self.exchange()
        try:
            yield
        finally:
            self.exchange()

    def exchange(self) -> None:
        """Puts the mean into the model, and keeps in its place what the model had."""
        if self._mean:
            kept = [part.clone() for part in self._weights]
            torch._foreach_copy_(self._weights, self._mean)
            torch._foreach_copy_(self._mean, kept)

    def state(self) -> dict[str, Any]:
        """What :meth:`restore` takes: of how many steps it is, and the mean itself."""
        return {"taken": self._taken, "mean": self._mean}

    def restore(self, taken: int = 0, mean: Sequence[torch.Tensor] = ()) -> None:
        """Goes on from what :meth:`state` gave; with nothing, from none.

        Shapes:
            mean: ``[..]`` each, as the weights and buffers have them.

        Raises:
            ValueError: it is the state of another model.
        """
        for part, saved in zip(self._mean, mean, strict=True):
            part.copy_(saved)
        self._taken = int(taken)
