"""Backward through time by hand equals autograd, and both equal finite differences."""

from __future__ import annotations

import pytest
import torch
from naru_networks import LENGTHS, sentences, small

from structnet.naru import RoutedNetwork, Wiring


def loss_of(network: RoutedNetwork, x: torch.Tensor, backend: str) -> torch.Tensor:
    """A number that depends on every prediction and every gate, each in its own way."""
    routed = network.route(x, LENGTHS, backend)
    generator = torch.Generator().manual_seed(5)
    weights = [
        torch.randn(each.shape, generator=generator, dtype=each.dtype)
        for each in (routed.predictions, *routed.gates)
    ]
    both = zip((routed.predictions.square(), *routed.gates), weights, strict=True)
    return sum((each * weight).sum() for each, weight in both)


@pytest.mark.parametrize("gate_noise", [0.0, 0.5])
def test_the_sweep_goes_back_as_autograd_does(gate_noise: float) -> None:
    found = {}
    for backend in ("sweep", "autograd"):
        network, x = small(gate_noise=gate_noise), sentences().requires_grad_()
        loss_of(network, x, backend).backward()
        found[backend] = {"x": x.grad} | {n: p.grad for n, p in network.named_parameters()}
    assert found["sweep"].keys() == found["autograd"].keys()
    for name, grad in found["sweep"].items():
        plain = found["autograd"][name]
        assert (grad is None) == (plain is None), name
        if grad is not None:
            torch.testing.assert_close(grad, plain, rtol=1e-10, atol=1e-12, msg=name)


def test_a_bundle_that_nobody_visits_has_no_gradient() -> None:
    network = small()
    x = sentences()[:1, :3]
    routed = network.route(x)
    routed.predictions.sum().backward()
    for p, bundles in enumerate(network.bundles):
        for a, bundle in enumerate(bundles):
            visited = bool((routed.record[..., p] == a).any())
            assert (bundle.weight.grad is not None) == visited


@pytest.mark.parametrize("input_layer", [True, False])
def test_gradcheck(input_layer: bool) -> None:
    torch.manual_seed(3)
    network = RoutedNetwork(Wiring((1, 2, 2, 1), (2, 3, 2, 2)), input_layer=input_layer).double()
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if "gate" in name:  # no ties, which the slightest change would decide
                parameter.normal_()
    x = torch.randn(3, 5, 2, dtype=torch.float64, requires_grad=True)
    lengths = torch.tensor([5, 2, 4])

    def function(x: torch.Tensor, *parameters: torch.Tensor) -> tuple[torch.Tensor, ...]:
        routed = network.route(x, lengths)
        return routed.predictions, *routed.gates

    # The choices are constant near where they were made.
    assert torch.autograd.gradcheck(function, (x, *network.parameters()), atol=1e-6)


def test_results_may_be_changed_before_backward() -> None:
    grads = []
    for change in (False, True):
        network = small()
        routed = network.route(sentences(), LENGTHS)
        loss = routed.predictions.sum() * 2
        if change:
            with torch.no_grad():
                routed.gates[1].zero_()
        loss.backward()
        grads.append(network.bundles[1][0].weight.grad)
    assert torch.equal(*grads)


def test_frozen_parameters_get_no_gradient() -> None:
    network = small()
    network.bundles[1][0].requires_grad_(False)
    network(sentences(), LENGTHS).sum().backward()
    assert network.bundles[1][0].weight.grad is None
    assert network.bundles[0][0].weight.grad is not None


@pytest.mark.parametrize("backend", ["sweep", "autograd"])
def test_weights_that_were_changed_since_are_noticed(backend: str) -> None:
    network, x = small(), sentences()
    loss = loss_of(network, x, backend)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_routes_of_bundles_with_fewer_of_them() -> None:
    targets = [[range(8)], [[i % 6] for i in range(8)], [[0, 1]] + [[i % 2] for i in range(1, 6)]]
    wiring = Wiring((1, 8, 6, 2, 1), (3, 4, 4, 4, 3), targets=[*targets, [[0], [0]]])
    network = RoutedNetwork(wiring)
    for p in range(wiring.depth - 1):
        found, numbers = network.routes(p)
        for row, number, a in zip(found.tolist(), numbers.tolist(), range(99), strict=False):
            assert row == [*wiring.routes_of(p, a)] + [-1] * (len(row) - number)


def test_second_derivatives_are_refused() -> None:
    network, x = small(), sentences().requires_grad_()
    said = "the sweep backend has no second derivatives; backend='autograd' has"
    with pytest.raises(RuntimeError, match=said):
        torch.autograd.grad(network(x).sum(), x, create_graph=True)
    total = network(x, backend="autograd").sum()
    (slope,) = torch.autograd.grad(total, x, create_graph=True)
    assert slope.requires_grad


def test_a_backward_pass_inside_autocast() -> None:
    found = []
    for enabled in (False, True):
        network, x = small(input_layer=False).float(), sentences().float().requires_grad_()
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            network(x).square().sum().backward()
        found.append([x.grad, *(p.grad for p in network.parameters() if p.grad is not None)])
    assert all(map(torch.equal, *found))
