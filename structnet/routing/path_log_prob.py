"""Log-probabilities of nodes and leaves: sums of the branches' along the path from the root."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from structnet.checks import check_one_of
from structnet.routing import dgl_backend
from structnet.routing.topology import Topology, as_topology

if TYPE_CHECKING:
    from dgl import DGLGraph


def leaf_log_prob(
    tree: Topology | DGLGraph, branch_log_prob: Tensor, backend: str = "arrays"
) -> Tensor:
    """The log-probability of each leaf: the sum over the branches on the path to it.

    ``log pi_l(x) = sum of log b_v(x) over the nodes v from the root to the leaf l``

    Sums over partial paths are doubled in length until they reach the root, so that a tree of depth
    D takes about ``log2 D`` vectorized additions.

    Args:
        tree: topology, or DGL graph of the schema.
        branch_log_prob: log-probability of going on to each node from its parent; 0 for the root
            and for an only child.
        backend: "arrays", or "dgl" for the reference, DGL's own message passing.

    Shapes:
        branch_log_prob ``[..., num_nodes]`` -> ``[..., num_leaves]``, the leaves in ascending
        order.

    Raises:
        ValueError: there is not one number for each node, or the backend is unknown.

    Reference:
        Tanno et al., "Adaptive Neural Trees", ICML 2019, Eq. (2), in log space.

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
    """The log-probability of reaching each node; see :func:`leaf_log_prob`.

    Args:
        tree, branch_log_prob, backend: arguments of :func:`leaf_log_prob`.

    Shapes:
        ``[..., num_nodes]`` -> ``[..., num_nodes]``.

    Raises:
        ValueError: there is not one number for each node, or the backend is unknown.
    """
    topology = _checked(tree, branch_log_prob)
    check_one_of("backend", backend, ("arrays", "dgl"))
    if backend == "dgl":
        return dgl_backend.node_log_prob(topology, branch_log_prob)
    way = torch.nn.functional.pad(branch_log_prob, (0, 1))  # a 0 above the root
    for up in topology.jumps(way.device):
        way = way + way.index_select(-1, up)  # several times faster than indexing by the tensor
    return way[..., :-1]


def _checked(tree: Topology | DGLGraph, branch_log_prob: Tensor) -> Topology:
    topology = as_topology(tree)
    if branch_log_prob.dim() == 0 or branch_log_prob.shape[-1] != topology.num_nodes:
        raise ValueError(
            f"branch_log_prob must be [..., {topology.num_nodes}], one number for each node. Got "
            f"{list(branch_log_prob.shape)}."
        )
    return topology
