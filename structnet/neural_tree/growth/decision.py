"""The rule that splits a leaf, deepens it or keeps it, and the record of each decision."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from structnet.neural_tree.settings import NeuralTreeSettings
from structnet.routing.words import leaf_words


class Gain(NamedTuple):
    """The gain of a trained candidate.

    Attributes:
        loss: validation loss of the tree with the candidate.
        gain: decrease of the validation loss by the candidate.
        error: standard error of the gain over the validation samples.
        share: share of the training samples at the smallest of a split's leaves; 1 for a deepening.
        steps: True for a split or a deepening that began as steps.
        after: loss of each validation sample with the candidate.
        leaves: number of new leaves.

    Shapes:
        after ``[n]``.
    """

    loss: float
    gain: float
    error: float
    share: float = 1.0
    steps: bool = False
    after: np.ndarray | None = None
    leaves: int = 1


Compare = Callable[[np.ndarray, np.ndarray], tuple[float, float]]


def takes_place(gain: Gain, best: Gain, settings: NeuralTreeSettings, compare: Compare) -> bool:
    """Does a candidate take the place of the best one of its kind so far?

    The lower loss counts; but steps, many of which can follow the noise of few samples, must be
    better than what they replace by more than chance (``gain_errors``), unless it is a split of as
    many leaves.

    Args:
        gain, best: gains of the two, on the same validation samples.
        settings: settings; ``gain_errors`` is used.
        compare: function of the losses before and after that returns the gain and its error, such
            as :func:`.measures.decrease` of some samples.
    """
    lower = gain.loss < best.loss
    as_many = 1 < gain.leaves <= best.leaves
    if not (lower and gain.steps and math.isfinite(best.loss)) or as_many:
        return lower
    return surely_better(gain, best, settings, compare)


def surely_better(gain: Gain, best: Gain, settings: NeuralTreeSettings, compare: Compare) -> bool:
    """Is a candidate's loss lower than that of another one, by more than chance?

    Args:
        gain, best, settings, compare: arguments of :func:`takes_place`.
    """
    assert best.after is not None and gain.after is not None  # as both were trained
    further, error = compare(best.after, gain.after)
    return further > settings.gain_errors * error


def choose(gains: Mapping[str, Gain], settings: NeuralTreeSettings) -> str:
    """The action for a leaf: the best of the candidates that gain enough.

    Algorithm 1 of the paper takes the best candidate if it lowers the validation loss at all. With
    few samples, a candidate that has learned nothing does so half of the time; so the gain must
    also exceed its own noise, and no leaf of a split may have only a handful of samples. If a split
    and a deepening both gain enough, the split adds a question and keeps the solvers as simple as
    they were: with ``prefer_split``, it is taken even if the deepening gains more, unless that is
    beyond chance. A split that began as steps has no such credit, as many steps follow any curve,
    only not as well; nor has one beside a deepening that began as steps and gains more.

    Args:
        gains: gain of each candidate, by its kind.
        settings: settings; ``min_gain``, ``gain_errors``, ``prune`` and ``prefer_split`` are used.

    Returns:
        The kind of the candidate to take, or ``"keep"``.

    Example:
        >>> gains = {"split": Gain(0.8, 0.1, 0.04), "deepen": Gain(0.7, 0.2, 0.04)}
        >>> choose(gains, NeuralTreeSettings())
        'split'
        >>> choose(gains | {"deepen": Gain(0.6, 0.3, 0.04)}, NeuralTreeSettings())
        'deepen'
        >>> choose(gains, NeuralTreeSettings(prefer_split=False))
        'deepen'
        >>> choose(gains | {"split": Gain(0.8, 0.1, 0.01, steps=True)}, NeuralTreeSettings())
        'deepen'
        >>> choose(gains, NeuralTreeSettings(gain_errors=4)), choose({}, NeuralTreeSettings())
        ('deepen', 'keep')
    """
    least = settings.prune or 0.0
    enough = {
        kind: each.gain
        for kind, each in gains.items()
        if each.gain > max(settings.min_gain, settings.gain_errors * each.error)
        and each.share >= least
    }
    if settings.prefer_split and "split" in enough and not any(g.steps for g in gains.values()):
        split, other = gains["split"], gains.get("deepen", gains["split"])
        error = math.hypot(split.error, other.error)
        if other.gain - split.gain <= settings.gain_errors * error:
            return "split"
    return max(enough, key=enough.__getitem__, default="keep")


@dataclass(frozen=True)
class Decision:
    """The decision on one node.

    Attributes:
        number: number of the decision; 0 is the training of the root.
        node: node that was decided on.
        action: ``"root"``, ``"split"``, ``"deepen"`` or ``"keep"``.
        loss: validation loss of the tree after the decision.
        candidates: validation loss of the tree with each candidate, by its kind.
        leaves: number of leaves after the decision.
        parameters: number of parameters of the tree after the decision.
        seconds: time that the decision took, including training.
        errors: standard error of each candidate's gain; over several held-out parts, if one could
            not tell.
        metrics: values of the growth's metrics on the validation samples after the decision.

    Example:
        >>> losses, errors = {"split": 0.1979, "deepen": 0.1382}, {"split": 0.02, "deepen": 0.01}
        >>> print(Decision(1, 0, "deepen", 0.1382, losses, 1, 20231, 0.1, errors))
        decision 1, node 0: split 0.1979 ± 0.0200, deepen 0.1382 ± 0.0100 -> deepen; validation
        loss 0.1382, 1 leaf, 20,231 parameters, 0.1 s
    """

    number: int
    node: int
    action: str
    loss: float
    candidates: dict[str, float]
    leaves: int
    parameters: int
    seconds: float
    errors: dict[str, float] = field(default_factory=dict)
    metrics: dict[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        errors = {kind: f" ± {error:.4f}" for kind, error in self.errors.items()}
        tried = ", ".join(
            f"{k} {loss:.4f}{errors.get(k, '')}" for k, loss in self.candidates.items()
        )
        taken = f"{tried or 'nothing to try'} -> {self.action}"
        taken = "trained the root" if self.action == "root" else taken
        leaves = leaf_words(self.leaves)
        measured = "".join(f"{name} {value:.4f}, " for name, value in self.metrics.items())
        return (
            f"decision {self.number}, node {self.node}: {taken}; validation loss {self.loss:.4f}, "
            f"{measured}{leaves}, {self.parameters:,} parameters, {self.seconds:.1f} s"
        )
