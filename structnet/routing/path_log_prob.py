"""How probable each node and each leaf is: the product of the branches on the way, in log space."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from structnet.routing import dgl_backend
from structnet.routing.hard_path import is_dgl
from structnet.routing.topology import NONE, Topology, as_topology

if TYPE_CHECKING:
    from dgl import DGLGraph


def leaf_log_prob(
    tree: Topology | DGLGraph, branch_log_prob: Tensor, backend: str = "arrays"
) -> Tensor:
    """The log-probability of each leaf: the sum of those of the branches on the way to it.

    ``log pi_l(x) = sum of log b_v(x) over the nodes v from the root to the leaf l``

    Every node's way is doubled until it ends at the root, so that a tree of depth D takes
    ``log2 D`` additions and no node waits for the one above it.

    Args:
        branch_log_prob: the log-probability of going to each node once its parent is reached; 0
            for the root and for an only child.
        backend: "arrays", or "dgl" for the reference, DGL's own message passing.

    Shapes:
        branch_log_prob ``[..., num_nodes]`` -> ``[..., num_leaves]``, the leaves in ascending
        order.

    Raises:
        ValueError: there is not one branch a node, or an unknown backend.

    Reference:
        Tanno et al., Adaptive Neural Trees, ICML 2019, Eq. (2), in log space.

    Example:
        >>> split = torch.tensor([[1.0, 0.25, 0.75, 0.5, 0.5]]).log()
        >>> leaf_log_prob(Topology([(1, 2), (), (3, 4), (), ()]), split).exp()
        tensor([[0.2500, 0.3750, 0.3750]])
    """
    topology = as_topology(tree)
    leaves = torch.from_numpy(topology.leaves).to(branch_log_prob.device)
    return node_log_prob(topology, branch_log_prob, backend).index_select(-1, leaves)


def node_log_prob(
    tree: Topology | DGLGraph, branch_log_prob: Tensor, backend: str = "arrays"
) -> Tensor:
    """The log-probability of each node to be reached; see :func:`leaf_log_prob`.

    Args:
        tree, branch_log_prob, backend: the same as there.

    Shapes:
        ``[..., num_nodes]`` -> ``[..., num_nodes]``.

    Raises:
        ValueError: there is not one branch a node, or an unknown backend.
    """
    topology = _checked(tree, branch_log_prob)
    if is_dgl(backend):
        return dgl_backend.node_log_prob(topology, branch_log_prob)
    way = torch.nn.functional.pad(branch_log_prob, (0, 1))  # nothing is added above the root
    for up in topology.jumps(way.device):
        way = way + way.index_select(-1, up)  # several times faster than indexing by the tensor
    return way[..., :-1]


def log_prob_at(
    tree: Topology | DGLGraph, branch_log_prob: Tensor, node: Tensor, backend: str = "arrays"
) -> Tensor:
    """The log-probability of one node a sample, such as its label's leaf: the sum along its path.

    Only the branches on the samples' own paths are read, so that the others get no gradient.

    Args:
        tree, branch_log_prob, backend: the same as for :func:`leaf_log_prob`.

    Shapes:
        branch_log_prob ``[n, num_nodes]``; node ``[n]``, int64 -> ``[n]``.

    Raises:
        ValueError: there is not one branch a node, not one node a sample, a node that does not
            exist, or an unknown backend.

    Example:
        >>> split = torch.tensor([[1.0, 0.25, 0.75, 0.5, 0.5]]).log()
        >>> log_prob_at(Topology([(1, 2), (), (3, 4), (), ()]), split, torch.tensor([4])).exp()
        tensor([0.3750])
    """
    topology = _checked(tree, branch_log_prob)
    fits = branch_log_prob.dim() == 2 and node.shape == branch_log_prob.shape[:1]
    if not fits or node.is_floating_point():
        raise ValueError(
            "log_prob_at needs branch_log_prob [n, num_nodes] and node [n] of int64. Got "
            f"{list(branch_log_prob.shape)} and {list(node.shape)} of {node.dtype}."
        )
    outside = (node < 0) | (node >= topology.num_nodes)
    if outside.any():
        raise ValueError(
            f"there is no node {int(node[outside][0])}; expected one of 0 to "
            f"{topology.num_nodes - 1}"
        )
    if is_dgl(backend):
        return dgl_backend.log_prob_at(topology, branch_log_prob, node)
    above = topology.num_nodes  # one more node, above the root: it adds nothing
    parent = torch.from_numpy(np.append(topology.parent, NONE) % (above + 1)).to(node.device)
    path = [node]
    for _ in range(int(topology.depth[node.cpu()].max(initial=0))):
        path.append(parent[path[-1]])
    way = torch.nn.functional.pad(branch_log_prob, (0, 1))
    return way.gather(1, torch.stack(path, dim=1)).sum(1)


def _checked(tree: Topology | DGLGraph, branch_log_prob: Tensor) -> Topology:
    topology = as_topology(tree)
    if branch_log_prob.dim() == 0 or branch_log_prob.shape[-1] != topology.num_nodes:
        raise ValueError(
            f"branch_log_prob must be [..., {topology.num_nodes}], one number a node. Got "
            f"{list(branch_log_prob.shape)}."
        )
    return topology
