"""The neural tree against the paper written as a recursion, in value and gradient."""

from __future__ import annotations

import random

import pytest
import torch
from neural_trees import (
    LIKELIHOODS,
    ONE_LEAF,
    close,
    draw,
    every_likelihood,
    every_small_shape,
    routers,
    set_logits,
    tree_of,
)
from reference import neural_tree as reference
from torch import Tensor, nn
from tree_shapes import LEFT_LEAF, SMALL, grown, scaled, small_primitives

from structnet.neural_tree.tree import NeuralTree
from structnet.routing.samples import Samples
from structnet.routing.topology import Topology


@every_small_shape
@every_likelihood
@torch.no_grad()
def test_values_are_those_of_the_paper(name: str, shape: tuple) -> None:
    for seed in range(2):
        tree, batch = tree_of(name, shape, seed), draw(name, 2)
        leaf_prob = tree.leaf_log_prob(batch.x).exp()
        close(leaf_prob.sum(1), torch.ones(2).double(), 1e-12)
        leaves, losses, outputs = tree.topology.leaves, [], []
        for x, y, prob in zip(batch.x, batch.targets, leaf_prob, strict=True):
            pi = {leaf.node: leaf.pi for leaf in reference.leaves(tree, x)}
            close(prob, torch.stack([pi[leaf] for leaf in leaves]), 1e-12)
            losses.append(reference.loss(tree, x, y))
            outputs.append(reference.mixture(tree, x))
        close(tree.loss(batch), torch.stack(losses).mean())
        output = tree.output(batch.x)
        close(output.exp() if tree.num_classes else output, torch.stack(outputs))


def test_a_leaf_beside_a_split_is_not_confused_with_it() -> None:
    tree = set_logits(tree_of("squared error", LEFT_LEAF), lambda v: [1.0, 0.0, -2.0][v])
    x = draw("squared error", 1).x
    right = 1 - torch.tensor(1.0).double().sigmoid()
    far = torch.tensor(2.0).double().sigmoid()
    expected = torch.stack([1 - right, right * (1 - far), right * far])
    assert tree.topology.leaves.tolist() == [1, 3, 4]
    close(tree.leaf_log_prob(x).exp()[0], expected, 1e-12)


@every_likelihood
def test_gradients_are_those_of_the_paper(name: str) -> None:
    tree, batch = tree_of(name), draw(name, 4)
    parameters = list(tree.parameters())
    found = torch.autograd.grad(tree.loss(batch), parameters)
    pairs = zip(batch.x, batch.targets, strict=True)
    expected = torch.stack([reference.loss(tree, x, y) for x, y in pairs]).mean()
    for ours, theirs in zip(found, torch.autograd.grad(expected, parameters), strict=True):
        close(ours, theirs)


class LossOf(nn.Module):
    def __init__(self, tree: NeuralTree):
        super().__init__()
        self.tree = tree

    def forward(self, x: Tensor, targets: Tensor) -> Tensor:
        return self.tree.loss(Samples(x, targets))


@every_likelihood
def test_gradients_are_those_of_finite_differences(name: str) -> None:
    model, batch = LossOf(tree_of(name, LEFT_LEAF)), draw(name, 3)
    names = [each for each, _ in model.named_parameters()]

    def loss(x: Tensor, *values: Tensor) -> Tensor:
        weights = dict(zip(names, values, strict=True))
        return torch.func.functional_call(model, weights, (x, batch.targets))

    values = [value.detach().clone().requires_grad_() for value in model.parameters()]
    assert torch.autograd.gradcheck(loss, (batch.x.clone().requires_grad_(), *values))


@pytest.mark.parametrize("name", ["categorical", "gaussian mixture"])
def test_a_leaf_learns_by_its_responsibility(name: str) -> None:
    """``d loss / d log p_l(y|x) = -p(l|x, y)``; a router gets what its sides differ by."""
    tree, batch = tree_of(name), draw(name, 5)
    logits: dict[int, Tensor] = {}
    hooks = [
        tree.nodes[v].router.register_forward_hook(lambda *args, v=v: logits.update({v: args[2]}))
        for v in routers(tree)
    ]
    log_prob, outputs = tree(batch.x)
    for hook in hooks:
        hook.remove()
    certain = torch.zeros_like(log_prob)
    density = tree.likelihood.term(certain, outputs, batch.targets)  # log p_l(y|x)
    total = tree.likelihood.join(log_prob + density)
    tree_total = tree.likelihood.join(tree.likelihood.term(log_prob, outputs, batch.targets))
    close(total, tree_total, 1e-12)
    loss = tree.likelihood.losses(total, batch.targets).sum()
    by_density, *by_logit = torch.autograd.grad(loss, [density, *logits.values()])
    for i, (x, y) in enumerate(zip(batch.x, batch.targets, strict=True)):
        r = reference.responsibilities(tree, x, y)
        close(by_density[i], -torch.stack([r[leaf] for leaf in tree.topology.leaves]))
        for v, gradient in zip(logits, by_logit, strict=True):
            here, left = (
                sum(r[leaf] for leaf in r if node in tree.topology.path(leaf))
                for node in (v, tree.topology.children_of(v)[0])
            )
            close(gradient[i, 0], logits[v][i, 0].sigmoid() * here - left)


@every_likelihood
def test_weights_count_samples(name: str) -> None:
    tree, batch = tree_of(name), draw(name, 4)
    weights = torch.tensor([2.0, 0.0, 1.0, 1.0]).double()
    weighted = Samples(batch.x, batch.targets, weights)
    repeated = batch[torch.tensor([0, 0, 2, 3])]
    close(tree.loss(weighted), tree.loss(repeated))


@every_small_shape
@torch.no_grad()
def test_saturated_routers_leave_one_path(shape: tuple) -> None:
    for name in LIKELIHOODS:
        tree, batch = tree_of(name, shape), draw(name, 20)
        if name == "tempered":
            tree.temper(0.4, 0.4)  # as those of all leaves and of one differ
        for v in routers(tree):  # logits of +-1000, by the side of a plane a sample lies on
            tree.nodes[v].router = nn.Sequential(tree.nodes[v].router, Saturated())
        multi = tree.output(batch.x)
        for path in ("greedy", "stochastic", "most_likely"):
            close(tree.output(batch.x, path), multi, 1e-12)
        assert torch.isfinite(tree.loss(batch))


class Saturated(nn.Module):
    def forward(self, z: Tensor) -> Tensor:
        return torch.where(z >= 0, 1000.0, -1000.0)


@pytest.mark.parametrize("shape", SMALL[-14:], ids=str)
@torch.no_grad()
def test_a_negated_router_with_its_children_swapped(shape: tuple) -> None:
    for name in LIKELIHOODS:
        tree, batch = tree_of(name, shape), draw(name, 5)
        before = tree.loss(batch), *(tree.output(batch.x, p) for p in ("multi", "greedy"))
        leaves = tree.apply_path(batch.x)
        children = tree.topology.to_lists()
        for v in routers(tree)[::2]:
            children[v] = children[v][::-1]
            with torch.no_grad():
                for parameter in tree.nodes[v].router.parameters():
                    parameter.neg_()
        assert children != tree.topology.to_lists()
        tree.topology = Topology(children)
        after = tree.loss(batch), *(tree.output(batch.x, p) for p in ("multi", "greedy"))
        for now, then in zip(after, before, strict=True):
            close(now, then, 1e-12)
        assert torch.equal(tree.apply_path(batch.x), leaves)


@every_likelihood
@pytest.mark.parametrize("path", ["multi", "greedy", "most_likely", "least_likely"])
@torch.no_grad()
def test_a_batch_is_its_samples_one_by_one(name: str, path: str) -> None:
    tree, batch = tree_of(name).float(), draw(name, 257)
    x = batch.x.float()
    together = tree.output(x, path)
    torch.testing.assert_close(together, torch.cat([tree.output(each[None], path) for each in x]))
    order = torch.randperm(len(x))
    torch.testing.assert_close(tree.output(x[order], path), together[order])


@every_likelihood
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("side", [0, 1])
def test_all_is_finite_in_a_deep_tree_of_saturated_routers(
    name: str, dtype: torch.dtype, side: int
) -> None:
    likelihood, outputs, _ = LIKELIHOODS[name]
    tree, leaf = NeuralTree(small_primitives(outputs), (3,), likelihood), 0
    for _ in range(200):
        leaf = tree.split(leaf)[side]
    assert tree.topology.depth.max() == 200
    set_logits(scaled(tree), lambda v: 1000.0 if v % 3 else -1000.0).to(dtype)
    if name == "tempered":
        tree.temper(0.4, 0.4)
    batch = draw(name, 7)
    targets = batch.targets.to(dtype) if batch.targets.is_floating_point() else batch.targets
    batch = Samples(batch.x.to(dtype), targets)
    loss = tree.loss(batch)
    loss.backward()
    assert torch.isfinite(loss)
    for parameter_name, parameter in tree.named_parameters():
        assert parameter.grad is not None, parameter_name
        assert parameter.grad.isfinite().all(), parameter_name
    for path in ("multi", *ONE_LEAF):
        assert tree.output(batch.x, path).isfinite().all(), path
    close(tree.output(batch.x), tree.output(batch.x, "greedy"), 1e-5)


@every_likelihood
@pytest.mark.parametrize("n", [0, 1, 2, 257])
def test_batches_of_any_size(name: str, n: int) -> None:
    tree, batch = tree_of(name), draw(name, n)
    _, outputs, columns = LIKELIHOODS[name]
    for path in ("multi", *ONE_LEAF):
        assert tree.output(batch.x, path).shape == (n, columns or outputs)
    for path in ONE_LEAF:
        leaves = tree.apply_path(batch.x, path)
        assert leaves.shape == (n,)
        assert leaves.dtype == torch.int64
    assert tree.leaf_log_prob(batch.x).shape == (n, tree.num_leaves)
    assert tree.predict(batch).shape == batch.targets.shape
    loss = tree.loss(batch)
    assert loss.shape == ()
    assert loss.isfinite() if n else loss.isnan()  # as any mean of nothing
    loss.backward()


@pytest.mark.parametrize("classes", [2, 10, 37])
def test_any_number_of_classes(classes: int) -> None:
    tree = grown(LEFT_LEAF, random.Random(0), small_primitives(classes))
    x, targets = draw("categorical", classes).x, torch.arange(classes)
    output = tree.output(x)
    close(output.exp().sum(1), torch.ones(classes).double(), 1e-12)
    expected = torch.stack([reference.mixture(tree, each) for each in x])
    close(output.exp(), expected)
    close(tree.loss(Samples(x, targets)), -expected.diagonal().log().mean())
    assert torch.equal(tree.predict(Samples(x, targets)), expected.argmax(1))


def test_a_root_alone() -> None:
    for transformers in (True, False):
        tree, batch = tree_of(shape=(), transformers=transformers), draw("categorical", 5)
        features = tree.nodes[0].transformers(batch.x)
        expected = tree.nodes[0].solver(features).log_softmax(1)
        for path in ("multi", *ONE_LEAF):
            close(tree.output(batch.x, path), expected, 1e-12)
        assert tree.apply_path(batch.x).tolist() == [0] * 5
