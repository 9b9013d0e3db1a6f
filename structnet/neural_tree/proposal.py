"""What may be tried at a leaf: a split, a deepening, or neither."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import torch
from torch import Tensor, nn

from structnet.neural_tree.balance import balance
from structnet.neural_tree.candidate import Candidate, Deepening, Split, at_leaf
from structnet.neural_tree.count import count_parameters
from structnet.neural_tree.decision import Limits
from structnet.neural_tree.primitives import TooSmallError
from structnet.neural_tree.samples import Samples
from structnet.neural_tree.tree import NeuralTree
from structnet.seeding import seed_epoch

PROBED = 2000  # samples that a new router is scaled to


def propose(
    tree: NeuralTree,
    leaf: int,
    limits: Limits,
    *,
    seed: int,
    balance_on: Samples | None = None,
    warm_start: bool = False,
) -> dict[str, Candidate]:
    """The candidates for a leaf, with new modules.

    Args:
        tree: stays as it is.
        leaf: its node.
        limits: how far the tree may grow.
        seed: of the new modules; torch's and numpy's global generators are seeded with it.
        balance_on: samples, some of which a new router is scaled to; None leaves it as it is made.
        warm_start: new solvers begin as copies of the leaf's own where that fits.

    Returns:
        ``"split"`` and ``"deepen"``, as far as the tree's primitives and the limits permit them.

    Raises:
        ValueError: a module shares parameters with another, or with the tree.
    """
    seed_epoch(seed, 0)
    found: dict[str, Candidate] = {}
    # What the map at the leaf is too small for is no candidate.
    if _may_split(tree, leaf, limits):
        with suppress(TooSmallError):
            found["split"] = Split(tree, leaf, tree.new_split(leaf))
            if balance_on is not None:
                balance(found["split"].parts[0], _arriving(tree, leaf, balance_on))
    if _may_deepen(tree, leaf, limits):
        with suppress(TooSmallError):
            modules = tree.new_deepening(leaf)
            if count_parameters(modules[0]):  # else it is an identity: no gain
                found["deepen"] = Deepening(tree, leaf, modules)
    for kind, candidate in found.items():
        _check_new(tree, kind, candidate)
    if warm_start:
        for candidate in found.values():
            _start_solvers(tree, leaf, candidate)
    without = count_parameters(tree) - count_parameters(tree.nodes[leaf].solver) - 1
    return {
        kind: candidate
        for kind, candidate in found.items()
        if _below(without + count_parameters(candidate), limits.max_parameters)
    }


def _may_split(tree: NeuralTree, leaf: int, limits: Limits) -> bool:
    depth = int(tree.topology.depth[leaf])
    within = _below(depth, limits.max_depth) and _below(tree.num_leaves, limits.max_leaves)
    return tree.primitives.router is not None and within


def _may_deepen(tree: NeuralTree, leaf: int, limits: Limits) -> bool:
    within = _below(tree.num_transformers(leaf), limits.max_transformers)
    return tree.primitives.transformer is not None and within


def _check_new(tree: NeuralTree, kind: str, candidate: Candidate) -> None:
    """Training the candidate must leave the tree as it is."""
    taken = _tensors(tree)
    for module in candidate.parts:
        if taken & _tensors(module):
            raise ValueError(
                f"the modules of a {kind} must be new ones; the primitives gave a "
                f"{type(module).__name__} that shares parameters or buffers with the tree, or with "
                "another new module"
            )
        taken |= _tensors(module)


def _tensors(module: nn.Module) -> set[int]:
    return {id(tensor) for tensor in (*module.parameters(), *module.buffers())}


def _below(value: int, limit: int | None) -> bool:
    return limit is None or value < limit


def _arriving(tree: NeuralTree, leaf: int, samples: Samples) -> Tensor:
    """Some samples as they arrive at a leaf, those more often that come there more likely."""
    some = np.linspace(0, len(samples) - 1, min(PROBED, len(samples))).astype(np.int64)
    device = next(tree.parameters(), samples.x).device
    here = at_leaf(tree, leaf, samples[some].to(device))
    chosen = torch.multinomial(here.log_prob.softmax(0), len(some), replacement=True)
    return here.features[chosen]


def _start_solvers(tree: NeuralTree, leaf: int, candidate: Candidate) -> None:
    old = tree.nodes[leaf].solver.state_dict()
    for solver in candidate.parts[1:]:
        new = solver.state_dict()
        if [(k, v.shape) for k, v in old.items()] == [(k, v.shape) for k, v in new.items()]:
            solver.load_state_dict(old)  # copies the values
