"""What a neural tree costs: parameters and floating-point operations, node by node.

One multiply-add is 2 FLOPs. Counted are matrix products and convolutions; element-wise functions,
pooling and biases are not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from structnet.neural_tree.tree import NeuralTree
from structnet.training.metrics import evaluating


class Cost(NamedTuple):
    """Parameters, and FLOPs for one sample, of each node or path.

    Shapes:
        both ``[n]``, int64.
    """

    parameters: np.ndarray
    flops: np.ndarray


def count_parameters(module: nn.Module) -> int:
    """The numbers that a module learns; one that it uses in two places counts once.

    Example:
        >>> count_parameters(nn.Linear(784, 10))
        7850
    """
    return sum(parameter.numel() for parameter in module.parameters())


def count_flops(module: nn.Module, x: Tensor) -> int:
    """The FLOPs of one run of a module in evaluation mode, 2 a multiply-add.

    Args:
        module: anything that is called with one tensor.
        x: what it is called with; the FLOPs are those of the whole batch.

    Example:
        >>> count_flops(nn.Linear(784, 10), torch.zeros(3, 784))  # 3 x 784 x 10 multiply-adds
        47040
    """
    # Loading the counter takes longer than loading the library.
    from torch.utils.flop_counter import FlopCounterMode

    with evaluating(module), FlopCounterMode(display=False) as counter:
        module(x)
    return counter.get_total_flops()


def node_cost(tree: NeuralTree) -> Cost:
    """What each node costs: its transformers and its router or solver.

    Example:
        >>> from structnet.neural_tree import presets
        >>> tree = NeuralTree(presets.mlp(num_outputs=3, width=8), shape=(4,))
        >>> node_cost(tree)  # 4 x 8 and 8 x 3 weights and their biases
        Cost(parameters=array([67]), flops=array([112]))
    """
    like = next(tree.parameters(), torch.zeros(()))  # of the device and dtype of the tree
    flops, shapes = [], [tree.shape, *(tree.nodes[v].shape for v in tree.topology.parent[1:])]
    for node, shape in zip(tree.nodes, shapes, strict=True):
        end = node.solver if node.router is None else node.router
        parts = (node.transformers, shape), (end, node.shape)
        flops.append(sum(count_flops(part, like.new_zeros((1, *size))) for part, size in parts))
    return Cost(np.array([count_parameters(node) for node in tree.nodes]), np.array(flops))


def path_cost(tree: NeuralTree, nodes: Cost) -> Cost:
    """What it costs to go from the root to each node, both included.

    Args:
        tree: the tree.
        nodes: what each of its nodes costs.
    """
    paths = Cost(*(numbers.copy() for numbers in nodes))
    for numbers in paths:
        for v, parent in enumerate(tree.topology.parent[1:], start=1):
            numbers[v] += numbers[parent]
    return paths
