"""The size of a gradient, dense or sparse, and the bound on it."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn


def gradient_size(parameters: Sequence[nn.Parameter], clip_norm: float | None) -> Tensor:
    """Scales gradients to a largest norm; returns a number that is finite only if they all are.

    Rows that a sparse gradient has several times count by their sum, as in the step itself.

    Args:
        parameters: parameters with their gradients, ``[...]`` each.
        clip_norm: largest norm of all gradients together; None for no bound.

    Shapes:
        output: ``[]``.

    Raises:
        TypeError: no parameter has a gradient.

    Example:
        >>> table = nn.Embedding(4, 1, sparse=True)
        >>> table(torch.tensor([1, 1, 3])).sum().backward()
        >>> round(gradient_size([table.weight], clip_norm=1.0).item(), 3)  # of 2 and 1
        2.236
        >>> round(table.weight.grad.to_dense().norm().item(), 3)
        1.0
    """
    with_gradient = [p for p in parameters if p.grad is not None]
    if not with_gradient:
        raise TypeError("the model's loss depends on none of its parameters; expected a gradient")
    if clip_norm is not None and not any(p.grad.is_sparse for p in with_gradient):  # type: ignore[union-attr]  # they have one
        return nn.utils.clip_grad_norm_(with_gradient, clip_norm)
    values = [_values(parameter) for parameter in with_gradient]
    if clip_norm is None:
        return torch.stack(torch._foreach_norm(values)).max()
    total = nn.utils.get_total_norm(values)
    share = (clip_norm / (total + 1e-6)).clamp(max=1.0)  # as clip_grad_norm_ has it
    for value in values:
        value.mul_(share.to(value.device))
    return total


def _values(parameter: nn.Parameter) -> Tensor:
    """The numbers of a parameter's gradient, which share its memory. ``[...]``"""
    grad = parameter.grad
    assert grad is not None
    if not grad.is_sparse:
        return grad
    parameter.grad = grad.coalesce()
    return parameter.grad.values()
