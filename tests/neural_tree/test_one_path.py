"""One path instead of all: who computes what, and which leaf is taken."""

from __future__ import annotations

import pytest
import torch
from neural_trees import LIKELIHOODS, ONE_LEAF, close, draw, every_small_shape, set_logits, tree_of
from reference import neural_tree as reference
from torch import nn
from tree_shapes import LEFT_LEAF, SMALL

from structnet.neural_tree.tree import NeuralTree


def rows_seen(tree: NeuralTree) -> dict[nn.Module, list[int]]:
    """Fills with the numbers of rows of each module's calls."""
    seen: dict[nn.Module, list[int]] = {}
    for node in tree.nodes:
        for module in (*node.transformers, node.router, node.solver):
            if module is not None:
                seen[module] = []
                module.register_forward_hook(
                    lambda module, inputs, output: seen[module].append(len(inputs[0]))
                )
    return seen


@pytest.mark.parametrize("shape", SMALL[-10:], ids=str)
def test_the_greedy_path_computes_nothing_for_others(shape: tuple) -> None:
    tree, x = tree_of(shape=shape), draw("categorical", 30).x
    paths = [reference.greedy(tree, each) for each in x]
    visits = [sum(v in path for path in paths) for v in range(len(tree.nodes))]
    seen = rows_seen(tree)
    assert tree.apply_path(x).tolist() == [path[-1] for path in paths]
    for v, node in enumerate(tree.nodes):
        for module in (*node.transformers, node.solver if node.router is None else node.router):
            assert seen[module] == [visits[v]] * (visits[v] > 0)  # one call, or none


def test_nobody_comes_to_a_closed_side() -> None:
    tree = set_logits(tree_of(shape=(LEFT_LEAF, LEFT_LEAF)), lambda v: 5.0)
    seen = rows_seen(tree)
    leaf = int(tree.apply_path(draw("categorical", 9).x)[0])
    for v in range(len(tree.nodes)):
        own = {id(module) for module in tree.nodes[v].modules()}
        calls = [seen[module] for module in seen if id(module) in own]
        assert calls == [[9] if v in tree.topology.path(leaf) else []] * len(calls)


def test_the_multi_path_runs_each_module_once_on_all() -> None:
    tree = tree_of()
    seen = rows_seen(tree)
    tree.output(draw("categorical", 9).x)
    assert list(seen.values()) == [[9]] * len(seen)


def test_one_half_goes_left() -> None:
    tree = set_logits(tree_of(shape=LEFT_LEAF), lambda v: 0.0)
    assert tree.apply_path(draw("categorical", 4).x).tolist() == [1] * 4


def test_single_paths_predict_as_their_leaf_alone() -> None:
    for name in LIKELIHOODS:
        tree, batch = tree_of(name), draw(name, 20)
        for path in ("greedy", "most_likely", "least_likely"):
            output, nodes = tree.output(batch.x, path), tree.apply_path(batch.x, path)
            for x, leaf, found in zip(batch.x, nodes, output, strict=True):
                [own] = [each for each in reference.leaves(tree, x) if each.node == leaf]
                expected = reference.tempered(tree, reference.prediction(tree, own.output))
                close(found.exp() if tree.num_classes else found, expected)


@every_small_shape
@torch.no_grad()
def test_likeliest_and_least_likely_leaves(shape: tuple) -> None:
    tree, x = tree_of(shape=shape), draw("categorical", 20).x
    probs = [{leaf.node: leaf.pi.item() for leaf in reference.leaves(tree, each)} for each in x]
    assert tree.apply_path(x, "most_likely").tolist() == [max(p, key=p.get) for p in probs]
    assert tree.apply_path(x, "least_likely").tolist() == [min(p, key=p.get) for p in probs]
    leaves, log_prob = torch.from_numpy(tree.topology.leaves), tree.leaf_log_prob(x)
    assert torch.equal(tree.apply_path(x, "most_likely"), leaves[log_prob.argmax(1)])
    assert torch.equal(tree.apply_path(x, "least_likely"), leaves[log_prob.argmin(1)])


def test_the_likeliest_leaf_may_lie_off_the_greedy_path() -> None:
    tree = set_logits(tree_of(shape=((((), ()), ((), ())), ())), lambda v: 0.1 if v == 0 else 0.0)
    x = draw("categorical", 2).x
    assert tree.apply_path(x, "most_likely").tolist() == [tree.topology.children_of(0)[1]] * 2
    assert tree.topology.depth[tree.apply_path(x)].tolist() == [3, 3]


def test_stochastic_paths_have_the_probabilities_of_the_leaves() -> None:
    tree, n = tree_of(), 20_000
    x = draw("categorical", 3).x
    tree.nodes[0].router.weight.data /= 3
    generator = torch.Generator().manual_seed(0)
    for each in x:
        leaves = tree.apply_path(each.expand(n, 3), "stochastic", generator)
        counts = torch.bincount(leaves, minlength=len(tree.nodes))[tree.topology.leaves]
        prob = tree.leaf_log_prob(each[None]).exp()[0]
        spread = (n * prob * (1 - prob)).sqrt()
        assert ((counts - n * prob).abs() <= 4 * spread + 1).all()
        assert (counts > 0).sum() > 1


def test_stochastic_paths_follow_their_generator() -> None:
    tree = set_logits(tree_of(), lambda v: 0.3)
    x = draw("categorical", 50).x

    def leaves(seed: int) -> list[int]:
        return tree.apply_path(x, "stochastic", torch.Generator().manual_seed(seed)).tolist()

    state = torch.get_rng_state()
    assert leaves(1) == leaves(1)
    assert leaves(1) != leaves(2)
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(3)
    first = tree.apply_path(x, "stochastic")
    torch.manual_seed(3)
    assert torch.equal(tree.apply_path(x, "stochastic"), first)


def test_order_of_rows_is_kept() -> None:
    tree, x = tree_of("squared error"), draw("squared error", 60).x
    leaves, outputs = tree.follow(x, lambda logit: logit >= 0)
    assert len(set(leaves.tolist())) > 2
    for each, leaf, output in zip(x, leaves, outputs, strict=True):
        assert int(leaf) == reference.greedy(tree, each)[-1]
        [own] = [found for found in reference.leaves(tree, each) if found.node == leaf]
        close(output, own.output)


def test_inputs_are_left_untouched() -> None:
    tree, batch = tree_of(), draw("categorical", 5)
    before = batch.x.clone(), batch.targets.clone()
    tree.loss(batch).backward()
    for path in ("multi", *ONE_LEAF):
        tree.output(batch.x, path)
    assert torch.equal(batch.x, before[0])
    assert torch.equal(batch.targets, before[1])
