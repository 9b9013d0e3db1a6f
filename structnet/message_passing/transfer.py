"""Copies arrays to an accelerator."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

_ALIGNED = 16  # bytes


def moved(device: torch.device, *arrays: np.ndarray) -> Sequence[Tensor]:
    """Copies arrays of one type, ``[n]`` each, to a device, in one asynchronous transfer.

    One transfer is faster than many small ones, whose overhead exceeds the time for their data.
    Each array begins at a multiple of 16 bytes there; for arguments that do not, Triton would
    compile kernels anew.
    """
    tensors = [torch.from_numpy(array) for array in arrays]
    if device.type == "cpu":
        return tensors
    step = _ALIGNED // tensors[0].element_size()
    room = [-(-len(x) // step) * step for x in tensors]
    joined = torch.empty(sum(room), dtype=tensors[0].dtype, pin_memory=device.type == "cuda")
    for x, part in zip(tensors, joined.split(room), strict=True):
        part[: len(x)] = x
    there = joined.to(device, non_blocking=True).split(room)
    return [part[: len(x)] for x, part in zip(tensors, there, strict=True)]
