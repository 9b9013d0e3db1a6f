"""The kernels for GPUs against the compiled loops: on a GPU, or in Triton's interpreter.

The second runs anywhere, slowly: ``pip install triton``, then ``TRITON_INTERPRET=1 pytest ..``.
"""

from __future__ import annotations

import os
import random

import pytest
import torch
from random_trees import TOKENS, TYPES, VOCABULARY, chain, random_trees
from torch import Tensor

from structnet.message_passing.pooling import POOLS, pooled
from structnet.tensor_tree import ChildSumTreeLSTM
from structnet.trees.forest import Forest
from structnet.trees.tree import Tree
from structnet.trees.vocabulary import Vocabulary

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"  # triton reads it as it is imported
GPU = torch.cuda.is_available() and not INTERPRETED
if not (GPU or INTERPRETED):
    pytest.skip("needs a GPU, or TRITON_INTERPRET=1 and triton", allow_module_level=True)
pytest.importorskip("triton")

from structnet.message_passing.gpu.pools import pooled_rows  # noqa: E402
from structnet.message_passing.gpu.rows import sum_rows  # noqa: E402
from structnet.tensor_tree.gpu.child_sum_sweep import sweep  # noqa: E402

DEVICE = "cuda" if GPU else "cpu"
ANY_ARITY = Vocabulary(TYPES, TOKENS, arity=None)
TREES = {
    "random": random_trees(random.Random(0), True)[:4],
    "leaves": [Tree("x"), Tree("y")],
    "chain": [chain(12)],
    "wide": [Tree("A", [Tree("x"), Tree("y")] * 40), Tree("x")],
    "shared": [Tree("A", [Tree("x"), Tree("x")])] * 9,
}


def model(dtype: torch.dtype, hidden_size: int = 5, **options) -> ChildSumTreeLSTM:
    torch.manual_seed(0)
    sizes = hidden_size, len(TYPES), len(TOKENS)
    return ChildSumTreeLSTM(*sizes, input_size=4, places=2, **options).to(dtype)


def by_kernels(m: ChildSumTreeLSTM, forest: Forest) -> Tensor:
    """The states of all nodes, the way a model on a GPU computes them."""
    if GPU:
        return m.node_states(forest)
    x = m.inputs(forest)
    inner = x[int((forest.height == 0).sum()) :]
    y = torch.addmm(m.bias, x, m.weight)
    return sweep(forest, y, torch.addmm(m.forget_bias, inner, m.forget_weight), *m._weights()[4:])


@pytest.mark.parametrize("order", [True, False])
@pytest.mark.parametrize("share", [True, False])
@pytest.mark.parametrize("name", TREES)
def test_states_and_gradients_are_those_of_the_compiled_loops(name: str, share: bool, order: bool):
    forest = Forest.from_trees(TREES[name], ANY_ARITY, share=share)
    m = model(torch.float64, order=order)
    factors = torch.randn(forest.num_nodes, 5, dtype=torch.float64)
    ours, reference = [], []
    for found, device, states in (
        (reference, "cpu", ChildSumTreeLSTM.node_states),
        (ours, DEVICE, by_kernels),
    ):
        h = states(m.to(device), forest.to(device))
        loss = (h * factors.to(device)).sum()
        gradients = torch.autograd.grad(loss, list(m.parameters()), materialize_grads=True)
        found += [x.detach().cpu() for x in (h, *gradients)]
    for a, b in zip(ours, reference, strict=True):
        torch.testing.assert_close(a, b)


def test_wide_states_in_float32():
    """More columns than a program computes, and not a power of two."""
    forest = Forest.from_trees(TREES["random"], VOCABULARY)
    m = model(torch.float32, 150)
    reference = m.node_states(forest)
    ours = by_kernels(m.to(DEVICE), forest.to(DEVICE))
    torch.testing.assert_close(ours.cpu(), reference, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("pool", POOLS)
def test_pools_are_those_of_the_compiled_loops(pool: str, name: str):
    forest = Forest.from_trees(TREES[name], ANY_ARITY)
    torch.manual_seed(0)
    x, score = torch.rand(forest.num_nodes, 3), torch.randn(3)
    x[:, 1] = 0.5  # ties
    factors = torch.randn(len(forest), 6)
    found = []
    for device in ("cpu", DEVICE):
        inputs = [t.to(device).requires_grad_() for t in (x, score)]
        names = (pool, "attention")
        if found:
            weight = torch.exp(inputs[0] @ inputs[1])
            pools = pooled_rows(forest.to(device), inputs[0], names, weight)
        else:
            pools = pooled(forest, inputs[0], names, score=inputs[1])
        gradients = torch.autograd.grad((pools * factors.to(device)).sum(), inputs)
        if pool == "max":  # which of two equal rows is the greatest, nobody knows
            gradients = (gradients[0].sum(0), gradients[1])
        found.append([t.detach().cpu() for t in (pools, *gradients)])
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b)


def test_the_greatest_of_rows_that_are_not_a_number_is_none():
    forest = Forest.from_trees(
        [Tree("A", [Tree("x"), Tree("y")]), Tree("x")], ANY_ARITY, share=False
    )
    x = torch.rand(forest.num_nodes, 2, device=DEVICE)
    x[forest.roots[0], 0] = torch.nan
    most = pooled_rows(forest.to(DEVICE), x, ["max"], None)
    assert most.isnan().tolist() == [[True, False], [False, False]]


def test_sums_of_lists_of_any_length():
    x = torch.arange(12.0, device=DEVICE).view(4, 3)
    index = torch.tensor([2] + [1] * 100, device=DEVICE)
    offsets = torch.tensor([0, 0, 1, 101], device=DEVICE)
    assert sum_rows(x, index, offsets).tolist() == [[0, 0, 0], [6, 7, 8], [300, 400, 500]]


def test_no_second_derivatives():
    m = model(torch.float64).to(DEVICE)
    h = by_kernels(m, Forest.from_trees(TREES["random"], VOCABULARY).to(DEVICE))
    with pytest.raises(RuntimeError, match="no second derivatives"):
        torch.autograd.grad(h.sum(), m.weight, create_graph=True)


@pytest.mark.skipif(not GPU, reason="needs a GPU")
def test_equal_bits_in_every_run():
    forest = Forest.from_trees(TREES["random"] * 300, VOCABULARY, share=False).to("cuda")
    m = model(torch.float32, 64).to("cuda")

    def gradients() -> list[Tensor]:
        h = m.node_states(forest)
        return list(torch.autograd.grad(pooled(forest, h, ("max", "sum")).sum(), m.parameters()))

    assert all(torch.equal(a, b) for a, b in zip(gradients(), gradients(), strict=True))
