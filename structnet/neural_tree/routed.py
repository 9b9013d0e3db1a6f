"""The interface of all model trees, for neural trees (see :mod:`structnet.routing.protocol`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableSequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from structnet.neural_tree.clipped import units_of
from structnet.neural_tree.cost import count_flops, count_parameters
from structnet.neural_tree.likelihood import Categorical, GaussianMixture, Likelihood
from structnet.neural_tree.node import Node
from structnet.routing.formula import Formula
from structnet.routing.hard_path import follow
from structnet.routing.protocol import Facts, Visit
from structnet.routing.topology import Topology
from structnet.training.metrics import evaluating

Choose = Callable[[Tensor], Tensor]  # logits of a router [m] -> True for samples to the left [m]


class Routed(nn.Module):
    """The methods of a :class:`~structnet.neural_tree.tree.NeuralTree` as a model tree."""

    topology: Topology
    nodes: MutableSequence[Node]
    shape: tuple[int, ...]
    likelihood: Likelihood
    num_outputs: int

    # Defined by the tree.
    features: Callable[..., Iterator[tuple[int, Tensor]]]
    output: Callable[..., Tensor]
    apply_path: Callable[..., Tensor]
    num_transformers: Callable[[int], int]
    _check: Callable[[Tensor], None]

    @property
    def num_classes(self) -> int | None:
        """The number of classes; None if the tree predicts numbers."""
        return self.num_outputs if isinstance(self.likelihood, Categorical) else None

    @property
    def temperatures(self) -> tuple[float, float]:
        """Those of its :class:`.Categorical`, for all leaves and for one; else 1."""
        found = self.likelihood
        return (found.temperature, found.of_leaf) if isinstance(found, Categorical) else (1.0, 1.0)

    def temper(self, temperature: float = 1.0, of_leaf: float = 1.0) -> None:
        """Sets the temperatures of a tree that predicts classes; see :class:`.Categorical`."""
        if isinstance(self.likelihood, Categorical):
            self.likelihood = replace(self.likelihood, temperature=temperature, of_leaf=of_leaf)

    def visits(self, x: Any, path: str = "multi") -> Iterator[Visit]:
        """The visits of samples ``[n, *shape]`` to each node, see :meth:`.RoutedTree.visits`.

        Args:
            x: samples.
            path: any path of :meth:`.NeuralTree.output`.

        Raises:
            ValueError: the path is unknown, or the samples have another shape.
        """
        with evaluating(self):
            x = self._taken(x)
            if path == "multi":
                return iter(self._all_visits(x))
            if path in ("greedy", "stochastic"):
                return iter(self._hard_visits(x, path))
            # The other paths compare all leaves: the path follows from the leaf that is chosen.
            on_path = np.zeros((len(self.nodes), len(x)))
            on_path[self.apply_path(x, path).cpu(), np.arange(len(x))] = 1
            on_path = self.topology.sums_below(on_path)
            found = self._all_visits(x)
            return iter([each._replace(arriving=on_path[each.node]) for each in found])

    def _all_visits(self, x: Tensor) -> list[Visit]:
        arriving, found = {0: np.ones(len(x))}, []
        for v, features in self.features(x):
            here, branch = arriving.pop(v), None
            if self.nodes[v].router is not None:
                branch = _branch(self.nodes[v].logit(features))
                children = self.topology.children_of(v)
                arriving |= {u: here * branch[:, place] for place, u in enumerate(children)}
            found.append(Visit(v, here, branch))
        return found

    def _hard_visits(self, x: Tensor, path: str) -> list[Visit]:
        found, goes_left = [], choice(path)
        self._check(x)

        def step(v: int, rows: Tensor, features: Tensor) -> tuple[Tensor, Tensor | None]:
            node, arriving, branch, place = self.nodes[v], np.zeros(len(x)), None, None
            features = node.transformers(features)
            arriving[rows.cpu()] = 1
            if node.router is not None:
                logit, branch = node.logit(features), np.zeros((len(x), 2))
                branch[rows.cpu()] = _branch(logit)
                place = (~goes_left(logit)).long()  # 0 for the left
            found.append(Visit(v, arriving, branch))
            # For a leaf the rows, as the shapes of features differ between leaves.
            return (rows, None) if place is None else (features, place)

        follow(self.topology, x, step)
        return found

    def predicted(self, x: Any) -> np.ndarray:
        """The result of ``output`` as an array. ``[n, *shape] -> [n, classes or columns]``."""
        with evaluating(self):
            return _numbers(self.output(self._taken(x)))

    def predicted_at(self, x: Any, leaf: int) -> np.ndarray:
        """The prediction of one leaf alone. ``[n, *shape] -> [n, classes or columns]``."""
        with evaluating(self):
            features = self._taken(x)
            for v in self.topology.path(leaf):
                features = self.nodes[v].transformers(features)
            return _numbers(self.likelihood.single(self.nodes[leaf].end(features)))

    def facts(self, node: int) -> Facts:
        """What a node consists of."""
        here = self.nodes[node]
        kind, count = "solver" if here.router is None else "router", len(here.transformers)
        words = f"{count} transformer{'s' * (count != 1)}, " * bool(count) + kind
        return Facts(kind, words, count_parameters(here), count, here.shape)

    def flops(self, node: int) -> int:
        """The FLOPs of one sample in a node's transformers and its router or solver."""
        here, above = self.nodes[node], self.topology.parent[node]
        like = next(self.parameters(), torch.zeros(()))  # for the tree's device and dtype
        shape = self.nodes[above].shape if node else self.shape
        parts = (here.transformers, shape), (here.end, here.shape)
        return sum(count_flops(part, like.new_zeros((1, *size))) for part, size in parts)

    def branch_names(self, node: int) -> tuple[str, ...]:
        """The names of a router's two sides; none for a solver."""
        return () if self.nodes[node].router is None else ("left", "right")

    def plane(self, node: int, branch: int = 0, other: int = 1) -> tuple[np.ndarray, float] | None:
        """The weights w ``[columns]`` and the bias b of a linear router of untransformed samples.

        ``w.x + b`` is the log-odds of a branch, by default the left one, against the other. None
        for all other nodes.
        """
        router = self.nodes[node].router
        if not isinstance(router, nn.Linear) or self.num_transformers(node):
            return None
        bias = 0.0 if router.bias is None else float(router.bias.detach()[0])
        weight = _double(router.weight)[0]
        return (weight, bias) if branch < other else (-weight, -bias)

    def formula(self, node: int) -> Formula | None:
        """What a node computes of a row, as a sum over columns and units; None for most modules.

        A node has a formula if it is linear in the columns (an inner node of this kind has a
        ``plane`` instead), or in the units of a single layer with ceilings above it.
        """
        nodes = list(self.nodes)
        end, inner = nodes[node].end, nodes[node].router is not None
        if type(end) is not nn.Linear or len(self.shape) > 1:
            return None
        above = [part for v in self.topology.path(node) for part in nodes[v].transformers]
        if len(above) > 1 or inner > len(above):
            return None
        effect = _double(end.weight).T
        start = np.zeros(end.out_features) if end.bias is None else _double(end.bias)
        if isinstance(self.likelihood, GaussianMixture) and not inner:
            means = len(start) // 2  # the others are deviations
            start, effect = start[:means], effect[:, :means]
        if not inner:
            start, effect = start / self.temperatures[1], effect / self.temperatures[1]
        if not above:
            return Formula.linear(start, effect)
        layer = units_of(above[0])
        if layer is None:
            return None
        straight = np.zeros((layer[0].shape[1], len(start)))
        return Formula(start, straight, *layer, effect)

    def _taken(self, x: Any) -> Tensor:
        """Samples as a tensor on the tree's device; an array is cast to the tree's precision."""
        like = next(self.parameters(), None)  # a user's modules may have no parameters
        if like is None:
            return torch.as_tensor(x)
        x = x if isinstance(x, Tensor) else torch.as_tensor(x, dtype=like.dtype)
        return x.to(like.device)


def choice(path: str, generator: torch.Generator | None = None) -> Choose:
    """The function that chooses sides on a path: router logits ``[m]`` -> bool ``[m]``.

    Args:
        path: "greedy", or "stochastic" for sides drawn at random.
        generator: generator for the latter; by default torch's global one.
    """
    if path == "greedy":
        return lambda logit: logit >= 0

    def draw(logit: Tensor) -> Tensor:
        drawn = torch.rand(logit.shape, generator=generator, device=logit.device, dtype=logit.dtype)
        return drawn < logit.sigmoid()

    return draw


def _numbers(x: Tensor) -> np.ndarray:
    """Numbers as an array, in float32 where numpy does not know their precision, ``[...]``."""
    return (x.float() if x.dtype == torch.bfloat16 else x).cpu().numpy()


def _double(x: Tensor) -> np.ndarray:
    """Parameters as an array, ``[...]``, float64."""
    return x.detach().double().cpu().numpy()


def _branch(logit: Tensor) -> np.ndarray:
    """The probabilities of both sides. ``[n] -> [n, 2]``."""
    # 1 - p would lose the digits of a small probability.
    logit = logit.double().cpu()
    return torch.stack([logit.sigmoid(), (-logit).sigmoid()], dim=1).numpy()
