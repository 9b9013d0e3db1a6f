"""Pruning, and trees that begin as trained networks."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from structnet.neural_tree import (
    Growth,
    NeuralTree,
    NeuralTreeClassifier,
    NeuralTreeSettings,
    presets,
)
from structnet.neural_tree.growth.measures import of_each
from structnet.neural_tree.pretrained import from_sequential
from structnet.neural_tree.pruning import prune
from structnet.neural_tree.training import _finished, _pruned
from structnet.recipes.neural_tree.tabular_data import parts
from structnet.routing import Samples
from structnet.routing.report import export_text, summary
from structnet.routing.visits import shares
from structnet.training.gains import gained
from structnet.training.history import History
from structnet.training.progress import Progress


def grown(seed: int, splits: int = 6) -> NeuralTree:
    """A random tree whose routers are sure of themselves, so that some branches stay empty."""
    rng = random.Random(seed)
    torch.manual_seed(seed)
    tree = NeuralTree(presets.mlp(num_outputs=3, width=5), shape=(4,))
    for _ in range(splits):
        leaf = rng.choice(tree.topology.leaves.tolist())
        if rng.random() < 0.5:
            tree.deepen(leaf)
        tree.split(leaf)
        if rng.random() < 0.5:
            tree.nodes[leaf].router.bias.data.fill_(rng.choice([-9.0, 9.0]))
    return tree


def leaning(logits: dict[int, float], splits: list[int]) -> NeuralTree:
    """A tree split at these nodes, whose routers say the same of every sample."""
    tree = NeuralTree(presets.mlp(num_outputs=3, width=5), shape=(4,))
    for node in splits:
        tree.split(node)
        tree.nodes[node].router.weight.data.zero_()
        tree.nodes[node].router.bias.data.fill_(logits[node])
    return tree


@pytest.fixture
def x() -> Tensor:
    return torch.randn(200, 4, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("seed", range(8))
def test_unvisited_branches_go_and_no_greedy_prediction_changes(seed: int, x: Tensor) -> None:
    tree = grown(seed)
    pruned = prune(tree, x, threshold=1e-9)
    visited = shares(tree, x)[tree.topology.leaves] > 0
    assert pruned.num_leaves == visited.sum()
    torch.testing.assert_close(pruned.output(x, "greedy"), tree.output(x, "greedy"))


def test_some_of_these_trees_have_unvisited_branches(x: Tensor) -> None:
    assert any(prune(grown(s), x, 1e-9).num_leaves < grown(s).num_leaves for s in range(8))


@pytest.mark.parametrize("seed", range(8))
def test_every_branch_that_stays_has_its_share(seed: int, x: Tensor) -> None:
    assert (shares(prune(grown(seed), x, threshold=0.1), x) >= 0.1).all()


@pytest.mark.parametrize("seed", range(8))
def test_who_never_went_to_a_pruned_branch_is_predicted_the_same(seed: int, x: Tensor) -> None:
    tree = grown(seed)
    pruned = prune(tree, x, threshold=0.15)
    share, ends = shares(tree, x), tree.apply_path(x).tolist()
    rare = {v for v in range(1, len(share)) if share[v] < 0.15}
    loyal = [i for i, end in enumerate(ends) if not rare & set(tree.topology.path(end))]
    assert loyal
    before, after = (each.output(x[loyal], "greedy") for each in (tree, pruned))
    torch.testing.assert_close(after, before)


def test_all_stays_at_a_threshold_of_0(x: Tensor) -> None:
    tree = grown(0)
    pruned = prune(tree, x, threshold=0)
    assert pruned.num_leaves == tree.num_leaves
    torch.testing.assert_close(pruned.output(x), tree.output(x))


def test_the_tree_itself_stays_as_it_is(x: Tensor) -> None:
    tree = grown(1)
    before = {name: value.clone() for name, value in tree.state_dict().items()}, tree.config()
    pruned = prune(tree, x, threshold=0.3)
    assert tree.config() == before[1]
    assert all(torch.equal(value, before[0][name]) for name, value in tree.state_dict().items())
    assert not {id(p) for p in tree.parameters()} & {id(p) for p in pruned.parameters()}


def test_of_two_rare_branches_the_commoner_stays(x: Tensor) -> None:
    tree = grown(0, splits=0)
    tree.split(0)
    tree.nodes[0].router.bias.data.fill_(0)
    share = shares(tree, x)
    pruned = prune(tree, x, threshold=1)
    stays = int(share[1:].argmax()) + 1
    assert pruned.num_leaves == 1
    torch.testing.assert_close(pruned.nodes[0].solver.weight, tree.nodes[stays].solver.weight)


def test_multi_counts_probabilities(x: Tensor) -> None:
    tree = leaning({0: 2.0, 1: 0.0}, [0, 1])
    share = 1 / (1 + np.exp(-2.0))
    expected = [1, share, 1 - share, share / 2, share / 2]
    np.testing.assert_allclose(shares(tree, x, "multi"), expected, rtol=1e-5)
    np.testing.assert_array_equal(shares(tree, x), [1, 1, 0, 1, 0])
    assert prune(tree, x, 0.1).num_leaves == 1
    assert prune(tree, x, 0.1, path="multi").num_leaves == 3
    assert prune(tree, x, 0.2, path="multi").num_leaves == 2


@pytest.mark.parametrize("path", ["greedy", "multi"])
def test_a_weight_counts_as_so_many_samples(path: str, x: Tensor) -> None:
    tree, times = grown(3), torch.arange(200) % 4
    weighted = Samples(x, torch.zeros(200), times * 200 / times.sum())
    found = shares(tree, weighted, path)
    repeated = shares(tree, x.repeat_interleave(times, 0), path)
    np.testing.assert_allclose(found, repeated, rtol=1e-5)
    assert abs(found - shares(tree, x, path)).max() > 1e-3
    assert found[0] == pytest.approx(1)


def test_what_only_weightless_samples_visit_goes(x: Tensor) -> None:
    tree = NeuralTree(presets.mlp(num_outputs=3, width=5), shape=(4,))
    tree.split(0)
    left = (tree.apply_path(x) == 1).float()
    assert 0 < left.mean() < 1
    pruned = prune(tree, Samples(x, torch.zeros(200), left / left.mean()), threshold=1e-6)
    assert pruned.num_leaves == 1
    assert prune(tree, x, threshold=1e-6).num_leaves == 2


def test_weights_of_nothing_but_zeros_are_refused(x: Tensor) -> None:
    weightless = Samples(x, torch.zeros(200, dtype=torch.int64), torch.zeros(200))
    for use in (
        lambda: prune(grown(3), weightless, 0.1),
        lambda: summary(grown(3), weightless),
        lambda: export_text(grown(3), weightless),
    ):
        with pytest.raises(ValueError, match=r"^the weights of all 200 samples are 0; "):
            use()


def test_transformers_move_up_in_their_order(x: Tensor) -> None:
    tree = leaning({0: -9.0}, [0])
    tree.deepen(2)
    tree.deepen(2)
    kept = [*tree.nodes[0].transformers, *tree.nodes[2].transformers]
    pruned = prune(tree, x, 0.5)
    assert pruned.topology.to_lists() == [()]
    pairs = zip(pruned.nodes[0].transformers, kept, strict=True)
    assert all(torch.equal(new[0].weight, old[0].weight) for new, old in pairs)
    assert pruned.nodes[0].shape == (5,)


def test_a_pruned_tree_of_pooling_modules_is_built_again_from_its_configuration() -> None:
    primitives = presets.conv(2, width=3, kernel=3, padding=1)
    tree = NeuralTree(primitives, shape=(1, 16, 16))
    tree.split(0)
    tree.deepen(2)
    tree.deepen(2)  # the third on its path: it pools
    tree.split(2)
    tree.nodes[0].router[-1].bias.data.fill_(-99)  # all go right
    x = torch.randn(20, 1, 16, 16)
    pruned = prune(tree, x, 0.01)
    torch.testing.assert_close(pruned.output(x, "greedy"), tree.output(x, "greedy"))
    assert pruned.nodes[0].shape == tree.nodes[2].shape == (3, 4, 4)
    again = NeuralTree.from_config(pruned.config(), primitives)
    again.load_state_dict(pruned.state_dict())
    assert [node.shape for node in again.nodes] == [node.shape for node in pruned.nodes]
    torch.testing.assert_close(again.output(x), pruned.output(x))


@pytest.mark.parametrize("seed", range(8))
def test_numbers_are_compact_and_siblings_adjacent(seed: int, x: Tensor) -> None:
    pruned = prune(grown(seed), x, threshold=0.05)
    children = [each for each in pruned.topology.to_lists() if each]
    assert sorted(v for each in children for v in each) == list(range(1, len(pruned.nodes)))
    assert all(right == left + 1 for left, right in children)
    again = NeuralTree.from_config(pruned.config(), pruned.primitives)
    assert again.config() == pruned.config()


@pytest.mark.parametrize("threshold", [-0.1, 1.5, float("nan"), "a", None])
def test_a_threshold_is_a_share(threshold: object, x: Tensor) -> None:
    with pytest.raises(ValueError, match=r"'threshold' .* range \[0, 1\]\. Got"):
        prune(grown(0), x, threshold)


def test_pruning_needs_samples(x: Tensor) -> None:
    with pytest.raises(ValueError, match="got 0 examples"):
        prune(grown(0), Samples(x[:0], torch.zeros(0)), 0.1)


# ---- from_sequential


def network() -> nn.Sequential:
    return nn.Sequential(
        nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(2)),
        nn.Sequential(nn.Conv2d(2, 4, 3), nn.ReLU()),
        nn.Sequential(nn.Flatten(), nn.Linear(64, 3)),
    )


def test_the_root_computes_what_the_network_does_with_weights_of_its_own() -> None:
    trained, x = network(), torch.randn(5, 1, 14, 14)
    tree = from_sequential(trained, presets.conv(3, width=2, kernel=3), shape=(1, 14, 14))
    before = tree.output(x)
    torch.testing.assert_close(before, trained(x).log_softmax(-1))
    assert tree.nodes[0].shape == (4, 4, 4)
    with torch.no_grad():
        for parameter in trained.parameters():
            parameter.zero_()
    torch.testing.assert_close(tree.output(x), before)


def test_it_grows_from_there() -> None:
    x = torch.randn(40, 1, 14, 14)
    samples = Samples(x, (x[:, 0, 3, 3] > 0).long())
    tree = from_sequential(network(), presets.conv(3, width=2, kernel=3), shape=(1, 14, 14))
    settings = NeuralTreeSettings(epochs=1, prefer_split=False, min_samples=0)
    growth = Growth(tree, samples, samples, settings)
    assert growth.step().action == "root"
    assert set(growth.step().candidates) == {"split", "deepen"}


@pytest.mark.parametrize(
    ("sequential", "error", "message"),
    [
        (nn.Linear(4, 3), TypeError, "expected an nn.Sequential. Got Linear"),
        (nn.Sequential(), ValueError, "Got an empty one"),
        (nn.Sequential(nn.Tanh(), nn.Linear(5, 3)), ValueError, r"module 1 .* of shape \[4\]"),
        (nn.Sequential(nn.Linear(4, 2)), ValueError, r"gives \[2\] for each .* expected \[3\]"),
    ],
)
def test_a_network_that_does_not_fit(
    sequential: nn.Module, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        from_sequential(sequential, presets.mlp(num_outputs=3), shape=(4,))


def with_a_rare_branch(needed: bool, few: int) -> tuple[NeuralTree, Samples]:
    """A tree and samples, few of which go right: to a class of their own, if it is needed."""
    torch.manual_seed(0)
    tree = NeuralTree(presets.mlp(num_outputs=2, width=4), shape=(2,))
    left, right = tree.split(0)
    tree.nodes[0].transformers, tree.nodes[0].router = nn.Sequential(), nn.Linear(2, 1)
    for leaf in (left, right):
        tree.nodes[leaf].solver = nn.Linear(2, 2)
    with torch.no_grad():
        tree.nodes[0].router.weight.copy_(torch.tensor([[-50.0, 0.0]]))  # to the left below 0
        tree.nodes[0].router.bias.zero_()
        for leaf, answer in ((left, 0), (right, int(needed))):
            tree.nodes[leaf].solver.weight.zero_()
            tree.nodes[leaf].solver.bias.copy_(torch.tensor([4.0, -4.0]) * (1 - 2 * answer))
    x = torch.rand(1000, 2) + 0.5
    x[few:, 0] *= -1
    return tree, Samples(x, (x[:, 0] > 0).long() * needed)


@pytest.mark.parametrize("needed", [True, False])
@pytest.mark.parametrize("few", [8, 0])
def test_a_rare_branch_stays_where_it_is_missed(needed: bool, few: int) -> None:
    tree, samples = with_a_rare_branch(needed, few)
    assert prune(tree, samples, 0.01).num_leaves == 1
    settings = NeuralTreeSettings(prune=0.01)
    kept = _pruned(tree, settings, samples, samples).num_leaves
    assert kept == (2 if needed and few else 1)


def test_a_branch_that_no_sample_takes_goes_however_surely_it_helps_a_little() -> None:
    """Its leaf is the better one, and has a hundred-thousandth of each sample's mixture."""
    torch.manual_seed(0)
    tree = NeuralTree(presets.mlp(num_outputs=2, width=4), shape=(2,))
    left, right = tree.split(0)
    tree.nodes[0].transformers, tree.nodes[0].router = nn.Sequential(), nn.Linear(2, 1)
    for leaf, sure in ((left, 1.0), (right, 4.0)):
        tree.nodes[leaf].solver = nn.Linear(2, 2)
        nn.init.zeros_(tree.nodes[leaf].solver.weight)
        tree.nodes[leaf].solver.bias.data.copy_(torch.tensor([sure, -sure]))
    nn.init.zeros_(tree.nodes[0].router.weight)
    nn.init.constant_(tree.nodes[0].router.bias, 11.0)
    samples = Samples(torch.rand(1000, 2), (torch.arange(1000) % 20 == 0).long())
    without = prune(tree, samples, 0.01)
    losses = [of_each(each.losses, each, samples) for each in (tree, without)]
    gain, error = gained(*losses, samples.counts())
    assert -1e-4 < gain < -2 * error
    settings = NeuralTreeSettings(prune=0.01, min_gain=0.0)  # as in the paper
    assert _pruned(tree, settings, samples, samples).num_leaves == 1


@pytest.mark.parametrize(("prune", "leaves"), [(0.01, 1), (0.005, 2), (None, 2)])
def test_a_rare_branch_goes_before_a_training_on_all_samples(
    prune: float | None, leaves: int
) -> None:
    tree, samples = with_a_rare_branch(needed=True, few=8)
    settings = NeuralTreeSettings(prune=prune, refine_epochs=8)
    found, history = _finished(tree, 4, settings, samples, None, "cpu", Progress(False))
    assert found.num_leaves == leaves
    assert [record["epoch"] for record in history] == [1, 2, 3, 4]
    assert (found is tree) == (leaves == 2)


def test_the_others_are_trained_again_if_a_branch_becomes_rare_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tree, samples = with_a_rare_branch(needed=True, few=200)
    trainings: list[int] = []

    def to_the_left(trained: nn.Module, *_: object, **how: object) -> History:
        [model] = getattr(trained, "_model", (trained,))
        trainings.append(model.num_leaves)
        if model.num_leaves > 1:
            nn.init.constant_(model.nodes[0].router.bias, 1e3)
        return History([{"epoch": 1, "loss": 0.0}])

    monkeypatch.setattr("structnet.neural_tree.training.finish", to_the_left)
    how = NeuralTreeSettings(), samples, None, "cpu", Progress(False)
    found, history = _finished(tree, 1, *how)
    assert trainings == [2, 1]
    assert found.num_leaves == 1
    assert len(history) == 2


def test_no_leaf_of_an_estimator_is_rare() -> None:
    """Twelve clusters, in some of which there are few samples."""
    x, _, y, _ = parts("uneven clusters", seed=51)
    model = NeuralTreeClassifier(random_state=1).fit(x, y)
    reached, counts = np.unique(model.apply(x), return_counts=True)
    assert len(reached) == model.get_n_leaves() > 3
    assert counts.min() >= 0.01 * len(x)
