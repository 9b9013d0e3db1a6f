"""Parameters of known shapes: made only if they fit in memory, and held to their shapes."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import nn

from structnet.checks import check_memory

Shape = tuple[int, ...]


def allocate(module: nn.Module, shapes: dict[str, Shape]) -> dict[str, Shape]:
    """Give a module parameters of these shapes; their values are not set yet.

    Args:
        module: the module to register them with.
        shapes: the shape of each, ``[..]``, by name; given back, to be kept for
            :func:`check_shapes`.

    Raises:
        ValueError: this machine's memory is too small for them.
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
    """Check that a module's parameters still have the shapes that they were given.

    Args:
        module: the module that has them.
        shapes: the shape of each, ``[..]``, by name.

    Raises:
        ValueError: one has another; compiled loops check no index.
    """
    for name, shape in shapes.items():
        found = getattr(module, name).shape
        if found != shape:
            raise ValueError(
                f"{name!r} of {type(module).__name__} must have shape {list(shape)}; "
                f"got {list(found)}"
            )
