"""TreeLSTM: against the paper in plain recursion, its gates, its options, its initialisation."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

import pytest
import torch
from configurations import (
    CONFIGURATIONS,
    Configuration,
    assert_equal,
    values_and_gradients,
    with_gradients,
)
from random_trees import ARITY, TOKENS, TYPES, VOCABULARY, random_trees
from reference import tensor_tree as reference
from sentences import no_int
from torch import Tensor

from structnet.checks import wrong
from structnet.tensor_tree import ChildSum, TreeLSTM, Tucker, WeightedSum
from structnet.trees.forest import Forest
from structnet.trees.schema import dgl
from structnet.trees.tree import Tree
from structnet.trees.vocabulary import Vocabulary

every_configuration = pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=str)


def by_recursion(
    model: TreeLSTM, trees: Sequence[Tree], equation: reference.Aggregate = reference.aggregate
) -> dict[str, Tensor]:
    """``values_and_gradients`` by the reference."""
    pairs = [reference.tree_lstm(model, tree, VOCABULARY, equation) for tree in trees]
    h, c = zip(*pairs, strict=True)
    return with_gradients(model, {"h": torch.stack(h), "c": torch.stack(c)})


@every_configuration
def test_the_paper_in_plain_recursion(configuration: Configuration):
    model = configuration.model(hidden_size=3)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))  # biases too
    trees = random_trees(random.Random(7), configuration.inner)
    truth = by_recursion(model, trees)
    for backend in ("levels", "dgl"):
        found = values_and_gradients(model, Forest.from_trees(trees, VOCABULARY), backend)
        assert_equal(found, truth, 1e-10)


@every_configuration
def test_any_aggregator_as_a_dense_tensor(configuration: Configuration):
    model = configuration.model(hidden_size=2)
    trees = random_trees(random.Random(11), configuration.inner)[:4]
    if configuration.aggregator == "child-sum":  # its dense twin has a mode for each place
        trees = [tree for tree in trees if tree.size < 40]
    if configuration.bottom == "learned" and configuration.aggregator == "sum":
        assert model.layout.pads  # the learned state takes part
    truth = by_recursion(model, trees, reference.by_full)
    assert_equal(values_and_gradients(model, Forest.from_trees(trees, VOCABULARY)), truth, 1e-10)


def test_fixed_inputs():
    inputs = torch.tensor([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 1.0, 1.0]])
    model = TreeLSTM(3, 2, ARITY, inputs).double()
    trees = random_trees(random.Random(0))
    assert torch.equal(model.input_table(), inputs.double())
    assert "inputs" in dict(model.named_buffers())
    found = values_and_gradients(model, Forest.from_trees(trees, VOCABULARY))
    assert_equal(found, by_recursion(model, trees), 1e-10)


@pytest.mark.parametrize("configuration", [c for c in CONFIGURATIONS if not c.inner], ids=str)
def test_a_missing_child_in_the_middle(configuration: Configuration):
    """Places 0 and 2 of a node are taken, place 1 is not."""
    model = configuration.model()
    graph = dgl().graph(([0, 1, 2, 0], [2, 2, 3, 3]), num_nodes=4)
    graph.edata["pos"] = torch.tensor([0, 2, 1, 2])
    graph.ndata["type"] = torch.tensor([-1, -1, 0, 1])
    graph.ndata["token"] = torch.tensor([0, 1, -1, -1])
    forest = Forest.from_graph(graph, vocabulary=VOCABULARY)
    table = model.input_table()
    x, y = reference.leaf(model, table[0]), reference.leaf(model, table[1])
    inner = reference.node(model, 0, None, {0: x, 2: y})
    h, c = reference.node(model, 1, None, {1: inner, 2: x})
    for backend in ("levels", "dgl"):
        states = model.states(forest, backend=backend)
        torch.testing.assert_close(states["h"][0], h)
        torch.testing.assert_close(states["c"][0], c)


@every_configuration
def test_gradcheck(configuration: Configuration):
    model = configuration.model(hidden_size=2)
    trees = [
        Tree("A", [Tree("B", [Tree("x"), Tree("y")]), Tree("z")]),
        Tree("B", [Tree("x")]),
    ]
    if configuration.inner:
        trees = [Tree("A", [Tree("B", token="x"), Tree("y")], token="z"), Tree("B", token="y")]
    forest = Forest.from_trees(trees, VOCABULARY)
    names, parameters = zip(*model.named_parameters(), strict=True)

    def function(*values: Tensor) -> Tensor:
        named = dict(zip(names, values, strict=True))
        return torch.func.functional_call(model, named, (forest,))

    values = [p.detach().clone().requires_grad_() for p in parameters]
    small = configuration.aggregator in ("child-sum", "sum") and not configuration.inner
    assert torch.autograd.gradcheck(function, values, fast_mode=not small)


def everything(inner: bool) -> Forest:
    """Every type, place, token, a missing child in every place but the first, inner tokens."""
    leaves = [Tree(x) for x in TOKENS]
    trees = []
    for t in TYPES:
        for k in range(1, ARITY + 1):
            below = (leaves * 2)[k : 2 * k]
            trees += [Tree(t, below), Tree(t, [Tree(t, below), *below[1:]])]
        if inner:
            trees += [Tree(t, leaves[:k], token=x) for x in TOKENS for k in range(4)]
            trees.append(Tree(t, trees[-3:], token="y"))
        trees.append(Tree(t, trees[-3:]))
    return Forest.from_trees(trees, VOCABULARY)


@every_configuration
def test_every_number_of_every_parameter_gets_a_gradient(configuration: Configuration):
    model = configuration.model()
    for backend in ("levels", "dgl"):
        found = values_and_gradients(model, everything(configuration.inner), backend)
        for name, value in found.items():
            assert (value != 0).all(), f"{name} has no gradient somewhere"


def test_child_sum_takes_any_number_of_children():
    model = TreeLSTM(4, 2, 1, torch.eye(3), ChildSum).double()
    tree = Tree("A", [Tree(x) for x in "xyzxyzzzx"])
    vocabulary = Vocabulary(TYPES, TOKENS, 9)
    h = model(Forest.from_trees([tree], vocabulary))
    torch.testing.assert_close(h, reference.hidden_states(model, [tree], vocabulary))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"forget": "some"}, str(wrong("forget", "one of ['child', 'all']", "some", "TreeLSTM"))),
        ({"bottom": "one"}, str(wrong("bottom", "one of ['zero', 'learned']", "one", "TreeLSTM"))),
        ({"hidden_size": 0}, no_int("hidden_size", "Tucker", 1, "0")),
        ({"arity": 0}, no_int("arity", "Tucker", 1, "0")),
        (
            {"aggregator": ChildSum, "forget": "all"},
            "ChildSum does not tell places apart: it needs forget='child', bottom='zero', "
            "forget_bias='type'; got forget='all', bottom='zero', forget_bias='type'",
        ),
        (
            {"aggregator": ChildSum, "bottom": "learned"},
            "ChildSum does not tell places apart: it needs forget='child', bottom='zero', "
            "forget_bias='type'; got forget='child', bottom='learned', forget_bias='type'",
        ),
        (
            {"aggregator": ChildSum, "forget_bias": "place"},
            "ChildSum does not tell places apart: it needs forget='child', bottom='zero', "
            "forget_bias='type'; got forget='child', bottom='zero', forget_bias='place'",
        ),
        (
            {"forget": "all", "forget_bias": "place"},
            "forget_bias='place' needs forget='child'; got forget='all'",
        ),
        (
            {"forget_bias": "gate"},
            str(wrong("forget_bias", "one of ['type', 'place']", "gate", "TreeLSTM")),
        ),
    ],
)
def test_options(options: dict, message: str):
    arguments = {"hidden_size": 3, "num_types": 2, "arity": 2, "inputs": torch.eye(2)} | options
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        TreeLSTM(**arguments)


def test_the_default_is_tucker_of_rank_three():
    model = TreeLSTM(3, 2, 2, torch.eye(2))
    assert isinstance(model.aggregator, Tucker)
    assert (model.aggregator.rank, model.forget, model.bottom_state.abs().sum()) == (3, "child", 0)


# -------------------------------------------------------------------------- known defects


def test_the_callers_input_vectors_are_left_alone():
    inputs = torch.eye(3)
    model = TreeLSTM(3, 2, 3, inputs)
    model.load_state_dict(TreeLSTM(3, 2, 3, 2 * torch.eye(3)).state_dict())
    assert torch.equal(inputs, torch.eye(3))


def test_a_leaf_that_carries_nothing():
    graph = dgl().graph(([0], [1]), num_nodes=2)
    graph.edata["pos"] = torch.tensor([0])
    graph.ndata["type"] = torch.tensor([-1, 0])
    graph.ndata["token"] = torch.tensor([-1, -1])
    with pytest.raises(ValueError, match="token"):
        TreeLSTM(3, 2, 3, torch.eye(3))(Forest.from_graph(graph))


@pytest.mark.parametrize("inputs", [torch.ones(3), [[1.0, 0.0]], 3])
def test_wrong_inputs(inputs: object):
    with pytest.raises((TypeError, ValueError), match="inputs"):
        TreeLSTM(3, 2, 3, inputs)


@pytest.mark.parametrize("inner", [False, True])
def test_learned_inputs_keep_the_options_of_their_embedding(inner: bool):
    """Rows of padding get no gradient, long rows are shortened, sparse gradients stay sparse."""
    trees = [Tree("A", [Tree("x"), Tree("y")], token="z" if inner else None), Tree("y")]
    forest = Forest.from_trees(trees, VOCABULARY)

    def gradient(**options: object) -> tuple[TreeLSTM, Tensor]:
        torch.manual_seed(0)
        embedding = torch.nn.Embedding(len(TOKENS), 4, **options)
        model = TreeLSTM(3, len(TYPES), ARITY, embedding, WeightedSum, inner_inputs=inner)
        model(forest).sum().backward()
        return model, embedding.weight.grad

    plain = gradient()[1]
    padded = gradient(padding_idx=1)[1]
    assert plain[1].abs().max() > 0 and padded[1].abs().max() == 0
    model, _ = gradient(max_norm=0.1)
    assert model.embedding.weight.norm(dim=1)[:2].max() < 0.1001
    sparse = gradient(sparse=True)[1]
    assert sparse.is_sparse
    torch.testing.assert_close(sparse.to_dense(), plain)
