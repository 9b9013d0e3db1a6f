"""What the training loop says of bad arguments, and of a loss that is not finite."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import pytest
import torch
from alike import assert_same_weights
from torch import nn
from torch.optim import lr_scheduler
from train_helpers import Classifier, Rows, Scripted, broken_rows, rows

from structnet.training.fitting import fit
from structnet.training.history import History
from structnet.training.loop import NonFiniteLossError, StepError
from structnet.training.metrics import accuracy, evaluate
from structnet.training.seeding import epoch_order

# ---- a loss or gradient that is not finite


def test_a_loss_that_is_not_finite_names_the_batch_and_the_example() -> None:
    model, seen = Classifier(dropout=0.0), []
    with pytest.raises(NonFiniteLossError, match="loss is not finite in epoch 1, batch") as caught:
        fit(model, broken_rows(), epochs=2, batch_size=4, history=(history := History()))
    error = caught.value
    order = epoch_order(23, seed=0, epoch=1)
    seen = order[(error.batch - 1) * 4 : error.batch * 4].tolist()
    assert error.indices == seen and error.culprits == [7] and 7 in seen
    assert "example" in str(error) and " 7 by themselves" in str(error)
    assert len(history) == 0
    # The weights are those of the steps before.
    expected = Classifier(dropout=0.0)
    optimizer = torch.optim.Adam(expected.parameters(), lr=1e-3)
    for start in range(0, (error.batch - 1) * 4, 4):
        optimizer.zero_grad()
        expected.loss(broken_rows()[order[start : start + 4]]).backward()
        optimizer.step()
    assert_same_weights(model, expected)


class Root(nn.Module):
    """A finite loss with an infinite gradient, at an example of zero."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(()))

    def loss(self, batch: torch.Tensor) -> torch.Tensor:
        return (self.weight * batch).abs().sqrt().mean() + (self.weight - self.weight).sqrt()


@pytest.mark.parametrize("clip_norm", [None, 1.0])
def test_a_gradient_that_is_not_finite_stops_before_the_step(clip_norm: float | None) -> None:
    model = Root()
    with pytest.raises(NonFiniteLossError, match=r"gradient is not finite.*examples .* together"):
        fit(model, torch.ones(7), epochs=1, batch_size=7, clip_norm=clip_norm)
    assert model.weight.item() == 1 and model.weight.grad is None


def test_many_culprits_are_found_without_asking_each() -> None:
    asked = []

    class Diverged(Scripted):
        def loss(self, batch: torch.Tensor) -> torch.Tensor:
            asked.append(len(batch))
            return self.weight * math.nan

    with pytest.raises(NonFiniteLossError) as caught:
        fit(Diverged([]), torch.zeros(1000), epochs=1, batch_size=1000)
    assert len(caught.value.culprits) == 5 and len(asked) < 30
    assert "and 995 more" not in str(caught.value)


@pytest.mark.parametrize("make", [torch.optim.Adam, torch.optim.SGD])
def test_a_learning_rate_that_no_float_holds(make: type) -> None:
    message = r"the optimizer failed in epoch 1, batch 1, at learning rate 1e\+300: .*; try a lower"
    with pytest.raises(StepError, match=message) as caught:
        fit(
            Classifier().float(),
            floats(8),
            epochs=1,
            batch_size=4,
            optimizer=partial(make, lr=1e300),
        )
    assert (caught.value.epoch, caught.value.batch, caught.value.learning_rate) == (1, 1, 1e300)


def floats(count: int) -> Rows:
    data = rows(count)
    return Rows(data.inputs.float(), data.targets)


# ---- a loss that nothing can be learnt from


@pytest.mark.parametrize("clip_norm", [None, 1.0])
@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (lambda weight, batch: weight * batch, r"number with a gradient. Got \[4\] of float32\."),
        (lambda weight, batch: 0.5, "number with a gradient. Got float"),
        (lambda weight, batch: None, "Got NoneType"),
        (lambda weight, batch: batch.mean(), r"Got \[\] of float32, without a gradient"),
        (lambda weight, batch: weight * 1j, r"Got \[\] of complex64\."),
        (
            lambda weight, batch: batch.mean().requires_grad_(),
            "depends on none of its parameters; expected a gradient",
        ),
    ],
)
def test_what_is_no_loss_is_refused(loss: Callable, message: str, clip_norm: float | None) -> None:
    class Own(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(()))

        def loss(self, batch: torch.Tensor) -> torch.Tensor:
            return loss(self.weight, batch)

    with pytest.raises(TypeError, match=message):
        fit(Own(), torch.zeros(4), epochs=1, batch_size=4, clip_norm=clip_norm)


# ---- arguments


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epochs": -1}, r"'epochs' parameter of fit must be an int in the range \[0, inf\)"),
        ({"epochs": 1.5}, r"'epochs' .* Got 1.5 instead"),
        ({"batch_size": 0}, r"'batch_size' .* \[1, inf\). Got 0 instead"),
        ({"seed": -1}, "'seed'"),
        ({"patience": 0, "validation": rows(2)}, "'patience'"),
        ({"patience": 2}, "'patience' parameter of fit must be left out without validation data"),
        ({"metrics": {"accuracy": accuracy}}, "'metrics' .* without validation"),
        ({"data": rows(0)}, "'data' parameter of fit must be at least 1 example"),
        ({"validation": rows(0)}, "'validation'"),
        ({"monitor": "accurcy"}, r"'monitor' .* one of \['loss'\]. Got 'accurcy' instead"),
        ({"mode": "lowest"}, "'mode' .* 'min', 'max' or None. Got 'lowest'"),
        (
            {"monitor": "brier_score", "metrics": {"brier_score": accuracy}, "validation": rows(2)},
            "'mode' .* 'min' or 'max', as the name 'brier_score' does not tell which is better",
        ),
        ({"metrics": {"loss": accuracy}, "validation": rows(2)}, "'metrics' .* 'loss'"),
        ({"schedule_per": "step"}, "'schedule_per' .* Got 'step'"),
        ({"clip_norm": 0}, "'clip_norm' .* above 0"),
        ({"resume": True}, "resume=True needs checkpoint"),
        ({"history": History([{"epoch": 1}])}, "'history' .* empty"),
        ({"optimizer": torch.optim.LBFGS}, "'optimizer' .* needs no closure. Got 'LBFGS'"),
        ({"device": "gpu"}, r"'device' .* Got 'gpu' \("),
        ({"device": "cuda:99"}, r"'device' .* Got 'cuda:99' \("),
        (
            {"schedule": lr_scheduler.ReduceLROnPlateau, "schedule_per": "batch"},
            "ReduceLROnPlateau goes by epochs",
        ),
    ],
)
def test_bad_arguments_are_named(options: dict, message: str) -> None:
    options = {"model": Classifier(), "data": rows(4), "epochs": 1, "batch_size": 2} | options
    with pytest.raises(ValueError, match=message) as caught:
        fit(**options)
    assert "\n" not in str(caught.value)


def test_wrong_kinds_are_named() -> None:
    model, options = Classifier(), {"data": rows(4), "epochs": 1, "batch_size": 2}
    with pytest.raises(TypeError, match=r"method loss\(batch\). Got Linear"):
        fit(nn.Linear(1, 1), **options)
    with pytest.raises(TypeError, match=r"'optimizer' .* takes the parameters .* Got Adam "):
        fit(model, **options, optimizer=torch.optim.Adam(model.parameters()))
    with pytest.raises(TypeError, match="returned a list"):
        fit(model, **options, optimizer=list)
    with pytest.raises(TypeError, match=r"'schedule' .* takes the optimizer"):
        fit(model, **options, schedule="cosine")


def test_evaluate_refuses_what_it_cannot_average() -> None:
    with pytest.raises(ValueError, match="no data"):
        evaluate(Classifier(), rows(0))
    with pytest.raises(ValueError, match="'batch_size'"):
        evaluate(Classifier(), rows(2), batch_size=0)
    with pytest.raises(ValueError, match="called 'loss'"):
        evaluate(Classifier(), rows(2), metrics={"loss": accuracy})
