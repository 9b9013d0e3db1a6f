"""Growth when something goes wrong: it is interrupted, diverges, or is given what cannot be."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import pytest
import torch
from forests import exactly
from growths import (
    assert_same_growth,
    assert_same_weights,
    grow,
    growth_on,
    make_growth,
    make_primitives,
    make_samples,
    make_tree,
    scripted,
)
from torch import Tensor, nn

from structnet.neural_tree import Growth, NeuralTree, Primitives, refine
from structnet.routing import Samples


def test_an_interrupted_step_is_done_again(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = grow(kind=scripted("split", "deepen"))
    growth = make_growth(kind=scripted("split", "deepen"))
    growth.step()
    train = Growth._train

    def interrupted(self: Growth, model: nn.Module, phase: str, *rest: Any) -> float:
        if phase == "deepen":
            raise KeyboardInterrupt
        return train(self, model, phase, *rest)

    monkeypatch.setattr(Growth, "_train", interrupted)
    with pytest.raises(KeyboardInterrupt):
        growth.step()
    monkeypatch.undo()
    growth.run()
    assert_same_growth(growth, whole)


def test_validation_samples_that_are_not_finite_are_refused() -> None:
    train, validation = make_samples(60), make_samples(40)
    validation.x[3] = torch.nan
    growth = growth_on(make_tree(), train, validation)
    message = (
        "the validation loss of the root is nan; expected a finite number: look for nan and inf"
    )
    with pytest.raises(ValueError, match=message):
        growth.step()
    assert not growth.decisions


def test_a_loss_that_is_never_finite_is_never_taken() -> None:
    class Mean(nn.Linear):  # finite where it learns, nan where it is judged
        def forward(self, x: Tensor) -> Tensor:
            return super().forward(x) * (1.0 if self.training else torch.nan)

    plain = make_primitives()
    primitives = Primitives(lambda shape: Mean(*shape, 1), plain.transformer, plain.solver)
    growth = make_growth(make_tree(primitives=primitives), balance_routers=False)
    growth.step()
    decision = growth.step()
    assert decision.candidates["split"] == float("inf")
    assert decision.action != "split"


def test_a_root_that_begins_as_a_trained_network_does_not_get_worse() -> None:
    first = make_growth(epochs=20)
    first.step()
    tree = make_tree()
    tree.load_state_dict(first.tree.state_dict())
    again = make_growth(tree, optimizer=partial(torch.optim.SGD, lr=300.0))
    assert again.step().loss == pytest.approx(first.loss, abs=1e-12)
    assert_same_weights(again.tree, first.tree)
    assert min(again.history["validation_loss"]) > first.loss
    assert again.history.best is None


@pytest.mark.parametrize("name", ["n_init", "epochs", "patience", "batch_size", "max_leaves"])
def test_numbers_out_of_range(name: str) -> None:
    message = f"The '{name}' parameter must be an int in the range [1, inf)"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}.* Got 0 instead.$"):
        make_growth(**{name: 0})


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("wrong", [4, -1])
def test_every_class_has_an_output(place: int, wrong: int) -> None:
    both = [make_samples(20), make_samples(20)]
    both[place].targets[7] = wrong
    message = f"targets must be classes from 0 to 3; example 7 of the samples has {wrong}"
    with pytest.raises(ValueError, match=exactly(message)):
        Growth(make_tree(), *both)


def test_a_tree_that_has_grown_cannot_grow_again() -> None:
    tree = make_tree()
    tree.split(0)
    message = "growth starts from a single root; the tree has 2 leaves"
    with pytest.raises(ValueError, match=exactly(message)):
        make_growth(tree)


def test_there_must_be_a_sample_for_each_class() -> None:
    message = "there are 3 samples to learn 4 classes from; expected at least one for each"
    with pytest.raises(ValueError, match=exactly(message)):
        Growth(make_tree(), make_samples(3), make_samples(40))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([0.0] * 5, "the weights of all 5 samples are 0; expected one above 0"),
        ([3.0, 3.0, 0.0, 0.0, -1.0], "weights must be 0 or more. Got -1."),
    ],
)
def test_weights_must_count(weights: list, message: str) -> None:
    x, classes = torch.zeros(5, 3).double(), torch.arange(5) % 4
    with pytest.raises(ValueError, match=exactly(message)):
        Growth(make_tree(), make_samples(60), Samples(x, classes, torch.tensor(weights)))
    with pytest.raises(ValueError, match=exactly(message)):
        refine(make_tree(), Samples(x, classes, torch.tensor(weights)), make_samples(60))


def test_settings_and_likelihoods_are_what_they_should_be() -> None:
    with pytest.raises(
        TypeError, match=r"^The 'settings' parameter of Growth must be Neural.* Got {"
    ):
        Growth(make_tree(), make_samples(60), make_samples(40), {"max_leaves": 3})
    with pytest.raises(
        TypeError, match=r"^the likelihood must be a Likelihood, such as Sq.* Got 'gauss'"
    ):
        NeuralTree(make_primitives(), (3,), "gauss")
    with pytest.raises(TypeError, match=r"^x must be a tensor, an array or a CSR matrix. Got list"):
        Samples([[0.0, 0.0]] * 3, torch.zeros(3))


@pytest.mark.parametrize(("train", "validation"), [(0, 40), (60, 0)])
def test_there_must_be_samples(train: int, validation: int) -> None:
    message = (
        "growth needs samples for training and others for validation; got "
        f"{train} for training and {validation} for validation"
    )
    with pytest.raises(ValueError, match=exactly(message)):
        Growth(make_tree(), make_samples(train), make_samples(validation))
