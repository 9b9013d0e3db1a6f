"""One node of a neural tree: what it computes of the samples that come to it."""

from __future__ import annotations

from collections.abc import Iterable, MutableSequence
from typing import cast

from torch import Tensor, nn

from structnet.neural_tree.primitives import Shape


class Node(nn.Module):
    """One node: the transformers on the edge above it, then its router or its solver.

    Attributes:
        shape: the shape of a sample after the transformers.
    """

    def __init__(self, shape: Shape):
        super().__init__()
        self.shape = tuple(shape)
        self.transformers = nn.Sequential()
        self.router: nn.Module | None = None
        self.solver: nn.Module | None = None

    @property
    def end(self) -> nn.Module:
        """The router, or the solver."""
        found = self.solver if self.router is None else self.router
        assert found is not None
        return found

    def logit(self, features: Tensor) -> Tensor:
        """The router's logit of going left. ``[n, *shape] -> [n]``."""
        return self.end(features).reshape(len(features))


def module_list(nodes: Iterable[Node]) -> MutableSequence[Node]:
    """Nodes as torch keeps modules; it does not know that all of them are nodes."""
    return cast("MutableSequence[Node]", nn.ModuleList(nodes))
