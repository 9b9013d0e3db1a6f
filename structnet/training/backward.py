"""What every backward pass that is written by hand needs: its own precision, and a refusal."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch import Tensor


def refuse_second_derivatives(what: str, instead: str) -> None:
    """Raises an error in a backward pass whose result is to be differentiated again.

    Without it, the derivatives of what the forward pass has saved would silently be 0.

    Args:
        what: name of what has no second derivatives.
        instead: name of what has.

    Raises:
        RuntimeError: the graph of the derivative is needed, as with ``create_graph=True``.
    """
    if torch.is_grad_enabled():  # only with create_graph=True: else a backward pass records nothing
        raise RuntimeError(f"{what} has no second derivatives; {instead} has")


def by_hand(what: str, instead: str) -> Callable[[Callable], Callable]:
    """A decorator for backward passes that cannot be differentiated again.

    The pass computes in the precision of its tensors, also inside autocast, and raises an error if
    the graph of its result is needed.

    Args:
        what, instead: names for :func:`refuse_second_derivatives`.

    Example:
        >>> class Square(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x.square()
        ...
        ...     @staticmethod
        ...     @by_hand("Square", "torch.square")
        ...     def backward(ctx, given):
        ...         return 2 * ctx.saved_tensors[0] * given
        >>> x = torch.tensor(3.0, requires_grad=True)
        >>> torch.autograd.grad(Square.apply(x), x)
        (tensor(6.),)
        >>> torch.autograd.grad(Square.apply(x), x, create_graph=True)
        Traceback (most recent call last):
        RuntimeError: Square has no second derivatives; torch.square has
    """

    def decorated(backward: Callable) -> Callable:
        @wraps(backward)
        def pass_back(ctx: Any, *gradients: Tensor | None) -> Any:
            refuse_second_derivatives(what, instead)
            device = next((each.device.type for each in gradients if each is not None), "cpu")
            if not torch.is_autocast_enabled(device):
                return backward(ctx, *gradients)
            with torch.autocast(device, enabled=False):
                return backward(ctx, *gradients)

        return pass_back

    return decorated
