"""New routers begin by deciding: scaled to the samples that arrive at their leaf."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

from structnet.neural_tree import Growth, NeuralTree, NeuralTreeSettings, presets
from structnet.neural_tree.growth.router_start import SPREAD, balance
from structnet.routing import Samples


def features(n: int = 200, shape: tuple[int, ...] = (5, 6, 6)) -> torch.Tensor:
    return 3 + 0.1 * torch.randn(n, *shape, generator=torch.Generator().manual_seed(0))


def dead_router() -> nn.Sequential:
    """A router of the paper whose hidden units are off for every sample."""
    router = presets.mnist_c().router((5, 6, 6))
    hidden = next(layer for layer in router.modules() if isinstance(layer, nn.Linear))
    nn.init.constant_(hidden.bias, -100.0)
    return router


def test_a_dead_router_comes_to_life() -> None:
    router, x = dead_router(), features()
    assert router(x).std() < 1e-6
    balance(router, x)
    logit = router(x)
    torch.testing.assert_close(logit.mean(), torch.tensor(0.0), atol=1e-3, rtol=0)
    torch.testing.assert_close(logit.std(correction=0), torch.tensor(SPREAD), atol=1e-3, rtol=0)
    left = (logit >= 0).double().mean()
    assert 0.2 < left < 0.8
    router(x).sum().backward()
    assert all(parameter.grad.abs().max() > 0 for parameter in router.parameters())


@pytest.mark.parametrize("name", sorted(presets.PRESETS))
def test_every_preset_router_is_scaled(name: str) -> None:
    shape = (21,) if name == "sarcos" else (5, 6, 6)
    router, x = presets.PRESETS[name]().router(shape), features(shape=shape)
    mode = router.training
    balance(router, x)
    assert router.training == mode
    assert router(x).std(correction=0).item() == pytest.approx(SPREAD, rel=1e-3)


def test_a_router_that_gives_one_number_a_sample_is_scaled() -> None:
    class Flat(nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(x)[:, 0]

    router, x = Flat(4, 1), features(shape=(4,))
    balance(router, x)
    assert router(x).std(correction=0).item() == pytest.approx(SPREAD, rel=1e-3)


def test_what_does_not_vary_is_left_as_it_is() -> None:
    torch.manual_seed(0)
    router, same = nn.Linear(3, 1), torch.ones(10, 3)
    before = router(same)
    balance(router, same)
    torch.testing.assert_close(router(same), before)
    without_bias = nn.Linear(3, 1, bias=False)
    weight = without_bias.weight.clone()
    balance(without_bias, torch.randn(10, 3))
    assert torch.equal(without_bias.weight, weight)


class Attention(nn.Module):
    """A router with a layer that is never called as a module, registered after all others."""

    def __init__(self) -> None:
        super().__init__()
        self.logit = nn.Linear(4, 1)
        self.attention = nn.MultiheadAttention(4, 2, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.logit(self.attention(x[:, None], x[:, None], x[:, None])[0][:, 0])


def test_layers_that_are_not_called_are_left_as_they_are() -> None:
    torch.manual_seed(0)
    router, x = Attention(), features(shape=(4,))
    before = router.attention.out_proj.weight.clone()
    balance(router, x)
    assert torch.equal(router.attention.out_proj.weight, before)
    assert router(x).std(correction=0).item() == pytest.approx(SPREAD, rel=1e-3)


@pytest.mark.filterwarnings("ignore:.*weight_norm.*is deprecated:FutureWarning")
@pytest.mark.parametrize(
    "weight_norm", [nn.utils.weight_norm, nn.utils.parametrizations.weight_norm]
)
def test_normed_layers_are_left_as_they_are(weight_norm: Callable) -> None:
    torch.manual_seed(0)
    router, x = (
        nn.Sequential(nn.Linear(4, 3), nn.Tanh(), weight_norm(nn.Linear(3, 1))),
        features(shape=(4,)),
    )
    before = {name: value.clone() for name, value in router.state_dict().items()}
    balance(router, x)
    changed = {
        name for name, value in before.items() if not torch.equal(value, router.state_dict()[name])
    }
    assert changed == {"0.weight", "0.bias"}
    units = router[0](x)  # of a layer that is not the last
    torch.testing.assert_close(units.std(0, correction=0), torch.ones(3), atol=1e-3, rtol=0)


@pytest.mark.parametrize("balanced", [True, False])
def test_growth_balances_on_what_arrives(balanced: bool) -> None:
    x = features(300, (4,))
    samples = Samples(x, torch.arange(300) % 2)  # of which no regions tell, to begin with instead
    torch.manual_seed(0)
    tree = NeuralTree(presets.mlp(2), (4,))
    growth = Growth(tree, samples, samples, NeuralTreeSettings(epochs=1, balance_routers=balanced))
    growth.step()
    router = growth._candidates(0)["split"][0].parts[0]
    logit = router(tree.nodes[0].transformers(x))
    if balanced:
        assert logit.std().item() == pytest.approx(SPREAD, rel=0.2)
        assert logit.mean().abs() < 0.5
    else:
        assert logit.std() < 0.5 * SPREAD
