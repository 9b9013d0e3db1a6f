"""Small growths of neural trees for tests: data, modules, scripts, and what to compare of them."""

from __future__ import annotations

from dataclasses import asdict, fields
from functools import partial

import torch
from alike import TIMES as TIMES
from alike import assert_same_weights, untimed
from torch import Tensor, nn

from structnet.neural_tree import (
    Categorical,
    GaussianMixture,
    Growth,
    NeuralTree,
    NeuralTreeSettings,
    Primitives,
    SquaredError,
)
from structnet.neural_tree.growth.decision import Gain
from structnet.routing import Samples

LIKELIHOODS = {"classes": Categorical, "squares": SquaredError, "gaussians": GaussianMixture}
ADAM = partial(torch.optim.Adam, lr=0.05)
# Algorithm 1 as it stands in the paper, on so few samples that everything is noise.
PAPER = {
    "min_gain": 0.0,
    "gain_errors": 0.0,
    "prefer_split": False,
    "min_samples": 2,
    "lookahead": 1,
    "warm_start_solvers": False,
    "prune": None,
}
OPTIONS = {"epochs": 2, "batch_size": 20, "optimizer": ADAM, **PAPER}
SETTINGS = {field.name for field in fields(NeuralTreeSettings)}


def make_samples(
    count: int = 60, seed: int = 0, likelihood: str = "classes", weighted: bool = False
) -> Samples:
    """Three numbers each, two of which decide between four classes, or give two numbers."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(count, 3, generator=generator, dtype=torch.float64)
    targets = 2 * (x[:, 0] > 0).long() + (x[:, 1] > 0).long()
    if likelihood != "classes":
        targets = torch.stack([x[:, 0].abs() + x[:, 1], x[:, 1].abs() - x[:, 0]], dim=1)
    weights = None
    if weighted:
        weights = torch.rand(count, generator=generator, dtype=torch.float64) * 2
        weights /= weights.mean()
    return Samples(x, targets, weights)


def make_primitives(
    likelihood: str = "classes", norm: bool = False, dropout: float = 0.0, width: int = 5
) -> Primitives:
    """Linear modules; if wanted, with batch normalisation and dropout in the transformers."""
    outputs = 2 * 2 if likelihood == "gaussians" else 4 if likelihood == "classes" else 2
    return Primitives(
        router=lambda shape: nn.Linear(*shape, 1),
        transformer=lambda shape: nn.Sequential(
            nn.Linear(*shape, width),
            nn.BatchNorm1d(width) if norm else nn.Identity(),
            nn.Tanh(),
            nn.Dropout(dropout),
        ),
        solver=lambda shape: nn.Linear(*shape, outputs),
    )


def make_tree(
    likelihood: str = "classes", seed: int = 0, primitives: Primitives | None = None, **modules
) -> NeuralTree:
    """A root, in float64."""
    primitives = make_primitives(likelihood, **modules) if primitives is None else primitives
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return NeuralTree(primitives, (3,), LIKELIHOODS[likelihood]()).double()


class Scripted(Growth):
    """Takes what its script says, visit by visit, where that can be had; then keeps."""

    script: tuple[str, ...] = ()

    def choose(self, gains: dict[str, Gain]) -> str:
        visit = len(self.decisions) - 1
        action = self.script[visit] if visit < len(self.script) else "keep"
        return action if action in gains else "keep"


class Eager(Growth):
    """Takes whatever can be had, a split before a deepening."""

    order: tuple[str, ...] = ("split", "deepen")

    def choose(self, gains: dict[str, Gain]) -> str:
        return next((kind for kind in self.order if kind in gains), "keep")


def scripted(*script: str) -> type[Scripted]:
    return type("Script", (Scripted,), {"script": script})


def make_growth(
    tree: NeuralTree | None = None, kind: type[Growth] = Growth, likelihood: str = "classes", **how
) -> Growth:
    tree = make_tree(likelihood) if tree is None else tree
    train, validation = (make_samples(n, n, likelihood) for n in (60, 40))
    return growth_on(tree, train, validation, kind, **how)


def growth_on(
    tree: NeuralTree, train: Samples, validation: Samples, kind: type[Growth] = Growth, **how
) -> Growth:
    """A growth from settings and other options, which are told apart by their names."""
    how = OPTIONS | how
    settings = NeuralTreeSettings(**{name: how.pop(name) for name in SETTINGS & how.keys()})
    return kind(tree, train, validation, settings, **how)


def grow(*arguments, **how) -> Growth:
    growth = make_growth(*arguments, **how)
    growth.run()
    return growth


def visits(growth: Growth) -> list[tuple[int, str]]:
    return [(decision.node, decision.action) for decision in growth.decisions]


def outcome(growth: Growth) -> dict:
    """All that two equal growths share, apart from the weights."""
    decisions = [asdict(decision) for decision in growth.decisions]
    return {
        "structure": growth.tree.config(),
        "decisions": untimed(decisions),
        "history": untimed(growth.history),
        "undecided": growth.undecided,
        "loss": growth.loss,
    }


def assert_same_growth(ours: Growth, theirs: Growth) -> None:
    assert outcome(ours) == outcome(theirs)
    assert_same_weights(ours.tree, theirs.tree)


def same_weights(ours: nn.Module, theirs: nn.Module) -> bool:
    pairs = zip(ours.parameters(), theirs.parameters(), strict=False)
    return all(a.shape == b.shape and torch.equal(a, b) for a, b in pairs)


def random_weights(module: nn.Module) -> None:
    """Weights, and statistics of normalisations, that make samples differ."""
    generator = torch.Generator().manual_seed(0)

    def fill(value: Tensor) -> None:
        value.copy_(torch.rand(value.shape, generator=generator, dtype=torch.float64) * 2 - 1)

    with torch.no_grad():
        for parameter in module.parameters():
            fill(parameter)
        for name, buffer in module.named_buffers():
            if "running" in name:
                fill(buffer)
                buffer.abs_().add_(0.1)
