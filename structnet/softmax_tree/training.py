"""Trains softmax trees: a complete tree by TAO, which may grow."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from structnet.estimators.temperature import best_temperature
from structnet.routing.words import leaf_words
from structnet.softmax_tree.choice import SURE, chosen
from structnet.softmax_tree.draft import Draft
from structnet.softmax_tree.fold import BETTER, Wrongness
from structnet.softmax_tree.growth import Trial, trials
from structnet.softmax_tree.objective import Objective
from structnet.softmax_tree.optimisation import alternate, updated
from structnet.softmax_tree.penalties import ENOUGH
from structnet.softmax_tree.points import Points
from structnet.softmax_tree.settings import (
    ChosenGrowth,
    ChosenSettings,
    GrowthSettings,
    SoftmaxTreeSettings,
)
from structnet.softmax_tree.smoothing import smoothed
from structnet.softmax_tree.solved_leaf import are_few, half_solved, how_solved, leaf_in_words
from structnet.softmax_tree.start import best_draft, first_draft, same_shape
from structnet.softmax_tree.state import State, facts_of
from structnet.softmax_tree.tree import SoftmaxTree
from structnet.softmax_tree.wrongness import log_probs, wrong_about
from structnet.training.history import History
from structnet.training.one_thread import ONE_THREAD
from structnet.training.progress import Progress

PATIENCE = 2  # rounds of growth that are not better beyond chance, after which it ends
ONE_LEAF = "one leaf, {}, was best on held-out samples; set {} for a tree"


@dataclass(frozen=True)
class Trained:
    """A tree and the record of its training.

    Attributes:
        tree: trained tree.
        history: a record for each iteration: ``epoch``, ``round`` (0 before growth), ``objective``,
            ``error`` and, with validation data, ``validation_error``, and ``leaves``, ``seconds``.
        trials: all subtrees that were tried, accepted or not.
        settings, growth: hyper-parameters that were used, without None except for limits; growth is
            None if nothing grew.
        round: round of growth of the tree; later rounds may have been tried.
    """

    tree: SoftmaxTree
    history: History
    trials: list[Trial]
    settings: ChosenSettings
    growth: GrowthSettings | None = None
    round: int = 0

    def config(self) -> dict[str, Any]:
        """Everything except the weights, as JSON; :meth:`from_config` builds it again."""
        return {
            "tree": self.tree.config(),
            "history": list(self.history),
            "trials": [asdict(trial) for trial in self.trials],
            "settings": asdict(self.settings),
            "growth": self.growth and asdict(self.growth),
            "round": self.round,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Trained:
        """The record of a configuration, with weights that are still to be loaded."""
        return cls(
            SoftmaxTree.from_config(config["tree"]),
            History(config["history"]),
            [Trial(**trial) for trial in config["trials"]],
            ChosenSettings(**config["settings"]),
            config["growth"] and ChosenGrowth(**config["growth"]),
            config["round"],
        )


def train(
    x: Any,
    y: Any,
    settings: SoftmaxTreeSettings | None = None,
    growth: GrowthSettings | None = None,
    *,
    num_classes: int | None = None,
    weights: Any = None,
    groups: np.ndarray | None = None,
    validation: tuple[Any, ...] | None = None,
    refit: bool = False,
    callbacks: Sequence[Callable[[History], Any]] = (),
    state_file: str | Path | None = None,
    progress: bool | Progress = False,
) -> Trained:
    """Trains a softmax tree of a fixed structure, or lets it grow.

    Args:
        x: samples: an array, or a CSR matrix with ascending columns.
        y: classes, as numbers from 0.
        settings: hyper-parameters; those that are None are chosen from the sizes of the data and by
            the error on a held-out part, or on the validation samples if nothing grows.
        growth: hyper-parameters of growth; with None, nothing grows.
        num_classes: number of classes; by default the largest class plus one.
        weights: number of times that each sample counts.
        groups: group of each sample, as a number from 0, if new samples will come from other
            groups; samples are then held out in whole groups.
        validation: samples and classes, and optionally weights and groups, by which the round of
            growth is chosen, by their error and, with few classes, also by their probabilities, and
            the temperature; without them, the last round is taken.
        refit: True trains the tree of that round once more, on the validation samples too.
        callbacks: functions that are called with the history after every iteration.
        state_file: file to which the state of the training is saved after every iteration; if it
            exists, the training resumes from it, with the settings with which it was started.
        progress: True reports from time to time, on standard error, what is tried and how far it
            is.

    Shapes:
        x ``[n, D]``; y, weights, groups ``[n]``.

    Raises:
        ValueError: k is larger than the number of classes, or the samples, classes and weights are
            not as described.
        CheckpointError: the state is damaged, or belongs to other data.

    Example:
        >>> import numpy as np
        >>> x = np.random.default_rng(0).normal(size=(200, 2))
        >>> trained = train(x, (x > 0) @ [1, 2], SoftmaxTreeSettings(depth=1, k=2))
        >>> trained.tree.topology.num_nodes, trained.history[-1]["error"] < 0.1
        (3, True)
    """
    settings = settings or SoftmaxTreeSettings()
    points = Points.made(x, y, num_classes, weights, groups)
    number = points.num_classes
    points.check()
    if not points.weights.all():  # or all rows of a class in some part might weigh 0
        points = points.take(points.weights > 0)
    held_out = None
    if validation is not None:
        held_out = Points.made(validation[0], validation[1], number, *validation[2:])
    begin, progress = time.perf_counter(), Progress.of(progress)
    depth, name = (growth.start_depth, "start_depth") if growth else (settings.depth, "depth")
    file = None if state_file is None else Path(state_file)
    data = {} if file is None else facts_of(points, held_out)
    with ONE_THREAD:  # the products are small
        if file is not None and file.exists():
            state = State.load(file, data)
            begin -= state.history.records[-1]["seconds"]
        else:
            by = None if growth else held_out  # which says how far to grow
            found, growth = chosen(points, settings, growth, progress, by)
            found.check_classes(number)
            state = State(found, growth, best_draft(points, found, growth), data=data)
        draft = _Training(points, held_out, state, refit, callbacks, file, progress, begin).run()
    tree = SoftmaxTree.from_draft(draft, points.num_features, number)
    last = state.history.records[-1]
    leaves = leaf_words(last["leaves"])
    line = f"{last['epoch']} iterations, {leaves}, {last['seconds']:.1f} s"
    if depth is None and last["leaves"] == 1:
        line += f"; {ONE_LEAF.format(leaf_in_words(state.settings, points.num_features), name)}"
    progress.say_when_due(line, last=True)
    how = state.settings, state.growth, state.round
    return Trained(tree, state.history, state.trials, *how)


def retrained(tree: SoftmaxTree, x: Any, y: Any, settings: SoftmaxTreeSettings) -> SoftmaxTree:
    """A tree of the same shape, trained anew by TAO, to measure what growth adds beyond the shape.

    Args:
        tree: tree that has grown.
        x, y: samples and classes.
        settings: hyper-parameters, including the penalties.

    Shapes:
        x ``[n, D]``; y ``[n]``.
    """
    points = Points.made(x, y, tree.num_classes)
    objective = Objective.from_settings(settings, points.num_classes)
    how = settings.max_iter, settings.tol, settings.n_jobs
    with ONE_THREAD:
        begun = same_shape(tree.draft(), points, settings.seed)
        draft = alternate(begun, points, objective, *how).pruned(points)
    return SoftmaxTree.from_draft(draft, points.num_features, points.num_classes)


def leaves_trained(
    x: Any, y: Any, settings: SoftmaxTreeSettings, num_classes: int
) -> tuple[SoftmaxTree, ChosenSettings]:
    """The initial tree with only its leaves trained, and the settings that were chosen.

    Args:
        x, y: samples and classes.
        settings: hyper-parameters of the tree.
        num_classes: number of classes.

    Shapes:
        x ``[n, D]``; y ``[n]``.
    """
    points = Points.made(x, y, num_classes)
    with ONE_THREAD:
        found, _ = chosen(points, settings, None)
        objective = Objective.from_settings(replace(found, solver_steps=500), num_classes)
        draft = first_draft(points, found, None)
        for node, rows in draft.reach(points).items():
            if not (draft.children[node] or found.is_solved):
                draft.nodes[node] = updated(draft, node, points, rows, objective)
        draft = half_solved(draft, points, found)
    return SoftmaxTree.from_draft(draft, points.num_features, num_classes), found


@dataclass
class _Training:
    """A training in progress: its data, options and state."""

    points: Points
    validation: Points | None
    state: State
    refit: bool
    callbacks: Sequence[Callable[[History], Any]]
    file: Path | None
    progress: Progress
    begin: float

    def run(self) -> Draft:
        """Trains until the end; returns the tree of the best round, or of the last one."""
        state, growth = self.state, self.state.growth
        while not state.chosen:
            self._optimise(self.points)
            if growth is None:
                return self._smoothed(self.points)
            self._compare()
            done = state.since == PATIENCE or state.round == growth.max_rounds
            perfect = state.least is not None and state.least <= ENOUGH
            if done or perfect or state.settings.solved or not self._grow():
                assert state.best is not None
                state.settings = self._tempered(state.best)
                state.begin(state.best, grown=False)
        points = self.points
        if self.refit and self.validation is not None:
            points = points.joined(self.validation)
            self._optimise(points)
        return self._smoothed(points)

    @cached_property
    def _objective(self) -> Objective:
        return Objective.from_settings(self.state.settings, self.points.num_classes)

    @cached_property
    def _trained_by(self) -> Objective | None:
        return Objective.of_leaves(self.state.settings, self.points.num_classes)

    def _smoothed(self, points: Points) -> Draft:
        draft = half_solved(self.state.draft, points, self.state.settings)
        draft = smoothed(draft, points, self._trained_by)
        return draft.at(self.state.settings.temperature)

    def _optimise(self, points: Points) -> None:
        """Runs the remaining iterations of TAO on the present tree, and prunes it."""
        state, how = self.state, self.state.settings

        def after_iteration(draft: Draft, value: float, settled: bool) -> None:
            state.draft, state.settled = draft, settled
            state.iterations += 1
            self._record(value, points)

        if not len(state.history):
            self._record(self._objective.of(state.draft, points), points)
        if state.chosen and how.is_solved:  # again, of all samples
            # Else it is another kind of leaf, or the parts have been chosen with their shrinkage.
            if are_few(points) == are_few(self.points) and how.parts == 1:
                how = state.settings = replace(how, solved=how_solved(points, how.seed))
            state.draft = first_draft(points, how, None)
        left = 0 if state.settled else how.max_iter - state.iterations
        alternate(state.draft, points, self._objective, left, how.tol, how.n_jobs, after_iteration)
        state.draft = state.draft.pruned(points)

    def _compare(self) -> None:
        """Keeps the tree of a round if it is better beyond chance, or without validation."""
        state, tested = self.state, self.validation
        state.since += 1
        if tested is not None:
            wrong = self._wrong_about(state.draft)
            best = None if state.best is None else self._wrong_about(state.best)
            one_leaf = state.best is not None and len(state.best.nodes) == 1
            if best and not best.exceeds(wrong, SURE if one_leaf else BETTER):
                return
            state.least = wrong.mean
        state.best, state.best_round, state.since = state.draft, state.round, 0

    def _wrong_about(self, draft: Draft) -> Wrongness:
        """How wrong a tree is about the validation samples."""
        tested = self.validation
        assert tested is not None
        draft = half_solved(draft, self.points, self.state.settings)
        each = wrong_about(draft, self.points, tested, self._trained_by)
        return Wrongness(each, tested.weights)

    def _tempered(self, draft: Draft) -> ChosenSettings:
        """The settings with the temperature for the validation samples, if there are any."""
        settings, tested = self.state.settings, self.validation
        if tested is None or settings.temperature != 1 or settings.is_solved:
            return settings
        some = tested.few(settings.seed)
        draft = half_solved(draft, self.points, settings)
        log_prob = log_probs(draft, self.points, some, self._trained_by, inside=True)
        return replace(settings, temperature=best_temperature(log_prob, some.y, some.weights))

    def _grow(self) -> bool:
        """Starts a round with the accepted subtrees; False if there are none."""
        state = self.state
        assert state.growth is not None
        given = self.points, self._objective, state.settings, state.growth
        tried, accepted = trials(state.draft, *given, round=state.round + 1)
        state.trials += tried
        line = f"round {state.round + 1}: {len(accepted)} of {len(tried)} subtrees taken"
        self.progress.say_when_due(line, last=False)
        if accepted:
            state.begin(state.draft.grafted(accepted), grown=True)
        return bool(accepted)

    def _validation_error(self, draft: Draft) -> float | None:
        return None if self.validation is None else draft.error(self.validation)

    def _record(self, value: float, points: Points) -> None:
        """Records an iteration, saves the state, reports progress and calls the callbacks."""
        state = self.state
        # In the final training the tree learns from the validation samples.
        error = None if state.chosen else self._validation_error(state.draft)
        state.history.append(
            {
                "epoch": len(state.history),
                "round": state.round,
                "objective": value,
                "error": state.draft.error(points),
                **({} if error is None else {"validation_error": error}),
                "leaves": sum(not below for below in state.draft.children),
                "seconds": round(time.perf_counter() - self.begin, 3),
            }
        )
        if self.file is not None:
            state.save(self.file)
        last = state.history.records[-1]
        line = f"iteration {last['epoch']}: objective {value:.6g}, leaves {last['leaves']}"
        self.progress.say_when_due(line, last=False)
        for callback in self.callbacks:
            callback(state.history)
