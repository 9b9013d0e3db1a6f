"""What columns add to the prediction of a leaf, which is all of it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from structnet import (
    NeuralTreeClassifier,
    NeuralTreeRegressor,
    SoftmaxTreeClassifier,
)
from structnet.neural_tree import Categorical, GaussianMixture, Likelihood, NeuralTree, presets
from structnet.routing import Explanation, explain
from structnet.routing.formula import Formula
from structnet.routing.parts import MOST


def total(told: Explanation) -> np.ndarray:
    return np.sum([part.values for part in told.parts], axis=0)


def test_the_main_cause_is_told_beside_steps() -> None:
    rng = np.random.default_rng(0)
    x = np.c_[rng.integers(0, 2, 2000), rng.uniform(0, 10, 2000), rng.normal(size=2000)]
    y = 10 * x[:, 0] + (x[:, 1] > 3) - 1.5 * (x[:, 1] > 7) + rng.normal(0, 0.1, 2000)
    model = NeuralTreeRegressor(random_state=0).fit(x, y)
    one, none = (model.explain([value, 5.0, 0.0]) for value in (1.0, 0.0))
    assert [part.name for part in one.parts][:2] == ["an average row", "feature 0 = 1"]
    assert one.parts[1].values[0] - none.parts[1].values[0] == pytest.approx(10, abs=0.1)
    for told, row in ((one, [1.0, 5.0, 0.0]), (none, [0.0, 5.0, 0.0])):
        assert total(told) == pytest.approx(told.prediction, rel=1e-5)
        assert total(told)[0] == pytest.approx(model.predict([row])[0], rel=1e-5)
    first, second = model.export_text().splitlines()[1:3]
    assert "feature 0 = 1: +10" in first or "feature 0 = 1: +9.9" in first
    assert "feature 1 > about 7.0" in second


@pytest.mark.parametrize(("mean", "most"), [(2000, 0.05), (4e5, 5), (1.7e9, 5)])
def test_what_is_told_of_a_target_of_a_large_mean_adds_up(mean: float, most: float) -> None:
    """Numbers read from the text, in which none has an exponent."""
    x = np.random.default_rng(0).normal(size=(200, 3))
    size = 5 if mean == 2000 else 1000
    model = NeuralTreeRegressor(max_leaves=1, random_state=0).fit(x, mean + size * (x @ [1, 2, 3]))
    text = str(model.explain(x[7]))
    assert "e+" not in text
    whole, *parts = (float(line.split(": ")[1]) for line in text.splitlines()[2:])
    assert len(parts) == 4
    assert sum(parts) == pytest.approx(whole, rel=0, abs=most)
    assert whole == pytest.approx(model.predict(x[[7]])[0], rel=0, abs=most)


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([Categorical(), Categorical(0.4, 0.7), GaussianMixture()]),
)
def test_parts_add_up(seed: int, likelihood: Likelihood) -> None:
    """Of any layer of units, some of them with ceilings, and more columns than are told."""
    generator = torch.Generator().manual_seed(seed)
    tree = NeuralTree(presets.table(4, width=8), (MOST + 3,), likelihood).double()
    tree.deepen(0)
    with torch.no_grad():
        for part in tree.parameters():
            part.normal_(generator=generator)
        tree.nodes[0].transformers[0][1].most[::2] = torch.rand(4, generator=generator) * 3
    x = torch.randn(MOST + 3, generator=generator, dtype=torch.float64)
    told = explain(tree, x)
    assert len(told.parts) == MOST + 2 and told.parts[-1].name == "all else"
    if told.odds is None:
        assert total(told) == pytest.approx(told.prediction)
    else:
        first, second = (told.prediction[int(name)] for name in told.odds)
        assert [first, second] == sorted(told.prediction)[:-3:-1]
        assert total(told) == pytest.approx([np.log(first / second)])


def test_parts_add_up_to_what_all_leaves_predict() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 10, (400, 3))
    model = NeuralTreeRegressor(epochs=30, refine_epochs=5, random_state=0)
    model.fit(x, np.sin(x[:, 0]) * x[:, 1])
    shared = 0
    for row in x[:30]:
        told = model.explain(row)
        assert total(told) == pytest.approx(model.predict([row]), rel=1e-3, abs=1e-3)
        apart = abs(told.prediction[0] - told.mixture[0]) > 0.05
        assert not apart or told.parts[-1].name == "the other leaves"
        shared += apart
    assert shared > 5


def test_parts_of_classes_are_of_the_class_that_is_predicted() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 6))
    y = (x[:, 0] * x[:, 1] > 0) * 1 + (x[:, 2] > 0.5) + (rng.random(500) < 0.15)
    model = NeuralTreeClassifier(epochs=30, refine_epochs=5, random_state=0)
    model.fit(x[:300], y[:300])
    differ = 0
    for row in x[300:]:
        told, shares = model.explain(row), model.predict_proba([row])[0]
        first, second = np.argsort(-shares)[:2].tolist()
        assert told.odds == (str(first), str(second))
        odds = np.log(shares[first] / shares[second])
        assert total(told) == pytest.approx([odds], rel=1e-3, abs=1e-3)
        differ += int(np.argmax(told.prediction)) != first
    assert differ > 2


def test_a_column_alone_adds_its_own_part() -> None:
    """Of units that read one column each, a part is the difference that its column makes."""
    rng = np.random.default_rng(0)
    weight = np.eye(3)[[0, 0, 1, 2]] * rng.normal(size=(4, 1))
    formula = Formula(
        rng.normal(size=2),
        rng.normal(size=(3, 2)),
        weight,
        rng.normal(size=4),
        np.array([1.0, np.inf, 0.5, np.inf]),
        rng.normal(size=(4, 2)),
    )
    x = rng.normal(size=3)
    start, parts = formula.parts(x)
    rows = np.diag(x)
    np.testing.assert_allclose(parts, formula.at(rows) - formula.at(np.zeros((1, 3))))
    np.testing.assert_allclose(start + parts.sum(0), formula.at(x[None])[0])


@pytest.mark.parametrize("band", [True, False])
def test_a_single_leaf_of_a_softmax_tree_names_the_columns(band: bool) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 4)) * [1, 1, 9, 1] + 5
    y = np.digitize(x[:, 2] + 2 * rng.normal(size=600), [0, 10])
    y = (np.abs(x[:, 2] - 5) > 6).astype(int) if band else y
    model = SoftmaxTreeClassifier(depth=0, random_state=0).fit(x, y)
    assert (model.settings_.parts > 1) == band  # else a class is on one side
    told = model.explain(x[0])
    assert told.leaf == 0 and told.parts[1].name == f"feature 2 = {x[0, 2]:.4g}"
    first, second = (model.predict_proba(x[:1])[0, int(name)] for name in told.odds)
    assert total(told) == pytest.approx([np.log(first / second)], rel=1e-3)
    assert f"log-odds of {told.odds[0]} against {told.odds[1]}" in str(told)


def test_a_leaf_of_one_class_or_other_modules_has_no_parts() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 2))
    model = SoftmaxTreeClassifier(depth=1, k=1, random_state=0).fit(x, x[:, 0] > 0)
    assert model.explain(x[0]).parts == () and model.explain(x[0]).odds is None
    deep = NeuralTreeClassifier("mlp", max_leaves=1, epochs=2, random_state=0)
    assert deep.fit(x, x[:, 0] > 0).explain(x[0]).parts == ()
