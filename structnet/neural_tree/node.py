"""The nodes of a neural tree, and the log-probabilities of the paths to its leaves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableSequence, Sequence
from types import MappingProxyType
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import linear, logsigmoid

from structnet.neural_tree.joined import Joined
from structnet.neural_tree.primitives import Shape
from structnet.routing.path_log_prob import leaf_log_prob
from structnet.routing.topology import Topology
from structnet.training.modules import is_plain

FEW = 128  # leaves of a tree whose paths are a product of matrices
LEAST = -1e30  # least log-probability of a side
NOTHING: Mapping[int, Joined] = MappingProxyType({})


class Node(nn.Module):
    """One node: the transformers on the edge above it, then its router or its solver.

    Attributes:
        shape: shape of one sample after the transformers.
    """

    def __init__(self, shape: Shape):
        super().__init__()
        self.shape = tuple(shape)
        self.transformers = nn.Sequential()
        self.router: nn.Module | None = None
        self.solver: nn.Module | None = None

    @property
    def end(self) -> nn.Module:
        """The router of an inner node, or the solver of a leaf."""
        found = self.solver if self.router is None else self.router
        assert found is not None
        return found

    def logit(self, features: Tensor) -> Tensor:
        """The router's logit for going left. ``[n, *shape] -> [n]``."""
        return self.end(features).reshape(len(features))


def run_all(
    modules: Sequence[nn.Module], features: Tensor, joined: Mapping[int, Joined] = NOTHING
) -> Sequence[Tensor]:
    """The output of each module for the same features; three or more linear maps run as one.

    With small modules, most of the time goes into starting operations, forward and backward.

    Args:
        modules: modules.
        features: vectors or other features that they all get.
        joined: see :class:`.Joined`.

    Shapes:
        features ``[n, *shape]`` -> each ``[n, outputs of the module]``.
    """
    if (one := joined.get(id(modules[0]))) is not None:
        return one(features).split(one.sizes, dim=-1)
    if len(modules) < 3 or not all(map(is_a_map, modules)):
        return [module(features) for module in modules]
    maps = cast("Sequence[nn.Linear]", modules)
    weight, bias = torch.cat([m.weight for m in maps]), torch.cat([m.bias for m in maps])
    return linear(features, weight, bias).split([m.out_features for m in maps], dim=-1)


def run_ends(
    topology: Topology,
    ends: Sequence[nn.Module],
    features: Tensor,
    joined: Mapping[int, Joined] = NOTHING,
) -> tuple[Tensor, Tensor]:
    """The logits of routers and the outputs of solvers, all of which get the same features.

    Args:
        topology: topology of their tree.
        ends: routers, then solvers, both in the order of the nodes.
        features: vectors or other features that they all get.
        joined: see :func:`run_all`.

    Shapes:
        features ``[n, *shape]`` -> ``[n, routers]`` and ``[n, leaves, outputs]``.
    """
    leaves = len(topology.leaves)
    routers = topology.num_nodes - leaves
    if (one := joined.get(id(ends[0]))) is not None:
        found = one(features)
        return found[:, :routers], found[:, routers:].unflatten(1, (leaves, -1))
    return _stacked(run_all(ends, features), routers)


def _stacked(outputs: Sequence[Tensor], routers: int) -> tuple[Tensor, Tensor]:
    """The outputs of routers, then of solvers, as in :func:`run_ends`."""
    logits = [each.reshape(len(each)) for each in outputs[:routers]]
    of_leaves = torch.stack([*outputs[routers:]], dim=1)
    if not logits:
        return of_leaves.new_zeros((len(of_leaves), 0)), of_leaves
    return torch.stack(logits, dim=1), of_leaves


def run_nodes(
    topology: Topology,
    nodes: Sequence[Node],
    arriving: Iterable[tuple[int, Tensor]],
    keep: dict[int, Tensor] | None,
    joined: Mapping[int, Joined],
) -> tuple[Tensor, Tensor]:
    """The logits of all routers and the outputs of all solvers of a tree.

    Args:
        topology, nodes: topology of the tree, and its nodes.
        arriving: each node with the samples as they arrive at its router or solver.
        keep: dictionary whose keys are nodes; its values are set to these samples.
        joined: see :func:`run_all`.

    Shapes:
        samples ``[n, *shape]`` -> ``[n, routers]`` and ``[n, leaves, outputs]``.
    """
    found: dict[int, Tensor] = {}
    transformed = _transformed(topology, nodes)
    together: dict[int, tuple[Tensor, list[int]]] = {}  # nodes that get the same vectors
    for v, features in arriving:
        if keep is not None and v in keep:
            keep[v] = features
        if features.dim() == 2:
            together.setdefault(transformed[v], (features, []))[1].append(v)
        else:  # a map is too large to be kept until the others are there
            found[v] = nodes[v].end(features)
    order = _routers_first(topology)
    for features, some in together.values():
        if len(some) == len(nodes):
            return run_ends(topology, [nodes[v].end for v in order], features, joined)
        ends = [nodes[v].end for v in some]
        found |= zip(some, run_all(ends, features, joined), strict=True)
    return _stacked([found[v] for v in order], len(order) - len(topology.leaves))


def alike(topology: Topology, nodes: Sequence[Node]) -> list[list[nn.Module]]:
    """The routers and solvers that are linear maps of the same samples, in lists.

    Each list is in the order in which :func:`run_nodes` runs them.
    """
    lists: dict[int, list[int]] = {}
    for v, at in enumerate(_transformed(topology, nodes)):
        lists.setdefault(at, []).append(v)
    if len(lists) == 1:
        lists = {0: _routers_first(topology)}
    ends = [[nodes[v].end for v in some] for some in lists.values()]
    return [some for some in ends if all(map(is_a_map, some))]


def _transformed(topology: Topology, nodes: Sequence[Node]) -> list[int]:
    """For each node the one, itself or above, whose transformers its samples passed last.

    Nodes of which it is the same get the same samples. Tensors do not tell that, as a transformer
    may return the one that it got, such as dropout in evaluation.
    """
    found: list[int] = []
    for v, (node, parent) in enumerate(zip(nodes, topology.parent.tolist(), strict=True)):
        found.append(v if v == 0 or len(node.transformers) else found[parent])
    return found


def _routers_first(topology: Topology) -> list[int]:
    """The nodes with routers, then those with solvers."""
    return [*np.flatnonzero(topology.inner).tolist(), *topology.leaves.tolist()]


def is_a_map(module: nn.Module) -> bool:
    """True for a linear map with a bias, of which nothing but its weights need be known."""
    return is_plain(module, nn.Linear) and module.bias is not None


def module_list(nodes: Iterable[Node]) -> MutableSequence[Node]:
    """A ``ModuleList`` of nodes, typed as a sequence of nodes."""
    return cast("MutableSequence[Node]", nn.ModuleList(nodes))


def leaf_paths(
    topology: Topology, logits: Tensor, root: Tensor, in_training: bool = False
) -> Tensor:
    """The log-probability of each leaf, with leaves in ascending order.

    Args:
        topology: topology of the tree.
        logits: logits of the routers, in the order of their nodes.
        root: log-probability of the root.
        in_training: sum over the paths of a small tree by a product of matrices, which takes half
            the time, as a single node is too little work for an operation.

    Shapes:
        logits ``[n, routers]``, root ``[n]`` -> ``[n, leaves]``.
    """
    root = root.unsqueeze(1)
    if topology.num_nodes == 1:
        return root
    sides = logsigmoid(torch.cat([logits, -logits], dim=1))  # all left ones, then all right ones
    if in_training and len(topology.leaves) <= FEW:
        # Finite, as the product has 0 times the sides that are on other paths.
        return torch.addmm(root.to(sides), sides.clamp(min=LEAST), topology.sides(sides))
    children = np.concatenate([topology.children[::2], topology.children[1::2]])
    order = torch.from_numpy(children.argsort()).to(root.device)
    return leaf_log_prob(topology, torch.cat([root, sides.index_select(1, order)], dim=1))
