"""Statistics of paths, on records whose answers are known."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from naru_networks import LENGTHS, sentences, small

from structnet.naru import RoutingStats, Wiring, route_changes


def even(bundles: int, sentences: int) -> np.ndarray:
    """Sentences of one step whose bundles take turns."""
    return (np.arange(sentences) % bundles)[:, None, None] * np.array([0, 1, 0])


def drawn(sizes: tuple[int, ...], steps: int, seed: int) -> np.ndarray:
    """A sentence that elects uniformly at random."""
    rng = np.random.default_rng(seed)
    return np.stack([rng.integers(0, size, steps) for size in sizes], 1)[None]


def test_utilisation_of_the_fixture() -> None:
    stats = RoutingStats([1, 2, 1])
    stats.add([[[0, -1, -1], [0, 0, -1], [0, 0, 0]]])
    assert stats.utilisation().tolist() == [0, 0.5, 0.5]
    assert [each.tolist() for each in stats.visits] == [[3], [2, 0], [1]]
    assert stats.dead_bundles() == [(1, 1)]


def test_utilisation_is_the_mean_of_those_that_live() -> None:
    stats = RoutingStats([1, 2, 1])
    stats.add([[[0, -1, -1], [0, 0, -1], [-1, 1, 0]], [[0, 1, -1], [-1, -1, -1], [-1, -1, -1]]])
    stats.add([[[0, 0, -1]]])
    assert stats.utilisation() == pytest.approx([1 / 3, 0.5, 1])
    assert stats.sentences == 3


def test_the_commonest_path_is_of_the_words_that_came_through() -> None:
    stats = RoutingStats([1, 2, 3])
    with pytest.raises(ValueError, match="no token has passed the network; expected a sentence"):
        stats.commonest_path()
    # Words one after another take 0-1-2, 0-0-1 and 0-1-2; a fourth comes to the second capsule.
    words = [[0, -1, -1], [0, 1, -1], [0, 0, 2], [0, 1, 1], [-1, 1, 2]]
    stats.add([words])
    assert stats.paths == {(0, 1, 2): 2, (0, 0, 1): 1}
    short = [[0, -1, -1], [0, 0, -1], [-1, 1, 1], [-1, -1, -1], [-1, -1, -1]]
    stats.add([short, words])
    path, share = stats.commonest_path()
    assert path == [0, 1, 2] and share == stats.to_dict()["commonest_path"] == 4 / 7


def test_paths_are_those_that_words_take() -> None:
    network = small()
    with torch.no_grad():
        record = network.route(sentences(), LENGTHS).record.numpy()
    stats = RoutingStats(network.wiring.sizes)
    stats.add(record)
    slow = [
        tuple(int(row[t + p, p]) for p in range(record.shape[2]))
        for row, length in zip(record, LENGTHS.tolist(), strict=True)
        for t in range(length - 1)
    ]
    assert stats.paths == Counter(slow) and len(slow) == 6 + 3 + 11 + 3 + 8


def test_bias_of_even_visits_and_of_a_collapse() -> None:
    balanced, collapsed = RoutingStats([1, 4, 1]), RoutingStats([1, 4, 1])
    balanced.add(even(4, 40))
    collapsed.add(even(4, 40) * 0 + np.array([0, 2, 0]))
    assert balanced.bias() == balanced.bias(normalised=True) == 0
    # Nothing is further from even than everything in one place.
    assert collapsed.bias() == pytest.approx(np.sqrt((30**2 + 3 * 10**2) / 4))
    assert balanced.entropy()[1] == pytest.approx(1) and collapsed.entropy()[1] == 0
    assert collapsed.variation()[1] == pytest.approx(np.sqrt(3))
    assert collapsed.max_over_mean() == [1, 4, 1]
    assert collapsed.load_share()[1].tolist() == [0, 0, 1, 0]


@pytest.mark.parametrize("steps", [50, 5_000])
def test_normalised_bias_of_random_choices_is_about_1(steps: int) -> None:
    found = []
    for seed in range(40):
        stats = RoutingStats([1, 6, 18, 1])
        stats.add(drawn(stats.sizes, steps, seed))
        found.append(stats.bias(normalised=True))
    assert np.mean(found) == pytest.approx(1, abs=0.1)


def test_route_changes() -> None:
    network, x = small(), sentences()
    before = network.route(x, LENGTHS).record
    assert route_changes(before, network.route(x, LENGTHS).record) == (0, 0.0)
    after = network.route(-x, LENGTHS).record
    changes, share = route_changes(before, after)
    chosen = int((before[..., 1:] >= 0).sum())
    assert changes == int((before != after).sum()) > 0
    assert share == changes / chosen
    with pytest.raises(ValueError, match="records of the same sentences"):
        route_changes(before, after[:2])


def test_padding_never_counts() -> None:
    network, x = small(), sentences()
    together, alone = RoutingStats(network.wiring.sizes), RoutingStats(network.wiring.sizes)
    routed = network.route(x, LENGTHS)
    together.add(routed.record, routed.gates)
    for i, length in enumerate(LENGTHS.tolist()):
        routed = network.route(x[i : i + 1, :length])
        alone.add(routed.record, routed.gates)
    for name in ("visits", "traversals"):
        for ours, theirs in zip(getattr(together, name), getattr(alone, name), strict=True):
            assert np.array_equal(ours, theirs)
    for ours, theirs in zip(together.mean_gates(), alone.mean_gates(), strict=True):
        assert ours == pytest.approx(theirs)
    assert together.utilisation() == pytest.approx(alone.utilisation())
    tokens = int(LENGTHS.sum())
    assert together.visits[0].sum() == tokens
    assert together.traversals[0].sum() == tokens
    predictions = int((LENGTHS - 1).clamp(min=0).sum())
    assert together.visits[-1].sum() == predictions


def test_networkx_has_traffic_and_gates() -> None:
    network = small()
    stats = RoutingStats(network.wiring.sizes)
    routed = network.route(sentences(), LENGTHS)
    stats.add(routed.record, routed.gates)
    digraph = network.to_networkx(stats)
    assert digraph.number_of_edges() * 2 == network.wiring.num_connections
    assert sum(count for *_, count in digraph.edges(data="count")) == sum(
        each.sum() for each in stats.traversals
    )
    assert digraph.nodes[1, 2]["visits"] == stats.visits[1][2]
    a, b = (0, 0), (1, network.wiring.targets[0][0][1])
    assert digraph.edges[a, b]["gate"] == pytest.approx(stats.mean_gates()[0][0, 1])
    assert "count" not in network.to_networkx().edges[a, b]


def test_export(tmp_path: Path) -> None:
    stats = RoutingStats([1, 2, 1])
    stats.add([[[0, -1, -1], [0, 0, -1], [0, 0, 0]]], [torch.ones(1, 3, 2)] * 3)
    stats.save(tmp_path / "stats.json")
    stats.save(tmp_path / "stats.npz")
    found = json.loads((tmp_path / "stats.json").read_text())
    assert found["utilisation"] == [0, 0.5, 0.5] and found["dead_bundles"] == [[1, 1]]
    with np.load(tmp_path / "stats.npz") as arrays:
        assert arrays["visits_1"].tolist() == [2, 0]
        assert arrays["gates_1"].tolist() == [[2, 2], [0, 0]]
    with pytest.raises(ValueError, match=r"ends in .json or .npz. Got '.*stats.csv'"):
        stats.save(tmp_path / "stats.csv")
    with pytest.raises(ValueError, match="these statistics have no gates"):
        RoutingStats([1, 1]).mean_gates()


@pytest.mark.parametrize("record", [[[0, 0]], [[[0, 0]]], [[[0, 2, 0]]], [[[0.5, 0, 0]]]])
def test_records_of_other_networks_are_refused(record: list) -> None:
    with pytest.raises(ValueError, match=r"The 'record' parameter of RoutingStats\.add must be"):
        RoutingStats([1, 2, 1]).add(record)


def test_the_wiring_says_what_does_not_fit() -> None:
    with pytest.raises(ValueError, match="3 numbers, one per capsule"):
        Wiring((1, 2, 1), (2, 2))
    with pytest.raises(ValueError, match="must be 1 at both ends"):
        Wiring((1, 2, 2), (2, 2, 2))
    with pytest.raises(ValueError, match=r"targets of bundle 0 of capsule 0 .* from 0 to 1"):
        Wiring((1, 2, 1), (2, 2, 2), targets=[[(0, 2)], [(0,), (0,)]])
    with pytest.raises(ValueError, match=r"must be those of \[1, 2\] bundles"):
        Wiring((1, 2, 1), (2, 2, 2), targets=[[(0, 1)]])
    with pytest.raises(ValueError, match=r"capsule 1 has 1,000,000,000,000 bundles.* at most 6 "):
        Wiring((1, 10**12, 1), (2, 2, 2))
    # Each has a route, and one is elected by nobody.
    with pytest.raises(ValueError, match="bundle 1 of capsule 1 cannot be reached"):
        Wiring((1, 2, 1), (2, 2, 2), targets=[[(0,)], [(0,), (0,)]])


def test_a_path_is_frozen() -> None:
    network = small()
    network.freeze_path([0, 2, 1, 0])
    frozen = [name for name, p in network.named_parameters() if not p.requires_grad]
    assert {name.rpartition(".")[0] for name in frozen} == {
        "bundles.0.0",
        "bundles.1.2",
        "bundles.2.1",
        "bundles.3.0",
    }
    with pytest.raises(ValueError, match="one bundle per capsule, below"):
        network.freeze_path([0, 5, 1, 0])
