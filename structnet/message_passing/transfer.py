"""Copies arrays to an accelerator."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
import torch
from torch import Tensor

_ALIGNED = 16  # bytes


def moved(device: torch.device, *arrays: np.ndarray) -> Sequence[Tensor]:
    """Copies arrays, ``[n]`` each, to a device, there of one type, in one asynchronous transfer.

    One transfer is faster than many small ones, whose overhead exceeds the time for their data.
    Each array begins at a multiple of 16 bytes there; for arguments that do not, Triton would
    compile kernels anew.
    """
    if device.type == "cpu":
        return [torch.from_numpy(array) for array in arrays]
    joined, starts = joined_up(arrays, pinned=device.type == "cuda")
    there = joined.to(device, non_blocking=True)
    pairs = zip(starts, arrays, strict=True)
    return [there[start : start + len(array)] for start, array in pairs]


def joined_up(arrays: Sequence[np.ndarray], pinned: bool = False) -> tuple[Tensor, list[int]]:
    """Arrays, ``[n]`` each, in one tensor, ``[total]``, and where each begins."""
    step = _ALIGNED // np.result_type(*arrays).itemsize
    *starts, total = accumulate((-(-len(x) // step) * step for x in arrays), initial=0)
    dtype = torch.from_numpy(np.empty(0, np.result_type(*arrays))).dtype
    joined = torch.zeros(total, dtype=dtype, device="cpu", pin_memory=pinned)
    numbers = joined.numpy()
    for start, array in zip(starts, arrays, strict=True):
        numbers[start : start + len(array)] = array
    return joined, starts
