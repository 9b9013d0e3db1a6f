"""Growth: leaf by leaf, split it, deepen it, or leave it.

Algorithm 1 of the paper -> ``Growth``; one turn of its loop -> ``Growth.step``.

Reference:
    Tanno et al., Adaptive Neural Trees, ICML 2019, Sec. 4.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from structnet.checkpoint import (
    CheckpointError,
    check_settings,
    describe,
    load_model,
    save_model,
)
from structnet.history import History
from structnet.neural_tree.balance import balance
from structnet.neural_tree.candidate import AtLeaf, Candidate, Deepening, Split, at_leaf, cached
from structnet.neural_tree.samples import Samples
from structnet.neural_tree.tree import NeuralTree
from structnet.parallel import own_device, process_rank
from structnet.seeding import random_states_kept, seed_epoch
from structnet.train import ADAM, fit

KINDS = {"split": Split, "deepen": Deepening}
FILE = "growth.safetensors"
PROBED = 2000  # samples that a new router is scaled to


@dataclass(frozen=True)
class Limits:
    """How far a tree may grow; None is without limit.

    Args:
        max_depth: routers on a path.
        max_leaves: leaves.
        max_parameters: numbers to learn in the whole tree.
        max_transformers: transformers on a path.
        min_gain: a candidate must lower the validation loss by more than this.
    """

    max_depth: int | None = None
    max_leaves: int | None = None
    max_parameters: int | None = None
    max_transformers: int | None = None
    min_gain: float = 0.0


@dataclass(frozen=True)
class Decision:
    """What became of one node.

    Attributes:
        number: from 0, the training of the root.
        node: which node.
        action: ``"root"``, ``"split"``, ``"deepen"`` or ``"keep"``.
        loss: the tree's validation loss afterwards.
        candidates: the validation loss of each candidate.
        leaves, parameters: of the tree afterwards.
        seconds: that it took.
    """

    number: int
    node: int
    action: str
    loss: float
    candidates: dict[str, float]
    leaves: int
    parameters: int
    seconds: float


class Growth:
    """Grows a neural tree, one decision at a time.

    First the root is trained. Then the leaves are visited breadth-first; at each, a split and a
    deepening are trained with everything else frozen, and the one with the lower validation loss is
    taken if it is lower than the tree's. New leaves, and deepened ones, are visited in their turn,
    until every leaf has been left as it is.

    With a folder, the state is on disk after every decision; the same call with ``resume`` goes on
    from there and ends with the same tree, bit for bit.

    Args:
        tree: a tree that has its root alone; grown in place.
        train, validation: samples to learn from and to decide by.
        epochs: at most, for the root and for each candidate.
        patience: stop after so many epochs in a row without a new best.
        batch_size: samples a step.
        optimizer: gives the optimizer of the parameters.
        limits: how far the tree may grow.
        warm_start: new solvers begin as copies of the leaf's own where that fits.
        balance_routers: scale a new router to the samples at its leaf (:mod:`.balance`), so that it
            starts by sending about half of them to each side.
        cache: compute what reaches the leaf once a candidate, where that is exact.
        cache_bytes: the largest cache, in bytes, of both sets of samples together.
        seed: everything random follows from it and the number of the decision.
        device: "cpu", "cuda", ...
        folder: where to keep the state.
        resume: go on from the folder's state, if there is one.
        callbacks: each is called as ``callback(growth, decision)`` after every decision.
        progress: show a bar for each training.

    Attributes:
        decisions: what was decided so far.
        history: a record an epoch of all trainings, with ``phase``, ``node`` and ``decision``.
        undecided: the leaves that wait for a decision, in their order.
        loss: the tree's validation loss.

    Raises:
        ValueError: the tree has grown already, there are no validation samples, or a number is out
            of its range.
        CheckpointError: the state on disk belongs to another growth.

    Example:
        >>> from functools import partial
        >>> from structnet.neural_tree import presets, SquaredError
        >>> x = torch.linspace(-1, 1, 100)[:, None]
        >>> samples = Samples(x, x.abs())  # two straight lines
        >>> primitives = presets.mlp(1).without(transformers=True)
        >>> tree = NeuralTree(primitives, shape=(1,), likelihood=SquaredError())
        >>> adam = partial(torch.optim.Adam, lr=0.05)
        >>> growth = Growth(tree, samples, samples, epochs=20, batch_size=10, optimizer=adam)
        >>> growth.step().action, growth.step().action
        ('root', 'split')
    """

    def __init__(
        self,
        tree: NeuralTree,
        train: Samples,
        validation: Samples,
        *,
        epochs: int = 100,
        patience: int = 5,
        batch_size: int = 512,
        optimizer: Callable = ADAM,
        limits: Limits | None = None,
        warm_start: bool = False,
        balance_routers: bool = True,
        cache: bool = True,
        cache_bytes: float = 4e9,
        seed: int = 0,
        device: str | torch.device = "cpu",
        folder: str | Path | None = None,
        resume: bool = False,
        callbacks: Sequence[Callable[[Growth, Decision], Any]] = (),
        progress: bool = False,
    ):
        if tree.num_leaves > 1:
            raise ValueError(
                f"growth begins with a root alone; the tree has {tree.num_leaves} leaves"
            )
        if not len(train) or not len(validation):
            raise ValueError(
                "growth needs samples to learn from and others to decide by; got "
                f"{len(train)} for training and {len(validation)} for validation"
            )
        _check(epochs, "epochs", 1)
        _check(seed, "seed", 0)
        self.device = own_device(device)
        self.tree = tree.to(self.device)
        self.train, self.validation = train, validation
        self.limits = limits or Limits()
        self.seed, self.warm_start = seed, warm_start
        self.balance_routers = balance_routers
        self.cache, self.cache_bytes = cache, cache_bytes
        self.callbacks = callbacks
        self.fitting = {
            "epochs": epochs,
            "patience": patience,
            "batch_size": batch_size,
            "optimizer": optimizer,
            "device": device,
            "progress": progress,
        }
        self.decisions: list[Decision] = []
        self.history = History()
        self.undecided = [0]
        self.loss = math.inf
        self.file = None if folder is None else Path(folder, FILE)
        if self.file is not None:
            self.settings = self._settings()
            if resume and self.file.exists():
                self._restore()
            else:
                self._save()

    @property
    def done(self) -> bool:
        """Is the root trained, and every leaf decided?"""
        return bool(self.decisions) and not self.undecided

    def run(self) -> None:
        """Steps until all is decided."""
        while not self.done:
            self.step()

    def step(self) -> Decision:
        """Trains the root, or the candidates of the next leaf, and decides.

        Raises:
            StopIteration: all is decided.
        """
        if self.done:
            raise StopIteration("every leaf is decided")
        begin = time.perf_counter()
        self._forget_unfinished()
        with random_states_kept(self.device):
            node, action, losses = self._visit_next()
        decision = Decision(
            number=len(self.decisions),
            node=node,
            action=action,
            loss=self.loss,
            candidates=losses,
            leaves=self.tree.num_leaves,
            parameters=_size(self.tree),
            seconds=time.perf_counter() - begin,
        )
        self.decisions.append(decision)
        self._save()
        for callback in self.callbacks:
            callback(self, decision)
        return decision

    def choose(self, losses: dict[str, float]) -> str:
        """The candidate to take, or ``"keep"``; the rule of the paper, for a subclass to change."""
        best = min(losses, key=losses.get, default=None)
        better = best is not None and losses[best] < self.loss - self.limits.min_gain
        return best if better else "keep"

    def _visit_next(self) -> tuple[int, str, dict[str, float]]:
        if self.decisions:
            return self._visit(self.undecided[0])
        self.loss = self._train(self.tree, "root", 0, self.train, self.validation)
        return 0, "root", {}

    def _visit(self, leaf: int) -> tuple[int, str, dict[str, float]]:
        candidates = self._candidates(leaf)
        losses = self._train_all(leaf, candidates)
        action = self.choose(losses)
        self.undecided = self.undecided[1:]
        if action != "keep":
            self.loss = losses[action]
            modules = tuple(candidates[action].parts)
            if action == "split":
                self.undecided += self.tree.split(leaf, modules)
            else:
                self.tree.deepen(leaf, modules)
                self.undecided.append(leaf)
        return leaf, action, losses

    def _candidates(self, leaf: int) -> dict[str, Candidate]:
        """What may be tried at a leaf, with new modules."""
        tree, limits, found = self.tree, self.limits, {}
        seed_epoch(self._seed("modules"), 0)
        depth = int(tree.topology.depth[leaf])
        if (
            tree.primitives.router is not None
            and _below(depth, limits.max_depth)
            and _below(tree.num_leaves, limits.max_leaves)
        ):
            found["split"] = Split(tree, leaf, tree.new_split(leaf))
            if self.balance_routers:
                balance(found["split"].parts[0], self._arriving(leaf))
        if tree.primitives.transformer is not None and _below(
            tree.num_transformers(leaf), limits.max_transformers
        ):
            modules = tree.new_deepening(leaf)
            if _size(modules[0]):  # an identity, where the map has become too small, is no gain
                found["deepen"] = Deepening(tree, leaf, modules)
        for candidate in found.values():
            self._start_solvers(leaf, candidate)
        without = _size(tree) - _size(tree.nodes[leaf].solver) - 1
        return {
            kind: candidate
            for kind, candidate in found.items()
            if _below(without + _size(candidate), limits.max_parameters)
        }

    def _arriving(self, leaf: int) -> Tensor:
        """Some samples as they arrive at a leaf, those more often that come there more likely."""
        some = np.linspace(0, len(self.train) - 1, min(PROBED, len(self.train))).astype(np.int64)
        here = at_leaf(self.tree, leaf, self.train[some].to(self.device))
        chosen = torch.multinomial(here.log_prob.softmax(0), len(some), replacement=True)
        return here.features[chosen]

    def _start_solvers(self, leaf: int, candidate: Candidate) -> None:
        if not self.warm_start:
            return
        old = self.tree.nodes[leaf].solver.state_dict()
        for solver in candidate.parts[1:]:
            new = solver.state_dict()
            if [(k, v.shape) for k, v in old.items()] == [(k, v.shape) for k, v in new.items()]:
                solver.load_state_dict(old)  # copies the values

    def _train_all(self, leaf: int, candidates: dict[str, Candidate]) -> dict[str, float]:
        if not candidates:
            return {}
        data, room = [], self.cache_bytes if self.cache else 0
        for samples in (self.train, self.validation):
            data.append(self._at_leaf(leaf, samples, room))
            room -= data[-1].nbytes if isinstance(data[-1], AtLeaf) else 0
        return {
            kind: self._train(candidate, kind, leaf, *data)
            for kind, candidate in candidates.items()
        }

    def _at_leaf(self, leaf: int, samples: Samples, room: float) -> Samples | AtLeaf:
        if not self.cache:
            return samples
        batch_size = self.fitting["batch_size"]
        found = cached(
            self.tree, leaf, samples, batch_size=batch_size, device=self.device, max_bytes=room
        )
        return samples if found is None else found

    def _train(self, model: nn.Module, phase: str, node: int, train: Any, validation: Any) -> float:
        """Trains a model, leaves its best epoch in it, and gives that one's validation loss;
        infinity if no epoch has a finite one."""
        history = fit(model, train, validation, seed=self._seed(phase), **self.fitting)
        for record in history:
            place = {"phase": phase, "node": node, "decision": len(self.decisions)}
            self.history.append(place | record)
        loss = history.best["validation_loss"]
        return loss if math.isfinite(loss) else math.inf

    def _forget_unfinished(self) -> None:
        # An interrupted step has left records of trainings that are now done again.
        decided = len(self.decisions)
        self.history.records[:] = [r for r in self.history if r["decision"] < decided]

    def _seed(self, purpose: str) -> int:
        words = [self.seed, len(self.decisions), *purpose.encode()]
        return int(np.random.SeedSequence(words).generate_state(1)[0])

    # The state on disk

    def _settings(self) -> dict[str, Any]:
        """What a resumed growth must share with the one it goes on with."""
        tree, primitives = self.tree, self.tree.primitives
        plain = {key: self.fitting[key] for key in ("epochs", "patience", "batch_size")}
        settings = {
            **plain,
            **asdict(self.limits),
            "warm_start": self.warm_start,
            "balance_routers": self.balance_routers,
            "seed": self.seed,
            "samples": len(self.train),
            "validation_samples": len(self.validation),
            "likelihood": type(tree.likelihood).__name__,
            "routers": primitives.router is not None,
            "transformers": primitives.transformer is not None,
            "pool_every": primitives.pool_every,
            **describe("optimizer", self.fitting["optimizer"](tree.parameters())),
            **{k: f"{v.dtype} {list(v.shape)}" for k, v in tree.state_dict().items()},
        }
        return {k: v.item() if isinstance(v, np.generic) else v for k, v in settings.items()}

    def _save(self) -> None:
        if self.file is None or process_rank()[0]:
            return
        state = {
            "settings": self.settings,
            "tree": self.tree.config(),
            "decisions": [asdict(decision) for decision in self.decisions],
            "history": list(self.history),
            "undecided": list(self.undecided),
            "loss": self.loss if self.decisions else None,
        }
        save_model(self.file, self.tree, state)

    def _restore(self) -> None:
        weights, state = load_model(self.file)
        if "undecided" not in state:
            raise CheckpointError(f"{self.file} is no growth; expected one written by Growth")
        check_settings(self.file, state["settings"], self.settings)
        with random_states_kept(self.device):  # what is drawn here is replaced at once
            self.tree.grow_to(state["tree"])
        try:
            self.tree.load_state_dict(weights)
        except RuntimeError as error:
            raise CheckpointError(
                f"cannot resume from {self.file}, whose tree is made of other modules; expected "
                "those that the same primitives make"
            ) from error
        self.tree.eval()
        self.decisions = [Decision(**decision) for decision in state["decisions"]]
        self.history = History(state["history"])
        self.undecided = state["undecided"]
        self.loss = math.inf if state["loss"] is None else state["loss"]


def _below(value: int, limit: int | None) -> bool:
    return limit is None or value < limit


def _size(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def _check(value: Any, name: str, least: int) -> None:
    if not isinstance(value, Integral) or value < least:
        raise ValueError(
            f"The '{name}' parameter of Growth must be an int in the range [{least}, inf). Got "
            f"{value!r} instead."
        )
