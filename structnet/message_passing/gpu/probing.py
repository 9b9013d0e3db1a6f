"""A kernel with everything that others use, by which it is found out whether Triton compiles it."""

from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.jit
def _probe(x, done, SIZE: tl.constexpr):
    while tl.load(done, volatile=True) < 0:
        pass
    while tl.atomic_cas(done, 0, 0) < 0:
        pass
    place = tl.arange(0, SIZE)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    a = tl.load(x + place)
    tl.store(x + place, tl.dot(a, a, input_precision="ieee"))
    tl.debug_barrier()
    tl.atomic_add(done, 1)


def probe(device: torch.device, dtype: torch.dtype) -> None:
    """Multiplies a small matrix, and raises what Triton does if it cannot."""
    x = torch.eye(16, device=device, dtype=dtype)
    with torch.cuda.device_of(x):
        _probe[(1,)](x, torch.zeros(1, dtype=torch.int32, device=device), SIZE=16)
