"""The training loop: what a step computes, when training stops, what is left behind."""

from __future__ import annotations

import math
import os
import random
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from threading import Event

import numpy as np
import pytest
import torch
from alike import assert_same_weights
from torch import nn
from torch.optim import lr_scheduler
from train_helpers import Classifier, Noisy, Rows, Scripted, rows, scripted_fit

from structnet.training.fitting import fit
from structnet.training.history import History, Monitor
from structnet.training.seeding import epoch_order, random_states_kept

# ---- what a step computes


def test_the_loop_is_the_plain_one() -> None:
    data, model, expected = rows(23), Classifier(dropout=0.0), Classifier(dropout=0.0)
    history = fit(model, data, epochs=3, batch_size=5, seed=7, progress=False)
    optimizer, losses = torch.optim.Adam(expected.parameters(), lr=1e-3), []
    for epoch in (1, 2, 3):
        order, total = epoch_order(23, seed=7, epoch=epoch), 0.0
        for start in range(0, 23, 5):
            batch = data[order[start : start + 5]]
            loss = expected.loss(batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(batch)
        losses.append(total / 23)
    assert_same_weights(model, expected)
    assert history["loss"] == losses
    assert history["epoch"] == [1, 2, 3]


def test_epochs_and_seeds_have_orders_of_their_own() -> None:
    orders = [epoch_order(50, seed, epoch).tolist() for seed in (0, 1) for epoch in (1, 2)]
    assert len({tuple(order) for order in orders}) == 4
    assert orders[0] == epoch_order(50, 0, 1).tolist()


def test_same_seed_same_weights_whatever_happened_before() -> None:
    models = []
    for noise in (0, 1):
        model = Noisy()
        random.seed(noise), np.random.seed(noise), torch.manual_seed(noise)
        fit(model, rows(20), epochs=2, batch_size=6)
        models.append(model)
    assert_same_weights(*models)
    other = Noisy()
    fit(other, rows(20), epochs=2, batch_size=6, seed=1)
    assert not torch.equal(other.first.weight, models[0].first.weight)


def test_random_generators_are_given_back() -> None:
    model, data = Noisy(), rows(20)  # made first: drawing weights is not what is looked at
    states = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state()
    fit(model, data, epochs=1, batch_size=6)
    assert random.getstate() == states[0]
    assert np.random.get_state()[1].tolist() == states[1]
    assert torch.equal(torch.get_rng_state(), states[2])


def test_threads_take_turns_at_the_random_generators() -> None:
    def trained(model: Noisy) -> Noisy:
        fit(model, data, epochs=20, batch_size=2, progress=False)
        return model

    data, expected, models = rows(23), Noisy(), [Noisy() for _ in range(4)]
    trained(expected)
    states = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state()
    with ThreadPoolExecutor(4) as pool:
        for model in pool.map(trained, models):
            assert_same_weights(model, expected)
    assert random.getstate() == states[0]
    assert np.random.get_state()[1].tolist() == states[1]
    assert torch.equal(torch.get_rng_state(), states[2])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # that is what is looked at
def test_a_fork_does_not_wait_for_a_thread_that_it_lacks() -> None:
    inside, done = Event(), Event()

    def keep() -> None:
        with random_states_kept(torch.device("cpu")):
            inside.set()
            done.wait()

    def enter() -> None:
        with random_states_kept(torch.device("cpu")):
            pass

    with ThreadPoolExecutor(1) as pool:
        pool.submit(keep)
        inside.wait()
        child = get_context("fork").Process(target=enter)
        child.start()
        child.join(60)
        done.set()
    assert child.exitcode == 0


def test_clip_norm_bounds_the_gradient() -> None:
    model = Classifier(dropout=0.0)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    sgd = partial(torch.optim.SGD, lr=1.0)
    fit(model, rows(8), epochs=1, batch_size=8, clip_norm=0.01, optimizer=sgd)
    moved = [p - b for p, b in zip(model.parameters(), before, strict=True)]
    assert torch.cat([m.flatten() for m in moved]).norm().item() == pytest.approx(0.01, rel=1e-3)


def test_clip_norm_bounds_sparse_gradients() -> None:
    class Lookup(nn.Embedding):
        def loss(self, batch: torch.Tensor) -> torch.Tensor:
            return (self(batch) - 1).square().sum()

    tables = []
    for sparse in (False, True):
        torch.manual_seed(0)
        tables.append(Lookup(5, 2, sparse=sparse, dtype=torch.float64))
        sgd = partial(torch.optim.SGD, lr=1.0)
        data = torch.tensor([0, 3, 3, 1, 3, 0])  # rows that come several times
        fit(tables[-1], data, epochs=2, batch_size=6, clip_norm=0.5, optimizer=sgd)
    torch.testing.assert_close(tables[0].weight, tables[1].weight)


def test_mixed_precision_trains() -> None:
    model = Classifier().float()
    data = Rows(rows(64).inputs.float(), rows(64).targets)
    history = fit(model, data, epochs=2, batch_size=16, amp=True)
    assert all(map(math.isfinite, history["loss"]))
    assert model.first.weight.dtype == torch.float32


def test_sparse_gradients_train() -> None:
    class Lookup(nn.Embedding):
        def loss(self, batch: torch.Tensor) -> torch.Tensor:
            return (self(batch) - 1).square().mean()

    model = Lookup(9, 2, sparse=True)
    data = torch.arange(6)
    history = fit(model, data, epochs=5, batch_size=3, optimizer=torch.optim.SparseAdam)
    assert history["loss"][-1] < history["loss"][0]


def test_no_epochs_change_nothing() -> None:
    model = Classifier()
    assert len(fit(model, rows(5), epochs=0, batch_size=2)) == 0
    assert_same_weights(model, Classifier())


# ---- schedules


def test_schedule_by_epoch_and_by_batch() -> None:
    halve = partial(lr_scheduler.StepLR, step_size=1, gamma=0.5)
    _, history = scripted_fit([1.0] * 3, schedule=halve)
    assert history["learning_rate"] == [1.0, 0.5, 0.25]
    _, history = scripted_fit([1.0] * 9, epochs=3, batch_size=1, schedule=halve)
    assert history["learning_rate"] == [1.0, 0.5, 0.25]
    _, history = scripted_fit(
        [1.0] * 9, epochs=3, batch_size=1, schedule=halve, schedule_per="batch"
    )
    assert history["learning_rate"] == [1.0, 0.125, 0.125**2]


def test_plateau_is_told_the_monitored_value() -> None:
    plateau = partial(lr_scheduler.ReduceLROnPlateau, patience=0, factor=0.5)
    _, history = scripted_fit([3.0, 2.0, 2.5, 2.4], schedule=plateau)
    assert history["learning_rate"] == [1.0, 1.0, 1.0, 0.5]


# ---- early stopping and the best epoch


def test_patience_counts_epochs_in_a_row_without_a_new_best() -> None:
    # A run that never resets its count would stop after the fifth epoch.
    model, history = scripted_fit([5, 6, 4, 5, 3, 3.5, 3, 2], patience=2)
    assert history["validation_loss"] == [5, 6, 4, 5, 3, 3.5, 3]
    assert history["best"] == [True, False, True, False, True, False, False]
    assert history.best["epoch"] == 5
    assert model.weight.item() == 5 and model.steps.item() == 5


def test_the_best_epoch_comes_back_without_patience_too() -> None:
    model, history = scripted_fit([5, 3, 4, 6])
    assert len(history) == 4
    assert (model.weight.item(), model.steps.item()) == (2, 2)


def test_without_validation_the_last_weights_stay() -> None:
    model = Scripted([])
    history = fit(model, torch.zeros(3), epochs=3, batch_size=3)
    assert model.steps.item() == 3
    assert history.best["epoch"] == 3


def test_a_validation_loss_that_is_not_finite_is_never_the_best() -> None:
    model, history = scripted_fit([math.nan, 3, -math.inf, 4])
    assert history["best"] == [False, True, False, False]
    assert model.steps.item() == 2
    model, history = scripted_fit([math.nan, math.nan], patience=2)
    assert len(history) == 2 and model.steps.item() == 2


def test_monitor_a_metric() -> None:
    def steps(model: nn.Module, batch: torch.Tensor) -> float:
        return float(-((model.steps - 2) ** 2))

    metrics = {"closeness": steps, "step_error": lambda m, b: -steps(m, b)}
    for monitor, mode in (("closeness", "max"), ("step_error", None)):
        model, history = scripted_fit([1.0] * 4, metrics=metrics, monitor=monitor, mode=mode)
        assert history.best["epoch"] == 2, monitor
        assert history["validation_closeness"] == [-1, 0, -1, -4]
        model, _ = scripted_fit([1.0] * 4, metrics=metrics, monitor="closeness", mode="min")
        assert model.steps.item() == 4


def test_of_equal_values_the_lower_loss_is_the_better() -> None:
    steady = {"accuracy": lambda model, batch: 0.5}
    model, history = scripted_fit([3.0, 1.0, 2.0, 1.0], metrics=steady, monitor="accuracy")
    assert history["best"] == [True, True, False, False]
    assert model.steps.item() == 2


def test_the_start_counts_where_it_is_to_be_kept() -> None:
    # Without a step, the script gives its last entry.
    model, history = scripted_fit([3.0, 1.0, 4.0, 2.0], epochs=3, keep_start=True)
    assert history["validation_loss"] == [3, 1, 4]
    assert history["best"] == [False, True, False] and history.best["epoch"] == 2
    model, history = scripted_fit([3.0, 2.0, 4.0, 2.0], epochs=3, keep_start=True)
    assert (model.weight.item(), model.steps.item()) == (0, 0)
    assert history["best"] == [False] * 3 and history.best is None
    model, history = scripted_fit([math.nan, math.nan, math.nan], epochs=2, keep_start=True)
    assert model.steps.item() == 0 and history.best is None
    model, history = scripted_fit([3.0, 2.0, math.nan], epochs=2, keep_start=True)
    assert model.steps.item() == 2
    with pytest.raises(ValueError, match="'keep_start' parameter of fit must be left out without"):
        fit(Scripted([]), torch.zeros(3), epochs=1, batch_size=3, keep_start=True)


def test_a_last_example_by_itself_joins_the_batch_before() -> None:
    sizes = []

    class Counting(Classifier):
        def loss(self, batch: Rows) -> torch.Tensor:
            sizes.append(len(batch))
            return super().loss(batch)

    for count, size, norm in ((9, 4, True), (8, 4, True), (1, 4, False), (3, 1, False)):
        fit(Counting(norm=norm), rows(count), epochs=1, batch_size=size)
    assert sizes == [4, 5, 4, 4, 1, 1, 1, 1]


def test_monitor_reads_the_direction_off_the_name() -> None:
    assert Monitor("loss").lower and Monitor("mean_error").lower and Monitor("perplexity").lower
    assert not Monitor("accuracy").lower and not Monitor("loss", "max").lower
    assert Monitor("accuracy", "min").lower
    for name in ("mse", "RMSE", "val_mae", "nll"):
        assert Monitor(name).lower
    for name in ("f1", "macro_recall", "roc_auc", "r2", "log_likelihood"):
        assert not Monitor(name).lower


# ---- what the model and the caller are left with


def test_the_model_is_left_ready_to_predict() -> None:
    model = Classifier()
    fit(model, rows(8), epochs=1, batch_size=4)
    assert not any(module.training for module in model.modules())


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_interrupt_leaves_the_best_weights_and_the_records(
    tmp_path: Path, error: type[BaseException]
) -> None:
    def stop(model: nn.Module, history: History) -> None:
        if len(history) == 3:
            raise error

    history = History()
    model = Scripted([2, 1, 3, 0])
    options = {"batch_size": 3, "optimizer": partial(torch.optim.SGD, lr=1.0)}
    options |= {"checkpoint": tmp_path, "epochs": 4}
    with pytest.raises(error):
        fit(model, torch.zeros(3), torch.zeros(2), **options, callbacks=[stop], history=history)
    assert history["validation_loss"] == [2, 1, 3]
    assert model.steps.item() == 2 and not model.training
    again = Scripted([2, 1, 3, 0])
    resumed = fit(again, torch.zeros(3), torch.zeros(2), **options, resume=True)
    assert resumed["validation_loss"] == [2, 1, 3, 0] and again.steps.item() == 4


def test_callbacks_see_every_epoch() -> None:
    seen = []
    fit(
        Classifier(),
        rows(8),
        epochs=2,
        batch_size=4,
        callbacks=[lambda model, history: seen.append((type(model), history[-1]["epoch"]))],
    )
    assert seen == [(Classifier, 1), (Classifier, 2)]
