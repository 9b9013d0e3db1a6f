"""The wrongness of a tree on held-out samples, by which settings and rounds are chosen.

If a class is rare, hardly any tree predicts it: all make the same mistakes, and only probabilities
show which is better. With up to 100 classes they count besides the mistakes. They are not enough
alone: a decision tree on single features may make by far the fewest mistakes, but would lose to an
unsure tree, as its leaves are too sure.
"""

from __future__ import annotations

import numpy as np

from structnet.estimators.temperature import best_temperature
from structnet.softmax_tree.draft import Draft
from structnet.softmax_tree.objective import Objective
from structnet.softmax_tree.points import Points
from structnet.softmax_tree.smoothing import smoothed
from structnet.softmax_tree.tree import SoftmaxTree

FEW = 100  # classes up to which probabilities count
SOME = 100_000  # largest number of probabilities by which a trial's temperature is found


def wrong_about(
    draft: Draft,
    learnt: Points,
    tested: Points,
    objective: Objective | None = None,
    tempered: bool = False,
) -> np.ndarray:
    """The wrongness of a tree on each sample, from 0, right and sure, to 2, wrong and sure.

    A mistake counts 1; half the squared distance of the probabilities from the true class (half the
    Brier score) is added. With more than 100 classes, only mistakes count.

    Args:
        draft: tree before its leaves are smoothed.
        learnt: samples that the tree was trained on.
        tested: samples to test on.
        objective: objective by which its leaves were trained; None if they were not.
        tempered: True for the probabilities at the temperature that suits the tested samples, as
            those of a strong penalty are not sure enough, however right they are.

    Shapes:
        -> ``[tested]``, float64.

    Reference:
        Brier, "Verification of Forecasts Expressed in Terms of Probability", Monthly Weather
        Review, 1950.
    """
    wrong = draft.mistakes(tested).astype(np.float64)
    if largest_wrong(tested.num_classes) == 1:
        return wrong
    known = smoothed(draft, learnt, objective)
    if tempered:
        some = tested.few(0, SOME)
        log_prob = _log_probs(known, learnt, some, inside=True)
        known = known.at(best_temperature(log_prob, some.y, some.weights))
    prob = np.exp(_log_probs(known, learnt, tested))  # [tested, K]
    prob[np.arange(len(prob)), tested.y] -= 1
    return wrong + (prob**2).sum(1) / 2


def log_probs(
    draft: Draft,
    learnt: Points,
    tested: Points,
    objective: Objective | None = None,
    inside: bool = False,
) -> np.ndarray:
    """The log-probabilities that a tree gives to samples, once its leaves are smoothed.

    Args:
        draft: tree before its leaves are smoothed.
        learnt, tested: samples that the tree was trained on, and samples to test on.
        objective: objective by which its leaves were trained; None if they were not.
        inside: True leaves out the classes that a leaf lacks: they get -inf.

    Shapes:
        -> ``[tested, K]``.
    """
    return _log_probs(smoothed(draft, learnt, objective), learnt, tested, inside)


def _log_probs(known: Draft, learnt: Points, tested: Points, inside: bool = False) -> np.ndarray:
    """The log-probabilities of a tree whose leaves are smoothed; see :func:`log_probs`."""
    tree = SoftmaxTree.from_draft(known, learnt.num_features, learnt.num_classes)
    found = tree.choices(tested.x)
    if inside:
        found = found._replace(rest=np.zeros_like(found.rest))
    return found.dense(learnt.num_classes)


def largest_wrong(num_classes: int) -> int:
    """The wrongness of a tree that is wrong and sure: 2, or 1 with more than 100 classes."""
    return 2 if num_classes <= FEW else 1


def odds_of(wrong: float, num_classes: int) -> float:
    """The odds of being wrong, from a mean wrongness."""
    return wrong / max(largest_wrong(num_classes) - wrong, 1e-9)
