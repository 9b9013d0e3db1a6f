"""A running mean of a model's weights, in which steps back and forth around an optimum cancel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn


class Average:
    """The running mean of a model's weights, and of its floating-point buffers.

    Until there have been ``steps`` steps it is their plain mean, from then on an exponential mean.
    Entries of buffers that are not finite, such as the -inf of a mask, are copied instead. If a
    module's ``structure_of_weights`` is no longer the same object (a tree whose labels were
    reassigned), old and new weights cannot be averaged, and the mean restarts.

    Args:
        model: model whose weights change from step to step, in place.
        steps: number of steps that the mean covers; None to leave the weights as they are.

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
        self._model, self._averages, self._most = model, steps is not None, steps or 1
        self._changing = [each for each in model.modules() if hasattr(each, "structure_of_weights")]
        self._begin()

    def _begin(self) -> None:
        """Begins anew with the present weights, of the present structure."""
        model = self._model
        parts = [*model.parameters(), *model.buffers()] if self._averages else []
        parts = [part for part in parts if part.is_floating_point()]
        self._weights = [part.detach() for part in parts]
        self._mean = [part.clone() for part in self._weights]
        both = zip(parts, self._mean, self._weights, strict=True)
        self._fixed = [(mean, weight) for part, mean, weight in both if not part.requires_grad]
        self._taken, self._structures = 0, self._present()

    def _present(self) -> list[Any]:
        return [each.structure_of_weights for each in self._changing]

    def _follow(self) -> None:
        pairs = zip(self._structures, self._present(), strict=True)
        if any(before is not now for before, now in pairs):
            self._begin()

    def update(self) -> None:
        """Adds the weights after a step to the mean."""
        self._follow()
        self._taken += 1
        if self._mean:
            torch._foreach_lerp_(self._mean, self._weights, 1 / min(self._taken, self._most))
        for mean, weight in self._fixed:  # there -inf - -inf has made a NaN
            torch.where(mean.isfinite(), mean, weight, out=mean)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """A context in which the model has the mean; afterwards it has its own weights again."""
        self.exchange()
        try:
            yield
        finally:
            self.exchange()

    def exchange(self) -> None:
        """Exchanges the mean and the model's own weights."""
        self._follow()
        if self._mean:
            kept = [part.clone() for part in self._weights]
            torch._foreach_copy_(self._weights, self._mean)
            torch._foreach_copy_(self._mean, kept)

    def state(self) -> dict[str, Any]:
        """The arguments of :meth:`restore`: the number of steps so far, and the mean itself."""
        self._follow()
        return {"taken": self._taken, "mean": self._mean}

    def restore(self, taken: int = 0, mean: Sequence[torch.Tensor] | None = None) -> None:
        """Continues from what :meth:`state` returned; without arguments, begins anew.

        Args:
            taken: number of steps so far.
            mean: mean of their weights; None for the weights as they are.

        Shapes:
            mean: ``[..]`` each, those of the weights and buffers.

        Raises:
            ValueError: the state is that of another model.
        """
        self._begin()
        saved = self._weights if mean is None else mean
        for part, value in zip(self._mean, saved, strict=True):
            part.copy_(value)
        self._taken = int(taken)
