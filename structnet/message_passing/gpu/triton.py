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
    return x.is_cuda and x.dtype in (torch.float32, torch.float64) and compiles(x.device)


@cache
def compiles(device: torch.device) -> bool:
    """True if Triton can compile, which needs a C compiler and a recent GPU; tried once."""
    if find_spec("triton") is None:
        return False
    try:
        from structnet.message_passing.gpu.rows import sum_rows

        ends = torch.arange(2, device=device)
        sum_rows(torch.ones(1, 1, device=device), ends[:1], ends)
    except Exception as error:  # a compiler or a driver may raise anything
        logger.warning(
            "Triton cannot compile for %s (%s: %s); trees are swept there by torch's own kernels, "
            "which takes several times as long",
            device,
            type(error).__name__,
            error,
        )
        return False
    return True
