"""Finds out whether Triton can compile for a GPU."""

from __future__ import annotations

import logging
from functools import cache
from importlib.util import find_spec

import torch
from torch import Tensor

logger = logging.getLogger(__name__)


def runs_triton(x: Tensor) -> bool:
    """True if kernels in Triton can take a tensor, ``[...]``: on a GPU, float32 or float64."""
    return x.is_cuda and x.dtype in (torch.float32, torch.float64) and compiles(x.device, x.dtype)


@cache
def compiles(device: torch.device, dtype: torch.dtype) -> bool:
    """True if Triton can compile, which needs a C compiler, a recent GPU and, for float64, 3.5.

    It is tried once, with what the kernels use.
    """
    if find_spec("triton") is None:
        return False
    try:
        from structnet.message_passing.gpu.probing import probe

        probe(device, dtype)
    except Exception as error:  # a compiler or a driver may raise anything
        logger.warning(
            "Triton cannot compile for %s and %s (%s: %s); trees are swept there by torch's own "
            "kernels, which takes several times as long",
            device,
            dtype,
            type(error).__name__,
            error,
        )
        return False
    return True
