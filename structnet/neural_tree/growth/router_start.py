"""The start of a new router: every unit varies, and samples go both ways.

A small router may start dead. Its few units see averages that hardly differ between samples, so
that each unit is on for all samples or off for all, and the router's output does not depend on the
sample. The split then mixes two solvers in a constant ratio and never becomes a decision. Scaled to
the samples that arrive, the same router starts as a decision.

Reference:
    Krähenbühl, Doersch, Donahue, Darrell, "Data-dependent Initializations of Convolutional Neural
    Networks", ICLR 2016.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from structnet.training.metrics import evaluating

SCALED = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)
SPREAD = 3.0  # deviation of the logit: most samples start on one side, few of them saturated


def balance(router: nn.Module, features: Tensor) -> None:
    """Scales a router's linear layers and convolutions to the samples that it will route.

    From the first layer to the last, each unit's output is shifted and scaled to mean 0 and
    standard deviation 1 over the samples; the logit, from the last layer, gets the deviation 3.
    Units whose output does not vary are left unchanged, as are layers without a bias, layers whose
    weight is computed from other parameters (weight normalisation), and layers that are not called
    as modules (the projection of ``nn.MultiheadAttention``).

    Args:
        router: module with one output, changed in place.
        features: samples as they arrive at the router.

    Shapes:
        features ``[n, *shape]``.

    Example:
        >>> router = nn.Linear(3, 1)
        >>> features = torch.rand(100, 3, generator=torch.Generator().manual_seed(0))
        >>> balance(router, features)
        >>> logit = router(features)
        >>> logit.mean().abs().item() < 1e-5, round(logit.std(correction=0).item(), 3)
        (True, 3.0)
    """
    layers = [layer for layer in router.modules() if isinstance(layer, SCALED)]
    called = list(_outputs(router, layers, features[:1]))
    for layer in called:
        own = (layer._parameters.get(name) for name in ("weight", "bias"))
        if all(isinstance(each, nn.Parameter) for each in own):
            output = _columns(layer, _outputs(router, [layer], features)[layer])
            _scale(layer, output, SPREAD if layer is called[-1] else 1.0)


def _outputs(
    router: nn.Module, layers: Sequence[nn.Module], features: Tensor
) -> dict[nn.Module, list[Tensor]]:
    """The outputs of each layer, one for each call, with layers in the order of their calls."""
    found: dict[nn.Module, list[Tensor]] = {}

    def keep(layer: nn.Module, inputs: tuple, output: Tensor) -> None:
        found.setdefault(layer, []).append(output)

    hooks = [layer.register_forward_hook(keep) for layer in layers]
    try:
        with evaluating(router):
            router(features)
    finally:
        for hook in hooks:
            hook.remove()
    return found


def _columns(layer: nn.Module, outputs: Sequence[Tensor]) -> Tensor:
    """The outputs of a layer, with one column for each unit. ``[m, units]``."""
    units = 1 if not isinstance(layer, nn.Linear) else -1
    outputs = [each.unsqueeze(1) if each.dim() == 1 else each for each in outputs]
    return torch.cat([each.movedim(units, -1).flatten(0, -2) for each in outputs])


@torch.no_grad()
def _scale(layer: Any, output: Tensor, spread: float) -> None:  # a layer of a type in SCALED
    mean, sd = output.mean(0), output.std(0, correction=0)
    varies = sd > 1e-6 * mean.abs().clamp(min=1e-6)
    factor = torch.where(varies, spread / sd.clamp(min=1e-30), torch.ones_like(sd))
    shift = torch.where(varies, mean, torch.zeros_like(mean))
    layer.weight.mul_(factor.view(-1, *[1] * (layer.weight.dim() - 1)))
    layer.bias.sub_(shift).mul_(factor)
