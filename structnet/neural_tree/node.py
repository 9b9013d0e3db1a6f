"""The nodes of a neural tree, and the log-probabilities of the paths to its leaves."""

from __future__ import annotations

from collections.abc import Iterable, MutableSequence, Sequence
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import linear, logsigmoid

from structnet.neural_tree.primitives import Shape
from structnet.routing.path_log_prob import leaf_log_prob
from structnet.routing.topology import Topology
from structnet.training.modules import is_plain


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


def run_all(modules: Sequence[nn.Module], features: Tensor) -> Sequence[Tensor]:
    """The output of each module for the same features; three or more linear maps run as one.

    With small modules, most of the time goes into starting operations, forward and backward.

    Shapes:
        features ``[n, *shape]`` -> each ``[n, outputs of the module]``.
    """
    if len(modules) < 3 or not all(map(_is_a_map, modules)):
        return [module(features) for module in modules]
    maps = cast("Sequence[nn.Linear]", modules)
    weight, bias = torch.cat([m.weight for m in maps]), torch.cat([m.bias for m in maps])
    return linear(features, weight, bias).split([m.out_features for m in maps], dim=-1)


def _is_a_map(module: nn.Module) -> bool:
    return is_plain(module, nn.Linear) and module.bias is not None


def module_list(nodes: Iterable[Node]) -> MutableSequence[Node]:
    """A ``ModuleList`` of nodes, typed as a sequence of nodes."""
    return cast("MutableSequence[Node]", nn.ModuleList(nodes))


def leaf_paths(topology: Topology, logits: Sequence[Tensor], root: Tensor) -> Tensor:
    """The log-probability of each leaf, with leaves in ascending order.

    Args:
        topology: topology of the tree.
        logits: logits of the routers, in the order of their nodes.
        root: log-probability of the root.

    Shapes:
        logits and root ``[n]`` -> ``[n, leaves]``.
    """
    branches = root.unsqueeze(1)
    if logits:  # all at once, as a single node is too little work for an operation
        logit = torch.stack([*logits], dim=1)
        sides = logsigmoid(torch.stack([logit, -logit], dim=2)).flatten(1)  # as topology.children
        order = torch.from_numpy(np.argsort(topology.children)).to(root.device)
        branches = torch.cat([branches, sides.index_select(1, order)], dim=1)
    return leaf_log_prob(topology, branches)
