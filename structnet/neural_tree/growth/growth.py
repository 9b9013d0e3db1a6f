"""Growth: leaf by leaf, split it, deepen it, or leave it.

Algorithm 1 of the paper -> ``Growth``; one turn of its loop -> ``Growth.step``.

Reference:
    Tanno et al., Adaptive Neural Trees, ICML 2019, Sec. 4.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from structnet.neural_tree.cost import count_parameters
from structnet.neural_tree.growth import state as growth_file
from structnet.neural_tree.growth.candidate import AtLeaf, Candidate, cached
from structnet.neural_tree.growth.decision import Decision, Limits, check_integer
from structnet.neural_tree.growth.proposal import propose
from structnet.neural_tree.likelihood import Categorical
from structnet.neural_tree.tree import NeuralTree
from structnet.routing.samples import Samples, check_targets
from structnet.routing.visits import shares
from structnet.training.fitting import ADAM, NonFiniteLossError, fit
from structnet.training.history import History
from structnet.training.metrics import evaluate
from structnet.training.processes import own_device
from structnet.training.progress import Progress
from structnet.training.seeding import random_states_kept


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
        patience: stop after so many epochs in a row without a new best; None never does.
        batch_size: samples a step.
        optimizer: gives the optimizer of the parameters.
        limits: how far the tree may grow.
        n_init: how often each candidate is trained, from other beginnings; the best one counts.
            A split that began badly may never become a decision.
        warm_start: new solvers begin as copies of the leaf's own where that fits.
        balance_routers: scale a new router to the samples at its leaf (:mod:`.balance`), so that it
            starts by sending about half of them to each side.
        cache: compute what reaches the leaf once a candidate, where that is exact.
        cache_bytes: the largest cache, in bytes, of both sets of samples together.
        seed: everything random follows from it and the number of the decision.
        device: "cpu", "cuda", ...
        folder: where to keep the state.
        resume: go on from the folder's state, if there is one; False begins anew and replaces the
            folder's state.
        callbacks: each is called as ``callback(growth, decision)`` after every decision.
        progress: whether to say how far it is: a bar for each training, if somebody watches the
            terminal or notebook, else a line an epoch or decision, at most every ten seconds.

    Attributes:
        decisions: what was decided so far.
        history: a record an epoch of all trainings, with ``phase``, ``node`` and ``decision``.
        undecided: the leaves that wait for a decision, in their order.
        loss: the tree's validation loss.

    Raises:
        TypeError: the limits are no :class:`Limits`.
        ValueError: the tree has grown already, there are no samples of either kind or fewer than
            classes, a class has no output of the tree, or a number is out of its range.
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
        patience: int | None = 5,
        batch_size: int = 512,
        optimizer: Callable = ADAM,
        limits: Limits | None = None,
        n_init: int = 1,
        warm_start: bool = False,
        balance_routers: bool = True,
        cache: bool = True,
        cache_bytes: float = 4e9,
        seed: int = 0,
        device: str | torch.device = "cpu",
        folder: str | Path | None = None,
        resume: bool = False,
        callbacks: Sequence[Callable[[Growth, Decision], Any]] = (),
        progress: bool | Progress = False,
    ):
        if tree.num_leaves > 1:
            raise ValueError(
                f"growth begins with a root alone; the tree has {tree.num_leaves} leaves"
            )
        _check_samples(tree, train, validation)
        for name, value, least in (
            ("epochs", epochs, 1),
            ("patience", 1 if patience is None else patience, 1),
            ("batch_size", batch_size, 1),
            ("n_init", n_init, 1),
            ("seed", seed, 0),
        ):
            check_integer("Growth", name, value, least)
        if not isinstance(limits, Limits | None):
            raise TypeError(f"The 'limits' parameter of Growth must be Limits. Got {limits!r}.")
        self.device = own_device(device)
        self.tree = tree.to(self.device)
        self.train, self.validation = train, validation
        self.limits = Limits() if limits is None else limits
        self.seed, self.n_init, self.warm_start = seed, n_init, warm_start
        self.balance_routers = balance_routers
        self.cache, self.cache_bytes = cache, cache_bytes
        self.callbacks = callbacks
        self.fitting = {
            "epochs": epochs,
            "patience": patience,
            "batch_size": batch_size,
            "optimizer": optimizer,
            "device": device,
            "progress": Progress.of(progress),
        }
        self.decisions: list[Decision] = []
        self.history = History()
        self.undecided = [0]
        self.loss = math.inf
        self.file = None if folder is None else Path(folder, growth_file.FILE)
        if self.file is not None:
            self.settings = growth_file.settings(self)
            if resume and self.file.exists():
                growth_file.restore(self)
            else:
                growth_file.save(self)

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
            parameters=count_parameters(self.tree),
            seconds=time.perf_counter() - begin,
        )
        self.decisions.append(decision)
        growth_file.save(self)
        self.fitting["progress"].say(str(decision), last=self.done)
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
        self.loss = self._train_root()
        return 0, "root", {}

    def _train_root(self) -> float:
        """Trains the root; one that begins as a trained network does not get worse by it."""
        loss = self._train(self.tree, "root", 0, self.train, self.validation)
        if loss == math.inf:  # no epoch was better than the start
            loss = evaluate(self.tree, self.validation, device=self.device)["loss"]
        if not math.isfinite(loss):
            raise ValueError(
                f"the validation loss of the root is {loss}; expected a finite one: look for nan "
                "and infinity among the validation samples"
            )
        return loss

    def _visit(self, leaf: int) -> tuple[int, str, dict[str, float]]:
        trained = self._train_candidates(leaf)
        losses = {kind: loss for kind, (loss, _) in trained.items()}
        action = self.choose(losses)
        self.undecided = self.undecided[1:]
        if action != "keep":
            self.loss, candidate = trained[action]
            modules = tuple(candidate.parts)
            if action == "split":
                self.undecided += self.tree.split(leaf, modules)
            else:
                self.tree.deepen(leaf, modules)
                self.undecided.append(leaf)
        return leaf, action, losses

    def _candidates(
        self, leaf: int, attempt: int = 0, others: Iterable[nn.Module] = ()
    ) -> dict[str, Candidate]:
        return propose(
            self.tree,
            leaf,
            self.limits,
            seed=self._seed("modules", attempt),
            balance_on=self.train if self.balance_routers else None,
            warm_start=self.warm_start,
            others=others,
        )

    def _train_candidates(self, leaf: int) -> dict[str, tuple[float, Candidate]]:
        """The best trained candidate of each kind, with its loss."""
        candidates = self._candidates(leaf)
        if not candidates:
            return {}
        data = self._both_at_leaf(leaf)
        if self._expected(leaf, data[0]) < self.limits.min_samples:
            return {}
        best: dict[str, tuple[float, Candidate]] = {}
        for attempt in range(self.n_init):
            if attempt:
                kept = [candidate for _, candidate in best.values()]
                candidates = self._candidates(leaf, attempt, kept)
            for kind, candidate in candidates.items():
                loss = self._train(candidate, kind, leaf, *data, attempt)
                if kind not in best or loss < best[kind][0]:
                    best[kind] = loss, candidate
        return best

    def _expected(self, leaf: int, train: Samples | AtLeaf) -> float:
        """How many training samples are expected to reach a leaf, each counted by its weight."""
        if isinstance(train, AtLeaf):
            reached = train.log_prob.exp()
            return len(train) * (train.mean(reached) / train.mean(torch.ones_like(reached))).item()
        return len(train) * shares(self.tree, train, "multi")[leaf]

    def _both_at_leaf(self, leaf: int) -> list[Samples | AtLeaf]:
        data, room = [], self.cache_bytes if self.cache else 0
        for samples in (self.train, self.validation):
            data.append(self._at_leaf(leaf, samples, room))
            room -= data[-1].nbytes if isinstance(data[-1], AtLeaf) else 0
        return data

    def _at_leaf(self, leaf: int, samples: Samples, room: float) -> Samples | AtLeaf:
        if not self.cache:
            return samples
        batch_size = self.fitting["batch_size"]
        found = cached(
            self.tree, leaf, samples, batch_size=batch_size, device=self.device, max_bytes=room
        )
        return samples if found is None else found

    def _train(
        self,
        model: nn.Module,
        phase: str,
        node: int,
        train: Any,
        validation: Any,
        attempt: int = 0,
    ) -> float:
        """Trains a model, leaves its best epoch in it, and gives that one's validation loss;
        infinity if no epoch is the best one. A candidate that diverges stops there."""
        history, is_root = History(), model is self.tree
        self.fitting["progress"].part = f"decision {len(self.decisions)}, {phase} of node {node}, "
        try:
            fit(
                model,
                train,
                validation,
                seed=self._seed(phase, attempt),
                keep_start=is_root,
                history=history,
                **self.fitting,
            )
        except NonFiniteLossError as error:
            if is_root:  # there is nothing else to go on with
                raise
            warnings.warn(
                f"a {phase} of node {node} was stopped in epoch {error.epoch}, batch "
                f"{error.batch}: its loss or gradient was not finite; its best epoch counts",
                stacklevel=2,
            )
        finally:
            for record in history:
                place = {"phase": phase, "node": node, "decision": len(self.decisions)}
                self.history.append(place | record)
        return history.best["validation_loss"] if history.best else math.inf

    def _forget_unfinished(self) -> None:
        # An interrupted step has left records of trainings that are now done again.
        decided = len(self.decisions)
        self.history.records[:] = [r for r in self.history if r["decision"] < decided]

    def _seed(self, purpose: str, attempt: int = 0) -> int:
        words = [self.seed, len(self.decisions), *purpose.encode()]
        words += [attempt] if attempt else []
        return int(np.random.SeedSequence(words).generate_state(1)[0])


def _check_samples(tree: NeuralTree, train: Samples, validation: Samples) -> None:
    if not len(train) or not len(validation):
        raise ValueError(
            "growth needs samples to learn from and others to decide by; got "
            f"{len(train)} for training and {len(validation)} for validation"
        )
    for samples in (train, validation):
        check_targets(samples.targets, tree.num_classes)
        samples.counts()  # refuses weights that do not count
    if isinstance(tree.likelihood, Categorical) and len(train) < tree.num_outputs:
        raise ValueError(
            f"there are {len(train)} samples to learn {tree.num_outputs} classes from; expected at "
            "least one for each"
        )
