"""The pace of a candidate: what is hopeless ends, and what may still come is waited for."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from growths import make_growth
from torch.optim.lr_scheduler import ConstantLR

from structnet.neural_tree.growth.pace import Behind, pacer
from structnet.neural_tree.settings import BEGUN
from structnet.training.history import History


def ends(losses: np.ndarray, goal: float, epochs: int, wait: int | None) -> int | None:
    """The epoch in which a training with such losses ends for its pace."""
    check, history = pacer(goal, epochs, wait), History()
    for epoch, loss in enumerate(losses.tolist(), 1):
        history.append({"validation_loss": loss})
        try:
            check(None, history)
        except Behind:
            return epoch
    return None


def test_no_loss_that_falls_ever_more_slowly_ends_before_it_reaches_its_goal() -> None:
    losses = 1 + np.exp(-np.arange(60) / 20)
    assert ends(losses, losses[-1], 60, 5) is None
    assert ends(losses, losses[-1] - 1e-3, 60, 5) is not None
    assert ends(losses, 0.9, 60, None) is None


def test_the_further_the_goal_the_sooner_the_end() -> None:
    losses = 1 + np.exp(-np.arange(60) / 20)
    far, nearer, near = (ends(losses, goal, 60, 5) or 60 for goal in (0.0, 0.5, 0.9))
    assert far < nearer < near < 60


def test_it_is_told_by_as_many_epochs_as_are_waited_for() -> None:
    assert ends(np.ones(20), 0.5, 20, 5) == 6


def test_one_bad_epoch_is_no_end() -> None:
    losses = np.linspace(2, 1, 40)
    losses[20] = 3
    assert ends(losses, 1.2, 40, 5) is None


def test_a_spell_without_a_gain_is_no_end() -> None:
    losses = np.linspace(2, 1, 40)
    losses[20:27] = losses[19]
    assert ends(losses, 1.4, 40, 5) is None


@pytest.mark.parametrize(
    ("loss", "schedule", "stopped"),
    [(10.0, None, False), (1e-3, None, True), (1e-3, partial(ConstantLR, factor=1.0), False)],
)
def test_a_candidate_ends_once_it_cannot_gain_what_it_must(
    loss: float, schedule: Callable | None, stopped: bool
) -> None:
    growth = make_growth(epochs=20, patience=2, batch_size=3, schedule=schedule)
    growth.step()
    growth.loss = loss
    assert growth.settings.waits(60, BEGUN) == 6
    growth.step()
    epochs = [record["epoch"] for record in growth.history if record["phase"] == "split"]
    assert (max(epochs) < 20) == stopped


def test_the_goal_of_a_candidate_is_the_least_that_is_a_gain() -> None:
    def losses_of_a_split(loss: float) -> np.ndarray:
        growth = make_growth(epochs=20, patience=2, batch_size=3, min_gain=0.01)
        growth.step()
        growth.loss = loss
        growth.step()
        split = [record for record in growth.history if record["phase"] == "split"]
        return np.array([record["validation_loss"] for record in split])

    every = losses_of_a_split(10.0)  # whatever it comes to is a gain
    loss = every.min() + 0.005
    expected, *others = (ends(every, loss - gain, 20, 6) for gain in (0.01, 0.0, -0.01, 0.1))
    assert expected not in others
    assert len(losses_of_a_split(loss)) == expected
