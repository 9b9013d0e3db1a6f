"""Parameters of known shapes: made only if they fit in memory, and checked before use."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import nn

from structnet.checks import check_memory

Shape = tuple[int, ...]


def allocate(module: nn.Module, shapes: dict[str, Shape]) -> dict[str, Shape]:
    """Registers parameters of these shapes; their values are not set yet.

    Args:
        module: module to register them with.
        shapes: shape of each parameter, ``[..]``, by name.

    Returns:
        The shapes, to be kept for :func:`check_shapes`.

    Raises:
        ValueError: they do not fit in this machine's memory.
    """
    sizes = {name: math.prod(shape) for name, shape in shapes.items()}
    if torch.get_default_device().type == "cpu":
        largest = max(sizes, key=lambda name: sizes[name])
        check_memory(
            f"a {type(module).__name__} of these sizes, of whose parameters {largest!r} is the "
            "largest,",
            sum(sizes.values()) * torch.get_default_dtype().itemsize,
        )
    for name, shape in shapes.items():
        module.register_parameter(name, nn.Parameter(torch.empty(shape)))
    return shapes


def check_shapes(module: nn.Module, shapes: Mapping[str, Shape]) -> None:
    """Checks that a module's parameters still have their shapes, as compiled loops check no index.

    Args:
        module: module with the parameters.
        shapes: shape of each parameter, ``[..]``, by name.

    Raises:
        ValueError: a parameter has another shape.
    """
    for name, shape in shapes.items():
        found = getattr(module, name).shape
        if found != shape:
            raise ValueError(
                f"{name!r} of {type(module).__name__} must have shape {list(shape)}; "
                f"got {list(found)}"
            )
