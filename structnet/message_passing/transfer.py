"""Copies arrays to an accelerator."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor


def moved(device: torch.device, *arrays: np.ndarray) -> Sequence[Tensor]:
    """Copies arrays of one type, ``[n]`` each, to a device, in one asynchronous transfer.

    One transfer is faster than many small ones, whose overhead exceeds the time for their data.
    """
    if device.type == "cpu":
        return [torch.from_numpy(array) for array in arrays]
    joined = torch.from_numpy(np.concatenate(arrays))
    if device.type == "cuda":
        joined = joined.pin_memory()
    return joined.to(device, non_blocking=True).split([len(array) for array in arrays])
