"""Torch modules: their size, plain calls, constants whatever is loaded, ``torch.compile``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from itertools import chain
from typing import Any, ParamSpec, TypeVar

import numpy as np
import torch
from torch import Tensor, nn
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


def hold_constant(module: nn.Module, name: str, value: np.ndarray | Tensor) -> None:
    """Registers a buffer that no file holds, and sets it again whenever a state is loaded.

    A module that is made on the device "meta" has no numbers, and ``to_empty`` gives it any. Those
    of its parameters come from the file that is loaded then; these come from here.

    Args:
        value: numbers as an array, for a buffer of the default device and dtype; or the buffer.

    Shapes:
        value ``[...]``.

    Example:
        >>> with torch.device("meta"):
        ...     model = nn.Linear(1, 2)
        ...     hold_constant(model, "scale", np.ones(2))
        >>> keys = model.to_empty(device="cpu").load_state_dict(nn.Linear(1, 2).state_dict())
        >>> model.scale
        tensor([1., 1.])
    """
    if isinstance(value, Tensor):
        module.register_buffer(name, value, persistent=False)
        if value.is_meta:  # its numbers are not known to anyone
            return
        value = value.detach().double().cpu().numpy().copy()
    else:
        buffer = torch.tensor(value, dtype=torch.get_default_dtype())
        module.register_buffer(name, buffer, persistent=False)
    if "constants" not in vars(module):
        module.register_load_state_dict_post_hook(restore_constants)
    vars(module).setdefault("constants", {})[name] = value


@torch.no_grad()
def restore_constants(module: nn.Module, *_: Any) -> None:
    """Sets a module's own constants; those of its children are left as they are."""
    for name, value in getattr(module, "constants", {}).items():
        buffer = getattr(module, name)
        if buffer is None or buffer.shape != value.shape:  # somebody has put another there
            continue
        if buffer.is_meta:  # load_state_dict(assign=True) has put the parameters elsewhere
            device = next((p.device for p in module.parameters()), buffer.device)
            buffer = torch.empty_like(buffer, device=device)
            setattr(module, name, buffer)
        buffer.copy_(torch.from_numpy(value))


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
