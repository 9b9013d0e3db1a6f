"""Columns that only add noise are left out, and what is told of a tree has the user's columns."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from structnet import NeuralTreeClassifier, NeuralTreeRegressor
from structnet.neural_tree import columns as module
from structnet.neural_tree.columns import telling_columns

SHORT: dict[str, Any] = {"epochs": 20, "refine_epochs": 2, "random_state": 0}


def product(size: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The sign of a product of three columns among 15, no one or two of which tell anything."""
    x = np.random.default_rng(seed).normal(size=(size, 15))
    return x, (x[:, 2] * x[:, 7] * x[:, 11] > 0).astype(int)


def wide(size: int, seed: int, columns: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """A line and a threshold, of columns 10 and 30, among many columns."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(size, columns))
    return x, 2 * x[:, 10] + 4 * (x[:, 30] > 0.3) + 0.5 * rng.normal(size=size)


def test_columns_that_tell_something_together_are_found() -> None:
    x, y = product(1500, 1)
    np.testing.assert_array_equal(telling_columns(x, y, None, 1), [2, 7, 11])


def test_a_line_and_a_threshold_are_found_among_many_columns() -> None:
    x, y = wide(300, 0, columns=150)
    found = telling_columns(x, y[:, None], None, 0)
    assert found is not None and {10, 30} <= set(found.tolist()) and len(found) <= 4


def test_columns_of_two_values_are_not_taken_for_noise() -> None:
    rng = np.random.default_rng(0)
    x, kind = rng.random((1000, 8)), rng.integers(4, size=1000)
    y = np.where(kind < 2, (x[:, 0] > 0.5) != (x[:, 1] > 0.3), x[:, 2] + x[:, 3] > 1)
    found = telling_columns(np.c_[x, kind[:, None] == range(4)], y.astype(int), None, 0)
    assert found is not None and len(found) < 10
    assert {0, 1, 2, 3} <= set(found.tolist()) and sum(found > 7) >= 3


def test_where_all_columns_tell_something_all_are_kept() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 10))
    weak = x @ np.linspace(0.5, 1, 10) + rng.normal(size=400)
    assert telling_columns(x, weak[:, None], None, 0) is None
    assert telling_columns(x, rng.normal(size=(400, 1)), None, 0) is None  # noise: as good as any


def test_rows_of_weight_zero_do_not_count_and_neither_do_units() -> None:
    x, y = product(1500, 0)
    other = product(1500, 9)[0]
    y = np.append(y, other[:, 0] > 0).astype(int)
    weights = np.repeat([3e200, 1e-200], 1500)
    scales = 10.0 ** np.arange(-7, 8)
    rows = np.concatenate([x, other]) * scales + scales
    np.testing.assert_array_equal(telling_columns(rows, y, weights, 0), [2, 7, 11])
    np.testing.assert_array_equal(telling_columns(csr_matrix(rows), y, weights, 0), [2, 7, 11])


def test_few_columns_few_rows_and_large_tables_are_left_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x, y = product(1500, 0)
    assert telling_columns(x[:, [2, 7, 11, 0]], y, None, 0) is None
    assert telling_columns(x[:49], y[:49], None, 0) is None
    monkeypatch.setattr(module, "NUMBERS", 1500 * 15 * 2 - 1)
    assert telling_columns(x, y, None, 0) is None


@pytest.fixture(scope="module")
def of_product() -> NeuralTreeClassifier:
    return NeuralTreeClassifier(random_state=0).fit(*product(1500, 0))


def test_a_product_of_three_columns_is_learned(of_product: NeuralTreeClassifier) -> None:
    x, y = product(4000, 1)
    assert of_product.score(x, y) > 0.9
    np.testing.assert_array_equal(of_product.columns_, [2, 7, 11])
    other = np.zeros_like(x)
    other[:, [2, 7, 11]] = x[:, [2, 7, 11]]
    np.testing.assert_array_equal(of_product.predict_proba(other), of_product.predict_proba(x))


def test_what_is_told_names_the_columns_of_the_user(of_product: NeuralTreeClassifier) -> None:
    x, y = product(300, 1)
    told = re.findall(r"feature (\d+)", of_product.export_text(x, y))
    assert told and set(told) <= {"2", "7", "11"}
    assert of_product.samples(x, y).x.shape == (300, 3)
    assert of_product.explain(x[0]).leaf == of_product.apply(x)[0]
    drawn = of_product.plot(x, y, feature_names=[f"name {i}" for i in range(15)])
    told = re.findall(r"name (\d+)", " ".join(each.get_text() for each in drawn.texts))
    assert told and set(told) <= {"2", "7", "11"}


def test_columns_are_kept_in_files(of_product: NeuralTreeClassifier, tmp_path: Path) -> None:
    x, y = product(200, 1)
    of_product.save(tmp_path / "model.safetensors")
    loaded = NeuralTreeClassifier.load(tmp_path / "model.safetensors")
    for again in (loaded, pickle.loads(pickle.dumps(of_product))):
        np.testing.assert_array_equal(again.columns_, of_product.columns_)
        np.testing.assert_array_equal(again.predict_proba(x), of_product.predict_proba(x))
        assert again.export_text(x, y) == of_product.export_text(x, y)


def test_a_wide_table_is_predicted_better_than_by_all_columns() -> None:
    found = [
        NeuralTreeRegressor(select_columns=select, **SHORT).fit(*wide(300, 0))
        for select in (True, False)
    ]
    some, every = (each.score(*wide(3000, 1)) for each in found)
    assert some > 0.9 and some > every + 0.05
    assert found[1].columns_ is None and found[0].n_features_in_ == 60


def test_a_warm_start_keeps_the_columns_and_sparse_rows_have_them_too() -> None:
    x, y = wide(300, 0)
    model = NeuralTreeRegressor(warm_start=True, standardize=False, **SHORT).fit(x, y)
    before = model.columns_
    assert before is not None and model.tree_.shape == before.shape
    sparse = csr_matrix(x)
    np.testing.assert_allclose(model.predict(sparse), model.predict(x), atol=1e-5)
    model.fit(sparse, y + x[:, 3])
    np.testing.assert_array_equal(model.columns_, before)


def test_each_member_and_other_primitives_have_columns_of_their_own() -> None:
    x, y = wide(300, 0)
    both = NeuralTreeRegressor(n_members=2, **SHORT).fit(x, y)
    assert all({10, 30} <= set(each.columns.tolist()) for each in both.members_)
    assert both.predict(x).shape == (300,)
    assert NeuralTreeRegressor("mlp", max_leaves=1, **SHORT).fit(x, y).columns_ is None


def test_the_parameter_must_be_a_bool() -> None:
    with pytest.raises(ValueError, match="'select_columns' parameter"):
        NeuralTreeRegressor(select_columns=3).fit(*wide(60, 0))


def test_what_weighs_nothing_ranks_no_column() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(400, 40))
    y = 2 * x[:, [10]] + 4 * (x[:, [25]] > 0.3) + 0.5 * rng.normal(size=(400, 1))
    noise = np.setdiff1d(np.arange(40), [10, 25])
    far, weights = x.copy(), np.repeat([1.0, 1e-6], 200)
    far[200:, noise] *= 1000
    np.testing.assert_array_equal(telling_columns(far, y, weights, 1), [10, 25])


def test_large_tables_keep_all_columns_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_unseen", lambda *of: pytest.fail("it is too large"))
    x = np.zeros((3000, 200), np.float32)
    assert telling_columns(x, np.arange(3000), None, 0) is None  # nor are there 3000 x 3000 codes
    assert telling_columns(x[:1999], np.zeros((1999, 1)), None, 0) is None
