"""Splits that look ahead: the regions that they see, what they begin as, and where they may."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import torch
from growths import LIKELIHOODS, make_growth, make_samples, make_tree, same_weights, scripted
from torch import nn

from structnet.neural_tree import (
    Growth,
    NeuralTree,
    NeuralTreeClassifier,
    NeuralTreeSettings,
    Primitives,
    SquaredError,
    presets,
)
from structnet.neural_tree.growth import lookahead, regions
from structnet.neural_tree.growth.candidate import Split
from structnet.neural_tree.growth.planes import MOST, plane_of
from structnet.neural_tree.growth.regions import find_regions
from structnet.neural_tree.node import leaf_paths
from structnet.routing import Samples
from structnet.routing.topology import Topology
from structnet.routing.visits import shares

THREE = Topology([(1, 2), (3, 4), (), (), ()])


def board(size: int, seed: int, sides: int = 3) -> tuple[np.ndarray, np.ndarray]:
    x = np.random.default_rng(seed).uniform(0, sides, (size, 2))
    return x, x.astype(int).sum(axis=1) % 2


# ---- the regions


def test_regions_of_a_board_are_cut_at_its_lines() -> None:
    x, y = board(600, 0)
    found = find_regions(x, y[:, None] - y.mean(), np.ones(600), most=16, least=20)
    assert len(found.children) // 2 + 1 >= 5
    for cut in found.cuts[:5]:
        assert cut is None or min(abs(cut.threshold - line) for line in (1, 2)) < 0.2


def test_a_node_has_two_children_and_its_cut_holds_their_samples() -> None:
    x, y = board(600, 1)
    found = find_regions(x, y[:, None] - 0.5, np.ones(600), most=16, least=30)
    topology = Topology(found.children)  # refuses what is no tree
    members = {0: np.ones(600, bool)}
    for v, cut in enumerate(found.cuts):
        assert (cut is None) == (not topology.inner[v])
        if cut is not None:
            np.testing.assert_array_equal(cut.members, members[v])
            left, right = topology.children_of(v)
            below = x @ found.axes[cut.axis] < cut.threshold
            members |= {left: members[v] & below, right: members[v] & ~below}
    counts = [members[v].sum() for v in map(int, topology.leaves)]
    assert sum(counts) == 600 and min(counts) >= 30


@pytest.mark.parametrize("most", [2, 3, 5])
def test_there_are_no_more_regions_than_allowed(most: int) -> None:
    x, y = board(600, 0)
    assert len(find_regions(x, y[:, None] - 0.5, np.ones(600), most, 20).children) == 2 * most - 1


def test_of_noise_there_is_one_region() -> None:
    rng = np.random.default_rng(0)
    x, noise = rng.normal(size=(500, 3)), rng.normal(size=(500, 2))
    assert find_regions(x, noise, np.ones(500), most=16, least=20).children == [()]
    assert find_regions(x, noise + x[:, :2], np.ones(500), most=16, least=20).children == [()]


@pytest.mark.parametrize("outputs", [1, 5])
@pytest.mark.parametrize("levels", [2, 4])
def test_columns_that_follow_from_others_make_no_cut_cheap(levels: int, outputs: int) -> None:
    rng = np.random.default_rng(0)
    one_hot, noise = (
        np.eye(levels)[rng.integers(levels, size=2000)],
        rng.normal(size=(2000, outputs)),
    )
    x = ((one_hot - one_hot.mean(0)) / one_hot.std(0)).astype(np.float32).astype(float)
    x, noise = np.column_stack([x, x[:, :1]]), noise - noise.mean(0)
    found = find_regions(x, noise, np.ones(2000), most=16, least=80)
    assert found.children == [()]


def test_of_too_few_samples_nothing_is_said() -> None:
    x, y = board(40, 0)
    assert find_regions(x, y[:, None] - 0.5, np.ones(40), most=16, least=2) is None


def test_a_sample_that_does_not_count_changes_nothing() -> None:
    x, y = board(600, 2)
    y[500:] = 1 - y[500:]
    weights = np.r_[np.ones(500), np.zeros(100)]
    ours, theirs = (
        find_regions(x[:n], y[:n, None] - 0.5, weights[:n], most=8, least=20) for n in (600, 500)
    )
    assert ours.children == theirs.children
    assert [c and c.threshold for c in ours.cuts] == [c and c.threshold for c in theirs.cuts]


def test_columns_without_variety_are_never_cut() -> None:
    x, y = board(600, 0)
    x = np.column_stack([np.ones(600), x, x[:, 0]])  # one constant, one twice
    found = find_regions(x, y[:, None] - 0.5, np.ones(600), most=8, least=20)
    assert len(found.children) > 5 and not any(found.axes[cut.axis][0] for cut in found.cuts if cut)


def turned(degrees: float) -> np.ndarray:
    angle = np.deg2rad(degrees)
    return np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])


@pytest.mark.parametrize("degrees", [30, 45])
def test_a_turned_board_among_noise_is_cut_along_its_lines(degrees: float) -> None:
    x, y = board(900, 3, sides=4)
    noise = np.random.default_rng(4).normal(size=(900, 3))
    x = np.column_stack([noise, (x - 2) @ turned(degrees)])
    found = find_regions(x, y[:, None] - y.mean(), np.ones(900), most=16, least=20)
    assert not found.axes[:, :3].any() and len(found.children) >= 17
    across = np.abs(found.axes[:, 3:] @ turned(degrees).T)  # along its lines: 0 and 1
    assert np.minimum(across, 1 - across).max() < 1e-6


def test_a_board_along_columns_is_cut_across_columns() -> None:
    x, y = board(600, 0, sides=4)
    found = find_regions(x, y[:, None] - y.mean(), np.ones(600), most=16, least=20)
    np.testing.assert_array_equal(found.axes, np.eye(2))


def test_a_turned_board_of_many_cells_is_seen_at_its_angle() -> None:
    rng = np.random.default_rng(0)
    x, cells = rng.uniform(0, 7, (600, 2)), rng.integers(0, 2, (7, 7))
    y = cells[tuple(x.astype(int).T)]
    x = np.column_stack([rng.normal(size=(600, 3)), (x - 3.5) @ turned(37)])
    found = find_regions(x, y[:, None] - y.mean(), np.ones(600), most=32, least=12)
    assert not found.axes[:, :3].any() and len(found.children) >= 37
    angles = np.rad2deg(np.arctan2(found.axes[:, 4], found.axes[:, 3]))
    np.testing.assert_allclose(angles % 90, 37, atol=3)  # the ways tried first are 10 degrees apart


def bent(size: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers that a straight line says nothing of, but two do, among columns of noise."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (size, columns))
    y = 2 * np.abs(x[:, 7]) + x[:, 3] * (x[:, 7] > 0) + 0.3 * rng.normal(size=size)
    return x, y[:, None] - y.mean()


def test_of_too_many_columns_the_few_that_tell_are_cut() -> None:
    x, y = bent(300, 60)
    found = find_regions(x, y, np.ones(300), most=16, least=20)
    used = {int(column) for column in np.flatnonzero(found.axes.any(axis=0))}
    assert {3, 7} <= used and len(used) <= 4
    [first, *_] = filter(None, found.cuts)
    assert found.axes[first.axis].argmax() == 7 and abs(first.threshold) < 0.2


def test_of_many_samples_lines_of_a_few_columns_are_tried_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Samples enough for lines of 32 columns are no reason to wait for them."""
    tried, paying = [], regions.paying

    def noted(x: np.ndarray, y: np.ndarray, w: np.ndarray, axes: np.ndarray, *how: float) -> tuple:
        tried.append(len(axes))
        return paying(x, y, w, axes, *how)

    monkeypatch.setattr(regions, "paying", noted)
    x, y = bent(1200, 60)
    found = find_regions(x, y, np.ones(1200), most=4, least=60)
    assert tried == [1, 2, 4, 8, 16]
    assert found.axes[:, 7].any()


def test_of_too_many_columns_of_noise_nothing_is_said() -> None:
    x, y = bent(300, 60)
    noise = np.random.default_rng(1).permutation(y)
    assert find_regions(x, noise, np.ones(300), most=16, least=20) is None


def test_where_columns_outnumber_all_there_is_no_search_for_a_few() -> None:
    x = np.zeros((4, 20_000))  # a square of so many columns would be 3 GB
    tracemalloc.start()
    assert find_regions(x, np.zeros((4, 1)), np.ones(4), most=16, least=1) is None
    assert tracemalloc.get_traced_memory()[1] < 1e8
    tracemalloc.stop()


def test_columns_that_do_not_vary_take_no_square() -> None:
    x = np.zeros((600, 20_000))
    x[:, [7, 9]], y = board(600, 0)
    tracemalloc.start()
    found = find_regions(x, y[:, None] - 0.5, np.ones(600), most=16, least=20)
    assert tracemalloc.get_traced_memory()[1] < 2e8  # a square of the columns would be 3 GB
    tracemalloc.stop()
    assert np.flatnonzero(found.axes.any(0)).tolist() == [7, 9]


@pytest.mark.parametrize("columns", [1, MOST + 1])
def test_of_one_column_and_of_too_many_no_axes_are_turned(columns: int) -> None:
    x = np.random.default_rng(0).normal(size=(2000, columns))
    y = np.sign(x[:, :1]) * np.sign(x[:, -1:] - x[:, :1] / 2)
    found = find_regions(x, y, np.ones(2000), most=4, least=80)
    np.testing.assert_array_equal(found.axes, np.eye(columns))


def test_a_plane_is_blind_to_what_does_not_count() -> None:
    rng = np.random.default_rng(5)
    x, weights = rng.normal(size=(400, 4)), np.r_[np.ones(300), np.zeros(100)]
    residuals = (x[:, 1] * x[:, 3])[:, None]
    residuals[300:, 0] = 50 * x[300:, 0] * x[300:, 2]
    np.testing.assert_array_equal(plane_of(x, residuals, weights), np.eye(4)[[1, 3]])


def test_wide_tables_need_little_memory() -> None:
    x = np.random.default_rng(0).normal(size=(2000, 40))
    tracemalloc.start()
    found = find_regions(x, np.abs(x[:, :1]), np.ones(2000), most=2, least=80)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(found.children) == 3
    assert peak < 15 * x.nbytes  # the products of all columns of all samples are 42 times as many


# ---- a split of several routers


def three_leaves(likelihood: str = "classes", first: int = 0) -> tuple[NeuralTree, Split]:
    """A tree that was split, and a split of one of its leaves into three."""
    tree = make_tree(likelihood)
    leaf = tree.split(0)[first]
    routers = [tree.new_split(leaf) for _ in range(2)]
    parts = [routers[0][0], routers[1][0], *routers[1][1:], routers[0][1]]
    return tree, Split(tree, leaf, parts, THREE)


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_its_losses_are_those_of_the_tree_that_it_makes(likelihood: str) -> None:
    tree, split = three_leaves(likelihood)
    samples = make_samples(30, 1, likelihood)
    losses, arriving = split.losses(samples), split.shares(samples)
    leaves = split.put()
    assert tree.topology.leaves.tolist() == sorted([2, *leaves])
    torch.testing.assert_close(tree.losses(samples), losses)
    log_prob = dict(zip(tree.topology.leaves, tree(samples.x).leaf_log_prob.T, strict=True))
    torch.testing.assert_close(torch.stack([log_prob[v].exp() for v in leaves], 1), arriving)


def test_what_hardly_a_sample_comes_to_is_left_out() -> None:
    _, split = three_leaves()
    nn.init.zeros_(split.parts[1].weight)
    nn.init.constant_(split.parts[1].bias, 100.0)  # from node 1 all go left, to node 3
    samples = make_samples(30)
    found = split.pruned(split.shares(samples).mean(0).detach().numpy(), 0.01)
    assert found.topology.to_lists() == [(1, 2), (), ()]
    assert [*found.parts] == [split.parts[v] for v in (0, 2, 3)] or [*found.parts] == [
        split.parts[v] for v in (0, 3, 2)
    ]
    torch.testing.assert_close(found.losses(samples), split.losses(samples))
    assert split.pruned(np.full(3, 0.3), 0.01) is split
    assert split.pruned(np.array([0.0, 0.0, 1.0]), 0.5) is split  # would be no split at all


def test_paths_are_products_of_the_sides() -> None:
    logits = torch.randn(2, 7, dtype=torch.float64)
    found = leaf_paths(THREE, logits.T, torch.full((7,), 0.5, dtype=torch.float64).log()).exp()
    first, second = logits.sigmoid()
    expected = [1 - first, first * second, first * (1 - second)]  # leaves 2, 3, 4
    torch.testing.assert_close(found, 0.5 * torch.stack(expected, 1))


# ---- where growth looks ahead


def grown(x: np.ndarray, y: np.ndarray, primitives: Primitives, **how: object) -> Growth:
    samples = Samples(torch.tensor(x - x.mean(0)).float(), torch.tensor(y).float()[:, None])
    root = NeuralTree(primitives, (x.shape[1],), SquaredError())
    return Growth(root, samples, samples, NeuralTreeSettings(**{"epochs": 1, "seed": 1, **how}))


def test_a_split_begins_as_its_regions_with_the_leafs_own_solver() -> None:
    x, y = board(600, 0)
    growth = grown(x, y, presets.table(1))
    growth.step()
    before = growth.tree.losses(growth.train)
    split = growth._candidates(0)["split"][0]
    assert split.topology.num_nodes >= 9
    # All solvers are the leaf's: the tree says what it said, whatever the routers do.
    torch.testing.assert_close(split.losses(growth.train), before, rtol=1e-4, atol=1e-6)
    counts = split.shares(growth.train).mean(0)
    assert counts.min() > 0.01
    first = split.parts[0]
    assert (first.weight != 0).sum() == 1
    assert same_weights(split, growth._candidates(0)["split"][0])


@pytest.mark.parametrize(
    ("how", "most"),
    [
        ({"lookahead": 3}, 3),
        ({"max_leaves": 4}, 4),
        ({"max_depth": 1}, 2),
    ],
)
def test_it_keeps_within_the_limits(how: dict, most: int) -> None:
    growth = grown(*board(600, 0), presets.table(1), **how)
    growth.step()
    assert len(growth._candidates(0)["split"][0].topology.leaves) == most


def test_another_attempt_begins_by_chance_and_so_does_what_is_not_linear() -> None:
    x, y = board(600, 0)
    for primitives, attempt, how in (
        (presets.table(1), 1, {}),
        (presets.table(1, router_width=3), 0, {}),
        (presets.table(1), 0, {"lookahead": 1}),
    ):
        growth = grown(x, y, primitives, **how)
        growth.step()
        assert growth._candidates(0, attempt)["split"][0].topology.num_nodes == 3


def test_no_split_is_tried_where_one_region_is_all() -> None:
    x, _ = board(600, 0)
    growth = grown(x, x @ [1.0, 2.0], presets.table(1), epochs=20)
    growth.step()
    assert "split" not in growth._candidates(0)
    blind = grown(x, x @ [1.0, 2.0], presets.table(1), epochs=20, lookahead=1)
    blind.step()
    assert "split" in blind._candidates(0)


def test_nothing_is_tried_where_nothing_is_lost() -> None:
    growth = make_growth(kind=scripted("split"), min_gain=100.0)
    growth.step()
    assert growth.step().candidates == {}
    gaussian = make_growth(kind=scripted("split"), likelihood="gaussians", min_gain=100.0)
    gaussian.step()
    assert gaussian.step().candidates  # a density has no end


def test_a_checkerboard_is_seen_through() -> None:
    x, y = board(600, 3)
    model = NeuralTreeClassifier(random_state=0, refine_epochs=4).fit(x, y)
    assert model.get_n_leaves() >= 5
    assert shares(model.tree_, model.samples(x, y), "greedy")[model.tree_.topology.leaves].min() > 0
    assert model.score(*board(400, 4)) > 0.85


def test_regions_keep_clear_of_what_pruning_cuts() -> None:
    x = np.random.default_rng(0).uniform(size=(1600, 1))
    y = np.floor(x[:, 0] * 16) % 2
    tree = NeuralTreeClassifier(
        "table", prune=0.1, max_leaves=16, epochs=20, refine_epochs=0, random_state=0
    ).fit(x, y)
    assert tree.get_n_leaves() > 1


def test_another_attempt_makes_no_split_where_one_region_is_all() -> None:
    x, _ = board(600, 0)
    growth = grown(x, x @ [1.0, 2.0], presets.table(1), epochs=20, n_init=3)
    growth.step()
    assert {kind: len(found) for kind, found in growth._proposals(0).items()} == {"deepen": 3}


def test_lines_are_sought_among_some_samples_and_steps_among_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The time that lines take grows with the square of the number of columns."""
    seen: dict[str, int] = {}

    def noted(name: str, found: object) -> object:
        def find(x: np.ndarray, *how: object) -> object:
            seen[name] = len(x)
            return found(x, *how)

        return find

    for name in ("find_regions", "find_steps"):
        monkeypatch.setattr(lookahead, name, noted(name, getattr(lookahead, name)))
    x, y = board(9000, 0)
    growth = grown(x, y, presets.table(1), epochs=1)
    growth.step()
    assert growth._candidates(0)["split"]
    assert seen == {"find_regions": 2000, "find_steps": 9000}
