"""The interface of a label tree as a model tree (see :mod:`structnet.routing.protocol`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from structnet.checks import check_one_of
from structnet.label_tree._kernels import EMPTY
from structnet.routing.protocol import Facts, Visit
from structnet.routing.topology import Topology
from structnet.training.metrics import evaluating

if TYPE_CHECKING:
    from structnet.label_tree.softmax import TreeSoftmaxLoss

PATHS = ("multi", "greedy")


class Routed(nn.Module):
    """The methods of a :class:`.LabelTree` as a model tree; nodes are computed as they are read."""

    softmax: TreeSoftmaxLoss
    embedding: nn.Parameter | None
    shape: tuple[int, ...]

    if TYPE_CHECKING:

        def represent(self, x: Any) -> torch.Tensor: ...

        def predict_log_proba(self, x: Any) -> torch.Tensor: ...

    @property
    def topology(self) -> Topology:
        """The nodes, level by level."""
        return self.softmax.codes.numbering.topology

    @property
    def num_classes(self) -> int:
        """The number of labels."""
        return self.softmax.n_classes

    def visits(self, x: Any, path: str = "multi") -> Iterator[Visit]:
        """The nodes that samples ``[n, features]`` come to; see :meth:`.RoutedTree.visits`.

        Raises:
            ValueError: the path is unknown.
        """
        check_one_of("path", path, PATHS)
        with evaluating(self), torch.no_grad():
            r = self.represent(x)
        return self._visits(r, path)

    def _visits(self, r: torch.Tensor, path: str) -> Iterator[Visit]:
        topology = self.topology
        waiting = {0: np.ones(len(r))}
        for v in range(topology.num_nodes):
            arriving = waiting.pop(v, None)
            if arriving is None:
                continue
            branch = self._branch(v, r)
            yield Visit(v, arriving, branch)
            if branch is None:
                continue
            chosen = branch.argmax(1)
            for place, u in enumerate(topology.children_of(v)):
                going = chosen == place if path == "greedy" else branch[:, place]
                below = arriving * going
                if path == "multi" or below.any():
                    waiting[u] = below

    def _branch(self, node: int, r: torch.Tensor) -> np.ndarray | None:
        """The probabilities of a node's children, ``[n, children]``; None at a leaf."""
        inner = int(self.softmax.codes.numbering.inner[node])
        if inner < 0:
            return None
        softmax = self.softmax
        there = torch.from_numpy(softmax.codes.children[inner] != EMPTY)
        with torch.no_grad():
            logits = r @ softmax.weight[inner].T + softmax.bias[inner]
            return logits.double().cpu()[:, there].softmax(1).numpy()

    def predicted(self, x: Any) -> np.ndarray:
        """The log-probabilities of the labels. ``[n, features] -> [n, labels]``."""
        with evaluating(self), torch.no_grad():
            return self.predict_log_proba(x).cpu().numpy()

    def predicted_at(self, x: Any, leaf: int) -> np.ndarray:
        """The prediction of one leaf: its label is certain. ``[n, features] -> [n, labels]``."""
        log_p = np.full((x.shape[0], self.num_classes), -np.inf)
        log_p[:, self.softmax.codes.numbering.label[leaf]] = 0.0
        return log_p

    def facts(self, node: int) -> Facts:
        """What a node consists of."""
        numbering = self.softmax.codes.numbering
        if numbering.inner[node] < 0:
            return Facts("label", f"label {numbering.label[node]}", 0)
        children = len(numbering.topology.children_of(node))
        size = self.softmax.in_features + bool(self.softmax.bias.requires_grad)
        return Facts("softmax", f"softmax of {children}", children * size)

    def classes_at(self, leaf: int) -> list[int]:
        """The label of a leaf."""
        return [int(self.softmax.codes.numbering.label[leaf])]

    def flops(self, node: int) -> int:
        """The floating-point operations for one sample at a node; a multiply-add counts as 2."""
        children = len(self.topology.children_of(node))
        return 2 * children * self.softmax.in_features

    def plane(self, node: int, branch: int = 0, other: int = 1) -> tuple[np.ndarray, float] | None:
        """The weights ``[features]`` and the bias of the log-odds of a child against another.

        None for a leaf.
        """
        softmax = self.softmax
        inner = int(softmax.codes.numbering.inner[node])
        if inner < 0:
            return None
        one, two = np.flatnonzero(softmax.codes.children[inner] != EMPTY)[[branch, other]].tolist()
        with torch.no_grad():
            weight, bias = (
                each[inner, one] - each[inner, two] for each in (softmax.weight, softmax.bias)
            )
            if self.embedding is not None:
                weight = self.embedding @ weight
        return weight.double().cpu().numpy(), float(bias)

    def class_plane(self, label: int) -> tuple[np.ndarray, float] | None:
        """The weights ``[features]`` and the bias of the log-odds of a label against the mean of
        all others; None unless the tree is a single softmax."""
        softmax = self.softmax
        if softmax.codes.num_nodes > 1:
            return None
        there = torch.from_numpy(softmax.codes.children[0] != EMPTY)
        place = self.branch_classes(0).index(label)
        with torch.no_grad():
            weight, bias = (each[0][there].double() for each in (softmax.weight, softmax.bias))
            weight, bias = (
                (each[place] * len(each) - each.sum(0)) / (len(each) - 1) for each in (weight, bias)
            )
            if self.embedding is not None:
                weight = self.embedding.double() @ weight
        return weight.cpu().numpy(), float(bias)

    def branch_names(self, node: int) -> tuple[str, ...]:
        """The names of an inner node's branches: "child" and a number."""
        return tuple(f"child {place}" for place in range(len(self.topology.children_of(node))))

    def branch_classes(self, node: int) -> list[int | None]:
        """The label of each of an inner node's branches that is a leaf, else None."""
        numbering = self.softmax.codes.numbering
        labels = numbering.label[list(numbering.topology.children_of(node))].tolist()
        return [None if label < 0 else label for label in labels]
