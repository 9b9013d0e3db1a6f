"""Embeddings of the user's own in a Child-Sum Tree-LSTM: they are called, not only read."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
import torch
from random_trees import TOKENS, TYPES, VOCABULARY, random_trees
from torch import Tensor, nn

from structnet.tensor_tree import ChildSumTreeLSTM
from structnet.trees.forest import Forest

FOREST = Forest.from_trees(random_trees(random.Random(3)), VOCABULARY)
TABLES = pytest.mark.parametrize("name", ["type_vectors", "token_vectors"])
SIZE = {"type_vectors": len(TYPES), "token_vectors": len(TOKENS)}


class Scaled(nn.Embedding):
    def forward(self, numbers: Tensor) -> Tensor:
        return 3 * super().forward(numbers)


def model() -> ChildSumTreeLSTM:
    torch.manual_seed(0)
    return ChildSumTreeLSTM(4, len(TYPES), len(TOKENS)).double()


def tripled(name: str) -> Tensor:
    m = model()
    with torch.no_grad():
        getattr(m, name).weight.mul_(3)
    return m(FOREST)


def with_table(name: str, table: nn.Embedding) -> ChildSumTreeLSTM:
    m = model()
    table = table.double()
    table.load_state_dict(getattr(m, name).state_dict())
    setattr(m, name, table)
    return m


def with_forward(name: str) -> ChildSumTreeLSTM:
    m = model()
    table = getattr(m, name)
    table.forward = lambda numbers: 3 * nn.Embedding.forward(table, numbers)
    return m


def with_hook(name: str) -> ChildSumTreeLSTM:
    m = model()
    getattr(m, name).register_forward_hook(lambda _, __, output: 3 * output)
    return m


MAKERS: list[Callable[[str], ChildSumTreeLSTM]] = [
    lambda name: with_table(name, Scaled(SIZE[name], 4)),
    with_forward,
    with_hook,
]


@TABLES
@pytest.mark.parametrize("make", MAKERS, ids=["subclass", "forward", "hook"])
def test_what_an_embedding_computes_is_used(name: str, make: Callable[[str], ChildSumTreeLSTM]):
    m, expected = make(name), tripled(name)
    for backend in ("levels", "dgl"):
        torch.testing.assert_close(m(FOREST, backend), expected)


@TABLES
def test_norms_are_limited(name: str):
    m = with_table(name, nn.Embedding(SIZE[name], 4, max_norm=0.01))
    m(FOREST)
    assert getattr(m, name).weight.norm(dim=1).max() <= 0.01 + 1e-6


@TABLES
def test_padding_is_not_trained(name: str):
    m = with_table(name, nn.Embedding(SIZE[name], 4, padding_idx=0))
    m(FOREST).sum().backward()
    gradient = getattr(m, name).weight.grad
    assert gradient[0].abs().max() == 0 and gradient[1].abs().max() > 0


@TABLES
@pytest.mark.parametrize("option", ["sparse", "scale_grad_by_freq"])
def test_gradients_are_those_of_the_options(name: str, option: str):
    m = with_table(name, nn.Embedding(SIZE[name], 4, **{option: True}))
    m(FOREST).sum().backward()
    found = getattr(m, name).weight.grad
    plain = model()
    plain(FOREST).sum().backward()
    wanted = getattr(plain, name).weight.grad
    if option == "sparse":
        torch.testing.assert_close(found.to_dense(), wanted)
    else:
        numbers = FOREST.types if name == "type_vectors" else FOREST.tokens
        counts = torch.from_numpy(numbers[numbers >= 0]).bincount(minlength=SIZE[name])
        torch.testing.assert_close(found * counts.clamp_min(1).unsqueeze(1), wanted)


@TABLES
@pytest.mark.filterwarnings("ignore:Full backward hook is firing")  # torch's, as for any embedding
def test_backward_hooks_of_an_embedding_run(name: str):
    m, heard = model(), []
    getattr(m, name).register_full_backward_pre_hook(lambda *_: heard.append(1))
    m(FOREST).sum().backward()
    assert heard == [1]
