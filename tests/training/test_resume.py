"""A run that was interrupted, or killed, ends as if it had not been."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import pytest
import torch
import train_programs
from alike import assert_same, assert_same_weights, untimed
from fresh_python import python
from torch import nn
from torch.optim import lr_scheduler
from train_helpers import Classifier, Noisy, rows, scripted_fit

from structnet.training.checkpoint import load_model
from structnet.training.fitting import fit
from structnet.training.history import History

OPTIMIZERS = [
    partial(torch.optim.SGD, lr=0.1, momentum=0.9),
    partial(torch.optim.Adam, lr=0.01, amsgrad=True),
    partial(torch.optim.Adadelta, weight_decay=0.01),
    partial(torch.optim.RMSprop, centered=True),
    torch.optim.Adagrad,
    torch.optim.NAdam,
]
SCHEDULES = [
    {"schedule": partial(lr_scheduler.MultiStepLR, milestones=[1, 3, 3])},
    {"schedule": partial(lr_scheduler.CosineAnnealingLR, T_max=4)},
    {"schedule": partial(lr_scheduler.LambdaLR, lr_lambda=lambda epoch: 0.5**epoch)},
    {"schedule": partial(lr_scheduler.ReduceLROnPlateau, patience=0)},
    {
        "schedule": partial(lr_scheduler.OneCycleLR, max_lr=0.1, total_steps=20),
        "schedule_per": "batch",
    },
]
VARIANTS = [{"optimizer": optimizer} for optimizer in OPTIMIZERS] + SCHEDULES


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_resumed_run_ends_as_an_uninterrupted_one(tmp_path: Path, variant: dict) -> None:
    options = {"data": rows(26), "validation": rows(9, seed=1), "batch_size": 6, "epochs": 4}
    options |= variant
    whole = Noisy(norm=True)
    history = fit(whole, **options)

    def stop(model: nn.Module, history: History) -> None:
        if len(history) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(Noisy(norm=True), **options, checkpoint=tmp_path, resume=True, callbacks=[stop])
    (tmp_path / "history.jsonl").write_text("lost")
    model = Noisy(norm=True)
    with torch.no_grad():
        model.first.weight.zero_()  # what the model was before plays no part
    resumed = fit(model, **options, checkpoint=tmp_path, resume=True)
    assert_same_weights(model, whole)
    assert untimed(resumed) == untimed(history)
    assert History.load(tmp_path / "history.jsonl").records == resumed.records


def test_resuming_a_finished_run_trains_no_more(tmp_path: Path) -> None:
    options = {"patience": 2, "checkpoint": tmp_path}
    first, history = scripted_fit([3, 2, 4, 5, 1], **options)
    again, same = scripted_fit([3, 2, 4, 5, 1], **options, resume=True)
    assert same.records == history.records and len(same) == 4
    assert_same_weights(again, first)


def test_a_finished_run_can_go_on_for_more_epochs(tmp_path: Path) -> None:
    losses = [3, 1, 2, 4]
    scripted_fit(losses, epochs=3, checkpoint=tmp_path)
    model, history = scripted_fit(losses, checkpoint=tmp_path, resume=True)
    assert history["validation_loss"] == losses
    assert model.steps.item() == 2


def test_a_fresh_run_replaces_the_old_one_at_once(tmp_path: Path) -> None:
    options = {"data": rows(8), "batch_size": 4, "checkpoint": tmp_path}
    fit(Classifier(), **options, epochs=2)

    def interrupted(model: nn.Module, history: History) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(Classifier(), **options, epochs=2, callbacks=[interrupted])
    assert len(History.load(tmp_path / "history.jsonl")) == 0
    history = fit(Classifier(), **options, epochs=1, resume=True)
    assert history["epoch"] == [1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills processes it has forked")
def test_killed_at_any_moment_the_run_ends_the_same(tmp_path: Path) -> None:
    done = python(train_programs.__file__, "kill", tmp_path)
    assert done.returncode == 0, done.stderr
    weights, whole = load_model(tmp_path / "whole.safetensors")
    resumed_weights, resumed = load_model(tmp_path / "killed.safetensors")
    assert_same(weights, resumed_weights)
    written = untimed(History.load(tmp_path / "run" / "history.jsonl"))
    assert written == resumed["history"] == whole["history"]
