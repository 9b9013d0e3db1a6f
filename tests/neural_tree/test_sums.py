"""Deepenings that begin as sums of steps of several columns."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from outputs import effective
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.tree import DecisionTreeRegressor
from torch import nn

from structnet.neural_tree import (
    Growth,
    NeuralTree,
    NeuralTreeClassifier,
    NeuralTreeRegressor,
    NeuralTreeSettings,
    SquaredError,
    presets,
)
from structnet.neural_tree.clipped import Clipped
from structnet.neural_tree.growth import lookahead
from structnet.neural_tree.growth.candidate import Candidate
from structnet.neural_tree.growth.decision import Gain, choose
from structnet.neural_tree.growth.sums import AHEAD, deepen_by, find_sum
from structnet.routing import Samples

STEPS = {0: (0.3, 2.0), 1: (-0.5, 1.5), 2: (0.8, -1.0), 3: (0.0, 1.0), 4: (-0.2, -1.5)}


def added(size: int, seed: int, columns: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """Numbers that are a sum of five steps of different columns, with noise."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(size, columns))
    y = sum(height * (x[:, i] > at) for i, (at, height) in STEPS.items())
    return x, y + 0.4 * rng.normal(size=size)


def test_each_step_is_found_at_its_threshold() -> None:
    x, y = added(1200, 0)
    found = find_sum(x, y[:, None], np.ones(1200), most=64, least=18)
    first = {step.column: step.threshold for step in found.steps[:5]}
    assert first == pytest.approx({i: at for i, (at, _) in STEPS.items()}, abs=0.05)


def test_its_criterion_is_that_of_what_is_left() -> None:
    rng = np.random.default_rng(1)
    x, y = added(600, 1)
    y = y[:, None] * [1.0, -2.0] + 0.1 * rng.normal(size=(600, 2))
    weights = rng.choice([0.0, 0.5, 2.0], size=600)
    found = find_sum(x, y, weights, most=64, least=18)
    many = np.repeat(np.arange(600), (2 * weights).astype(int))  # a weight of 1/2 is a copy

    def left(number: int) -> float:
        steps = [x[many, step.column] > step.threshold for step in found.steps[:number]]
        basis = np.column_stack([np.ones(len(many)), *steps])
        return float(np.linalg.lstsq(basis, y[many], rcond=None)[1].sum())

    total, number, apart = weights.sum(), len(found.steps), effective(y, weights)
    price = apart * np.log(total) + 2 * np.log(8)
    told = total * apart * np.log(left(number) / left(0)) + number * price
    assert number >= 5 and found.value == pytest.approx(told)
    less = total * apart * np.log(left(number - 1) / left(0)) + (number - 1) * price
    assert found.value < less


def slow_sum(
    x: np.ndarray, y: np.ndarray, weights: np.ndarray, most: int, least: float
) -> tuple[list[tuple[int, float]], float]:
    """Columns and thresholds: the best stump of what is left, then all heights anew."""
    share, roots = least / weights.sum(), np.sqrt(weights)[:, None]
    stump = DecisionTreeRegressor(max_depth=1, min_weight_fraction_leaf=share, random_state=0)
    apart = effective(y, weights)
    price = apart * np.log(weights.sum()) + 2 * np.log(x.shape[1])
    rest, basis = y - np.average(y, 0, weights), np.ones((len(x), 1))
    steps, found, whole = [], ([], 0.0), weights @ np.square(rest)
    while len(steps) < min(most, len(found[0]) + AHEAD):
        cut = stump.fit(x, rest, sample_weight=weights).tree_
        steps = [*steps, (int(cut.feature[0]), float(cut.threshold[0]))]
        basis = np.column_stack([basis, x[:, steps[-1][0]] > steps[-1][1]])
        rest = y - basis @ np.linalg.lstsq(basis * roots, y * roots, rcond=None)[0]
        left = (weights @ np.square(rest)).sum() / whole.sum()
        value = weights.sum() * apart * np.log(left) + price * len(steps)
        if value < found[1]:
            found = steps, value
    return found


@pytest.mark.parametrize("seed", range(6))
def test_they_are_those_of_stumps_and_least_squares(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = added(700, seed)
    x[:, 1] = np.round(x[:, 1], 1)
    y = y[:, None] * rng.normal(size=1 + seed % 3) + 0.1 * rng.normal(size=(700, 1 + seed % 3))
    weights = rng.choice([0.5, 1.0, 2.0], size=700)
    found = find_sum(x, y, weights, most=64, least=12)
    steps, value = slow_sum(x, y, weights, most=64, least=12)
    assert len(found.steps) >= 5 and [step.column for step in found.steps] == [c for c, _ in steps]
    assert [step.threshold for step in found.steps] == pytest.approx([at for _, at in steps])
    assert found.value == pytest.approx(value)


def test_of_noise_and_of_too_few_samples_there_is_no_sum() -> None:
    x, y = added(600, 2)
    noise = np.random.default_rng(3).permutation(y)[:, None]
    assert find_sum(x, noise, np.ones(600), most=64, least=8) == ([], 0.0)
    assert find_sum(x, y[:, None], np.ones(600), most=64, least=301) == ([], 0.0)
    assert find_sum(x, 0 * noise, np.ones(600), most=64, least=8) == ([], 0.0)
    assert len(find_sum(x, y[:, None], np.ones(600), most=2, least=8).steps) == 2


def growth_of(x: np.ndarray, y: np.ndarray, width: int = 128) -> Growth:
    samples = Samples(torch.tensor(x).float(), torch.tensor(y).float().reshape(len(x), -1))
    root = NeuralTree(
        presets.table(samples.targets.shape[1], width=width), (x.shape[1],), SquaredError()
    )
    growth = Growth(root, samples, samples, NeuralTreeSettings(epochs=20))
    growth.step()
    return growth


def deepenings(growth: Growth) -> list[Candidate]:
    return [each for each in growth._candidates(0)["deepen"] if each.steps]


@pytest.mark.parametrize("outputs", [1, 9])
def test_it_begins_as_the_leaf_and_each_unit_as_a_step(outputs: int) -> None:
    x, y = added(800, 4)
    growth = growth_of(x, y[:, None] * np.linspace(1, 2, outputs))
    before, tried = growth.tree.losses(growth.train), deepenings(growth)
    assert len(tried) == 2
    for deepening in tried:
        torch.testing.assert_close(deepening.losses(growth.train), before, rtol=1e-4, atol=1e-5)
        layer, clipped = deepening.parts[0]
        units = torch.isfinite(clipped.most)
        out = deepening.parts[0](growth.train.x)[:, units]
        assert ((out == 0) | (out == 1)).double().mean() > 0.97
        places = layer.weight[units].argmax(1)
        assert set(places.tolist()) >= set(STEPS)
        borders = (0.5 - layer.bias[units]) / layer.weight[units].amax(1)
        assert torch.equal(out > 0.5, growth.train.x[:, places] > borders)
    alone, both = (each.parts[0](growth.train.x).amax(0) > 0 for each in tried)
    assert alone.sum() < both.sum()


def test_it_begins_as_the_leaf_if_there_are_as_many_units_as_columns() -> None:
    """The new solver then has the shape of the leaf's, and is not a copy of it all the same."""
    growth = growth_of(*added(1500, 4, columns=64), width=64)
    tried = deepenings(growth)
    assert tried
    for each in tried:
        assert each.parts[1].weight.shape == growth.tree.nodes[0].end.weight.shape
        before = growth.tree.losses(growth.train)
        torch.testing.assert_close(each.losses(growth.train), before, rtol=1e-4, atol=1e-5)


def test_units_at_zero_stay_there() -> None:
    growth = growth_of(*added(800, 4))
    alone = deepenings(growth)[0]
    dead = alone.parts[0](growth.train.x).amax(0) == 0
    nn.init.normal_(alone.parts[1].weight)
    alone.loss(growth.train).backward()
    assert dead.sum() > 64 and not alone.parts[0][0].weight.grad[dead].any()


def test_where_there_is_no_room_there_is_no_such_deepening() -> None:
    x, y = added(800, 4)
    growth, found = growth_of(x, y, width=4), find_sum(x, y[:, None], np.ones(800), 64, 18)
    assert not deepenings(growth) and "deepen" in growth._candidates(0)
    assert deepen_by(growth.tree, 0, growth.tree.new_deepening(0), found, True) is None


def test_neither_lines_nor_regions_are_taken_for_a_sum() -> None:
    x, _ = added(800, 5)
    for y in (np.abs(x[:, 0]), np.maximum(x[:, 1], x[:, 2]), (x[:, 0] > 0) ^ (x[:, 1] > 0.3)):
        assert not deepenings(growth_of(x, y - y.mean()))


def test_steps_of_one_column_are_left_to_regions() -> None:
    x = added(800, 5)[0][:, :1]
    y = np.floor(2 * x[:, 0]) % 2
    assert len(find_sum(x, y[:, None], np.ones(800), 64, 18).steps) > 3
    assert not deepenings(growth_of(x, y - y.mean()))


def test_steps_are_not_sought_where_nothing_can_start_as_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def found(*_: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(lookahead, "find_sum", found)
    x, y = added(400, 9)
    few = {"max_leaves": 4, "epochs": 2, "refine_epochs": 0, "random_state": 0}
    for how in ({"transformers": False}, {"max_transformers": 0}, {"primitives": "mlp"}):
        NeuralTreeRegressor(**few | how).fit(x, y)
    with pytest.raises(AssertionError):
        NeuralTreeRegressor(**few).fit(x, y)


def test_a_sum_that_gains_more_is_taken_before_a_split() -> None:
    gains = {"split": Gain(0.8, 0.1, 0.01), "deepen": Gain(0.6, 0.3, 0.01, steps=True)}
    assert choose(gains, NeuralTreeSettings()) == "deepen"
    gains["split"] = Gain(0.5, 0.4, 0.01)
    assert choose(gains, NeuralTreeSettings()) == "split"


@pytest.fixture(scope="module")
def of_steps() -> NeuralTreeRegressor:
    return NeuralTreeRegressor(random_state=0).fit(*added(1500, 6))


def test_sums_of_steps_are_learned_as_by_boosted_trees(of_steps: NeuralTreeRegressor) -> None:
    boosted = HistGradientBoostingRegressor(random_state=0).fit(*added(1500, 6))
    test = added(5000, 7)
    assert of_steps.score(*test) > boosted.score(*test)


def test_its_largest_steps_are_told_as_rules(of_steps: NeuralTreeRegressor) -> None:
    lines = of_steps.export_text().splitlines()[1:6]
    told = re.findall(r"feature (\d) > about (.*): (.*)", "\n".join(lines))
    assert {int(i) for i, *_ in told} == set(STEPS)
    for i, at, height in told:
        assert (float(at), float(height)) == pytest.approx(STEPS[int(i)], abs=0.3)
    ends = [2.0 * np.sign(at) if at else 2.0 for at, _ in STEPS.values()]  # beyond the steps
    told = of_steps.explain(np.array([*ends, 0.0, 0.0, 0.0]))
    assert {part.name.split(" = ")[0] for part in told.parts[1:6]} == {
        f"feature {i}" for i in STEPS
    }
    assert sum(part.values[0] for part in told.parts) == pytest.approx(told.prediction[0])


def test_steps_beside_lines_are_learned() -> None:
    def mixed(size: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(size, 10))
        score = x[:, :4].sum(1) + 3.0 * (x[:, 5] > 0.4) - 3.0 * (x[:, 6] < -0.3)
        return x, score + rng.logistic(size=size) > 0.3

    model = NeuralTreeClassifier(random_state=0).fit(*mixed(1500, 0))
    lines = NeuralTreeClassifier(random_state=0, max_leaves=1, transformers=False)
    test = mixed(5000, 1)
    assert model.score(*test) > lines.fit(*mixed(1500, 0)).score(*test) + 0.02


def test_ceilings_are_kept_in_a_file(of_steps: NeuralTreeRegressor, tmp_path: Path) -> None:
    x, _ = added(300, 8)
    assert any(
        isinstance(part, Clipped) and part.most.isfinite().any()
        for part in of_steps.tree_.modules()
    )
    of_steps.save(tmp_path / "model.safetensors")
    again = NeuralTreeRegressor.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(again.predict(x), of_steps.predict(x))


def test_a_single_sample_has_no_steps() -> None:
    assert find_sum(np.ones((1, 2)), np.ones((1, 1)), np.array([50.0]), most=4, least=8).steps == []
