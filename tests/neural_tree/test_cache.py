"""What reaches a leaf is computed once, where that changes nothing."""

from __future__ import annotations

import math

import pytest
import torch
from growths import (
    ADAM,
    LIKELIHOODS,
    make_growth,
    make_samples,
    make_tree,
    random_weights,
    scripted,
)
from torch import Tensor, nn

from structnet.neural_tree import NeuralTree, Primitives
from structnet.neural_tree.growth.candidate import (
    AtLeaf,
    Candidate,
    Deepening,
    Split,
    at_leaf,
    cached,
)
from structnet.routing import Samples
from structnet.training.fitting import fit
from structnet.training.history import History
from structnet.training.metrics import evaluate

KINDS = {"split": Split, "deepen": Deepening}
EXACT = {"rtol": 1e-12, "atol": 1e-12}


def make_grown(likelihood: str = "classes", leaves: int = 5, **modules) -> tuple[NeuralTree, int]:
    """A tree with so many leaves and transformers on its way, and a leaf deep in it."""
    tree = make_tree(likelihood, norm=True, **modules)
    leaf = 0
    for step in range(leaves - 1):
        leaf = tree.split(leaf)[step % 2]
        tree.deepen(leaf)
    random_weights(tree)
    return tree, leaf


def make_candidate(tree: NeuralTree, leaf: int, kind: str) -> Candidate:
    torch.manual_seed(0)
    modules = tree.new_split(leaf) if kind == "split" else tree.new_deepening(leaf)
    return KINDS[kind](tree, leaf, modules)


def cache(tree: NeuralTree, leaf: int, samples: Samples, **how) -> AtLeaf | None:
    how = {"batch_size": 16, "max_bytes": 1e9} | how
    return cached(tree, leaf, samples, **how)


def curve(candidate: Candidate, train: Samples | AtLeaf, validation: Samples | AtLeaf) -> History:
    return fit(candidate, train, validation, epochs=3, batch_size=16, optimizer=ADAM, seed=1)


# ---- exact


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
@pytest.mark.parametrize("leaves", [1, 2, 5])
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_cache_leaves_the_loss_curve_as_it_was(
    likelihood: str, leaves: int, weighted: bool, kind: str
) -> None:
    tree, leaf = make_grown(likelihood, leaves, dropout=0.5)
    data = [make_samples(n, n, likelihood, weighted) for n in (70, 37)]
    slow, fast = (make_candidate(tree, leaf, kind) for _ in range(2))
    expected = curve(slow, *data)
    found = [cache(tree, leaf, samples) for samples in data]
    assert [len(each) for each in found] == [70, 37]
    history = curve(fast, *found)
    for field in ("loss", "validation_loss"):
        # Not closer: what comes before a normalisation has a bias whose gradient is rounding alone,
        # and Adam makes steps of it.
        assert history[field] == pytest.approx(expected[field], rel=1e-6)
        assert len(set(history[field])) == 3  # it has learnt
    for ours, theirs in zip(fast.parameters(), slow.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
@pytest.mark.parametrize("leaves", [1, 2, 5])
@pytest.mark.parametrize("kind", KINDS)
def test_a_candidates_loss_is_that_of_the_tree_with_it(
    likelihood: str, leaves: int, kind: str
) -> None:
    tree, leaf = make_grown(likelihood, leaves)
    tree.eval()
    candidate = make_candidate(tree, leaf, kind).eval()
    samples = make_samples(30, 1, likelihood, weighted=True)
    parts = list(candidate.parameters())
    loss = candidate.loss(samples)
    gradients = torch.autograd.grad(loss, parts)
    assert not loss.isclose(tree.loss(samples))
    if kind == "split":
        tree.split(leaf, tuple(candidate.parts))
    else:
        tree.deepen(leaf, tuple(candidate.parts))
    torch.testing.assert_close(loss, tree.loss(samples), **EXACT)
    for ours, theirs in zip(gradients, torch.autograd.grad(tree.loss(samples), parts), strict=True):
        torch.testing.assert_close(ours, theirs, **EXACT)


@pytest.mark.parametrize("leaves", [1, 5])
def test_a_cache_holds_what_reaches_the_leaf(leaves: int) -> None:
    tree, leaf = make_grown(leaves=leaves)
    samples = make_samples(50, weighted=True)
    found = cache(tree, leaf, samples, batch_size=7)
    tree.eval()
    whole = at_leaf(tree, leaf, samples)
    log_prob = tree.leaf_log_prob(samples.x)
    torch.testing.assert_close(found.log_prob, log_prob[:, tree.topology.leaves == leaf][:, 0])
    assert found.features.shape == (50, 5)
    assert (found.rest is None) == (leaves == 1)
    for part, expected in zip(found.parts, whole.parts, strict=True):
        if part is not None:
            torch.testing.assert_close(part, expected, **EXACT)
            assert not part.requires_grad
    assert torch.equal(found.targets, samples.targets)
    assert torch.equal(found.weights, samples.weights)


def test_computing_a_cache_changes_nothing() -> None:
    tree, leaf = make_grown()
    tree.nodes[0].eval()
    samples = make_samples(50)
    modes = [module.training for module in tree.modules()]
    assert len(set(modes)) == 2
    before = {name: value.clone() for name, value in tree.state_dict().items()}
    x = samples.x.clone()
    assert cache(tree, leaf, samples) is not None
    assert [module.training for module in tree.modules()] == modes
    for name, value in tree.state_dict().items():
        assert torch.equal(value, before[name]), name
    assert torch.equal(samples.x, x)


def test_a_leaf_that_is_never_reached() -> None:
    tree = make_tree()
    left, right = tree.split(0)
    with torch.no_grad():
        tree.nodes[0].router.weight.zero_()
        tree.nodes[0].router.bias.fill_(2000.0)
    samples = make_samples(40)
    for leaf in (left, right):
        for kind in KINDS:
            found = cache(tree, leaf, samples)
            history = curve(make_candidate(tree, leaf, kind), found, found)
            assert all(map(math.isfinite, history["loss"]))


# ---- switched off


class Dropped(nn.Module):
    """Dropout in evaluation mode, too."""

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.dropout(x, 0.1, training=True)


@pytest.mark.parametrize("where", ["transformer", "router", "solver"])
def test_no_cache_where_the_fixed_part_is_random(where: str) -> None:
    tree, leaf = make_grown(leaves=2)
    other = next(int(each) for each in tree.topology.leaves if each != leaf)
    samples = make_samples(200)
    assert cache(tree, leaf, samples) is not None
    if where == "transformer":
        tree.nodes[0].transformers.append(Dropped())
    else:
        node = tree.nodes[0 if where == "router" else other]
        setattr(node, where, nn.Sequential(Dropped(), getattr(node, where)))
    assert cache(tree, leaf, samples) is None


def test_the_leafs_own_solver_may_be_random() -> None:
    tree, leaf = make_grown(leaves=2)
    tree.nodes[leaf].solver = nn.Sequential(Dropped(), tree.nodes[leaf].solver)
    assert cache(tree, leaf, make_samples(60)) is not None  # it is about to be replaced


def test_no_cache_of_augmented_samples() -> None:
    tree, leaf = make_grown()
    plain = make_samples(60)

    def jitter(x: Tensor) -> Tensor:
        raise AssertionError("nothing needs to be drawn to know that this is random")

    samples = Samples(plain.x, plain.targets, augment=jitter)
    assert cache(tree, leaf, samples) is None


def test_augmented_samples_train_without_a_cache() -> None:
    calls = []

    def jitter(x: Tensor) -> Tensor:
        calls.append(len(x))
        return x + 0.1 * torch.randn_like(x)

    def grow(use: bool):
        growth = make_growth(kind=scripted("split"), cache_bytes=use * 4e9)
        growth.train = Samples(growth.train.x, growth.train.targets, augment=jitter)
        growth.run()
        return growth

    with_cache, without = grow(True), grow(False)
    trained, scaled = 60 * 2 * (1 + 3 * 2), 60 * 3  # samples, epochs, trainings; new routers
    counted = 60 * 3  # on each side of the splits
    assert sum(calls) == 2 * (trained + scaled + counted)
    losses = [[d.loss for d in growth.decisions] for growth in (with_cache, without)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-9)


def test_dropout_that_sleeps_in_evaluation_is_no_reason() -> None:
    tree, leaf = make_grown(dropout=0.5)
    assert tree.training
    assert cache(tree, leaf, make_samples(60)) is not None


@pytest.mark.parametrize("count", [10, 60])
def test_no_cache_beyond_the_memory_allowed(count: int) -> None:
    tree, leaf = make_grown()
    samples = make_samples(count, weighted=True)
    found = cache(tree, leaf, samples)
    size = count * (5 + 1 + 1 + 1 + 1) * 8  # features, log-probability, rest, class, weight
    assert found.nbytes == size
    assert cache(tree, leaf, samples, max_bytes=size) is not None
    assert cache(tree, leaf, samples, max_bytes=size - 1) is None


def test_a_growth_decides_the_same_with_and_without() -> None:
    script = scripted("split", "deepen", "split", "deepen")
    ours, theirs = (
        make_growth(make_tree(norm=True, dropout=0.2), script, cache_bytes=room)
        for room in (4e9, 0)
    )
    for growth in (ours, theirs):
        growth.run()
    # A bias before a batch normalisation has a gradient of nothing but rounding, about 1e-17, of
    # which Adam makes steps of 1e-17 / 1e-8, that is 1e-9 of the learning rate each.
    for with_cache, without in zip(ours.decisions, theirs.decisions, strict=True):
        assert with_cache.candidates == pytest.approx(without.candidates, rel=1e-8)
        assert with_cache.loss == pytest.approx(without.loss, rel=1e-8)
    validation = ours.validation
    assert evaluate(ours.tree, validation)["loss"] == pytest.approx(ours.loss, rel=1e-9)


def test_images_reach_their_leaf_as_maps() -> None:
    primitives = Primitives(
        router=lambda shape: nn.Sequential(nn.Flatten(), nn.LazyLinear(1)),
        transformer=lambda shape: nn.Conv2d(shape[0], 4, 3),
        solver=lambda shape: nn.Sequential(nn.Flatten(), nn.LazyLinear(3)),
        pool_every=2,
    )
    tree = NeuralTree(primitives, (1, 10, 10))
    leaf = tree.split(0)[0]
    tree.deepen(leaf)
    samples = Samples(torch.rand(40, 1, 10, 10), torch.arange(40) % 3)
    found = cache(tree, leaf, samples)
    assert found.features.shape == (40, 4, 2, 2)
    candidate = make_candidate(tree, leaf, "split")
    torch.testing.assert_close(candidate.loss(found), candidate.loss(samples))
