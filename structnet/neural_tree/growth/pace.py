"""The pace of a candidate: does it take it where it must get, before its epochs end?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from structnet.training.history import History


class Behind(Exception):  # no error: a training that ends
    """A candidate would not get where it must."""


def pacer(goal: float, epochs: int, wait: int | None) -> Callable[[Any, History], None]:
    """A callback of :func:`structnet.fit` that raises :class:`Behind` where a loss will stay above.

    The loss of a training falls ever more slowly; where it would stay above the goal although it
    fell on as it did over the latter half, epochs are spent on what is not taken. Over less, noise
    ends what would get there: by 5 epochs of up to 59, 3 of 38 splits of SARCOS were lost.

    Args:
        goal: validation loss that must be reached.
        epochs: most epochs of the training.
        wait: fewest epochs over which the pace is told; None lets all pass.

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
