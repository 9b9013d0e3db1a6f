"""The compiled sweep: equal to the general path, in value and in every gradient."""

from __future__ import annotations

import gc
import math
import random
from functools import partial
from inspect import signature

import numpy as np
import pytest
import torch
from configurations import (
    CONFIGURATIONS,
    Configuration,
    assert_equal,
    forest_for,
    values_and_gradients,
    with_gradients,
)
from numba.core.dispatcher import Dispatcher
from random_trees import TOKENS, TYPES, VOCABULARY, chain, doubled, random_tree
from torch import Tensor

from structnet.message_passing.propagation import propagate
from structnet.tensor_tree import CP, TensorTrain, TreeLSTM, Tucker, WeightedSum
from structnet.tensor_tree.compiled.kernels import (
    core,
    cp,
    full_tensor,
    low_rank,
    steps,
    sums,
    tensor_train,
    tucker,
)
from structnet.tensor_tree.compiled.kernels import gates as kernels
from structnet.tensor_tree.compiled.kernels.steps import BLOCK
from structnet.tensor_tree.compiled.plan import Plan
from structnet.tensor_tree.compiled.tree_sweep import covers
from structnet.tensor_tree.tree_lstm import _Cell
from structnet.trees.forest import Forest
from structnet.trees.schema import dgl
from structnet.trees.tree import Tree
from structnet.trees.vocabulary import Vocabulary

COVERED = [c for c in CONFIGURATIONS if not c.inner]
every_covered = pytest.mark.parametrize("configuration", COVERED, ids=str)
TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-4}


def general(model: TreeLSTM, forest: Forest) -> dict[str, Tensor]:
    """``values_and_gradients`` by the path that all cells can take."""
    return with_gradients(model, propagate(forest, _Cell(model)))


def assert_same(model: TreeLSTM, forest: Forest) -> None:
    assert covers(model, forest)
    for parameter in model.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)  # biases too
    tolerance = TOLERANCE[next(model.parameters()).dtype]
    assert_equal(values_and_gradients(model, forest), general(model, forest), tolerance)


@every_covered
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("share", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_random_forests(configuration: Configuration, dtype: torch.dtype, share: bool, seed: int):
    torch.manual_seed(seed)
    model = configuration.model(hidden_size=5 + seed, dtype=dtype)  # not only multiples of four
    assert_same(model, forest_for(configuration, seed, share))


FORESTS = {
    "a single leaf": [Tree("x")],
    "leaves": [Tree(x) for x in TOKENS],
    "one node": [Tree("A", [Tree("x")])],
    "a unary chain": [chain(12)],
    "one type": [Tree("B", [Tree("B", [Tree("y"), Tree("z")]), Tree("x"), Tree("x")])],
    "much shared": [doubled(6, "A"), Tree("B", [doubled(5, "A")] * 3)],
}


@every_covered
@pytest.mark.parametrize("trees", FORESTS.values(), ids=list(FORESTS))
def test_odd_forests(configuration: Configuration, trees: list[Tree]):
    assert_same(configuration.model(), Forest.from_trees(trees, VOCABULARY))


@every_covered
def test_nodes_with_a_type_and_no_children(configuration: Configuration):
    graph = dgl().graph(([0, 1], [2, 2]), num_nodes=4)
    graph.edata["pos"] = torch.tensor([0, 2])
    graph.ndata["type"] = torch.tensor([-1, 1, 0, 1])
    graph.ndata["token"] = torch.tensor([2, -1, -1, -1])
    assert_same(configuration.model(), Forest.from_graph(graph, vocabulary=VOCABULARY))


@pytest.mark.parametrize("arity", [1, 2, 5])
@pytest.mark.parametrize("aggregator", [Tucker, CP, TensorTrain], ids=lambda a: a.__name__)
@pytest.mark.parametrize("rank", [1, 3])
def test_arities_and_ranks(arity: int, aggregator: type, rank: int):
    model = TreeLSTM(4, 2, arity, torch.eye(3), partial(aggregator, rank=rank)).double()
    trees = [random_tree(random.Random(seed), 3, arity) for seed in range(6)]
    assert_same(model, Forest.from_trees(trees, Vocabulary(TYPES, TOKENS, arity)))


@every_covered
def test_more_rows_than_are_multiplied_at_once(configuration: Configuration):
    trees = [Tree("A", [Tree("x"), Tree("B", [Tree("y")])]) for _ in range(2 * BLOCK + 3)]
    assert_same(configuration.model(), Forest.from_trees(trees, VOCABULARY, share=False))


@every_covered
def test_states_of_chosen_nodes(configuration: Configuration):
    model, forest = configuration.model(), forest_for(configuration, 1)
    nodes = [*range(forest.num_nodes), 0, forest.num_nodes - 1, 0]
    ours = with_gradients(model, model.states(forest, nodes=nodes))
    truth = with_gradients(model, propagate(forest, _Cell(model), nodes))
    assert_equal(ours, truth, 1e-10)


def test_a_mask_chooses_nodes():
    model, forest = COVERED[0].model(), forest_for(COVERED[0], 1)
    mask = forest.types == 0
    assert 0 < mask.sum() < forest.num_nodes
    chosen = model.states(forest, nodes=np.flatnonzero(mask))
    for given in (mask, torch.from_numpy(mask)):
        assert torch.equal(model.states(forest, nodes=given)["h"], chosen["h"])
    with pytest.raises(IndexError, match="out of bounds"):
        model.states(forest, nodes=[forest.num_nodes])


@every_covered
def test_without_gradients(configuration: Configuration):
    """The products of one block are then thrown away at the next."""
    model, forest = configuration.model(), forest_for(configuration, 2)
    with torch.no_grad():
        h = model(forest)
    assert torch.equal(h, model(forest))


class Mine(WeightedSum):
    """An aggregator of the user's."""


def test_what_takes_the_general_path(caplog: pytest.LogCaptureFixture):
    """And a message says why."""
    caplog.set_level("DEBUG", "structnet.tensor_tree.compiled")
    forest = Forest.from_trees([Tree("A", [Tree("x")])], VOCABULARY)
    make = partial(TreeLSTM, 4, 2, 3, torch.eye(3))
    assert covers(make(), forest)
    assert not caplog.messages
    replaced = make()
    replaced.aggregator.reduce = lambda *arguments: None
    for model, over, why in (
        (make(inner_inputs=True), forest, "inner nodes carry inputs"),
        (make().bfloat16(), forest, "not all of float32, nor all of float64"),
        (make(Mine), forest, "Mine is not one of the library's aggregators"),
        (replaced, forest, "Tucker is not one of the library's aggregators"),
        (make(), forest.to("meta"), "not all tensors are on the device of the forest"),
    ):
        caplog.clear()
        assert not covers(model, over)
        (message,) = caplog.messages
        assert why in message
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert not covers(make(), forest)
    assert "autocast is on" in caplog.messages[-1]


@pytest.mark.parametrize("configuration", COVERED[::5], ids=str)  # whose buffers are alike
def test_buffers_go_with_the_graph(configuration: Configuration):
    """By count of references: no circle waits for the garbage collector."""
    model, forest = configuration.model(), forest_for(configuration, 0)

    def alive() -> int:
        return sum(type(thing) is Plan for thing in gc.get_objects())

    model(forest).sum().backward()  # to compile leaves circles
    gc.collect()
    gc.disable()
    try:
        before = alive()
        h = model(forest)
        assert alive() == before + 1
        h.sum().backward()
        with pytest.raises(RuntimeError, match="second time"):
            _ = h.grad_fn.saved_tensors
        del h
        with torch.no_grad():
            model(forest)
        assert alive() == before
    finally:
        gc.enable()


@pytest.mark.parametrize("gates", [1, 6])
def test_an_aggregator_of_other_sizes_is_left_to_torch(gates: int):
    """The compiled loops check no index."""
    model = TreeLSTM(4, 2, 3, torch.eye(3))
    model.aggregator = Tucker(4, 3, 2, gates=gates)
    assert not covers(model, Forest.from_trees([Tree("x")], VOCABULARY))


def test_on_the_cpu_whatever_the_default_device():
    model, forest = COVERED[0].model(), forest_for(COVERED[0], 0)
    truth = model(forest)
    with torch.device("meta"):
        assert torch.equal(model(forest), truth)


def test_a_weight_changed_before_the_backward():
    model, forest = COVERED[0].model(), forest_for(COVERED[0], 0)
    h = model(forest)
    with torch.no_grad():
        model.forget_weight.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        h.sum().backward()


def test_backward_without_its_graph():
    h = COVERED[0].model()(forest_for(COVERED[0], 0)).sum()
    h.backward()
    with pytest.raises(RuntimeError, match="second time"):
        h.backward()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tanh(dtype: type):
    x = np.concatenate([np.linspace(-25, 25, 2001), [1e-30, -1e-9, np.inf, -np.inf]]).astype(dtype)
    tiny = np.finfo(dtype).eps
    tanh = np.array([kernels._tanh(value) for value in x])
    np.testing.assert_allclose(tanh, np.tanh(x.astype(np.float64)), rtol=8 * tiny)
    assert np.abs(tanh).max() <= 1
    assert math.isnan(kernels._tanh(dtype("nan")))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sigmoid(dtype: type):
    """The relative error is small on the far side too."""
    tiny, smallest = np.finfo(dtype).eps, np.finfo(dtype).tiny
    end = -np.log(smallest)
    x = np.concatenate([np.linspace(-end, end, 4001), np.linspace(-3, 3, 2001), [1e-30, -1e-9, 0]])
    x = x.astype(dtype)
    exact = np.exp(-np.abs(x.astype(np.longdouble)))
    truth = np.where(x < 0, exact, 1) / (1 + exact)
    found = np.array([kernels._sigmoid(value) for value in x])
    np.testing.assert_allclose(found, truth, rtol=8 * tiny, atol=2 * smallest)
    ends = [kernels._sigmoid(dtype(value)) for value in ("-inf", "-1e30", "1e30", "inf")]
    assert ends == [0, 0, 1, 1]
    assert math.isnan(kernels._sigmoid(dtype("nan")))


def test_a_broken_weight_is_seen():
    """NaN is passed on: training stops on a loss that is not finite."""
    model = COVERED[0].model()
    model.forget_bias.data[:] = torch.nan
    assert model(forest_for(COVERED[0], 0)).isnan().any()


def test_what_takes_a_plan_is_compiled_within_the_sweeps_alone():
    """Compiled by itself first, each would make whoever trains for the first time wait longer."""
    forms = (cp, full_tensor, sums, tensor_train, tucker)
    taking = {
        function
        for module in (core, low_rank, steps, *forms)
        for function in vars(module).values()
        if isinstance(function, Dispatcher) and "plan" in signature(function.py_func).parameters
    }
    sweeps = {x for form in forms for x in (form.sweep_up, form.sweep_down)}
    assert sweeps < taking
    assert {x.targetoptions.get("inline") for x in taking - sweeps} == {"always"}
