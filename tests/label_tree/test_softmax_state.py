"""The state of a tree of softmaxes: loaded, pickled, averaged, parametrized."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn.utils import parametrizations, weight_norm
from tree_processes import BATCH, SGD, Head, examples
from tree_softmax import batch, made

from structnet.label_tree import random_tree
from structnet.training.averaging import Average
from structnet.training.fitting import fit


def test_an_average_of_its_weights_is_a_distribution() -> None:
    loss = made()
    average = Average(loss, steps=3)
    for _ in range(3):
        average.update()
    with average.in_place():
        torch.testing.assert_close(loss.log_prob(batch()[0]).exp().sum(1), torch.ones(40))
        assert loss(*batch()).loss.isfinite()


def test_a_mean_is_over_the_steps_of_one_tree() -> None:
    loss = made()
    loss.train()(*batch())
    average = Average(loss, steps=9)
    average.update()
    before = loss.codes
    assert loss.reassign().moved and loss.codes is not before
    assert average.state()["taken"] == 0
    seen, weight = loss.seen.clone(), loss.weight.detach().clone()
    for step in (1.0, 3.0):
        loss.weight.data += step
        average.update()
    with average.in_place():
        torch.testing.assert_close(loss.weight.detach(), weight + 2.5)
        assert torch.equal(loss.seen, seen)
    loss.replant(random_tree(23, 4, seed=3))
    with average.in_place():
        assert torch.equal(loss.weight.detach(), torch.zeros_like(weight))


def test_a_training_with_a_mean_goes_on_after_its_tree_has_changed(tmp_path: Path) -> None:
    whole = Head()
    how: dict[str, Any] = {"batch_size": BATCH, "average": 3, "optimizer": SGD, "progress": False}
    how["callbacks"] = [lambda model, history: model.tree.reassign() if len(history) < 4 else None]
    data = examples(10 * BATCH)
    fit(whole, data, data, epochs=4, **how)
    for epochs in (1, 2, 4):
        parts = Head()  # as another process would make it
        fit(parts, data, data, epochs=epochs, **how, checkpoint=tmp_path, resume=True)
    for name, value in whole.state_dict().items():
        assert torch.equal(parts.state_dict()[name], value), name


@pytest.mark.parametrize("normed", [weight_norm, parametrizations.weight_norm])
def test_weights_that_cannot_begin_anew(normed: Callable) -> None:
    loss = made()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the older of both is deprecated
        normed(loss, "weight")
    before = loss.layout.clone()
    for change in (loss.reassign, lambda: loss.replant(random_tree(23, 4, seed=3))):
        with pytest.raises(RuntimeError, match="the weight is parametrized, as by weight_norm"):
            change()
    assert torch.equal(loss.layout, before)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ((23, 5), r"size mismatch for weight: .*\[8, 4, 5\].*current model is .*\[8, 4, 6\]"),
        ((22, 6), r"size mismatch for counts: .*\[22\].*current model is .*\[23\]"),
        ((4, 6), r"size mismatch for counts: .*\[4\].*current model is .*\[23\]"),
    ],
)
@pytest.mark.parametrize("strict", [True, False])
def test_a_state_of_other_sizes_is_refused(other: tuple, said: str, strict: bool) -> None:
    loss = made()
    before = {name: value.clone() for name, value in loss.state_dict().items()}
    with pytest.raises(RuntimeError, match=said):
        loss.load_state_dict(made(*other).state_dict(), strict=strict)
    assert all(torch.equal(value, before[name]) for name, value in loss.state_dict().items())
    assert loss(*batch()).loss.isfinite()


def test_a_state_without_a_tree_is_refused() -> None:
    loss, state = made(), made().state_dict()
    state["layout"] = torch.full_like(state["layout"], 3)
    with pytest.raises(RuntimeError, match="layout is not a tree of 23 labels: node 3 is in"):
        loss.load_state_dict(state)


def test_an_optimizer_trains_what_was_loaded() -> None:
    loss, other = made(), made(arity=7)
    with torch.no_grad():
        other.bias[other.mask] = 0  # as they are loaded
    optimizer = torch.optim.SGD(loss.parameters(), lr=1.0)
    loss(*batch()).loss.backward()
    loss.load_state_dict(other.state_dict())
    assert loss.weight.grad is None and loss.bias.requires_grad
    for each in (loss, other):
        each(*batch()).loss.backward()
    optimizer.step()
    torch.optim.SGD(other.parameters(), lr=1.0).step()
    assert torch.equal(loss.weight, other.weight) and torch.equal(loss.bias, other.bias)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_statistics_keep_their_precision(dtype: torch.dtype) -> None:
    loss = made().to(dtype)
    x, target = batch()
    loss(x.to(dtype), target).loss.backward()
    assert loss.sums.dtype == torch.float32 and loss.seen.dtype == torch.float64
    assert loss.node_report().share[0] == 1
    assert 0 < loss.reassign().moved <= 1
    assert loss.weight.dtype == dtype and loss(x.to(dtype), target).loss.isfinite()
    values, _ = loss.top_k(x.to(dtype), 2)
    assert values.dtype == dtype
