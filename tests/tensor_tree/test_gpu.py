"""The kernels for GPUs against the compiled loops: on a GPU, or in Triton's interpreter.

The second runs anywhere, slowly: ``pip install triton``, then ``TRITON_INTERPRET=1 pytest ..``.
"""

from __future__ import annotations

import os
import random
from functools import partial

import numpy as np
import pytest
import torch
from random_trees import TOKENS, TYPES, VOCABULARY, chain, random_tree, random_trees
from torch import Tensor, nn

from structnet.message_passing.pooling import POOLS, pooled
from structnet.tensor_tree import (
    CP,
    ChildSum,
    ChildSumTreeLSTM,
    FullTensor,
    TreeLSTM,
    Tucker,
    WeightedSum,
)
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
from structnet.tensor_tree.gpu import tree_sweep  # noqa: E402
from structnet.tensor_tree.gpu.child_sum_sweep import sweep  # noqa: E402
from structnet.tensor_tree.gpu.sizes import sizes_of  # noqa: E402
from structnet.tensor_tree.gpu.tasks import BLOCK  # noqa: E402

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


AGGREGATORS = {
    "sum": WeightedSum,
    "child-sum": ChildSum,
    "tucker": partial(Tucker, rank=2),
    "cp": partial(CP, rank=3),
    "full": FullTensor,
}
TYPED_TREES = {
    "random": random_trees(random.Random(0)),
    "leaf": [Tree("x")],
    "chain": [chain(12)],
    "shared": [Tree("A", [Tree("x"), Tree("x")])] * 9,
}


def typed(
    aggregator, arity: int = 3, hidden_size: int = 5, num_types: int = 2, inputs=None, **options
) -> TreeLSTM:
    torch.manual_seed(0)
    inputs = torch.randn(len(TOKENS), 4) if inputs is None else inputs
    m = TreeLSTM(hidden_size, num_types, arity, inputs, aggregator, **options)
    with torch.no_grad():
        for parameter in m.parameters():
            parameter += 0.1 * torch.randn_like(parameter)  # no zeros, which hide errors
    return m


def compared(m: TreeLSTM, forest: Forest, nodes=None) -> list[tuple[Tensor, Tensor]]:
    """States and gradients by the kernels, and by the compiled loops."""
    factors: dict[str, Tensor] = {}
    found: list[list[Tensor]] = []
    for device, states in (("cpu", TreeLSTM.states), (DEVICE, tree_sweep.sweep)):
        s = states(m.to(device), forest.to(device), nodes)
        factors = factors or {name: torch.randn_like(x).detach() for name, x in s.items()}
        loss = sum((x * factors[name].to(device)).sum() for name, x in s.items())
        gradients = torch.autograd.grad(loss, list(m.parameters()), materialize_grads=True)
        found.append([x.detach().cpu() for x in (*s.values(), *gradients)])
    return list(zip(*found[::-1], strict=True))


@pytest.mark.parametrize("trees", TYPED_TREES)
@pytest.mark.parametrize("bottom", ["zero", "learned"])
@pytest.mark.parametrize("name", AGGREGATORS)
def test_typed_states_and_gradients_are_those_of_the_compiled_loops(name, bottom, trees):
    if name == "child-sum" and bottom == "learned":
        pytest.skip("a child sum has no missing children")
    by_place = {} if name == "child-sum" else {"forget_bias": "place"}
    m = typed(AGGREGATORS[name], bottom=bottom, **by_place).double()
    for ours, reference in compared(m, Forest.from_trees(TYPED_TREES[trees], VOCABULARY)):
        torch.testing.assert_close(ours, reference)


def test_typed_states_of_any_nodes():
    """Also of one node twice, and of nodes whose states nothing else needs."""
    forest = Forest.from_trees(TYPED_TREES["random"], VOCABULARY)
    nodes = [0, forest.num_nodes - 1, 0, 3]
    for ours, reference in compared(typed(WeightedSum).double(), forest, nodes):
        torch.testing.assert_close(ours, reference)


def test_wide_typed_nodes_and_states_in_float32():
    """More children than are read together, and more columns than are multiplied at once."""
    vocabulary = Vocabulary(TYPES, TOKENS, arity=9)
    tree = Tree("A", [Tree("x"), Tree("y")] * 4 + [Tree("B", [Tree("z")] * 7)])
    forest = Forest.from_trees([tree, *TYPED_TREES["random"]], vocabulary)
    for ours, reference in compared(typed(WeightedSum, 9, 70), forest):
        torch.testing.assert_close(ours, reference, atol=1e-4, rtol=1e-4)


def test_tall_cores():
    """The outer product of the first children is multiplied in several parts."""
    vocabulary = Vocabulary(TYPES, TOKENS, arity=5)
    forest = Forest.from_trees(TYPED_TREES["random"], vocabulary)
    m = typed(partial(Tucker, rank=4), 5).double()
    assert sizes_of(m.aggregator).LEFT < 5**3
    for ours, reference in compared(m, forest):
        torch.testing.assert_close(ours, reference)


@pytest.mark.parametrize("arity", [1, 2, 4, 6])
@pytest.mark.parametrize("name", ["tucker", "cp", "full"])
def test_any_arity(name: str, arity: int):
    rng = random.Random(arity)
    trees = [random_tree(rng, 3, arity) for _ in range(4)]
    forest = Forest.from_trees(trees, Vocabulary(TYPES, TOKENS, arity))
    for ours, reference in compared(typed(AGGREGATORS[name], arity, 2).double(), forest):
        torch.testing.assert_close(ours, reference)


@pytest.mark.parametrize("name", AGGREGATORS)
def test_blocks_of_several_rows_and_a_type_that_no_node_has(name: str):
    rng = random.Random(0)
    trees = [tree for _ in range(12) for tree in random_trees(rng)]
    forest = Forest.from_trees(trees, Vocabulary([*TYPES, "C"], TOKENS, 3), share=False)
    assert np.bincount(forest.height).min() % BLOCK and np.bincount(forest.height).max() > BLOCK
    for ours, reference in compared(typed(AGGREGATORS[name], num_types=3).double(), forest):
        torch.testing.assert_close(ours, reference)


def test_learned_inputs_and_frozen_weights():
    forest = Forest.from_trees(TYPED_TREES["random"], VOCABULARY)
    m = typed(WeightedSum, inputs=nn.Embedding(len(TOKENS), 4)).double()
    m.forget_weight.requires_grad_(False)
    h = {}
    for device, states in (("cpu", TreeLSTM.states), (DEVICE, tree_sweep.sweep)):
        m.to(device).zero_grad()
        states(m, forest.to(device), None)["h"].square().sum().backward()  # c is not used
        grads = [p.grad for p in m.parameters() if p.requires_grad]
        h[device, states] = [x.to("cpu", copy=True) for x in grads]  # moving m moves these too
        assert m.forget_weight.grad is None
    for a, b in zip(*h.values(), strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.skipif(not GPU, reason="needs a GPU")
@pytest.mark.parametrize("name", AGGREGATORS)
def test_states_are_computed_by_the_kernels(name: str, monkeypatch: pytest.MonkeyPatch):
    called = []
    monkeypatch.setattr(tree_sweep, "sweep", lambda *given: called.append(given) or {"h": None})
    forest = Forest.from_trees(TYPED_TREES["random"], VOCABULARY).to(DEVICE)
    typed(AGGREGATORS[name]).to(DEVICE)(forest)
    assert len(called) == 1


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


def test_no_second_derivatives_of_typed_states():
    m = typed(WeightedSum).double().to(DEVICE)
    forest = Forest.from_trees(TYPED_TREES["random"], VOCABULARY).to(DEVICE)
    h = tree_sweep.sweep(m, forest, None)["h"]
    with pytest.raises(RuntimeError, match="no second derivatives"):
        torch.autograd.grad(h.sum(), m.forget_weight, create_graph=True)


def test_no_second_derivatives():
    m = model(torch.float64).to(DEVICE)
    h = by_kernels(m, Forest.from_trees(TREES["random"], VOCABULARY).to(DEVICE))
    with pytest.raises(RuntimeError, match="no second derivatives"):
        torch.autograd.grad(h.sum(), m.weight, create_graph=True)


@pytest.mark.skipif(not GPU, reason="needs a GPU")
@pytest.mark.parametrize("name", ["default", *AGGREGATORS])
def test_equal_bits_in_every_run(name: str):
    """Also: no program reads what another has not written yet."""
    rng = random.Random(0)
    trees = [tree for _ in range(300) for tree in random_trees(rng)] + [chain(500)]
    forest = Forest.from_trees(trees, VOCABULARY, share=False).to("cuda")
    m = (model(torch.float32, 64) if name == "default" else typed(AGGREGATORS[name])).to("cuda")

    def gradients() -> list[Tensor]:
        h = m.node_states(forest)
        return list(torch.autograd.grad(pooled(forest, h, ("max", "sum")).sum(), m.parameters()))

    first = gradients()
    for _ in range(5):
        assert all(torch.equal(a, b) for a, b in zip(first, gradients(), strict=True))
