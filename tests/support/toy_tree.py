"""The smallest model tree: hard, axis-aligned, of any arity, plain numpy and no module.

It knows of the library what a family must know: the protocol of :mod:`structnet.routing`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from structnet.routing.protocol import Facts, Visit
from structnet.routing.topology import Topology

# A root with three children, of which the middle one splits and the last has an only child.
MANY = [(1, 2, 3), (), (4, 5), (6,), (), (), ()]
TWELVE = [tuple(range(1, 13)), *[()] * 12]  # children of a root with twelve leaves


class ToyTree:
    """A node sends a sample on by one of its numbers: to the place of the interval it falls in.

    Args:
        children: each node's children.
        feature: the number that each inner node looks at.
        cuts: the ends of the intervals, ascending, one less than children; of a leaf, nothing.
        values: what each leaf predicts: the probability of each class, or means.
        shape: what one sample is.
        classes: whether it predicts classes.

    Attributes:
        blur: probability that is shared out among all branches of a node; 0 for a hard tree.
    """

    blur = 0.0

    def __init__(
        self,
        children: Sequence[Sequence[int]],
        feature: Sequence[int],
        cuts: Sequence[Sequence[float]],
        values: np.ndarray,
        shape: tuple[int, ...] = (2,),
        classes: bool = True,
    ):
        self.topology = Topology(children)
        self.feature, self.cuts, self.values, self.shape = feature, cuts, values, shape
        self.num_classes = values.shape[1] if classes else None

    def visits(self, x: object, path: str = "multi") -> Iterator[Visit]:
        x = np.asarray(x)
        if x.shape[1:] != self.shape:
            raise ValueError(f"x must be [n, {self.shape}]. Got {list(x.shape)}.")
        arriving = {0: np.ones(len(x))}
        for v in range(self.topology.num_nodes):
            if v not in arriving:
                continue
            here, branch, below = arriving.pop(v), None, self.topology.children_of(v)
            if below:
                column = x.reshape(len(x), -1)[:, self.feature[v]]
                taken = np.eye(len(below))[np.searchsorted(self.cuts[v], column, side="right")]
                branch = (1 - self.blur) * taken + self.blur / len(below)
                for place, child in enumerate(below):
                    comes = here * (branch if path == "multi" else taken)[:, place]
                    if path == "multi" or comes.any():
                        arriving[child] = comes
            yield Visit(v, here, branch)

    def predicted(self, x: object) -> np.ndarray:
        ends = [each for each in self.visits(x) if each.branch is None]
        return self._said(sum(each.arriving[:, None] * self.values[each.node] for each in ends))

    def predicted_at(self, x: object, leaf: int) -> np.ndarray:
        return self._said(np.tile(self.values[leaf], (len(x), 1)))

    def facts(self, node: int) -> Facts:
        cuts = self.cuts[node]
        if self.topology.inner[node]:
            words = f"number {self.feature[node]} cut at {list(map(float, cuts))}"
            return Facts("cut", words, len(cuts))
        return Facts("vote", "vote", self.values.shape[1])

    def flops(self, node: int) -> int:
        return len(self.cuts[node])

    def branch_names(self, node: int) -> list[str]:
        cuts = self.cuts[node]
        below = [f"< {cut:g}" for cut in cuts]
        return [*below, f">= {cuts[-1]:g}" if len(cuts) else "all"] if self._inner(node) else []

    def _inner(self, node: int) -> bool:
        return bool(self.topology.children_of(node))

    def _said(self, values: np.ndarray) -> np.ndarray:
        return values if self.num_classes is None else np.log(values)


def toy_tree(
    children: Sequence[Sequence[int]],
    seed: int = 0,
    outputs: int = 3,
    shape: tuple[int, ...] = (2,),
    classes: bool = True,
) -> ToyTree:
    """A tree of a shape that cuts standard normal samples at random."""
    rng = np.random.default_rng(seed)
    values = rng.random((len(children), outputs)) + 0.1
    return ToyTree(
        children,
        rng.integers(np.prod(shape), size=len(children)).tolist(),
        [np.sort(rng.normal(size=max(len(each) - 1, 0))).round(2) for each in children],
        values / values.sum(axis=1, keepdims=True) if classes else values,
        shape,
        classes,
    )


def toy_chain(inner: int) -> ToyTree:
    """A tree whose right children split; samples above 0 go all the way."""
    children = [(v + 1, v + 2) if v % 2 == 0 else () for v in range(2 * inner)] + [()]
    cuts = [np.zeros(1) if each else np.zeros(0) for each in children]
    return ToyTree(children, [0] * len(children), cuts, np.full((len(children), 2), 0.5))
