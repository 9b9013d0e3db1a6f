"""Growth: splits, deepens or keeps one leaf after another.

Algorithm 1 of the paper -> ``Growth``; one iteration of its loop -> ``Growth.step``; its rule ->
``decision.choose``.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from structnet.neural_tree.cost import count_parameters
from structnet.neural_tree.growth import state
from structnet.neural_tree.growth.beginning import check_beginning
from structnet.neural_tree.growth.candidate import Candidate, cached_each
from structnet.neural_tree.growth.decision import Decision, Gain, choose
from structnet.neural_tree.growth.judging import Judge
from structnet.neural_tree.growth.lighter import best_of_lighter
from structnet.neural_tree.growth.measures import can_gain, expected
from structnet.neural_tree.growth.pace import Behind, pacer
from structnet.neural_tree.growth.parts import Part, fresh_starts, judged_by_parts
from structnet.neural_tree.growth.proposal import propose
from structnet.neural_tree.growth.visit import Tried, Visit
from structnet.neural_tree.joined import together
from structnet.neural_tree.linear import is_linear_model
from structnet.neural_tree.linear_start import says_little, start_linear
from structnet.neural_tree.settings import BEGUN, WAIT, NeuralTreeSettings
from structnet.neural_tree.tree import NeuralTree
from structnet.routing.samples import Samples
from structnet.training.files import locked
from structnet.training.fitting import fit
from structnet.training.history import History
from structnet.training.loop import NonFiniteLossError
from structnet.training.metrics import Metric, evaluate
from structnet.training.processes import own_device, process_rank
from structnet.training.progress import Progress
from structnet.training.seeding import random_states_kept
from structnet.training.threads import Threads


class Growth:
    """Grows a neural tree, one decision at a time.

    First the root is trained. Then the leaves are visited breadth-first; at each, a split and a
    deepening are trained with everything else frozen, and one is taken if it lowers the validation
    loss enough (see :func:`.decision.choose` and :func:`.judged_by_parts`). A split may add several
    routers at once. New and deepened leaves are visited in turn, until each has been kept as it is.

    With a folder, the state is saved after every decision; the same call with ``resume`` continues
    from there and ends with the same tree, bit for bit.

    Args:
        tree: root without children; it is grown in place.
        train: training samples; or a torch Dataset or a DataLoader of pairs of an input and a
            target, read batch by batch, see :meth:`.Samples.from_dataset`.
        validation: validation samples, likewise.
        settings: limits of growth and hyper-parameters of its trainings; those of refinement and
            pruning are not used.
        optimizer: function that makes the optimizer of the parameters; by default Adam with the
            learning rate of the settings.
        schedule: function that makes the learning rate scheduler of the optimizer, as for
            :func:`structnet.fit`; one for each training.
        schedule_per: step the schedule after each "epoch" or each "batch".
        metrics: name -> ``metric(tree, batch)``, measured on the validation samples after every
            decision, and stored in it.
        device: "cpu", "cuda", ...
        folder: folder of the state.
        resume: continue from the state in the folder, if there is one; False starts anew and
            replaces it.
        callbacks: functions called as ``callback(growth, decision)`` after every decision.
        epoch_callbacks: functions called as ``callback(growth, record)`` after every epoch of a
            training, with the record that the history will have.
        progress: report progress: one line for each decision, and a progress bar for each training
            in a terminal or notebook, otherwise a line for each epoch, at most every ten seconds.

    Attributes:
        decisions: decisions so far.
        history: a record for each epoch of all trainings, with ``phase``, ``node`` and
            ``decision``.
        undecided: leaves that are still to be decided on, in order.
        loss: validation loss of the tree.
        strength: strength of the penalty for what grows, which the first decision may make lighter;
            None if there is no penalty.
        in_parts: True if the first decision may hold out parts of the training samples, too.

    Raises:
        TypeError: the settings are not :class:`.NeuralTreeSettings`.
        ValueError: the tree has grown already, there are no training or validation samples or fewer
            than classes, or the tree has no output for a class.
        CheckpointError: the state on disk belongs to another growth.

    Example:
        >>> from structnet.neural_tree import presets, SquaredError
        >>> x = torch.linspace(-1, 1, 100)[:, None]
        >>> samples = Samples(x, x.abs())  # two straight lines
        >>> primitives = presets.mlp(1).without(transformers=True)
        >>> tree = NeuralTree(primitives, shape=(1,), likelihood=SquaredError())
        >>> settings = NeuralTreeSettings(epochs=20, batch_size=10, learning_rate=0.05)
        >>> growth = Growth(tree, samples, samples, settings)
        >>> growth.step().action, growth.step().action
        ('root', 'split')
    """

    def __init__(
        self,
        tree: NeuralTree,
        train: Samples | Dataset | DataLoader,
        validation: Samples | Dataset | DataLoader,
        settings: NeuralTreeSettings | None = None,
        *,
        optimizer: Callable | None = None,
        schedule: Callable | None = None,
        schedule_per: str = "epoch",
        metrics: Mapping[str, Metric] | None = None,
        device: str | torch.device = "cpu",
        folder: str | Path | None = None,
        resume: bool = False,
        callbacks: Sequence[Callable[[Growth, Decision], Any]] = (),
        epoch_callbacks: Sequence[Callable[[Growth, dict[str, Any]], Any]] = (),
        progress: bool | Progress = False,
    ):
        settings = NeuralTreeSettings() if settings is None else settings
        if not isinstance(settings, NeuralTreeSettings):
            raise TypeError(
                f"The 'settings' parameter of Growth must be NeuralTreeSettings. Got {settings!r}."
            )
        self.train, self.validation = check_beginning(tree, train, validation)
        tree.temper()
        self.device, self.settings = own_device(device), settings
        self.tree = tree.to(self.device)
        self._optimizer, self.schedule, self.schedule_per = optimizer, schedule, schedule_per
        self._judge = Judge(self.tree, self.train, self.validation, settings)
        self.metrics, self.callbacks = dict(metrics or {}), callbacks
        self.epoch_callbacks = epoch_callbacks
        self.progress = Progress.of(progress)
        self.decisions: list[Decision] = []
        self.in_parts = False
        self.batch_size = settings.batch(len(self.train))
        self.undecided, self.loss, self.history = [0], math.inf, History()
        self.strength: float | None = None
        self.file = None if folder is None else Path(folder, state.FILE)
        if self.file is not None:
            with self._alone():
                self._begin_on_disk(self.file, resume)

    def _begin_on_disk(self, file: Path, resume: bool) -> None:
        self._identity = state.identity(
            self.tree,
            self.settings,
            self.optimizer(self.tree.parameters()),
            None if self.schedule is None else (self.schedule, self.schedule_per),
            samples=len(self.train),
            validation_samples=len(self.validation),
        )
        if resume and file.exists():
            found = state.restore(file, self.tree, self._identity, self.device)
            vars(self).update(found._asdict())
        else:
            self._save()

    def _save(self) -> None:
        if self.file is not None:
            now = state.State(*(getattr(self, name) for name in state.State._fields))
            state.save(self.file, self.tree, now, self._identity)

    @property
    def optimizer(self) -> Callable:
        """The function that makes the optimizer; one from the user adds no penalty."""
        return self._optimizer or self.settings.adam(self.strength)

    @property
    def done(self) -> bool:
        """True if the root is trained and every leaf is decided."""
        return bool(self.decisions) and not self.undecided

    def run(self) -> None:
        """Steps until every leaf is decided; other processes are kept out of the folder."""
        with self._alone(), Threads(self.device).kept():  # also between trainings
            while not self.done:
                self.step()

    def _alone(self) -> AbstractContextManager[None]:
        if self.file is None or process_rank()[0]:
            return nullcontext()
        return locked(self.file.parent)

    def step(self) -> Decision:
        """Trains the root, or the candidates of the next leaf, and decides.

        Raises:
            StopIteration: every leaf is decided.
            ValueError: the validation loss of the root is not finite.
        """
        if self.done:
            raise StopIteration("every leaf is decided")
        begin = time.perf_counter()
        self._forget_unfinished()
        node, action = self.undecided[0], "root"
        gains: dict[str, Gain] = {}
        with random_states_kept(self.device):
            if self.decisions:
                action, gains = self._visit(node)
            else:
                self.loss = self._train_root()
            measured = self._measured(action)
        decision = Decision(
            number=len(self.decisions),
            node=node,
            action=action,
            loss=self.loss,
            candidates={kind: gain.loss for kind, gain in gains.items()},
            leaves=self.tree.num_leaves,
            parameters=count_parameters(self.tree),
            seconds=time.perf_counter() - begin,
            errors={kind: gain.error for kind, gain in gains.items()},
            metrics=measured,
        )
        self.decisions.append(decision)
        self._save()
        self.progress.say(f"{decision}; {len(self.undecided)} to decide")
        for callback in self.callbacks:
            callback(self, decision)
        return decision

    def choose(self, gains: dict[str, Gain]) -> str:
        """The action for a leaf, from :func:`.decision.choose`; a subclass may override it."""
        return choose(gains, self.settings)

    def _measured(self, action: str) -> dict[str, float]:
        """The metrics of the tree on the validation samples."""
        if action == "keep":
            return self.decisions[-1].metrics
        if not self.metrics:
            return {}
        found = evaluate(self.tree, self.validation, metrics=self.metrics)
        return {name: found[name] for name in self.metrics}

    def _train_root(self) -> float:
        """Trains the root; if it is a trained network, it gets no worse beyond chance.

        A linear model at its penalised optimum is not trained.
        """
        how: Any = {"seed": self._seed("linear"), "strength": self.settings.strength}
        self.strength = start_linear(self.tree, self.train, self.validation, **how)
        loss = math.inf
        if not self.strength or not is_linear_model(self.tree, self.train):
            loss = self._train(self.tree, "root", 0, self.train, self.validation)
        if loss == math.inf:  # no epoch was better than the start
            loss = evaluate(self.tree, self.validation)["loss"]
        if not math.isfinite(loss):
            raise ValueError(
                f"the validation loss of the root is {loss}; expected a finite number: look for "
                "nan and infinity among the validation samples"
            )
        return loss

    def _visit(self, leaf: int) -> tuple[str, dict[str, Gain]]:
        before, action = self.strength, "keep"
        try:
            trained = self._train_candidates(leaf, settled=len(self.decisions) > 1)
            gains = {kind: gain for kind, (gain, _) in trained.items()}
            if self.in_parts and self.strength is not None and len(self.decisions) == 1:
                first, size = self._judge.part(gains), len(self.validation) + len(self.train)
                how = self.choose, self.tree.likelihood, size
                gains = judged_by_parts(first, self._parts(before), *how)
            action = self.choose(gains)
        finally:  # a lighter penalty is for a leaf that is no longer a line
            self.strength = before if action == "keep" else self.strength
        self.undecided = self.undecided[1:]
        if action != "keep":
            _, candidate = trained[action]
            self.loss = gains[action].loss
            self.undecided += candidate.put()
        return action, gains

    def _parts(self, before: float | None) -> Iterator[Part]:
        """What the root's candidates gain on parts that are held out of the training samples."""
        how: Any = {"schedule": self.schedule, "schedule_per": self.schedule_per}
        how |= {"settings": self.settings, "optimizer": self._optimizer, "device": self.device}
        for start in fresh_starts(self.tree, self.train, self._seed("parts")):
            other = type(self)(*start, **how)
            other.step()
            other.strength = other.strength if self.strength == before else self.strength
            trained = other._train_candidates(0)
            yield other._judge.part({kind: gain for kind, (gain, _) in trained.items()})

    def _candidates(
        self, leaf: int, attempt: int = 0, others: Iterable[nn.Module] = ()
    ) -> dict[str, list[Candidate]]:
        return propose(
            self.tree,
            leaf,
            self.settings,
            seed=self._seed("modules", attempt),
            balance_on=self.train if self.settings.balance_routers else None,
            look_at=None if attempt else self.train,  # later attempts start at random
            others=others,
        )

    def _train_candidates(self, leaf: int, settled: bool = True) -> dict[str, Tried]:
        """The best candidate of each kind; the penalty may become lighter if it is not settled."""
        if not (proposals := self._proposals(leaf)):
            return {}
        train, validation = cached_each(
            *(self.tree, leaf, (self.train, self.validation)),
            batch_size=self.batch_size,
            max_bytes=self.settings.cache_bytes,
        )
        if expected(self.tree, leaf, train) < self.settings.min_samples:
            return {}
        before = self._judge.before()
        counts, least = self.validation.counts(), self.settings.min_gain
        if not can_gain(self.tree, leaf, validation, before, counts, least):
            return {}
        samples = train, validation
        visit = Visit(leaf, samples, before, self._judge, self.choose, self._train)
        penalised = self._optimizer is None and is_linear_model(self.tree, self.train)
        if settled or not penalised or not says_little(self.strength, self.train):
            return visit.best(proposals)
        return best_of_lighter(self, visit, proposals)

    def _proposals(self, leaf: int) -> dict[str, list[Candidate]]:
        """The candidates of all attempts, which share no parameters."""
        found: dict[str, list[Candidate]] = {}
        for attempt in range(self.settings.n_init):
            others = [candidate for each in found.values() for candidate in each]
            for kind, candidates in self._candidates(leaf, attempt, others).items():
                if not attempt or kind in found:  # else the first has seen that it cannot gain
                    found.setdefault(kind, []).extend(candidates)
        return found

    def _train(
        self, model: nn.Module, phase: str, node: int, train: Any, validation: Any, attempt: int = 0
    ) -> float:
        """Trains a model to its best epoch, whose validation loss is returned; infinity if there
        is none. The training of a candidate ends early if it diverges or falls behind."""
        history, is_root = History(), model is self.tree
        place = {"phase": phase, "node": node, "decision": len(self.decisions)}
        wait = self.settings.waits(len(train), WAIT if is_root else BEGUN)
        callbacks: list[Callable] = [partial(self._tell, place)]
        if not is_root and self.schedule is None:  # with a schedule, the pace may still rise
            callbacks.append(pacer(self.loss - self.settings.min_gain, self.settings.epochs, wait))
        self.progress.part = f"decision {len(self.decisions)}, {phase} of node {node}, "
        own = self._optimizer is not None  # and may tell modules apart
        try:
            with together(model, self.device, apart=own) as trained:
                fit(
                    trained,
                    train,
                    validation,
                    epochs=self.settings.epochs,
                    patience=wait,
                    batch_size=self.batch_size,
                    optimizer=self.optimizer,
                    schedule=self.schedule,
                    schedule_per=self.schedule_per,
                    callbacks=callbacks,
                    seed=self._seed(phase, attempt),
                    device=self.device,
                    keep_start=is_root,
                    progress=self.progress,
                    history=history,
                )
        except Behind:
            pass  # its best epoch counts
        except NonFiniteLossError as error:
            if is_root:
                raise
            warnings.warn(
                f"a {phase} of node {node} was stopped in epoch {error.epoch}, batch "
                f"{error.batch}: its loss or gradient was not finite; its best epoch counts",
                stacklevel=2,
            )
        finally:
            for record in history:
                self.history.append(place | record)
        return history.best["validation_loss"] if history.best else math.inf

    def _tell(self, place: dict[str, Any], model: nn.Module, history: History) -> None:
        for callback in self.epoch_callbacks:
            callback(self, place | history.records[-1])

    def _forget_unfinished(self) -> None:
        # An interrupted step leaves records of trainings that are now repeated.
        self.history.records[:] = [r for r in self.history if r["decision"] < len(self.decisions)]

    def _seed(self, purpose: str, attempt: int = 0) -> int:
        words = [self.settings.seed, len(self.decisions), *purpose.encode(), *[attempt][:attempt]]
        return int(np.random.SeedSequence(words).generate_state(1)[0])
