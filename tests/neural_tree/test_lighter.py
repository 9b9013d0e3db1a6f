"""A lighter penalty where the line explains little: tried, kept if surely better, not elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import nn
from torch.optim import SGD

from structnet.neural_tree import (
    Categorical,
    GaussianMixture,
    Growth,
    NeuralTree,
    NeuralTreeSettings,
    SquaredError,
    presets,
)
from structnet.neural_tree.growth.lighter import FALL, MOST
from structnet.routing import Samples
from structnet.training.metrics import evaluate

COLUMNS = 20
Truth = Callable[[torch.Tensor], torch.Tensor]


def sizes(x: torch.Tensor) -> torch.Tensor:
    """Numbers of which lines explain nothing and a layer of units explains most."""
    return x[:, :4].abs().sum(1, keepdim=True)


def noise(x: torch.Tensor) -> torch.Tensor:
    return torch.randn(len(x), 1, generator=torch.Generator().manual_seed(1))


def line(x: torch.Tensor) -> torch.Tensor:
    return x[:, :4].sum(1, keepdim=True) + noise(x) / 10


def begun(truth: Truth, likelihood: type = SquaredError, **how: Any) -> Growth:
    """A growth with a trained root."""
    x = torch.randn(600, COLUMNS, generator=torch.Generator().manual_seed(0))
    y = truth(x)
    y = (y[:, 0] > y.median()).long() if likelihood is Categorical else (y - y.mean()) / y.std()
    outputs = 1 if likelihood is SquaredError else 2
    root = NeuralTree(presets.table(outputs), (COLUMNS,), likelihood())
    settings = NeuralTreeSettings(epochs=25, max_transformers=1, max_leaves=2, lookahead=1)
    growth = Growth(root, Samples(x[:400], y[:400]), Samples(x[400:], y[400:]), settings, **how)
    growth.step()
    return growth


def deepenings(growth: Growth) -> int:
    """The number of deepenings that have been trained."""
    return sum(each["phase"] == "deepen" and each["epoch"] == 1 for each in growth.history)


@pytest.mark.parametrize("likelihood", [SquaredError, Categorical])
def test_what_lines_do_not_explain_is_learned_with_a_lighter_penalty(likelihood: type) -> None:
    growth = begun(sizes, likelihood)
    before, loss = growth.strength, growth.loss
    assert before is not None
    assert growth.step().action == "deepen" and growth.loss < 0.8 * loss
    tried = deepenings(growth) - 1  # the last was no better, unless there were as many as may be
    assert growth.strength in [pytest.approx(before * FALL**i) for i in (max(tried - 1, 1), MOST)]


def test_of_noise_the_penalty_stays_and_that_of_a_good_line_is_not_tried() -> None:
    for truth, number in ((noise, 2), (line, 1)):
        growth = begun(truth, Categorical)
        before = growth.strength
        assert growth.step().action == "keep" and growth.strength == before
        assert deepenings(growth) == number


def test_each_strength_has_the_same_start_and_the_best_is_what_is_taken() -> None:
    starts: list[torch.Tensor] = []
    growth = begun(sizes)

    class Noted(Growth):
        def _train(self, model: nn.Module, phase: str, *others: Any) -> float:
            if phase == "deepen":
                starts.append(next(model.parameters()).detach().clone())
            return super()._train(model, phase, *others)

    growth.__class__ = Noted
    decision = growth.step()
    assert len(starts) > 2 and all(torch.equal(each, starts[0]) for each in starts)
    found = evaluate(growth.tree, growth.validation)["loss"]
    assert found == pytest.approx(decision.candidates["deepen"], rel=1e-5)


def test_the_optimizer_of_a_user_has_no_penalty_that_could_be_lighter() -> None:
    growth = begun(sizes, optimizer=partial(SGD, lr=1e-3))
    before = growth.strength
    growth.step()
    assert growth.strength == before and deepenings(growth) <= 1


def test_an_interrupted_step_begins_with_the_old_penalty_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole, growth = begun(sizes), begun(sizes)
    train = Growth._train

    def interrupted(self: Growth, model: nn.Module, phase: str, *others: Any) -> float:
        if phase == "split":  # the deepenings are trained before
            raise KeyboardInterrupt
        return train(self, model, phase, *others)

    monkeypatch.setattr(Growth, "_train", interrupted)
    with pytest.raises(KeyboardInterrupt):
        growth.step()
    monkeypatch.undo()
    growth.step()
    whole.step()
    assert growth.strength == whole.strength and deepenings(growth) == deepenings(whole)
    assert all(map(torch.equal, growth.tree.parameters(), whole.tree.parameters()))


def test_a_penalty_stays_where_the_leaf_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lighter ones were tried, and were better than the first, but not good enough."""
    growth = begun(sizes)
    before = growth.strength
    monkeypatch.setattr(Growth, "choose", lambda self, gains: "keep")
    assert growth.step().action == "keep" and growth.strength == before
    assert deepenings(growth) > 2


def test_epochs_are_told_of_the_growth_itself() -> None:
    growth = begun(sizes)
    told: list[Growth] = []
    growth.epoch_callbacks = [lambda each, record: told.append(each)]
    growth.step()
    assert told and all(each is growth for each in told)


def test_a_gaussian_is_not_compared_with_the_limit_of_squares() -> None:
    growth = begun(sizes, GaussianMixture)
    before = growth.strength
    growth.step()
    assert growth.strength == before and deepenings(growth) <= 1
