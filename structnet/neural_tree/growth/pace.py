"""The pace of a candidate: stops a training that would not reach its goal in time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from structnet.training.history import History


class Behind(Exception):  # ends a training, and is no error
    """A candidate would not reach its goal."""


def pacer(goal: float, epochs: int, wait: int | None) -> Callable[[Any, History], None]:
    """A callback of :func:`structnet.fit` that raises :class:`Behind` if the goal is out of reach.

    The loss of a training falls ever more slowly. If it would stay above the goal even at its pace
    over the latter half of the epochs so far, the candidate will not be taken. A pace over fewer
    epochs is too noisy: over 5 epochs, of up to 59, it ended 3 of 38 splits of SARCOS that would
    have been taken.

    Args:
        goal: validation loss to reach.
        epochs: largest number of epochs of the training.
        wait: smallest number of epochs over which the pace is measured; None never raises.

    Example:
        >>> history = History({"validation_loss": loss} for loss in (2.0, 1.9, 1.8))
        >>> pacer(goal=1.5, epochs=7, wait=2)(None, history)  # 1.8 - 4 * 0.1 is less
        >>> pacer(goal=1.3, epochs=7, wait=2)(None, history)
        Traceback (most recent call last):
        structnet.neural_tree.growth.pace.Behind
    """

    def check(model: Any, history: History) -> None:
        losses = history["validation_loss"]
        if wait is None or len(losses) <= wait:
            return
        over = max(wait, len(losses) // 2)
        best, before = min(losses), min(losses[:-over])
        if best - (before - best) / over * (epochs - len(losses)) > goal:
            raise Behind

    return check
