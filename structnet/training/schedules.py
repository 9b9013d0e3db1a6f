"""AdamW with a learning rate that rises, then falls to nearly 0, over the steps of a training."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch

CLIP_NORM = 1.0


def one_cycle(rate: float, decay: float, steps: int, rise: float) -> dict[str, Any]:
    """The arguments of :func:`structnet.training.fit` for such a one-cycle training.

    Gradients are clipped to norm ``CLIP_NORM``.

    Args:
        rate: highest learning rate.
        decay: weight decay.
        steps: number of steps in all epochs.
        rise: share of the steps in which the rate rises.

    Reference: Smith and Topin, "Super-convergence", 2019; Loshchilov and Hutter, "Decoupled Weight
    Decay Regularization", ICLR 2019.
    """
    steps = max(int(steps), 1)  # torch takes no int of numpy
    if steps * rise == 1:  # by the steps of the rise, less one, torch divides
        steps += 1
    return {
        "optimizer": partial(torch.optim.AdamW, lr=rate, weight_decay=decay, fused=True),
        "schedule": partial(
            torch.optim.lr_scheduler.OneCycleLR, max_lr=rate, total_steps=steps, pct_start=rise
        ),
        "schedule_per": "batch",
        "clip_norm": CLIP_NORM,
    }
