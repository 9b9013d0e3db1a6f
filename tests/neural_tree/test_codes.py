"""Splits among the steps of codes: columns of few values, each of which may mean something else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from structnet.neural_tree import (
    Growth,
    NeuralTree,
    NeuralTreeClassifier,
    NeuralTreeRegressor,
    NeuralTreeSettings,
    presets,
)
from structnet.neural_tree.growth import codes
from structnet.neural_tree.growth.candidate import Split
from structnet.neural_tree.growth.codes import find_codes, start_units
from structnet.neural_tree.growth.regions import Regions, find_regions
from structnet.routing import Samples

CODES, CLASSES = 8, 4


def grid(size: int, seed: int, noise: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Two codes, and a class at random for each pair of them; some rows have any class."""
    cells = np.random.default_rng(7).integers(CLASSES, size=(CODES, CODES))
    rng = np.random.default_rng(seed)
    x = rng.integers(CODES, size=(size, 2))
    y = np.where(rng.random(size) < noise, rng.integers(CLASSES, size=size), cells[tuple(x.T)])
    return x.astype(float), y


def centered(y: np.ndarray) -> np.ndarray:
    """What the shares of the classes leave unexplained. ``[n, classes]``."""
    return np.eye(CLASSES)[y] - np.bincount(y, minlength=CLASSES) / len(y)


def growth_of(x: np.ndarray, y: np.ndarray, **how: Any) -> Growth:
    torch.manual_seed(0)
    tree = NeuralTree(presets.table(CLASSES), x.shape[1:])
    scaled = torch.from_numpy((x - x.mean(0)) / x.std(0)).float()
    parts = [Samples(scaled[i::2], torch.from_numpy(y[i::2])) for i in (0, 1)]
    return Growth(tree, *parts, NeuralTreeSettings(**{"epochs": 5, "refine_epochs": 0} | how))


def unfolded(growth: Growth) -> list[Split]:
    found = growth._candidates(0).get("split", [])
    return [each for each in found if isinstance(each, Split) and each.transformer is not None]


def test_regions_are_the_codes_of_one_column() -> None:
    x, y = grid(1000, 0, noise=0.05)
    found = find_codes(x, centered(y), np.ones(1000), most=64, least=15, units=128)
    assert found is not None and found.others == []
    assert {(step.column, step.threshold) for step in found.steps} == {
        (column, code + 0.5) for column in (0, 1) for code in range(CODES - 1)
    }
    cuts = [cut for cut in found.regions.cuts if cut is not None]
    assert len(cuts) == CODES - 1 and len({found.steps[cut.axis].column for cut in cuts}) == 1
    lines = find_regions(x, centered(y), np.ones(1000), most=64, least=40)
    assert lines is not None and found.regions.value < 1.3 * lines.value


def test_other_columns_are_cut_and_fitted_as_they_are() -> None:
    rng = np.random.default_rng(0)
    codes, other = rng.integers(6, size=800), rng.uniform(-1, 1, 800)
    y = np.where(other > 0.3, rng.normal(size=6)[codes], 2 * other)[:, None]
    x = np.column_stack([codes, other])
    found = find_codes(x, y - y.mean(), np.ones(800), most=8, least=20, units=128)
    assert found is not None and found.others == [1] and len(found.steps) == 5
    first = found.regions.cuts[0]
    assert first is not None and first.axis == 0 and abs(first.threshold - 0.3) < 0.1


def test_of_many_other_columns_the_few_that_tell_are_cut() -> None:
    rng = np.random.default_rng(0)
    code, others = rng.integers(6, size=800), rng.uniform(-1, 1, (800, 50))
    y = np.where(others[:, 40] > 0.3, rng.normal(size=6)[code], 2 * others[:, 40])[:, None]
    x = np.column_stack([code, others])
    found = find_codes(x, y - y.mean(), np.ones(800), most=8, least=20, units=128)
    assert found is not None and found.others == [*range(1, 51)] and len(found.steps) == 5
    axes = found.regions.axes
    assert axes.shape == (codes.OTHERS + 5, 50 + 5)
    np.testing.assert_array_equal(axes[codes.OTHERS :, 50:], np.eye(5))
    first = found.regions.cuts[0]
    assert first is not None and axes[first.axis].argmax() == 40
    transformer: Any = presets.table(1).make_transformer((51,), 0)[0].double()
    regions = start_units(transformer, found)
    with torch.no_grad():
        compared = transformer(torch.from_numpy(x)).numpy() @ regions.axes.T
    kept = axes[: codes.OTHERS].argmax(1)
    np.testing.assert_allclose(compared[:, : codes.OTHERS], others[:, kept])


@pytest.mark.parametrize("kind", ["numbers", "yes or no", "many steps"])
def test_there_are_none(kind: str) -> None:
    x, y = grid(400, 0)
    units = 128
    if kind == "numbers":
        x = x + np.random.default_rng(0).uniform(size=x.shape)
    elif kind == "yes or no":  # a line tells these apart
        x = (x > 3).astype(float)
    else:
        units = 2 * (CODES - 1) - 1
    assert find_codes(x, centered(y), np.ones(400), most=64, least=8, units=units) is None


@pytest.mark.parametrize(("rows", "columns"), [(30, 2), (2000, 12)])
def test_where_a_cut_costs_more_than_rows_can_tell_none_is_sought(
    monkeypatch: pytest.MonkeyPatch, rows: int, columns: int
) -> None:
    x = np.random.default_rng(0).integers(CODES, size=(rows, columns))
    y = np.random.default_rng(1).normal(size=(rows, 1))
    monkeypatch.delattr(codes, "paying")
    assert find_codes(x, y, np.ones(rows), most=64, least=1, units=128) is None


def test_codes_of_a_large_grid_are_found() -> None:
    cells, rng = np.random.default_rng(7).integers(CLASSES, size=(12, 12)), np.random.default_rng(0)
    x = rng.integers(12, size=(2000, 2))
    y = np.where(rng.random(2000) < 0.05, rng.integers(CLASSES, size=2000), cells[tuple(x.T)])
    found = find_codes(x, centered(y), np.ones(2000), most=64, least=15, units=128)
    assert found is not None and len(found.regions.children) == 2 * 12 - 1


def test_units_are_the_steps_and_the_other_columns() -> None:
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.normal(size=500), rng.integers(4, size=500), rng.normal(size=500)])
    y = rng.normal(size=(500, 1))
    found = find_codes(x, y, np.ones(500), most=4, least=8, units=128)
    assert found is not None
    transformer: Any = presets.table(1).make_transformer((3,), 0)[0].double()
    regions = start_units(transformer, found)
    with torch.no_grad():
        axes = transformer(torch.from_numpy(x)).numpy() @ regions.axes.T
    steps = [x[:, 1] > threshold for threshold in (0.5, 1.5, 2.5)]
    np.testing.assert_allclose(axes, np.column_stack([x[:, [0, 2]], *steps]))


def test_what_does_not_vary_is_no_column_of_regions() -> None:
    x, y = grid(500, 0)
    wide = np.column_stack([np.zeros((500, 200)), x, np.ones(500)])
    few, all_ = (find_regions(each, centered(y), np.ones(500), 16, 20) for each in (x, wide))
    assert isinstance(few, Regions) and isinstance(all_, Regions)
    assert all_.value == few.value and all_.children == few.children
    np.testing.assert_array_equal(all_.axes, few.axes @ np.eye(203)[200:202])


def test_a_deepening_and_a_split_are_tried_at_once() -> None:
    growth = growth_of(*grid(1200, 0, noise=0.05))
    growth.step()
    [candidate] = unfolded(growth)
    before = len(candidate.solvers)
    assert before == CODES and set(map(id, candidate.parameters())) >= {
        id(p) for p in candidate.transformer.parameters()
    }
    fewer = candidate.ending({v: candidate.parts[v] for v in candidate.topology.children_of(0)})
    assert len(fewer.solvers) < before and fewer.transformer is candidate.transformer
    losses = candidate.losses(growth.validation).detach()
    leaves = candidate.put()
    assert growth.tree.num_transformers(0) == 1
    assert sorted(leaves) == growth.tree.topology.leaves.tolist()
    torch.testing.assert_close(growth.tree.losses(growth.validation).detach(), losses)


def test_a_transformer_that_is_not_new_is_refused() -> None:
    growth = growth_of(*grid(1200, 0, noise=0.05))
    make, made = presets.table(CLASSES).transformer, list[Any]()
    assert make is not None

    def same(shape: Any, *depth: int) -> Any:
        made[1:] = []  # that of the deepening is new, that of the split is the same again
        made.append(make(shape, *depth) if not made else made[0])
        return made[0]

    growth.tree.primitives = replace(growth.tree.primitives, transformer=same)
    growth.step()
    with pytest.raises(ValueError, match=r"^the primitives gave a Sequential that shares"):
        growth._candidates(0)


@pytest.mark.parametrize("limit", [{"max_transformers": 0}, {"max_leaves": 1}, {"lookahead": 1}])
def test_limits_are_kept(limit: dict[str, int]) -> None:
    growth = growth_of(*grid(1200, 0, noise=0.05), **limit)
    growth.step()
    assert not unfolded(growth)


def test_a_resumed_growth_ends_with_the_same_tree(tmp_path: Path) -> None:
    x, y = grid(1200, 0, noise=0.05)

    def growth_in(folder: str, resume: bool) -> Growth:
        growth = growth_of(x, y, epochs=100)  # after few, regions without codes are ahead
        parts = growth.tree, growth.train, growth.validation, growth.settings
        return Growth(*parts, folder=tmp_path / folder, resume=resume)

    growth = growth_in("whole", resume=False)
    growth.step()
    growth.step()
    copytree(tmp_path / "whole", tmp_path / "again")
    growth.step()
    whole = growth.tree
    assert whole.num_transformers(0) == 1 and whole.num_leaves == CODES
    growth = growth_in("again", resume=True)
    growth.step()
    again = growth.tree
    assert again.config() == whole.config()
    for name, weights in whole.state_dict().items():
        assert torch.equal(weights, again.state_dict()[name]), name


@pytest.mark.parametrize("form", ["numbers", "one-hot"])
def test_cells_of_a_grid_are_told_apart(form: str, tmp_path: Path) -> None:
    """Of six rows for each cell a tree of rules learns all; lines in the codes were 70 % right."""
    (x, y), (x_test, y_test) = grid(400, 0, noise=0.05), grid(2000, 1)
    if form == "one-hot":
        encoder = OneHotEncoder(sparse_output=False).fit(x)
        x, x_test = encoder.transform(x), encoder.transform(x_test)
    model = NeuralTreeClassifier(random_state=0, refine_epochs=10).fit(x, y)
    rules = DecisionTreeClassifier(min_samples_leaf=2, random_state=0).fit(x, y)
    assert model.score(x_test, y_test) > max(0.95, rules.score(x_test, y_test) - 0.02)
    if form == "numbers":
        model.save(tmp_path / "model")
        loaded = NeuralTreeClassifier.load(tmp_path / "model")
        np.testing.assert_array_equal(loaded.predict_proba(x_test), model.predict_proba(x_test))
        said = model.export_text(feature_names=["city", "month"])
        assert "city > " in said or "month > " in said


def test_numbers_of_cells_are_learned() -> None:
    cells, rng = np.random.default_rng(3).normal(size=(6, 6)), np.random.default_rng(0)
    x = rng.integers(6, size=(1200, 2))
    y = cells[tuple(x.T)] + 0.2 * rng.normal(size=1200)
    model = NeuralTreeRegressor(random_state=0, refine_epochs=10).fit(x[:600], y[:600])
    assert model.score(x[600:], y[600:]) > 0.93  # at most 0.96
