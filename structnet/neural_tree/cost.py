"""The cost of a module: parameters and floating-point operations (FLOPs).

A multiply-add is 2 FLOPs. Matrix products and convolutions are counted; element-wise functions,
pooling and biases are not.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from structnet.training.metrics import evaluating
from structnet.training.modules import count_parameters as count_parameters


def count_flops(module: nn.Module, x: Tensor) -> int:
    """The FLOPs of one call of a module in evaluation mode, 2 for each multiply-add.

    Args:
        module: module that is called with one tensor.
        x: batch to call it with; the FLOPs are those of the whole batch.

    Shapes:
        x ``[n, ...]``.

    Example:
        >>> count_flops(nn.Linear(784, 10), torch.zeros(3, 784))  # 3 x 784 x 10 multiply-adds
        47040
    """
    # Imported here, as the counter takes longer to load than the library.
    from torch.utils.flop_counter import FlopCounterMode

    # The counter hooks tensors that require gradients; a view of a weight does so even where
    # gradients are disabled.
    with evaluating(module), torch.enable_grad(), FlopCounterMode(display=False) as counter:
        module(x)
    return counter.get_total_flops()
