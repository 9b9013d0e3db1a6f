"""Every kind of Tree-LSTM there is, small, for tests that hold for all of them."""

from __future__ import annotations

import random
from functools import partial
from typing import NamedTuple

import pytest
import torch
from random_trees import ARITY, TOKENS, TYPES, VOCABULARY, random_trees
from torch import Tensor, nn

from structnet.tensor_tree import AGGREGATORS as KINDS
from structnet.tensor_tree import TreeLSTM
from structnet.trees.forest import Forest
from structnet.trees.tree import Tree

AGGREGATORS = {name: partial(kind, rank=2) if kind.ranked else kind for name, kind in KINDS.items()}


class Configuration(NamedTuple):
    """The options of a TreeLSTM."""

    aggregator: str
    forget: str
    bottom: str
    inner: bool
    bias: str = "type"

    def __str__(self) -> str:
        inner = "inner" if self.inner else "leaves"
        bias = "-by-place" if self.bias == "place" else ""
        return f"{self.aggregator}-{self.forget}-{self.bottom}-{inner}{bias}"

    def model(
        self, hidden_size: int = 4, dtype: torch.dtype = torch.float64, learned: bool = True
    ) -> TreeLSTM:
        """A model for the random trees, with input vectors of size 2."""
        inputs = nn.Embedding(len(TOKENS), 2) if learned else torch.randn(len(TOKENS), 2)
        return TreeLSTM(
            hidden_size,
            len(TYPES),
            ARITY,
            inputs,
            AGGREGATORS[self.aggregator],
            self.forget,
            self.bottom,
            self.inner,
            self.bias,
        ).to(dtype)


CONFIGURATIONS = [
    Configuration(name, forget, bottom, inner)
    for name in AGGREGATORS
    for forget in ("child", "all")
    for bottom in ("zero", "learned")
    for inner in (False, True)
    if name != "child-sum" or (forget, bottom) == ("child", "zero")
]
CONFIGURATIONS += [
    Configuration(name, "child", bottom, inner, "place")
    for name, bottom, inner in (
        ("sum", "zero", False),
        ("sum", "zero", True),
        ("tucker", "learned", False),
        ("tucker", "zero", True),
        ("cp", "zero", False),
    )
]


SOME = [c for c in CONFIGURATIONS if c.forget == "child" and c.bottom == "learned"] + [
    c for c in CONFIGURATIONS if c.aggregator == "child-sum"
]
every_configuration = pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=str)
some_configurations = pytest.mark.parametrize("configuration", SOME, ids=str)
both_backends = pytest.mark.parametrize("backend", ["levels", "dgl"])


def trees_for(configuration: Configuration, seed: int) -> list[Tree]:
    return random_trees(random.Random(seed), inner_tokens=configuration.inner)


def forest_for(configuration: Configuration, seed: int, share: bool = True) -> Forest:
    return Forest.from_trees(trees_for(configuration, seed), VOCABULARY, share=share)


def gradients(loss: Tensor, model: nn.Module) -> list[Tensor]:
    model.zero_grad(set_to_none=True)
    loss.backward(retain_graph=True)
    return [torch.zeros_like(p) if p.grad is None else p.grad.clone() for p in model.parameters()]


def values_and_gradients(
    model: TreeLSTM, forest: Forest, backend: str = "levels"
) -> dict[str, Tensor]:
    """h and c of the roots, and the gradient of a random sum of them in every parameter."""
    return with_gradients(model, model.states(forest, backend=backend))


def with_gradients(model: nn.Module, states: dict[str, Tensor]) -> dict[str, Tensor]:
    """The states, and the gradient of one random sum of them in every parameter."""
    generator = torch.Generator().manual_seed(0)
    loss = 0.0
    for state in states.values():
        weight = torch.randn(state.shape, generator=generator, dtype=torch.float64)
        loss = loss + (state * weight.to(state)).sum() / len(state)
    names, parameters = zip(*model.named_parameters(), strict=True)
    gradients = torch.autograd.grad(loss, parameters, allow_unused=True, materialize_grads=True)
    return {name: state.detach() for name, state in states.items()} | {
        "gradient of " + name: gradient for name, gradient in zip(names, gradients, strict=True)
    }


def assert_equal(ours: dict[str, Tensor], theirs: dict[str, Tensor], tolerance: float) -> None:
    """Equal to within a tolerance, relative where values are large."""
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        torch.testing.assert_close(
            value, theirs[name], rtol=tolerance, atol=tolerance, msg=lambda m, n=name: f"{n}: {m}"
        )
