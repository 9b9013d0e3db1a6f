"""One way to grow a leaf, trained while the rest of the tree is frozen.

As the modules above are frozen, a sample can be replaced by its features at the leaf, the
log-probability of reaching the leaf, and the total of all other leaves. These are computed once,
unless they are random.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from structnet.neural_tree.joined import Joined
from structnet.neural_tree.node import NOTHING, is_a_map, leaf_paths, run_ends
from structnet.neural_tree.tree import NeuralTree
from structnet.routing.samples import Samples, weighted_mean
from structnet.routing.topology import Topology
from structnet.training.metrics import batch_starts, batches_from, evaluating, most_at_once
from structnet.training.modules import device_of

PROBE = 32  # samples by which a random frozen part is recognised


@dataclass(frozen=True)
class AtLeaf:
    """Samples as they arrive at one leaf of a frozen tree.

    Args:
        features: samples after the transformers on the path.
        log_prob: log-probability of reaching the leaf.
        rest: total of the other leaves, see :meth:`.Likelihood.join`; None if there are none.
        targets, weights: parts of the :class:`.Samples`.

    Shapes:
        features ``[n, *shape of the leaf]``; log_prob ``[n]``; rest ``[n, ...]``.
    """

    features: Tensor
    log_prob: Tensor
    rest: Tensor | None
    targets: Tensor
    weights: Tensor | None

    def __len__(self) -> int:
        return len(self.features)

    def __getitem__(self, indices: np.ndarray) -> AtLeaf:
        places = torch.from_numpy(indices)
        return self._with_each(lambda part: part.index_select(0, places))

    def to(self, device: str | torch.device) -> AtLeaf:
        """The samples on a device."""
        return self._with_each(lambda part: part.to(device))

    def _with_each(self, change: Callable[[Tensor], Tensor]) -> AtLeaf:
        parts: Any = (part if part is None else change(part) for part in vars(self).values())
        return AtLeaf(*parts)  # `replace` would look at all fields at every step

    @property
    def parts(self) -> list[Tensor]:
        """The tensors, without those that are None."""
        return [part for part in vars(self).values() if part is not None]

    @property
    def nbytes(self) -> int:
        """The size of the tensors in bytes."""
        return sum(part.nbytes for part in self.parts)

    def mean(self, losses: Tensor) -> Tensor:
        """The mean of the losses times the samples' weights. ``[n] -> []``."""
        return weighted_mean(losses, self.weights)


def at_leaf(tree: NeuralTree, leaf: int, batch: Samples) -> AtLeaf:
    """A batch as it arrives at a leaf, with the tree in evaluation mode and without gradients."""
    keep = {leaf: batch.x}
    with evaluating(tree):
        log_prob, outputs = tree(batch.x, keep)
        place = int(np.searchsorted(tree.topology.leaves, leaf))
        others = [i for i in range(tree.num_leaves) if i != place]
        rest = None
        if others:
            terms = tree.likelihood.term(log_prob[:, others], outputs[:, others], batch.targets)
            rest = tree.likelihood.join(terms)
    return AtLeaf(keep[leaf], log_prob[:, place], rest, batch.targets, batch.weights)


def cached(
    tree: NeuralTree,
    leaf: int,
    samples: Samples,
    *,
    batch_size: int,
    max_bytes: float,
) -> AtLeaf | None:
    """All samples as they arrive at a leaf, on the CPU.

    None if that would take more than ``max_bytes``, or if it is random because samples are
    augmented or a module draws random numbers even in evaluation mode.
    """
    if samples.augment is not None or not max_bytes:
        return None
    places, device = np.arange(min(PROBE, len(samples))), device_of(tree)
    probes = (samples[places].to(device) for _ in range(2))  # twice, as a Dataset may augment
    once, again = (at_leaf(tree, leaf, probe).to("cpu") for probe in probes)
    if not _equal(once, again) or once.nbytes / len(places) * len(samples) > max_bytes:
        return None
    # Batches are written into place: to join them at the end would take twice the memory.
    whole = once._with_each(lambda part: part.new_empty((len(samples), *part.shape[1:])))
    size = most_at_once(samples, batch_size)
    starts = batch_starts(samples, size)
    for start, batch in zip(starts, batches_from(samples, starts, size, device), strict=True):
        found = at_leaf(tree, leaf, batch)
        for part, of_batch in zip(whole.parts, found.parts, strict=True):
            part[start : start + size] = of_batch
    return whole


def cached_each(
    tree: NeuralTree, leaf: int, parts: Sequence[Samples], *, max_bytes: float, **how: Any
) -> list[Samples | AtLeaf]:
    """Several sets of samples, each replaced by its cache while there is memory for it.

    Args:
        tree, leaf, how: arguments of :func:`cached`.
        parts: samples; those that need a cache most come first.
        max_bytes: largest size of all caches together, in bytes.
    """
    data: list[Samples | AtLeaf] = []
    for samples in parts:
        found = cached(tree, leaf, samples, max_bytes=max_bytes, **how)
        max_bytes -= 0 if found is None else found.nbytes
        data.append(samples if found is None else found)
    return data


def _equal(a: AtLeaf, b: AtLeaf) -> bool:
    return all(torch.allclose(x, y, equal_nan=True) for x, y in zip(a.parts, b.parts, strict=True))


class Candidate(nn.Module):
    """New modules for one leaf; the loss is that of the whole tree with them in place.

    The loss on :class:`.Samples` and on the same samples as :class:`AtLeaf` is the same.

    Args:
        tree: frozen tree, which is not part of this module.
        leaf: node of the leaf.
        modules: modules from the tree's ``new_split`` or ``new_deepening``.
        steps: True if it begins as steps: regions without slopes, or a sum of thresholds.
    """

    joined: Mapping[int, Joined] = NOTHING  # while it is trained, see :class:`.Joined`

    def __init__(
        self, tree: NeuralTree, leaf: int, modules: Sequence[nn.Module], steps: bool = False
    ):
        super().__init__()
        self.steps = steps
        self._tree = (tree,)  # in a tuple, so that torch does not register its parameters
        self.leaf = leaf
        self.parts = nn.ModuleList(modules)

    @property
    def tree(self) -> NeuralTree:
        """The frozen tree."""
        return self._tree[0]

    def loss(self, batch: Samples | AtLeaf) -> Tensor:
        """The mean loss of the grown tree, ``[]``."""
        return batch.mean(self.losses(batch))

    def losses(self, batch: Samples | AtLeaf) -> Tensor:
        """The loss of each sample in the grown tree, ``[n]``."""
        likelihood, batch = self.tree.likelihood, self._arrived(batch)
        terms = likelihood.term(*self.new_leaves(batch), batch.targets)
        if batch.rest is not None:
            terms = torch.cat([batch.rest.unsqueeze(1), terms], dim=1)
        return likelihood.losses(likelihood.join(terms), batch.targets)

    def shares(self, batch: Samples | AtLeaf) -> Tensor:
        """The probability of each sample to reach each new leaf, ``[n, new leaves]``."""
        return self.new_leaves(self._arrived(batch))[0].exp()

    def _arrived(self, batch: Samples | AtLeaf) -> AtLeaf:
        return at_leaf(self.tree, self.leaf, batch) if isinstance(batch, Samples) else batch

    def alike(self) -> list[list[nn.Module]]:
        """Linear maps that get the same samples, in lists."""
        return []

    @property
    def solvers(self) -> list[nn.Module]:
        """The solvers of the new leaves."""
        raise NotImplementedError

    def put(self) -> list[int]:
        """Puts the modules into the tree, and returns the nodes of the new leaves."""
        raise NotImplementedError

    def new_leaves(self, batch: AtLeaf) -> tuple[Tensor, Tensor]:
        """The log-probabilities ``[n, new leaves]`` and outputs ``[n, new leaves, outputs]``."""
        raise NotImplementedError


class Split(Candidate):
    """Routers and solvers in place of a solver: one split, or several at once.

    Args:
        tree, leaf: arguments of a :class:`Candidate`.
        modules: router or solver of each node of a small tree.
        topology: topology of that tree; by default a router with two solvers.
        steps: True if its routers begin with hard borders, between regions without slopes.
        transformer: transformer of the samples before they reach the routers; None for none.
    """

    def __init__(
        self,
        tree: NeuralTree,
        leaf: int,
        modules: Sequence[nn.Module],
        topology: Topology | None = None,
        steps: bool = False,
        transformer: nn.Module | None = None,
    ):
        super().__init__(tree, leaf, modules, steps)
        self.transformer = transformer
        self.topology = Topology([(1, 2), (), ()]) if topology is None else topology
        self._ends = (*(modules[v] for v in self._inner), *self.solvers)

    @property
    def solvers(self) -> list[nn.Module]:
        return [self.parts[v] for v in self.topology.leaves.tolist()]

    @property
    def _inner(self) -> list[int]:
        return np.flatnonzero(self.topology.inner).tolist()

    def alike(self) -> list[list[nn.Module]]:
        return [[*self._ends]] if all(map(is_a_map, self._ends)) else []

    def new_leaves(self, batch: AtLeaf) -> tuple[Tensor, Tensor]:
        features = batch.features if self.transformer is None else self.transformer(batch.features)
        logits, outputs = run_ends(self.topology, self._ends, features, self.joined)
        return leaf_paths(self.topology, logits, batch.log_prob, bool(self.joined)), outputs

    def pruned(self, shares: np.ndarray, least: float) -> Split:
        """The split without rare leaves; itself if none is rare, or if one leaf would be left.

        Args:
            shares: share of the training samples that reaches each new leaf.
            least: smallest share for a leaf to stay.

        Shapes:
            shares ``[new leaves]``.
        """
        at = np.zeros(len(self.parts))
        at[self.topology.leaves] = shares
        topology, merged = self.topology.survivors(self.topology.sums_below(at), least)
        if topology.num_nodes in (1, len(self.parts)):
            return self
        return self._with([self.parts[chain[-1]] for chain in merged], topology)

    def ending(self, ends: Mapping[int, nn.Module]) -> Split:
        """The split that ends at some of its nodes.

        Args:
            ends: solver of each node at which it ends; leaves below other ones do not count.
        """
        nodes, children = [0], list[tuple[int, ...]]()
        for v in nodes:  # level by level
            below = () if v in ends else self.topology.children_of(v)
            children.append(tuple(range(len(nodes), len(nodes) + len(below))))
            nodes += below
        return self._with([ends.get(v, self.parts[v]) for v in nodes], Topology(children))

    def _with(self, modules: Sequence[nn.Module], topology: Topology) -> Split:
        return Split(self.tree, self.leaf, modules, topology, self.steps, self.transformer)

    def put(self) -> list[int]:
        tree, nodes = self.tree, {0: self.leaf}
        if self.transformer is not None:
            tree.deepen(self.leaf, [self.transformer, self.solvers[0]])
        for v in self._inner:
            below = self.topology.children_of(v)
            # A router may take a solver's place at first; its own split moves it.
            placed = tree.split(nodes[v], [self.parts[i] for i in (v, *below)])
            nodes |= dict(zip(below, placed, strict=True))
        return [nodes[v] for v in self.topology.leaves.tolist()]


class Deepening(Candidate):
    """One more transformer and a solver in place of a solver."""

    @property
    def solvers(self) -> list[nn.Module]:
        return [self.parts[1]]

    def put(self) -> list[int]:
        self.tree.deepen(self.leaf, [*self.parts])
        return [self.leaf]

    def new_leaves(self, batch: AtLeaf) -> tuple[Tensor, Tensor]:
        transformer, solver = self.parts
        outputs = solver(transformer(batch.features))
        return batch.log_prob.unsqueeze(1), outputs.unsqueeze(1)
