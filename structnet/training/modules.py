"""Torch modules: their size, copies, plain calls, ``torch.compile``."""

from __future__ import annotations

import copy
import sys
from collections import OrderedDict
from collections.abc import Callable
from functools import wraps
from itertools import chain
from typing import ParamSpec, TypeVar

import torch
from torch import nn
from torch.nn.modules import module as of_all

P = ParamSpec("P")
T = TypeVar("T")

_HOOKS = "forward_hooks", "forward_pre_hooks", "backward_hooks", "backward_pre_hooks"


def count_parameters(module: nn.Module) -> int:
    """The number of parameters of a module; one that is used in several places counts once.

    Example:
        >>> count_parameters(nn.Linear(784, 10))
        7850
    """
    return sum(parameter.numel() for parameter in module.parameters())


def device_of(module: nn.Module) -> torch.device:
    """Where a module computes: the device of its first parameter or buffer; without any, the CPU.

    Example:
        >>> device_of(nn.Linear(1, 2))
        device(type='cpu')
    """
    tensors = chain(module.parameters(), module.buffers())
    return next((each.device for each in tensors), torch.device("cpu"))


def is_plain(module: nn.Module, *kinds: type[nn.Module]) -> bool:
    """Whether a call of a module computes what its class does and nobody watches it.

    Then the module need not be called, as long as the same is computed from its parameters. A
    subclass, whose ``forward`` may be another one, is not plain.

    Args:
        kinds: classes that the module may be of.

    Example:
        >>> linear = nn.Linear(2, 3)
        >>> is_plain(linear, nn.Linear), is_plain(nn.LazyLinear(3), nn.Linear)
        (True, False)
        >>> hook = linear.register_forward_hook(print)
        >>> is_plain(linear, nn.Linear)
        False
    """
    if type(module) not in kinds or "forward" in vars(module):
        return False
    watched = any(getattr(module, f"_{hooks}") for hooks in _HOOKS)
    return not watched and not any(getattr(of_all, f"_global_{hooks}") for hooks in _HOOKS)


def with_same_weights(model: nn.Module) -> nn.Module:
    """A copy of the modules alone, so that what is watched in it is not seen by other threads."""
    own = copy.copy(model)
    own._modules = {
        name: None if part is None else with_same_weights(part)
        for name, part in model._modules.items()
    }
    own._forward_hooks = OrderedDict(model._forward_hooks)
    return own


def not_compiled(function: Callable[P, T]) -> Callable[P, T]:
    """A decorator of functions that ``torch.compile`` calls as they are, instead of tracing them.

    It traces numpy as if it were torch, which compiled loops cannot read, and would compile anew
    for each forest. What follows the call is compiled as before.

    Nor can the transforms of ``torch.func`` (``grad``, ``vmap``, ...) see what compiled loops do:
    the error of torch is replaced by one that says so.
    """
    as_it_is: list[Callable[P, T]] = []

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        # Without it nobody compiles, and its import takes seconds.
        if "torch._dynamo" in sys.modules and not as_it_is:
            as_it_is.append(torch.compiler.disable(function))
        try:
            return (as_it_is or [function])[0](*args, **kwargs)
        except RuntimeError as error:
            if "functorch transforms" not in str(error):
                raise
            raise RuntimeError(
                f"{function.__qualname__} computes its own gradients, which the transforms of "
                "torch.func (grad, vmap, jacrev, ...) cannot follow; expected loss.backward() or "
                "torch.autograd"
            ) from None

    return call
