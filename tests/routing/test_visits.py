"""What reaches the nodes of a model tree, against a recursion over one sample at a time."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from pictures import grown, samples

from structnet.neural_tree import NeuralTree, SquaredError
from structnet.routing import Samples, export_text
from structnet.routing import batches as batched
from structnet.routing.visits import BINS, passing, reach


def slow_reach(tree: NeuralTree, data: Samples, greedy: bool) -> list[list[tuple]]:
    """For each node the samples' (number, probability of arriving, of going left): recursion over
    one sample at a time."""
    found = [[] for _ in tree.nodes]

    def visit(i: int, v: int, features: torch.Tensor, arriving: float) -> None:
        node = tree.nodes[v]
        features = node.transformers(features)
        if node.router is None:
            found[v].append((i, arriving, None))
            return
        left = float(torch.sigmoid(node.router(features).squeeze().double()))
        found[v].append((i, arriving, left))
        goes = float(left >= 0.5) if greedy else left
        for child, side in zip(tree.topology.children_of(v), (goes, 1 - goes), strict=True):
            visit(i, child, features, arriving * side)

    with torch.no_grad():
        for i in range(len(data)):
            visit(i, 0, data.x[i : i + 1], 1.0)
    return found


@pytest.mark.parametrize("greedy", [False, True])
@pytest.mark.parametrize("weights", [False, True])
def test_reach_is_what_recursion_finds(monkeypatch, greedy: bool, weights: bool) -> None:
    monkeypatch.setattr(batched, "BATCH", 7)
    tree, data = grown(6), samples(25, weights=weights)
    found = reach(tree, data, "greedy" if greedy else "multi")
    weight = np.ones(25) if data.weights is None else data.weights.double().numpy()
    for v, visits in enumerate(slow_reach(tree, data, greedy)):
        classes, going, coming, sure = np.zeros(3), np.zeros((2, BINS)), np.zeros(BINS), 0.0
        for i, arriving, probability in visits:
            classes[i % 3] += weight[i] * arriving
            coming[min(int(arriving * BINS), BINS - 1)] += weight[i]
            if probability is not None:
                sure += weight[i] * arriving * max(probability, 1 - probability)
                for side, each in enumerate((probability, 1 - probability)):
                    going[side, min(int(each * BINS), BINS - 1)] += weight[i] * arriving
        assert found.classes[v] == pytest.approx(classes, abs=1e-5)
        if below := list(tree.topology.children_of(v)):
            assert found.going[below] == pytest.approx(going, abs=1e-5)
            if classes.any():
                assert found.decided[v] == pytest.approx(sure / classes.sum(), abs=1e-5)
        else:
            assert np.isnan(found.decided[v])
        assert found.coming[v] == pytest.approx(coming, abs=1e-5)
        assert found.share[v] == pytest.approx(classes.sum() / weight.sum(), abs=1e-6)


@pytest.mark.parametrize("path", ["multi", "greedy"])
def test_how_decided_all_routers_are(path: str) -> None:
    tree, data = grown(6), samples(25, weights=True)
    found, (came, decided) = reach(tree, data, path), passing(tree, data, path)
    choices = [
        (weight * arriving, max(left, 1 - left))
        for visits in slow_reach(tree, data, path == "greedy")
        for (i, arriving, left) in visits
        if left is not None
        for weight in [float(data.weights[i])]
    ]
    expected = np.average([sure for _, sure in choices], weights=[count for count, _ in choices])
    assert decided == pytest.approx(expected, abs=1e-6) == found.all_decided
    assert came / came[0] == pytest.approx(found.share)
    assert 0.5 < decided < 1
    assert reach(grown(1), data, path).all_decided is passing(grown(1), data, path)[1] is None


def test_reach_of_numbers() -> None:
    tree, data = grown(4, outputs=2, likelihood=SquaredError()), samples(30, weights=True)
    y = data.x[:, :2].double() * torch.tensor([1.0, 1e3]) + torch.tensor([0.0, 1e6])
    data = Samples(data.x, y, data.weights)
    found = reach(tree, data)
    assert found.classes is None
    for v, visits in enumerate(slow_reach(tree, data, False)):
        weight = data.weights.double().numpy() * [arriving for _, arriving, _ in visits]
        mean = np.average(y.numpy(), axis=0, weights=weight)
        spread = np.sqrt(np.average((y.numpy() - mean) ** 2, axis=0, weights=weight))
        assert found.mean[v] == pytest.approx(mean, rel=1e-6, abs=1e-5)
        assert found.spread[v] == pytest.approx(spread, rel=1e-4)


def test_greedy_reach_counts_greedy_paths() -> None:
    tree, data = grown(7), samples(200)
    ends = tree.apply_path(data.x).numpy()
    share = reach(tree, data, "greedy").share
    assert share[tree.topology.leaves].tolist() == pytest.approx(
        [(ends == leaf).mean() for leaf in tree.topology.leaves]
    )


def test_reach_leaves_the_tree_alone() -> None:
    tree, data = grown(3), samples()
    tree.train()
    state = torch.random.get_rng_state()
    reach(tree, data)
    assert tree.training and torch.is_grad_enabled()
    assert torch.equal(torch.random.get_rng_state(), state)
    assert all(parameter.grad is None for parameter in tree.parameters())


def test_reach_is_immutable() -> None:
    with pytest.raises(AttributeError, match="cannot assign"):
        reach(grown(2), samples()).share = np.zeros(1)


def test_inputs_without_targets_are_refused() -> None:
    for tell in (reach, export_text):
        with pytest.raises(TypeError, match=r"with their targets.* got inputs alone, of type Tens"):
            tell(grown(2), samples().x)
