"""How a tree grows, and is built again."""

from __future__ import annotations

import json

import pytest
import torch
from forests import exactly
from neural_trees import LIKELIHOODS, close, draw, every_small_shape, routers, tree_of
from torch import nn
from tree_shapes import LEFT_LEAF, SMALL, small_primitives

from structnet.neural_tree.node import run_all
from structnet.neural_tree.primitives import Primitives, shape_after
from structnet.neural_tree.tree import NeuralTree
from structnet.routing.path_log_prob import leaf_log_prob
from structnet.routing.topology import Topology


@every_small_shape
@torch.no_grad()
def test_graph_follows_the_schema(shape: tuple) -> None:
    tree = tree_of(shape=shape, seed=2)
    graph, topology = tree.graph, tree.topology
    assert Topology.from_graph(graph).to_lists() == topology.to_lists()
    leaf, router = topology.leaves.tolist(), routers(tree)
    assert [graph.ndata["token"][v] for v in leaf] == list(range(len(leaf)))
    assert [graph.ndata["type"][v] for v in router] == list(range(len(router)))
    assert (graph.ndata["type"][leaf] == -1).all()
    assert (graph.ndata["token"][router] == -1).all()
    x = draw("categorical", 4).x
    branches = torch.zeros(4, len(tree.nodes)).double()
    for v, features in tree.features(x):
        if v in router:
            left, right = topology.children_of(v)
            logit = tree.nodes[v].logit(features)
            branches[:, left] = logit.sigmoid().log()
            branches[:, right] = (-logit).sigmoid().log()
    close(leaf_log_prob(graph, branches), tree.leaf_log_prob(x), 1e-12)


@pytest.mark.parametrize("transformers", [True, False])
def test_a_tree_is_built_again_from_its_configuration(transformers: bool) -> None:
    x = draw("categorical", 6).x
    configurations = set()
    for seed in range(12):
        tree = tree_of(SHAPE_NAMES[seed % 3], SMALL[-1 - seed], seed, transformers)
        text = json.dumps(tree.config())
        configurations.add(text)
        other = NeuralTree.from_config(json.loads(text), tree.primitives, tree.likelihood).double()
        assert other.config() == tree.config()
        assert [node.shape for node in other.nodes] == [node.shape for node in tree.nodes]
        assert not torch.equal(other.output(x), tree.output(x))
        other.load_state_dict(tree.state_dict())
        for path in ("multi", "greedy", "most_likely", "least_likely"):
            assert torch.equal(other.output(x, path), tree.output(x, path))
    assert len(configurations) == 12


SHAPE_NAMES = list(LIKELIHOODS)


def test_splits_and_deepenings_keep_what_is_elsewhere() -> None:
    tree, x = tree_of(), draw("categorical", 5).x
    leaf, *others = tree.topology.leaves.tolist()
    router = next(v for v in routers(tree) if leaf in tree.topology.children_of(v))
    before = tree.nodes[router].router
    reach = tree.leaf_log_prob(x)
    with torch.no_grad():
        tree.deepen(leaf)
    close(tree.leaf_log_prob(x), reach, 1e-12)
    left, right = tree.split(leaf)
    assert tree.nodes[router].router is before
    assert tree.topology.leaves.tolist() == sorted([*others, left, right])
    assert tree.num_leaves == len(others) + 2
    assert {parameter.dtype for parameter in tree.parameters()} == {torch.float64}
    after = dict(zip(tree.topology.leaves.tolist(), tree.leaf_log_prob(x).unbind(1), strict=True))
    close(after[left].exp() + after[right].exp(), reach[:, 0].exp(), 1e-12)
    close(torch.stack([after[each] for each in others], 1), reach[:, 1:], 1e-12)


def test_modules_may_be_given() -> None:
    tree = NeuralTree(small_primitives(4), (3,))
    transformer, solver = tree.new_deepening(0)
    tree.deepen(0, (transformer, solver))
    assert tree.nodes[0].solver is solver
    assert tree.nodes[0].transformers[-1] is transformer
    assert tree.num_transformers(0) == 2
    parts = tree.new_split(0)
    left, right = tree.split(0, parts)
    assert (tree.nodes[0].router, tree.nodes[left].solver, tree.nodes[right].solver) == parts
    assert tree.nodes[0].solver is None


def test_new_modules_follow_the_trees_mode() -> None:
    primitives = Primitives(
        router=lambda shape: nn.Linear(*shape, 1),
        transformer=lambda shape: nn.Sequential(nn.Linear(*shape, *shape), nn.Dropout()),
        solver=lambda shape: nn.Linear(*shape, 2),
    )
    tree = NeuralTree(primitives, (3,)).eval()
    tree.deepen(tree.split(0)[0])
    x = torch.randn(9, 3)
    assert torch.equal(tree.output(x), tree.output(x))
    assert not any(module.training for module in tree.modules())


@pytest.mark.parametrize("node", [0, 2, 5, -1])
def test_what_is_no_leaf_does_not_grow(node: int) -> None:
    tree = tree_of(shape=LEFT_LEAF)
    before = tree.config()
    message = exactly(f"node {node} is not a leaf; the leaves are [1, 3, 4]")
    for grow in (tree.split, tree.deepen, tree.new_split, tree.new_deepening):
        with pytest.raises(ValueError, match=message):
            grow(node)
    assert tree.config() == before


def test_a_tree_without_routers_or_transformers_grows_none() -> None:
    tree = NeuralTree(small_primitives(2).without(routers=True, transformers=True), (3,))
    with pytest.raises(ValueError, match=exactly("this tree has no routers to split node 0 with")):
        tree.split(0)
    message = "this tree has no transformers to deepen node 0 with"
    with pytest.raises(ValueError, match=exactly(message)):
        tree.deepen(0)


def test_shapes_are_found_without_a_trace() -> None:
    module = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout())
    before = {name: value.clone() for name, value in module.state_dict().items()}
    state = torch.get_rng_state()
    assert shape_after(module, (3,)) == (4,)
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())
    assert all(each.training for each in module.modules())


def test_linear_modules_are_run_as_one_and_others_by_themselves() -> None:
    features = torch.randn(5, 3, dtype=torch.float64)
    plain = [nn.Linear(3, k).double() for k in (1, 2, 4)]
    heard: list[int] = []
    watched = nn.Linear(3, 2).double()
    watched.register_forward_hook(lambda *_: heard.append(1))
    for modules in (plain, [*plain, watched], [*plain, nn.Linear(3, 1, bias=False).double()]):
        found = run_all(modules, features)
        for module, output in zip(modules, found, strict=True):
            torch.testing.assert_close(output, module(features))
    assert len(heard) == 2


@pytest.mark.parametrize("kind", ["full_backward", "full_backward_pre", "forward_pre"])
def test_hooks_of_linear_modules_run(kind: str) -> None:
    maps, heard = [nn.Linear(3, 2) for _ in range(3)], []
    getattr(maps[1], f"register_{kind}_hook")(lambda *_: heard.append(1))
    sum(each.sum() for each in run_all(maps, torch.randn(5, 3, requires_grad=True))).backward()
    assert heard == [1]


def test_hooks_of_all_modules_run() -> None:
    maps, heard = [nn.Linear(3, 2) for _ in range(3)], []
    handle = nn.modules.module.register_module_forward_hook(lambda *_: heard.append(1))
    try:
        run_all(maps, torch.randn(5, 3))
    finally:
        handle.remove()
    assert len(heard) == 3


def test_a_forward_that_was_replaced_is_called() -> None:
    maps, features = [nn.Linear(3, 2) for _ in range(3)], torch.randn(5, 3)
    maps[1].forward = lambda x: x[:, :2] * 5
    torch.testing.assert_close(run_all(maps, features)[1], features[:, :2] * 5)
