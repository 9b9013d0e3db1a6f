"""The candidates for a leaf: a split, a deepening, both or neither."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from structnet.neural_tree.cost import count_parameters
from structnet.neural_tree.growth.candidate import Candidate, Deepening, Split, at_leaf
from structnet.neural_tree.growth.codes import start_units
from structnet.neural_tree.growth.lookahead import (
    NO_STARTS,
    Starts,
    is_linear,
    split_into,
    starts_at,
)
from structnet.neural_tree.growth.regions import Regions
from structnet.neural_tree.growth.router_start import balance
from structnet.neural_tree.growth.sums import Sum, deepen_by, may_have_steps
from structnet.neural_tree.primitives import TooSmallError
from structnet.neural_tree.settings import NeuralTreeSettings
from structnet.neural_tree.tree import NeuralTree
from structnet.routing.samples import Samples
from structnet.training.seeding import seed_epoch

PROBED = 2000  # samples by which a new split is scaled
LOOKED_AT = 10_000  # samples among which it finds its regions


def propose(
    tree: NeuralTree,
    leaf: int,
    settings: NeuralTreeSettings,
    *,
    seed: int,
    balance_on: Samples | None = None,
    look_at: Samples | None = None,
    others: Iterable[nn.Module] = (),
) -> dict[str, list[Candidate]]:
    """The candidates for a leaf, with new modules.

    Args:
        tree: tree, which is not changed.
        leaf: node of the leaf.
        settings: limits of the growth, and options of new modules.
        seed: seed of the new modules, for torch's and numpy's global generators.
        balance_on: samples; some of them scale a new router that starts at random. None leaves it
            as it is made.
        look_at: samples; the regions that some of them fall into are the start of one to three
            splits, and a sum of steps that of further deepenings. None lets all start at random.
        others: modules that, like the tree, must share no parameters with the new ones.

    Returns:
        The candidates for ``"split"`` and ``"deepen"``, as far as the tree's primitives and the
        settings permit: one, or several with different starts.

    Raises:
        ValueError: a new module shares parameters with another, with the tree, or with the others.
    """
    seed_epoch(seed, 0)
    taken = set().union(*map(_learned, (tree, *others)))
    found: dict[str, list[Candidate]] = {"split": [], "deepen": []}
    starts, unfolded = NO_STARTS, list[Split]()
    # A module for which the map at the leaf is too small makes no candidate.
    if _may_split(tree, leaf, settings):
        with suppress(TooSmallError):
            parts = tree.new_split(leaf)
            starts = _starts(tree, leaf, parts, settings, look_at)
            found["split"] += _splits(tree, leaf, parts, starts.regions)
            _check_new(taken, found["split"])
            if starts.regions is None and balance_on is not None:
                balance(parts[0], _arriving(tree, leaf, balance_on, settings))
    if _may_deepen(tree, leaf, settings):
        with suppress(TooSmallError):
            modules = tree.new_deepening(leaf)
            if count_parameters(modules[0]):  # without any, it is an identity that cannot gain
                found["deepen"].append(Deepening(tree, leaf, modules))
                stepped = may_have_steps(tree, leaf, modules)
                if stepped:
                    found["deepen"] += _sums(tree, leaf, starts.sum())
                _check_new(taken, found["deepen"])
                if stepped:
                    unfolded = _unfolded(tree, leaf, modules[0], starts)
                    _check_new(taken, unfolded)
    if settings.warm_start_solvers:
        for candidate in (*found["split"], *found["deepen"]):
            if isinstance(candidate, Split) or not candidate.steps:  # a sum has its own solver
                _start_solvers(tree, leaf, candidate)
    found["split"] += unfolded
    return {kind: candidates for kind, candidates in found.items() if candidates}


def _may_split(tree: NeuralTree, leaf: int, settings: NeuralTreeSettings) -> bool:
    depth = int(tree.topology.depth[leaf])
    within = _below(depth, settings.max_depth) and _below(tree.num_leaves, settings.max_leaves)
    return tree.primitives.router is not None and within


def _starts(
    tree: NeuralTree,
    leaf: int,
    modules: Sequence[nn.Module],
    settings: NeuralTreeSettings,
    look_at: Samples | None,
) -> Starts:
    """What the candidates may start with, if a split of these modules can look ahead."""
    if look_at is None or settings.lookahead < 2 or not is_linear(modules, tree.nodes[leaf].shape):
        return NO_STARTS
    most = _most_leaves(tree, leaf, settings)
    here = at_leaf(tree, leaf, _some(tree, look_at, settings, LOOKED_AT))
    return starts_at(tree, leaf, here, most, settings.prune or 0.0)


def _splits(
    tree: NeuralTree, leaf: int, modules: Sequence[nn.Module], regions: list[Regions] | None
) -> list[Split]:
    """The splits: one that starts at random, or one for each way to make regions."""
    if regions is None:
        return [Split(tree, leaf, modules)]
    return [split_into(tree, leaf, each, None if i else modules) for i, each in enumerate(regions)]


def _sums(tree: NeuralTree, leaf: int, added: Sum) -> list[Deepening]:
    """The deepenings that start as a sum of steps, without and with units for what is no sum."""
    ways = (True, False) if added.steps else ()
    found = (deepen_by(tree, leaf, tree.new_deepening(leaf), added, alone) for alone in ways)
    return [each for each in found if each is not None]


def _unfolded(tree: NeuralTree, leaf: int, like: Any, starts: Starts) -> list[Split]:
    """The split among steps of codes, after a transformer which has these as its units; if any.

    Args:
        tree, leaf: tree, and node of the leaf.
        like: transformer that has as many units as the new one.
        starts: what the split may start with.
    """
    codes = starts.codes(like[0].out_features)
    if codes is None:
        return []
    transformer, _ = tree.new_deepening(leaf)
    regions = start_units(transformer, codes)
    return [split_into(tree, leaf, regions, transformer=transformer)]


def _most_leaves(tree: NeuralTree, leaf: int, settings: NeuralTreeSettings) -> int:
    """The largest number of leaves that may replace one."""
    most = [settings.lookahead]
    if settings.max_leaves is not None:
        most.append(settings.max_leaves - tree.num_leaves + 1)
    if settings.max_depth is not None:  # so many leaves cannot be deeper
        most.append(settings.max_depth - int(tree.topology.depth[leaf]) + 1)
    return min(most)


def _may_deepen(tree: NeuralTree, leaf: int, settings: NeuralTreeSettings) -> bool:
    within = _below(tree.num_transformers(leaf), settings.max_transformers)
    return tree.primitives.transformer is not None and within


def _check_new(taken: set[int], candidates: Iterable[Candidate]) -> None:
    """Adds the parameters of candidates to those taken; training one must change no others."""
    for module in (module for candidate in candidates for module in _new_modules(candidate)):
        learned = _learned(module)
        if taken & learned:
            raise ValueError(
                f"the primitives gave a {type(module).__name__} that shares parameters with "
                "another module of the tree, or with another new one; expected a new module each "
                "time"
            )
        taken |= learned


def _new_modules(candidate: Candidate) -> list[nn.Module]:
    before = candidate.transformer if isinstance(candidate, Split) else None
    return [*candidate.parts, *filter(None, [before])]


def _learned(module: nn.Module) -> set[int]:
    """The ids of tensors that training changes: unfrozen parameters, and running statistics."""
    norms = (m for m in module.modules() if isinstance(m, nn.modules.batchnorm._NormBase))
    statistics = (buffer for norm in norms for buffer in norm.buffers())
    return {id(t) for t in (*filter(lambda p: p.requires_grad, module.parameters()), *statistics)}


def _below(value: int, limit: int | None) -> bool:
    return limit is None or value < limit


def _arriving(
    tree: NeuralTree, leaf: int, samples: Samples, settings: NeuralTreeSettings
) -> Tensor:
    """Some samples as they arrive at a leaf, drawn by their probability of reaching it."""
    here = at_leaf(tree, leaf, _some(tree, samples, settings))
    chosen = torch.multinomial(here.log_prob.softmax(0), len(here), replacement=True)
    return here.features[chosen]


def _some(
    tree: NeuralTree, samples: Samples, settings: NeuralTreeSettings, most: int = PROBED
) -> Samples:
    """Evenly spaced samples on the tree's device, no more than training reads at once."""
    size = min(most, len(samples))
    if samples.at_once is not None:
        size = min(size, max(samples.at_once, settings.batch(len(samples))))
    some = np.linspace(0, len(samples) - 1, size).astype(np.int64)
    return samples[some].to(next(tree.parameters(), samples.x).device)


def _start_solvers(tree: NeuralTree, leaf: int, candidate: Candidate) -> None:
    old = tree.nodes[leaf].end.state_dict()
    for solver in candidate.solvers:
        new = solver.state_dict()
        if [(k, v.shape) for k, v in old.items()] == [(k, v.shape) for k, v in new.items()]:
            solver.load_state_dict(old)  # copies the values, so that nothing is shared
