"""Whether there is a Triton that can compile for a GPU."""

from __future__ import annotations

import logging
from functools import cache
from importlib.util import find_spec

import torch
from torch import Tensor

logger = logging.getLogger(__name__)


def runs_triton(x: Tensor) -> bool:
    """Whether kernels in Triton, which torch for GPUs brings along, take a tensor, ``[...]``."""
    return x.is_cuda and x.dtype in (torch.float32, torch.float64) and compiles(x.device)


@cache
def compiles(device: torch.device) -> bool:
    """Tries it once: it needs a C compiler, and a GPU that is not too old for it."""
    if find_spec("triton") is None:
        return False
    try:
        from structnet.message_passing.gpu.rows import sum_rows

        ends = torch.arange(2, device=device)
        sum_rows(torch.ones(1, 1, device=device), ends[:1], ends)
    except Exception as error:  # whatever a compiler, or a driver, may say
        logger.warning(
            "Triton cannot compile for %s (%s: %s); trees are swept there by torch's own kernels, "
            "which takes several times as long",
            device,
            type(error).__name__,
            error,
        )
        return False
    return True
