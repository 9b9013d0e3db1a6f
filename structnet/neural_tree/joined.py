"""Linear maps of the same samples, which are one map while they are trained.

Most of the time of a small tree's training goes into starting operations, and an optimizer starts
some for each tensor of weights. A tree of 12 leaves has 46 of them: joined, it has two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from structnet.neural_tree.clipped import Clipped


class Joined(nn.Module):
    """Several linear maps as one, which shares its memory with them: to train it trains them.

    Args:
        maps: linear maps of vectors of the same length, with biases.

    Attributes:
        sizes: numbers of their outputs.

    Shapes:
        ``[n, inputs] -> [n, outputs of all]``.

    Example:
        >>> maps = [nn.Linear(2, 1), nn.Linear(2, 3)]
        >>> one, x = Joined(maps), torch.rand(5, 2)
        >>> torch.equal(one(x)[:, :1], maps[0](x))
        True
    """

    def __init__(self, maps: Sequence[Any]):
        super().__init__()
        self.sizes = [each.out_features for each in maps]
        self._maps = (*maps,)  # in a tuple, so that torch does not register their parameters
        self.weight, self.bias = (
            nn.Parameter(torch.cat([getattr(each, name).detach() for each in maps]))
            for name in ("weight", "bias")
        )
        for name in ("weight", "bias"):
            rows = getattr(self, name).detach().split(self.sizes)
            for each, own in zip(maps, rows, strict=True):
                getattr(each, name).data = own

    def forward(self, features: Tensor) -> Tensor:
        return linear(features, self.weight, self.bias)

    def part(self) -> None:
        """Gives each of the maps memory of its own again, with the weights as they are now."""
        for each in self._maps:
            for own in (each.weight, each.bias):
                own.data = own.data.clone()


class Together(nn.Module):
    """A tree or a candidate with some of its maps joined; its parameters are to be trained.

    Args:
        model: model with the attribute ``joined``, which is set while the loss is computed.
        groups: maps to be joined.
    """

    def __init__(self, model: Any, groups: Sequence[Sequence[nn.Module]]):
        super().__init__()
        self._model = (model,)
        self.joined = [Joined(group) for group in groups]
        self.weights = nn.ModuleList(self.joined)
        self._by_first = {id(g[0]): one for g, one in zip(groups, self.joined, strict=True)}
        taken = {id(p) for group in groups for each in group for p in each.parameters()}
        self.others = nn.ParameterList(p for p in model.parameters() if id(p) not in taken)

    @property
    def num_classes(self) -> int | None:
        """The number of classes of a tree; None if it predicts numbers."""
        return self._model[0].num_classes

    def train(self, mode: bool = True) -> Together:
        self._model[0].train(mode)
        return super().train(mode)

    def loss(self, batch: Any) -> Tensor:
        """The loss of the model. ``[]``."""
        return self._asked("loss", batch)

    def predict(self, batch: Any) -> Tensor:
        """The model's predictions. ``[n]`` or ``[n, columns]``."""
        return self._asked("predict", batch)

    def _asked(self, name: str, batch: Any) -> Tensor:
        [model] = self._model
        model.joined = self._by_first
        try:
            return getattr(model, name)(batch)
        finally:
            del model.joined  # whoever copies the model meanwhile gets its own maps


@contextmanager
def together(
    model: Any, device: str | torch.device = "cpu", *, apart: bool = False
) -> Iterator[Any]:
    """A context with a model to train in place of a tree or candidate, which it trains.

    It is the model itself if it has no maps to join, modules with a state that such a model would
    not have, or frozen parameters.

    Args:
        model: module with ``alike()``, lists of maps that get the same samples.
        device: device to train on. The model is moved there at once, as maps that were moved later
            would no longer share their memory.
        apart: True if the optimizer tells modules apart, so that none may be joined.
    """
    model.to(device)
    if apart:
        yield model
        return
    groups = [each for each in model.alike() if len(each) > 1]
    bare = all(type(each) is Clipped or not each._buffers for each in model.modules())
    if not (groups and bare and all(p.requires_grad for p in model.parameters())):
        yield model
        return
    found = Together(model, groups)
    try:
        yield found
    finally:
        for one in found.joined:
            one.part()
