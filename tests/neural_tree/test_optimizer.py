"""Adam for a few small weights makes the same steps as torch's, to the bit."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.optim.lr_scheduler import StepLR

from structnet.neural_tree.optimizer import Adam

SHAPES = [(3, 4), (3,), (2, 3), (2,)]


def weights(dtypes: tuple[torch.dtype, ...] = (torch.float32,)) -> list[nn.Parameter]:
    torch.manual_seed(0)
    shapes = enumerate(SHAPES)
    return [nn.Parameter(torch.randn(shape).to(dtypes[i % len(dtypes)])) for i, shape in shapes]


def groups(parameters: list[nn.Parameter]) -> list[dict[str, Any]]:
    return [
        {"params": parameters[:3], "lr": 0.1, "weight_decay": 0.3},
        {"params": parameters[3:], "lr": 0.02},
    ]


def pair(make: Callable[..., Any] = groups, **how: Any) -> list[tuple[list[nn.Parameter], Any]]:
    ours, theirs = weights(**how), weights(**how)
    return [
        (ours, Adam(make(ours), lr=0.1)),
        (theirs, torch.optim.Adam(make(theirs), lr=0.1, fused=True)),
    ]


def stepped(both: list[tuple[list[nn.Parameter], Any]], seed: int, without: int = -1) -> None:
    """One step of each with the same random gradients; one weight may have none."""
    for parameters, optimizer in both:
        torch.manual_seed(seed)
        optimizer.zero_grad()
        assert all(each.grad is None for each in parameters)
        for i, each in enumerate(parameters):
            gradient = torch.randn(each.shape).to(each)
            each.grad = None if i == without else gradient
        optimizer.step()


def equal(both: list[tuple[list[nn.Parameter], Any]]) -> bool:
    (ours, _), (theirs, _) = both
    return all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))


@pytest.mark.parametrize("make", [list, groups])
def test_steps_are_those_of_torch(make: Callable[..., Any]) -> None:
    both = pair(make)
    schedules = [StepLR(optimizer, step_size=2) for _, optimizer in both]
    for seed in range(6):
        stepped(both, seed)
        for schedule in schedules:
            schedule.step()
    assert equal(both)


def test_weights_without_a_gradient_stay_and_others_move_as_with_torch() -> None:
    both = pair()
    for seed, without in enumerate([1, 1, -1, 2, -1, -1]):
        stepped(both, seed, without)
    assert equal(both)


def test_weights_of_two_types_are_moved_as_with_torch() -> None:
    both = pair(dtypes=(torch.float32, torch.float64))
    for seed in range(3):
        stepped(both, seed)
    assert equal(both)


def test_a_state_goes_on_in_another_optimizer() -> None:
    both = pair()
    for seed in range(3):
        stepped(both, seed)
    state = copy.deepcopy(both[0][1].state_dict())
    ours = both[0][0]
    again = Adam(groups(ours), lr=0.5)
    again.load_state_dict(state)
    both[0] = ours, again
    for seed in range(3):
        stepped(both, seed)
    again.load_state_dict(copy.deepcopy(again.state_dict()))
    stepped(both, seed=4)
    assert equal(both)


def test_a_group_may_be_added() -> None:
    both = pair()
    stepped(both, seed=0)
    for parameters, optimizer in both:
        more = nn.Parameter(torch.ones(2))
        parameters.append(more)
        optimizer.add_param_group({"params": [more], "lr": 0.3})
    for seed in (1, 2):
        stepped(both, seed)
    assert equal(both)


def test_gradients_may_be_set_to_zero_and_a_closure_gives_the_loss() -> None:
    [weight] = parameters = [nn.Parameter(torch.ones(2))]
    optimizer = Adam(parameters, lr=0.1)

    def closure() -> Tensor:
        optimizer.zero_grad(set_to_none=False)
        assert weight.grad is None or not weight.grad.any()
        loss = weight.square().sum()
        loss.backward()
        return loss

    assert [round(optimizer.step(closure).item(), 2) for _ in range(2)] == [2.0, 1.62]
