"""How probable each node and each leaf is: the product of the branches on the way, in log space."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from structnet.routing.topology import Topology, as_topology

if TYPE_CHECKING:
    from dgl import DGLGraph


def leaf_log_prob(tree: Topology | DGLGraph, branch_log_prob: Tensor) -> Tensor:
    """The log-probability of each leaf: the sum of those of the branches on the way to it.

    ``log pi_l(x) = sum of log b_v(x) over the nodes v from the root to the leaf l``

    Every node's way is doubled until it ends at the root, so that a tree of depth D takes
    ``log2 D`` additions and no node waits for the one above it.

    Args:
        tree: the model's tree.
        branch_log_prob: the log-probability of going to each node once its parent is reached; 0
            for the root and for an only child.

    Shapes:
        branch_log_prob ``[..., num_nodes]`` -> ``[..., num_leaves]``, the leaves in ascending
        order.

    Raises:
        ValueError: there is not one branch a node.

    Reference:
        Tanno et al., Adaptive Neural Trees, ICML 2019, Eq. (2), in log space.

    Example:
        >>> split = torch.tensor([[1.0, 0.25, 0.75, 0.5, 0.5]]).log()
        >>> leaf_log_prob(Topology([(1, 2), (), (3, 4), (), ()]), split).exp()
        tensor([[0.2500, 0.3750, 0.3750]])
    """
    topology = as_topology(tree)
    leaves = torch.from_numpy(topology.leaves).to(branch_log_prob.device)
    return node_log_prob(topology, branch_log_prob).index_select(-1, leaves)


def node_log_prob(tree: Topology | DGLGraph, branch_log_prob: Tensor) -> Tensor:
    """The log-probability of each node to be reached; see :func:`leaf_log_prob`.

    Shapes:
        ``[..., num_nodes]`` -> ``[..., num_nodes]``.
    """
    topology = as_topology(tree)
    if branch_log_prob.dim() == 0 or branch_log_prob.shape[-1] != topology.num_nodes:
        raise ValueError(
            f"branch_log_prob must be [..., {topology.num_nodes}], one number a node. Got "
            f"{list(branch_log_prob.shape)}."
        )
    way = torch.nn.functional.pad(branch_log_prob, (0, 1))  # nothing is added above the root
    for up in topology.jumps(way.device):
        way = way + way.index_select(-1, up)  # several times faster than indexing by the tensor
    return way[..., :-1]
