"""Arrays on their way to an accelerator."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

import numpy as np
import torch
from torch import Tensor


def moved(device: torch.device, *arrays: np.ndarray) -> Sequence[Tensor]:
    """Arrays of one type, ``[n]`` each, to a device, in one transfer that is not waited for.

    Small transfers cost more than they carry.
    """
    if device.type == "cpu":
        return [torch.from_numpy(array) for array in arrays]
    joined = torch.from_numpy(np.concatenate(arrays))
    if device.type == "cuda":
        joined = joined.pin_memory()
    return joined.to(device, non_blocking=True).split([len(array) for array in arrays])


def runs_triton(x: Tensor) -> bool:
    """Whether kernels in Triton, which torch for GPUs brings, take a tensor, ``[...]``."""
    of_floats = x.dtype in (torch.float32, torch.float64)
    return x.is_cuda and of_floats and find_spec("triton") is not None
