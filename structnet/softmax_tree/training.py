"""Softmax trees from data: a complete tree trained by TAO, which may grow."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from structnet.softmax_tree.choice import chosen
from structnet.softmax_tree.draft import Draft
from structnet.softmax_tree.growth import Trial, trials
from structnet.softmax_tree.objective import Objective
from structnet.softmax_tree.optimisation import alternate, updated
from structnet.softmax_tree.points import Points
from structnet.softmax_tree.settings import GrowthSettings, SoftmaxTreeSettings
from structnet.softmax_tree.start import first_draft, same_shape
from structnet.softmax_tree.tree import SoftmaxTree
from structnet.training.history import History

PATIENCE = 2  # rounds of growth without a lower validation error, after which it ends


@dataclass(frozen=True)
class Trained:
    """A tree, and how it came to be.

    Attributes:
        tree: the tree.
        history: a record an iteration: ``epoch``, ``round`` (0 before growth), ``objective``,
            ``error`` and, with validation data, ``validation_error``, and ``leaves``, ``seconds``.
        trials: all subtrees that were tried, accepted or not.
        settings, growth: hyper-parameters that were used, without None but for limits; growth is
            None where nothing grew.
    """

    tree: SoftmaxTree
    history: History
    trials: list[Trial]
    settings: SoftmaxTreeSettings
    growth: GrowthSettings | None = None

    def config(self) -> dict[str, Any]:
        """All but the weights, as JSON, from which :meth:`from_config` builds it again."""
        return {
            "tree": self.tree.config(),
            "history": list(self.history),
            "trials": [asdict(trial) for trial in self.trials],
            "settings": asdict(self.settings),
            "growth": self.growth and asdict(self.growth),
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Trained:
        """The same again, with weights that are to come."""
        return cls(
            SoftmaxTree.from_config(config["tree"]),
            History(config["history"]),
            [Trial(**trial) for trial in config["trials"]],
            SoftmaxTreeSettings(**config["settings"]),
            config["growth"] and GrowthSettings(**config["growth"]),
        )


def train(
    x: Any,
    y: Any,
    settings: SoftmaxTreeSettings | None = None,
    growth: GrowthSettings | None = None,
    *,
    num_classes: int | None = None,
    weights: Any = None,
    validation: tuple[Any, ...] | None = None,
    callbacks: Sequence[Callable[[History], Any]] = (),
) -> Trained:
    """Trains a softmax tree on a fixed structure, or lets it grow.

    Args:
        x: samples: an array, or a CSR matrix with ascending columns.
        y: classes, numbers from 0.
        settings: hyper-parameters; what is None is chosen from the sizes of the data and by the
            error on a part that is held out for that.
        growth: hyper-parameters of growth; None lets nothing grow.
        num_classes: number of classes; by default one more than the largest.
        weights: count of each sample.
        validation: samples and classes, and perhaps weights, by whose error the round of growth is
            chosen; without them it is the last one.
        callbacks: functions that are called with the history after every iteration.

    Shapes:
        x ``[n, D]``; y, weights ``[n]``.

    Raises:
        ValueError: k is larger than the number of classes.

    Example:
        >>> import numpy as np
        >>> x = np.random.default_rng(0).normal(size=(200, 2))
        >>> trained = train(x, (x > 0) @ [1, 2], SoftmaxTreeSettings(depth=1, k=2))
        >>> trained.tree.topology.num_nodes, trained.history[-1]["error"] < 0.1
        (3, True)
    """
    settings = settings or SoftmaxTreeSettings()
    number = int(max(y)) + 1 if num_classes is None else num_classes
    points = Points.made(x, y, number, weights)
    held_out = None
    if validation is not None:
        held_out = Points.made(validation[0], validation[1], number, *validation[2:])
    settings, growth = chosen(points, settings, growth)
    settings.check_classes(number)
    training = _Training(points, held_out, settings, growth, callbacks)
    draft = training.run()
    tree = SoftmaxTree.from_draft(draft, points.num_features, number)
    return Trained(tree, training.history, training.trials, settings, growth)


def retrained(tree: SoftmaxTree, x: Any, y: Any, settings: SoftmaxTreeSettings) -> SoftmaxTree:
    """A tree of the same shape, begun anew and trained by TAO: what growth gives beyond shape.

    Args:
        tree: tree that has grown.
        x, y: samples and classes.
        settings: hyper-parameters, penalties among them.

    Shapes:
        x ``[n, D]``; y ``[n]``.
    """
    points = Points.made(x, y, tree.num_classes)
    begun = same_shape(tree.draft(), points, settings.seed)
    objective = Objective.told(settings, points.num_classes)
    draft = alternate(begun, points, objective, settings.max_iter, settings.tol, settings.n_jobs)
    return SoftmaxTree.from_draft(draft.pruned(points), points.num_features, points.num_classes)


def leaves_trained(
    x: Any, y: Any, settings: SoftmaxTreeSettings, num_classes: int
) -> tuple[SoftmaxTree, SoftmaxTreeSettings]:
    """The tree that training would begin with, its leaves alone trained, and the settings chosen.

    Args:
        x, y: samples and classes.
        settings: hyper-parameters of the tree.
        num_classes: number of classes.

    Shapes:
        x ``[n, D]``; y ``[n]``.
    """
    points = Points.made(x, y, num_classes)
    settings, _ = chosen(points, settings, None)
    objective = Objective.told(replace(settings, solver_steps=500), num_classes)
    draft = first_draft(points, settings, None)
    for node, rows in draft.reach(points).items():
        if not draft.children[node]:
            draft.nodes[node] = updated(draft, node, points, rows, objective)
    return SoftmaxTree.from_draft(draft, points.num_features, num_classes), settings


@dataclass
class _Training:
    """A training and what it has recorded."""

    points: Points
    validation: Points | None
    settings: SoftmaxTreeSettings
    growth: GrowthSettings | None
    callbacks: Sequence[Callable[[History], Any]]
    history: History = field(default_factory=History)
    trials: list[Trial] = field(default_factory=list)
    begin: float = field(default_factory=time.perf_counter)

    def run(self) -> Draft:
        """The tree after its last round, or after its best one."""
        draft = best = self._optimised(first_draft(self.points, self.settings, self.growth), 0)
        if self.growth is None:
            return draft
        least: float | None = self._validation_error(draft)
        since = 0
        for number in range(1, self.growth.max_rounds + 1):
            common = self.points, self._objective(), self.settings, self.growth
            tried, accepted = trials(draft, *common, round=number)
            self.trials += tried
            if not accepted:
                break
            draft = self._optimised(draft.grafted(accepted), number)
            error = self._validation_error(draft)
            since += 1
            if error is None or least is None or error < least:
                best, least, since = draft, error, 0
            if since == PATIENCE:
                break
        return best

    def _objective(self) -> Objective:
        return Objective.told(self.settings, self.points.num_classes)

    def _optimised(self, draft: Draft, number: int) -> Draft:
        """The tree after TAO and pruning."""
        how = self.settings
        objective = self._objective()

        def told(draft: Draft, value: float) -> None:
            self._record(draft, value, number)

        if not len(self.history):
            told(draft, objective.of(draft, self.points))
        draft = alternate(draft, self.points, objective, how.max_iter, how.tol, how.n_jobs, told)
        return draft.pruned(self.points)

    def _validation_error(self, draft: Draft) -> float | None:
        return None if self.validation is None else draft.error(self.validation)

    def _record(self, draft: Draft, value: float, number: int) -> None:
        error = self._validation_error(draft)
        self.history.append(
            {
                "epoch": len(self.history),
                "round": number,
                "objective": value,
                "error": draft.error(self.points),
                **({} if error is None else {"validation_error": error}),
                "leaves": sum(not below for below in draft.children),
                "seconds": round(time.perf_counter() - self.begin, 3),
            }
        )
        for callback in self.callbacks:
            callback(self.history)
