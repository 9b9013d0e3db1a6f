"""Message passing over a forest: both backends, sharing, order, depth, autograd."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from configurations import (
    CONFIGURATIONS,
    Configuration,
    assert_equal,
    both_backends,
    every_configuration,
    forest_for,
    some_configurations,
    values_and_gradients,
    with_gradients,
)
from forests import exactly
from random_trees import VOCABULARY

from structnet.errors import GraphError
from structnet.message_passing.propagation import propagate
from structnet.tensor_tree import TreeLSTM
from structnet.tensor_tree.tree_lstm import _Cell
from structnet.trees.forest import Forest
from structnet.trees.schema import dgl
from structnet.trees.tree import Tree
from structnet.trees.vocabulary import Vocabulary

SEEDS = range(5)  # 42 configurations: 210 forests


@every_configuration
def test_backends_and_sharing_agree(configuration: Configuration):
    model = configuration.model()
    for seed in SEEDS:
        forest = forest_for(configuration, seed)
        copies = forest_for(configuration, seed, share=False)
        assert copies.num_nodes > forest.num_nodes
        truth = values_and_gradients(model, forest, "dgl")
        assert_equal(values_and_gradients(model, forest, "levels"), truth, 1e-10)
        assert_equal(values_and_gradients(model, copies, "levels"), truth, 1e-10)


@some_configurations
def test_the_reference_backend_and_sharing_agree(configuration: Configuration):
    model = configuration.model()
    truth = values_and_gradients(model, forest_for(configuration, 0), "dgl")
    copies = forest_for(configuration, 0, share=False)
    assert_equal(values_and_gradients(model, copies, "dgl"), truth, 1e-10)


@some_configurations
def test_sharing_in_single_precision(configuration: Configuration):
    model = configuration.model(dtype=torch.float32)
    for seed in range(3):
        truth = values_and_gradients(model, forest_for(configuration, seed))
        copies = forest_for(configuration, seed, share=False)
        assert_equal(values_and_gradients(model, copies), truth, 1e-6)


@some_configurations
def test_wide_weights(configuration: Configuration):
    """Matrices so large that they are multiplied by one at a time."""
    model = configuration.model(hidden_size=10 if configuration.aggregator == "full" else 40)
    forest = forest_for(configuration, 1)
    truth = values_and_gradients(model, forest, "dgl")
    for slack in (model.layout.slack, 0):  # 0: stacks that hold some kinds and not others
        model.layout = model.layout._replace(slack=slack)
        assert_equal(values_and_gradients(model, forest), truth, 1e-10)


@every_configuration
def test_no_value_depends_on_memory_that_was_not_written(
    configuration: Configuration, poisoned_memory: None
):
    model = configuration.model()
    for share in (True, False):
        found = values_and_gradients(model, forest_for(configuration, 0, share))
        assert all(value.isfinite().all() for value in found.values())


def with_other_edge_ids(forest: Forest, seed: int) -> Forest:
    """The same forest read from a graph whose edges stand in another order."""
    graph = forest.graph
    order = torch.from_numpy(np.random.default_rng(seed).permutation(graph.num_edges()))
    child, parent = graph.edges()
    other = dgl().graph((child[order], parent[order]), num_nodes=graph.num_nodes())
    other.edata["pos"] = graph.edata["pos"][order]
    other.ndata.update(graph.ndata)
    return Forest.from_graph(other, forest.roots, VOCABULARY)


@both_backends
@some_configurations
def test_the_order_of_edges_changes_nothing(configuration: Configuration, backend: str):
    model = configuration.model()
    forest = forest_for(configuration, 2)
    truth = values_and_gradients(model, forest, backend)
    for seed in range(3):
        other = with_other_edge_ids(forest, seed)
        assert_equal(values_and_gradients(model, other, backend), truth, 1e-10)


def test_many_types_in_stacks_of_several():
    """So many kinds of messages that a level takes several stacks."""
    rng = random.Random(0)
    labels = [f"t{i}" for i in range(50)]
    trees = [Tree(x) for x in "xyz"]
    for _ in range(150):
        trees.append(
            Tree(rng.choice(labels[: len(trees)]), rng.choices(trees, k=rng.randint(1, 3)))
        )
    forest = Forest.from_trees(trees, Vocabulary(labels, "xyz", 3))
    model = TreeLSTM(5, 50, 3, torch.randn(3, 2)).double()
    for slack in (0, 4, 64):
        model.layout = model.layout._replace(slack=slack)
        ours = with_gradients(model, propagate(forest, _Cell(model)))
        assert_equal(ours, values_and_gradients(model, forest, "dgl"), 1e-10)


@both_backends
def test_the_graph_is_left_as_it_was(backend: str):
    forest = forest_for(CONFIGURATIONS[0], 0)
    graph = forest.graph
    fields = {**graph.ndata, **graph.edata}
    before = {name: value.clone() for name, value in fields.items()}
    model = CONFIGURATIONS[0].model()
    model(forest, backend=backend).sum().backward()
    after = {**graph.ndata, **graph.edata}
    assert after.keys() == before.keys()
    assert all(torch.equal(after[name], before[name]) for name in before)


# --------------------------------------------------------------------------------- nodes=


@both_backends
@some_configurations
def test_states_of_any_nodes(configuration: Configuration, backend: str):
    model = configuration.model()
    forest = forest_for(configuration, 3)
    every = model.states(forest, nodes=range(forest.num_nodes), backend=backend)
    nodes = [forest.num_nodes - 1, 0, 2, 0]
    some = model.states(forest, nodes=nodes, backend=backend)
    for name in ("h", "c"):
        assert every[name].shape == (forest.num_nodes, model.hidden_size)
        torch.testing.assert_close(some[name], every[name][nodes])
    roots = model.states(forest, backend=backend)["h"]
    torch.testing.assert_close(roots, every["h"][forest.roots])
    torch.testing.assert_close(roots, model(forest, backend=backend))


def test_gradients_through_inner_nodes():
    model = CONFIGURATIONS[0].model()
    forest = forest_for(CONFIGURATIONS[0], 3)
    found = []
    for backend in ("levels", "dgl"):
        h = model.states(forest, nodes=np.arange(forest.num_nodes), backend=backend)["h"]
        found.append(torch.autograd.grad(h.square().sum(), list(model.parameters())))
    torch.testing.assert_close(found[0], found[1], rtol=1e-10, atol=1e-10)


@both_backends
def test_no_nodes(backend: str):
    model = CONFIGURATIONS[0].model()
    states = model.states(forest_for(CONFIGURATIONS[0], 0), nodes=[], backend=backend)
    assert states["h"].shape == (0, model.hidden_size)
    states["h"].sum().backward()


@both_backends
def test_single_nodes_only(backend: str):
    model = CONFIGURATIONS[0].model()
    forest = Forest.from_trees([Tree("x"), Tree("y"), Tree("x")], VOCABULARY)
    h = model(forest, backend=backend)
    assert h.shape == (3, 4)
    torch.testing.assert_close(h[0], h[2])
    h.sum().backward()
    assert model.leaf_weight.grad.abs().sum() > 0


# --------------------------------------------------------------------------------- errors


def test_unknown_backend():
    message = (
        "The 'backend' parameter of propagate must be one of ['levels', 'dgl']. Got 'cuda' instead."
    )
    with pytest.raises(ValueError, match=exactly(message)):
        CONFIGURATIONS[0].model()(forest_for(CONFIGURATIONS[0], 0), backend="cuda")


@both_backends
@pytest.mark.parametrize(
    ("trees", "vocabulary", "message"),
    [
        ([], VOCABULARY, "the forest is empty; a sweep needs at least one node"),
        (
            [Tree("C", [Tree("x")])],
            Vocabulary("ABC", "xyz", 3),
            "the forest has type 2; the model has 2 types",
        ),
        (
            [Tree("A", [Tree("x")] * 4)],
            Vocabulary("AB", "xyz", 4),
            "a node of the forest has 4 places; the model's arity is 3",
        ),
        (
            [Tree("w")],
            Vocabulary("AB", "xyzw", 3),
            "the forest has token 3; the model has 3 input vectors",
        ),
        (
            [Tree("A", [Tree("x")], token="x")],
            VOCABULARY,
            "nodes with a type carry tokens, which the model would not read; "
            "build it with inner_inputs=True",
        ),
    ],
)
def test_forests_that_the_model_cannot_read(
    trees: list[Tree], vocabulary: Vocabulary, message: str, backend: str
):
    forest = Forest.from_trees(trees, vocabulary)
    with pytest.raises(GraphError, match=exactly(message)):
        CONFIGURATIONS[0].model()(forest, backend=backend)


def test_no_such_node():
    model, forest = CONFIGURATIONS[0].model(), forest_for(CONFIGURATIONS[0], 0)
    with pytest.raises(IndexError, match="out of bounds"):
        model.states(forest, nodes=[10_000])
    said = f"nodes must be numbers from 0 to {forest.num_nodes - 1}. Got -1."
    for nodes in ([0, -1], torch.tensor([-1])):
        with pytest.raises(IndexError, match=exactly(said)):
            model.states(forest, nodes=nodes)
        with pytest.raises(IndexError, match=exactly(said)):
            propagate(forest, _Cell(model), nodes)
