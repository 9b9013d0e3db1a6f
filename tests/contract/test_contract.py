"""What every model of the library keeps, whatever its family.

A family adds a file ``cases_<family>.py`` beside this one, with a list ``CASES``.
"""

from __future__ import annotations

import copy
import importlib.util
from pathlib import Path

import pytest
import torch
from alike import assert_same
from contract import Case
from torch import Tensor, nn


def cases_of(file: Path) -> list[Case]:
    """The cases that a file lists."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.CASES


FILES = sorted(Path(__file__).parent.glob("cases_*.py"))
CASES = [case for file in FILES for case in cases_of(file)]
every_case = pytest.mark.parametrize("case", CASES, ids=str)
COUNT = 24


def weights(model: nn.Module) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in model.state_dict().items()}


def test_every_family_with_classes_has_cases() -> None:
    assert {"cases_neural_tree", "cases_tensor_tree"} <= {file.stem for file in FILES}
    assert len({case.name for case in CASES}) == len(CASES)


@every_case
def test_probabilities_sum_to_one(case: Case) -> None:
    model, batch = case.make_model(0), case.make_batch(COUNT)
    prob = model.predict_proba(batch)
    assert prob.shape == (COUNT, case.num_classes)
    assert (prob >= 0).all()
    torch.testing.assert_close(prob.sum(-1), torch.ones(COUNT))
    torch.testing.assert_close(model.predict_log_proba(batch).exp(), prob)


@every_case
def test_predictions_are_the_likeliest_classes(case: Case) -> None:
    model, batch = case.make_model(0), case.make_batch(COUNT)
    predicted = model.predict(batch)
    assert predicted.shape == (COUNT,)
    assert predicted.dtype == torch.int64
    assert torch.equal(predicted, model.predict_proba(batch).argmax(-1))


@every_case
def test_a_batch_is_its_examples_one_by_one(case: Case) -> None:
    model, batch = case.make_model(0).double(), case.double(case.make_batch(COUNT))
    together = model.predict_log_proba(batch)
    alone = torch.cat([model.predict_log_proba(batch[[i]]) for i in range(COUNT)])
    torch.testing.assert_close(together, alone, rtol=1e-10, atol=1e-10)
    losses = torch.stack([model.loss(batch[[i]]) for i in range(COUNT)])
    torch.testing.assert_close(model.loss(batch), losses.mean(), rtol=1e-10, atol=1e-10)


@every_case
def test_the_order_of_a_batch_means_nothing(case: Case) -> None:
    model, batch = case.make_model(0).double(), case.double(case.make_batch(COUNT))
    order = torch.randperm(COUNT).tolist()
    turned = model.predict_log_proba(batch[order])
    torch.testing.assert_close(turned, model.predict_log_proba(batch)[order])


@every_case
def test_a_batch_of_one(case: Case) -> None:
    model, batch = case.make_model(0), case.make_batch(COUNT)[[3]]
    assert len(batch) == 1
    assert model.predict(batch).shape == (1,)
    assert model.predict_proba(batch).shape == (1, case.num_classes)
    loss = model.loss(batch)
    assert loss.shape == ()
    loss.backward()


@every_case
def test_same_seed_same_weights(case: Case) -> None:
    first, second, third = (weights(case.make_model(seed)) for seed in (0, 0, 1))
    assert_same(first, second)
    assert any(not torch.equal(first[name], third[name]) for name in first)


@every_case
def test_inputs_are_left_untouched(case: Case) -> None:
    model, batch = case.make_model(0), case.make_batch(COUNT)
    before = copy.deepcopy(case.inputs(batch))
    for backward in (True, False):
        loss = model.loss(batch)
        if backward:
            loss.backward()
        model.predict_proba(batch)
    after = case.inputs(batch)
    assert len(after) == len(before)  # no field of the graph came or went
    for now, then in zip(after, before, strict=True):
        assert (torch.as_tensor(now) == torch.as_tensor(then)).all()


@every_case
def test_state_dict_round_trip(case: Case) -> None:
    model, other, batch = case.make_model(0), case.make_model(1), case.make_batch(COUNT)
    other.load_state_dict(model.state_dict())
    assert_same(weights(other), weights(model))
    assert torch.equal(other.predict_log_proba(batch), model.predict_log_proba(batch))


@every_case
def test_all_parameters_are_in_the_state_dict(case: Case) -> None:
    model = case.make_model(0)
    assert {name for name, _ in model.named_parameters()} <= set(model.state_dict())


@every_case
def test_one_step_lowers_the_loss(case: Case) -> None:
    model, batch = case.make_model(0), case.make_batch(COUNT)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    before = model.loss(batch)
    before.backward()
    optimizer.step()
    assert model.loss(batch) < before


@every_case
def test_every_parameter_gets_a_gradient(case: Case) -> None:
    model, batch = case.make_model(0), case.make_batch(COUNT)
    model.loss(batch).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.abs().max() > 0, name


@every_case
def test_predictions_in_evaluation_are_deterministic(case: Case) -> None:
    model, batch = case.make_model(0).eval(), case.make_batch(COUNT)
    first = model.predict_log_proba(batch)
    torch.rand(3)  # another state of the generator
    assert torch.equal(model.predict_log_proba(batch), first)
    with torch.no_grad():
        assert torch.equal(model.predict_log_proba(batch), first)


@every_case
def test_deep_copies_are_independent(case: Case) -> None:
    model, batch = case.make_model(0), case.make_batch(COUNT)
    model.loss(batch).backward()  # whatever a run leaves behind must copy too
    twin = copy.deepcopy(model)
    before = weights(model)
    assert torch.equal(twin.predict_log_proba(batch), model.predict_log_proba(batch))
    torch.optim.SGD(twin.parameters(), lr=1.0).step()
    assert_same(weights(model), before)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_double_precision(case: Case) -> None:
    model, batch = case.make_model(0), case.make_batch(COUNT)
    single = model.predict_log_proba(batch)
    double = model.double().predict_log_proba(case.double(batch))
    assert double.dtype == torch.float64
    torch.testing.assert_close(single.double(), double, rtol=1e-4, atol=1e-5)


@every_case
def test_autocast(case: Case) -> None:
    model, batch = case.make_model(0), case.make_batch(COUNT)
    plain = model.loss(batch)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss, prob = model.loss(batch), model.predict_proba(batch)
        model.predict(batch)
    assert float(loss.detach()) == pytest.approx(float(plain.detach()), rel=0.02)
    assert prob.float().sum(-1).sub(1).abs().max() < 0.02
    loss.backward()
    grads = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    assert grads and all(grad.isfinite().all() for grad in grads)
