"""What a module costs: parameters and floating-point operations.

One multiply-add is 2 FLOPs. Counted are matrix products and convolutions; element-wise functions,
pooling and biases are not.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from structnet.training.metrics import evaluating


def count_parameters(module: nn.Module) -> int:
    """The number of learned parameters of a module; one that is used in two places counts once.

    Example:
        >>> count_parameters(nn.Linear(784, 10))
        7850
    """
    return sum(parameter.numel() for parameter in module.parameters())


def count_flops(module: nn.Module, x: Tensor) -> int:
    """The FLOPs of one run of a module in evaluation mode, 2 for each multiply-add.

    Args:
        module: module that is called with one tensor.
        x: batch with which it is called, and whose FLOPs are counted.

    Shapes:
        x ``[n, ...]``.

    Example:
        >>> count_flops(nn.Linear(784, 10), torch.zeros(3, 784))  # 3 x 784 x 10 multiply-adds
        47040
    """
    # Loading the counter takes longer than loading the library.
    from torch.utils.flop_counter import FlopCounterMode

    # The counter hooks what requires gradients, which a view of a weight does even without any.
    with evaluating(module), torch.enable_grad(), FlopCounterMode(display=False) as counter:
        module(x)
    return counter.get_total_flops()
