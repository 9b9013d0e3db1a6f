"""Arrays on their way to an accelerator."""

from __future__ import annotations

from collections.abc import Sequence

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
