"""Refinement: better than the grown tree on the validation samples, or else the grown tree."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
import torch
from forests import exactly
from growths import (
    LIKELIHOODS,
    assert_same_weights,
    grow,
    make_samples,
    make_tree,
    scripted,
    untimed,
)
from torch import nn

from structnet.neural_tree import NeuralTree, NeuralTreeSettings, refine
from structnet.training.history import History
from structnet.training.loop import NonFiniteLossError
from structnet.training.metrics import accuracy, evaluate

OPTIONS = {"batch_size": 20, "progress": False}


def make_grown(likelihood: str = "classes", epochs: int = 1, **modules) -> NeuralTree:
    tree = make_tree(likelihood, **modules)
    return grow(tree, scripted("split", "deepen"), likelihood=likelihood, epochs=epochs).tree


def data(likelihood: str = "classes", weighted: bool = False) -> list:
    return [make_samples(n, n, likelihood, weighted) for n in (60, 40)]


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
@pytest.mark.parametrize("rate", [1e-3, 0.05, 1.0, 1e3])
def test_refinement_never_makes_the_validation_loss_worse(likelihood: str, rate: float) -> None:
    tree = make_grown(likelihood, norm=True)
    train, validation = data(likelihood, weighted=True)
    before = evaluate(tree, validation)["loss"]
    how = {"optimizer": partial(torch.optim.SGD, lr=rate), "monitor": "loss", **OPTIONS}
    history = History()
    try:
        refine(tree, train, validation, epochs=4, history=history, **how)
    except NonFiniteLossError:
        assert rate >= 1.0
    after = evaluate(tree, validation)["loss"]
    assert after <= before
    finite = [loss for loss in history["validation_loss"] if loss < before] if len(history) else []
    assert after == pytest.approx(min([before, *finite]), rel=1e-9)
    assert not any(module.training for module in tree.modules())


def test_refinement_that_helps_trains_all_parameters() -> None:
    tree = make_grown()
    before = {name: value.clone() for name, value in tree.named_parameters()}
    train, validation = data()
    loss = evaluate(tree, validation)["loss"]
    history = refine(tree, train, validation, epochs=5, **OPTIONS)
    assert evaluate(tree, validation)["loss"] == history.best["validation_loss"] < loss
    for name, value in tree.named_parameters():
        assert not torch.equal(value, before[name]), name


def test_a_tree_that_gets_worse_is_put_back_whole() -> None:
    tree = make_grown(norm=True)
    twin = make_grown(norm=True)
    train, validation = data()
    history = refine(
        tree, train, validation, epochs=3, optimizer=partial(torch.optim.SGD, lr=50.0), **OPTIONS
    )
    assert min(history["validation_loss"]) > evaluate(twin, validation)["loss"]
    assert_same_weights(tree, twin)  # the statistics of the normalisations, too


@pytest.mark.parametrize(("how", "last"), [({}, 3), ({"average": None}, 1), ({"average": 0.7}, 2)])
def test_the_mean_of_an_epochs_weights_is_kept(how: dict, last: int) -> None:
    steps: list[list] = []

    class Recording(torch.optim.Adam):
        def step(self, closure=None):
            super().step()
            steps.append([p.detach().clone() for g in self.param_groups for p in g["params"]])

    tree = make_grown()
    how = how | {"monitor": "loss", "optimizer": partial(Recording, lr=1e-3), **OPTIONS}
    history = refine(tree, *data(), epochs=1, **how)
    assert history.best is not None and len(steps) == 3
    if last == 2:  # exponential after two steps
        steps[1] = [(a + b) / 2 for a, b in zip(*steps[:2], strict=True)]
    expected = [torch.stack(parts).mean(0) for parts in zip(*steps[-last:], strict=True)]
    assert all(map(partial(torch.allclose, atol=1e-6), tree.parameters(), expected))


def test_of_equally_accurate_epochs_the_surest_is_kept() -> None:
    tree = make_grown(epochs=30)
    train = make_samples(60, 60)
    # Only the samples that it has right already: no epoch can be more accurate.
    right = train[(tree.output(train.x).argmax(1) == train.targets).nonzero()[:, 0]]
    before = evaluate(tree, right)["loss"]
    how = {"monitor": "accuracy", "metrics": {"accuracy": accuracy}}
    history = refine(tree, train, right, epochs=5, **how, **OPTIONS)
    assert history.best["validation_accuracy"] == 1.0
    assert evaluate(tree, right)["loss"] < before


class Raising(torch.optim.SGD):
    """Ruins the weights, then stops as if somebody had pressed a key."""

    def step(self, closure=None):
        with torch.no_grad():
            for group in self.param_groups:
                for parameter in group["params"]:
                    parameter.fill_(7.0)
        raise KeyboardInterrupt


def test_an_interruption_puts_the_tree_back() -> None:
    tree, twin = make_grown(), make_grown()
    with pytest.raises(KeyboardInterrupt):
        refine(tree, *data(), epochs=3, optimizer=partial(Raising, lr=0.1), **OPTIONS)
    assert_same_weights(tree, twin)


def test_a_loss_that_is_not_finite_puts_the_tree_back() -> None:
    tree, twin = make_grown(likelihood="squares"), make_grown(likelihood="squares")
    history = History()
    with pytest.raises(NonFiniteLossError):
        refine(
            tree,
            *data("squares"),
            epochs=9,
            optimizer=partial(torch.optim.SGD, lr=1e200),
            history=history,
            **OPTIONS,
        )
    assert_same_weights(tree, twin)


def test_the_rate_falls_to_a_tenth_every_fifty_epochs() -> None:
    samples = make_samples(4)
    history = refine(make_tree(), samples, samples, epochs=102, **OPTIONS)
    expected = [1e-3] * 50 + [1e-4] * 50 + [1e-5] * 2
    assert history["learning_rate"] == pytest.approx(expected, rel=1e-9)


def test_another_schedule_or_none() -> None:
    samples = make_samples(4)
    halving = partial(torch.optim.lr_scheduler.ExponentialLR, gamma=0.5)
    for schedule, expected in ((None, [1e-3] * 3), (halving, [1e-3, 5e-4, 2.5e-4])):
        history = refine(make_tree(), samples, samples, epochs=3, schedule=schedule, **OPTIONS)
        assert history["learning_rate"] == pytest.approx(expected)


@pytest.mark.parametrize("strength", [None, 0.0])
def test_weight_decay_takes_a_share_of_all_but_biases_and_what_it_spares(
    strength: float | None,
) -> None:
    settings = NeuralTreeSettings(learning_rate=0.1, weight_decay=0.3)
    layer, router = nn.Linear(20, 2), nn.Linear(20, 1)
    parts = [*layer.parameters(), *router.parameters()]
    weight, *others = (part.detach().clone() for part in parts)
    optimizer = settings.adam(strength, settings.weight_decay, router.parameters())(parts)
    for part in parts:
        part.grad = torch.zeros_like(part)
    optimizer.step()
    assert torch.allclose(layer.weight, (1 - 0.1 * 0.3) * weight)
    assert all(map(torch.equal, parts[1:], others))


def test_a_penalty_holds_in_place_of_weight_decay_and_spares_none() -> None:
    parts = [*nn.Linear(20, 2).parameters()]
    ours, theirs = (
        NeuralTreeSettings().adam(0.5, *decay)(parts) for decay in ((0.3, parts), (0.0,))
    )
    assert ours.defaults == theirs.defaults and ours.param_groups == theirs.param_groups


def test_another_measure_decides() -> None:
    tree = make_grown()
    train, validation = data()
    metrics = {"accuracy": accuracy}
    before = evaluate(tree, validation, metrics=metrics)["accuracy"]
    optimizer = partial(torch.optim.Adam, lr=0.05)
    how = {"monitor": "accuracy", "metrics": metrics, "optimizer": optimizer}
    history = refine(tree, train, validation, epochs=6, **how, **OPTIONS)
    after = evaluate(tree, validation, metrics=metrics)["accuracy"]
    assert after == max(before, *history["validation_accuracy"])
    assert after > before


def test_what_is_monitored_must_be_measured() -> None:
    samples = make_samples(4)
    numbers = make_samples(4, likelihood="squares")
    for kind, data, names in (("classes", samples, ["accuracy"]), ("squares", numbers, [])):
        names = ["loss", *names, "own"]
        message = f"The 'monitor' parameter of fit must be one of {names}. Got 'error' instead."
        how = {"monitor": "error", "metrics": {"own": lambda tree, batch: 0.0}}
        with pytest.raises(ValueError, match=exactly(message)):
            refine(make_tree(kind), data, data, **how, **OPTIONS)


def test_classes_go_by_accuracy_and_numbers_by_loss() -> None:
    for kind, watched in (("classes", "accuracy"), ("squares", "loss")):
        told = refine(make_tree(kind), *data(kind), epochs=2, metrics=None, **OPTIONS)
        twin = refine(make_tree(kind), *data(kind), epochs=2, monitor=watched, **OPTIONS)
        assert untimed(told) == untimed(twin)
        assert ("validation_accuracy" in told[0]) == (kind == "classes")


@pytest.mark.parametrize("place", [0, 1])
def test_every_class_has_an_output(place: int) -> None:
    both = data()
    both[place].targets[3] = 4
    message = "targets must be classes from 0 to 3; example 3 of the samples has 4"
    with pytest.raises(ValueError, match=exactly(message)):
        refine(make_tree(), *both, **OPTIONS)


@pytest.mark.parametrize("stop", [1, 3, 5])
def test_a_refinement_goes_on_where_it_stopped(tmp_path: Path, stop: int) -> None:
    how = {"epochs": 5, "seed": 3, **OPTIONS}
    whole = make_grown(dropout=0.2)
    history = refine(whole, *data(), **how)

    def interrupt(model: nn.Module, history: History) -> None:
        if len(history) == stop:
            raise KeyboardInterrupt

    kept = {"checkpoint": tmp_path, "resume": True}
    with pytest.raises(KeyboardInterrupt):
        refine(make_grown(dropout=0.2), *data(), callbacks=[interrupt], **how, **kept)
    tree = make_grown(dropout=0.2)
    again = refine(tree, *data(), **how, **kept)
    assert again["loss"] == history["loss"]
    assert again["validation_loss"] == history["validation_loss"]
    assert_same_weights(tree, whole)


def test_refinement_of_a_resumed_run_that_never_improved(tmp_path: Path) -> None:
    how = {"optimizer": partial(torch.optim.SGD, lr=50.0), "checkpoint": tmp_path, **OPTIONS}
    refine(make_grown(), *data(), epochs=2, **how)
    tree, twin = make_grown(), make_grown()
    refine(tree, *data(), epochs=3, resume=True, **how)
    assert_same_weights(tree, twin)
