"""Maps that are joined while they are trained: the same losses and gradients as those alone."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from structnet.neural_tree import Growth, NeuralTree, NeuralTreeSettings, presets
from structnet.neural_tree.growth.candidate import Split
from structnet.neural_tree.joined import Joined, together
from structnet.neural_tree.node import FEW, leaf_paths
from structnet.routing.samples import Samples
from structnet.routing.topology import Topology


def tree_of(leaves: int, deepened: bool = False) -> NeuralTree:
    tree = NeuralTree(presets.table(3), (4,)).double()
    for _ in range(leaves - 1):
        tree.split(int(tree.topology.leaves[0]))
    if deepened:
        tree.deepen(int(tree.topology.leaves[-1]))
        tree.split(int(tree.topology.leaves[-1]))
        tree.double()
    return tree


def samples_of(size: int) -> Samples:
    return Samples(torch.randn(size, 4, dtype=torch.float64), torch.arange(size) % 3)


def by_own_maps(model: nn.Module, batch: Samples) -> tuple[torch.Tensor, list[torch.Tensor]]:
    loss = model.loss(batch)
    return loss, list(torch.autograd.grad(loss, [*model.parameters()]))


@pytest.mark.parametrize("deepened", [False, True])
@pytest.mark.parametrize("leaves", [2, 5, 12])
def test_a_tree_has_the_same_loss_and_gradient(leaves: int, deepened: bool) -> None:
    tree, batch = tree_of(leaves, deepened), samples_of(20)
    expected, gradients = by_own_maps(tree, batch)
    before = [part.detach().clone() for part in tree.parameters()]
    with together(tree) as trained:
        assert trained is not tree
        assert len([*trained.parameters()]) < len(gradients)
        loss = trained.loss(batch)
        loss.backward()
        with torch.no_grad():  # a step of the joined weights is one of each map's own
            for part in trained.parameters():
                part -= part.grad
    torch.testing.assert_close(loss, expected)
    for part, old, gradient in zip(tree.parameters(), before, gradients, strict=True):
        torch.testing.assert_close(part.detach(), old - gradient)
        assert part.untyped_storage().nbytes() == part.nbytes  # of its own again


def test_a_split_has_the_same_loss_and_gradient() -> None:
    tree, batch = tree_of(1), samples_of(20)
    topology = Topology([(1, 2), (3, 4), (), (), (5, 6), (), ()])
    parts = [tree.new_split(0)[0 if topology.inner[v] else 1] for v in range(7)]
    split = Split(tree, 0, parts, topology)
    expected, gradients = by_own_maps(split, batch)
    with together(split) as trained:
        loss = trained.loss(batch)
        loss.backward()
        [one] = trained.joined
        rows = one.weight.grad.split(one.sizes)
    torch.testing.assert_close(loss, expected)
    order = [0, 1, 4, 2, 3, 5, 6]  # routers, then solvers
    for v, row in zip(order, rows, strict=True):
        torch.testing.assert_close(row, gradients[2 * v])


def test_a_copy_made_meanwhile_has_maps_of_its_own() -> None:
    tree, batch = tree_of(4), samples_of(10)
    with together(tree) as trained:
        copied = copy.deepcopy(tree)
        with torch.no_grad():
            for part in trained.parameters():
                part.zero_()
        assert tree.loss(batch).item() != copied.loss(batch).item()
    assert not tree.nodes[0].router.weight.any()
    assert copied.nodes[0].router.weight.any()


def test_what_cannot_be_joined_is_trained_as_it_is() -> None:
    watched = tree_of(3)
    watched.nodes[0].router.register_forward_hook(lambda *_: None)
    frozen = tree_of(3)
    frozen.nodes[0].router.weight.requires_grad_(False)
    for tree in (tree_of(1), watched, frozen):
        with together(tree) as trained:
            assert trained is tree


def test_the_maps_are_apart_again_after_an_error() -> None:
    tree = tree_of(3)
    with pytest.raises(ZeroDivisionError), together(tree):
        raise ZeroDivisionError
    memory = {part.untyped_storage().data_ptr() for part in tree.parameters()}
    assert len(memory) == len([*tree.parameters()])


def test_the_users_optimizer_gets_the_weights_of_each_module() -> None:
    x = torch.linspace(-1, 1, 80)[:, None]
    samples = Samples(x, (x[:, 0].abs() > 0.5).long())
    counts: list[int] = []

    def optimizer(parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        given = [*parameters]
        counts.append(len(given))
        return torch.optim.Adam(given, lr=0.01)

    tree = NeuralTree(presets.table(2).without(transformers=True), (1,))
    growth = Growth(
        tree, samples, samples, NeuralTreeSettings(epochs=1, lookahead=1), optimizer=optimizer
    )
    growth.step()
    growth.step()
    assert counts == [2, 6]  # a solver; a router and two solvers


@pytest.mark.parametrize("nodes", [3, 9, 2 * FEW + 9])
def test_paths_in_training_are_those_of_predictions(nodes: int) -> None:
    rng, children = np.random.default_rng(nodes), list[tuple[int, ...]]([()])
    while len(children) < nodes:
        leaf = rng.choice([v for v, below in enumerate(children) if not below])
        children[leaf] = len(children), len(children) + 1
        children += [(), ()]
    topology = Topology(children)
    routers = int(topology.inner.sum())
    logits = torch.randn(6, routers, dtype=torch.float64, requires_grad=True)
    root = torch.randn(6, dtype=torch.float64)
    both = [leaf_paths(topology, logits, root, how) for how in (False, True)]
    torch.testing.assert_close(*both)
    weights = torch.randn_like(both[0])
    torch.testing.assert_close(
        *(torch.autograd.grad((each * weights).sum(), logits)[0] for each in both)
    )


def test_infinite_logits_are_certain_sides_in_training_too() -> None:
    logits = torch.tensor([[np.inf, 0.0], [-np.inf, 0.0]])
    found = leaf_paths(Topology([(1, 2), (), (3, 4), (), ()]), logits, torch.zeros(2), True)
    torch.testing.assert_close(found.exp(), torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]]))


def test_one_map_of_several_gives_their_outputs() -> None:
    maps = [nn.Linear(3, k) for k in (1, 2)]
    x = torch.randn(4, 3)
    expected = torch.cat([each(x) for each in maps], dim=1)
    torch.testing.assert_close(Joined(maps)(x), expected)


@pytest.mark.parametrize("passing", [lambda: nn.Dropout(0.5), nn.Flatten, nn.Identity])
def test_maps_below_a_transformer_that_changes_nothing(passing: Callable[[], nn.Module]) -> None:
    """It may return the very samples that it got, which other maps get, too."""
    primitives = replace(presets.table(3), transformer=lambda shape: passing())
    tree = NeuralTree(primitives, (4,))
    tree.split(0)
    tree.deepen(int(tree.topology.leaves[0]))
    tree.split(int(tree.topology.leaves[0]))
    tree.eval()
    batch = Samples(torch.randn(20, 4), torch.arange(20) % 3)
    expected = tree.loss(batch)
    with together(tree) as trained:
        assert len(trained.joined) == 2
        torch.testing.assert_close(trained.eval().loss(batch), expected)
