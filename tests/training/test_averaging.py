"""A running mean of the weights is validated and kept; training goes on from the weights."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
import torch
from alike import assert_same_weights, untimed
from torch import nn
from train_helpers import Classifier, Noisy, rows

from structnet.training.averaging import Average
from structnet.training.checkpoint import CheckpointError, copy_state
from structnet.training.fitting import fit
from structnet.training.history import History
from structnet.training.metrics import evaluate

HOW = {"batch_size": 6, "epochs": 4, "progress": False}
SGD = partial(torch.optim.SGD, lr=0.1)


def recording(states: list[list]) -> partial:
    """An optimizer that keeps the weights after each of its steps."""

    class Recording(torch.optim.SGD):
        def step(self, closure=None):
            super().step()
            states.append([p.detach().clone() for g in self.param_groups for p in g["params"]])

    return partial(Recording, lr=0.1)


@pytest.mark.parametrize("average", [0.01, 0.5, 1, 2.5])
def test_what_is_left_is_the_mean_of_the_steps_as_the_formula_has_it(average: float) -> None:
    steps: list[list] = []
    model = Classifier()
    fit(model, rows(26), **HOW, average=average, optimizer=recording(steps))
    most, expected = max(1, round(average * 5)), steps[0]
    for number, weights in enumerate(steps[1:], 2):
        share = 1 / min(number, most)
        expected = [(1 - share) * e + share * w for e, w in zip(expected, weights, strict=True)]
    assert len(steps) == 20
    assert all(map(partial(torch.allclose, rtol=1e-12), model.parameters(), expected))


def test_the_training_itself_is_the_same() -> None:
    plain, averaged = [], []
    fit(Classifier(), rows(26), **HOW, optimizer=recording(plain))
    validation = rows(9, seed=1)
    fit(Classifier(), rows(26), validation, **HOW, average=2, optimizer=recording(averaged))
    assert all(all(map(torch.equal, *pair)) for pair in zip(averaged, plain, strict=True))


def test_the_mean_is_what_is_validated_and_kept() -> None:
    model, validation, seen = Classifier(norm=True), rows(30, seed=1), []
    told = [lambda model, history: seen.append(copy_state(model))]
    history = fit(model, rows(26), validation, **HOW, average=3, optimizer=SGD, callbacks=told)
    assert history.best["validation_loss"] == evaluate(model, validation)["loss"]
    # A callback is shown the weights that training goes on from.
    shown = seen[history.best["epoch"] - 1]
    assert not any(torch.equal(shown[name], value) for name, value in model.named_parameters())


def test_running_statistics_are_averaged_and_counts_are_not() -> None:
    model = nn.BatchNorm1d(1)
    average = Average(model, steps=9)
    for value in (1, 4):
        model.running_mean.fill_(value)
        model.num_batches_tracked.fill_(value)
        average.update()
    with average.in_place():
        assert (model.running_mean.item(), model.num_batches_tracked.item()) == (2.5, 4)
    assert model.running_mean.item() == 4


class Masked(nn.Module):
    """A buffer and a frozen parameter that are not finite everywhere."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mask", torch.tensor([0.0, -torch.inf, torch.inf]))
        self.frozen = nn.Parameter(torch.tensor([1.0, -torch.inf]), requires_grad=False)


def test_what_is_not_finite_in_a_mask_is_copied() -> None:
    model = Masked()
    average = Average(model, steps=9)
    for value in (0.0, 4.0):
        model.mask[0] = value
        average.update()
    model.mask[1], model.mask[2] = 6.0, -torch.inf  # entries that change their kind
    average.update()
    with average.in_place():
        assert model.mask.tolist() == pytest.approx([8 / 3, 6, -torch.inf])
        assert model.frozen.tolist() == [1, -torch.inf]
    assert model.mask.tolist() == [4, 6, -torch.inf]


def test_shared_weights_are_averaged_once() -> None:
    first = nn.Linear(1, 1, bias=False)
    model = nn.Sequential(first, first)
    average = Average(model, steps=9)
    for value in (1.0, 4.0):
        nn.init.constant_(first.weight, value)
        average.update()
    with average.in_place():
        assert first.weight.item() == 2.5
    assert first.weight.item() == 4.0


@pytest.mark.parametrize("held_out", [True, False])
@pytest.mark.parametrize("stop", [1, 3])
def test_a_resumed_average_ends_as_an_uninterrupted_one(
    tmp_path: Path, stop: int, held_out: bool
) -> None:
    data = [rows(26), *[rows(9, seed=1)] * held_out]
    how = HOW | {"average": 1.5, "optimizer": SGD}
    whole = Noisy(norm=True)
    history = fit(whole, *data, **how)

    def interrupt(model: nn.Module, history: History) -> None:
        if len(history) == stop:
            raise KeyboardInterrupt

    kept = {"checkpoint": tmp_path, "resume": True}
    with pytest.raises(KeyboardInterrupt):
        fit(Noisy(norm=True), *data, **how, **kept, callbacks=[interrupt])
    model = Noisy(norm=True)
    again = fit(model, *data, **how, **kept)
    assert_same_weights(model, whole)
    assert untimed(again) == untimed(history)


@pytest.mark.parametrize(("there", "here"), [(None, 1.0), (1.0, None), (1.0, 2.0)])
def test_another_average_is_another_training(
    tmp_path: Path, there: float | None, here: float | None
) -> None:
    fit(Classifier(), rows(26), **HOW, average=there, checkpoint=tmp_path)
    with pytest.raises(CheckpointError, match="average is"):
        fit(Classifier(), rows(26), **HOW, average=here, checkpoint=tmp_path, resume=True)


@pytest.mark.parametrize("average", [0, -1.0, float("inf"), "one"])
def test_an_average_is_over_some_epochs(average: object) -> None:
    with pytest.raises(ValueError, match="The 'average' parameter of fit must be a number"):
        fit(Classifier(), rows(26), **HOW, average=average)


def test_a_mean_begins_anew() -> None:
    model = nn.Linear(1, 1, bias=False)
    average, means = Average(model, steps=10), []
    for weight in (1.0, 3.0, 5.0, 9.0):
        nn.init.constant_(model.weight, weight)
        if weight == 5.0:
            average.restore()
            assert average.state()["taken"] == 0
            with average.in_place():
                assert model.weight.item() == 5
        average.update()
        with average.in_place():
            means.append(model.weight.item())
    assert means == [1, 2, 5, 7]
    with pytest.raises(ValueError, match="shorter"):
        average.restore(1, [])
