"""What all estimators of tables keep about groups: none is on both sides of what is held out."""

from __future__ import annotations

import sys
from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from structnet import (
    AdaptiveSoftmaxTreeClassifier,
    LabelTreeClassifier,
    NeuralTreeClassifier,
    NeuralTreeRegressor,
    SoftmaxTreeClassifier,
)
from structnet.estimators import held_out
from structnet.softmax_tree import judge

HOLDING_OUT = ("hold_out", "parted", "tenths", "in_turn", "folds", "of_ridge")
SHORT: dict[str, Any] = {"epochs": 2, "refine_epochs": 2, "max_leaves": 2}
ESTIMATORS = [
    pytest.param(lambda: NeuralTreeRegressor(random_state=0, **SHORT), id="regressor"),
    pytest.param(lambda: NeuralTreeClassifier(random_state=0, **SHORT), id="classifier"),
    pytest.param(lambda: SoftmaxTreeClassifier(random_state=0), id="softmax"),
    pytest.param(lambda: SoftmaxTreeClassifier(n_members=2, random_state=0), id="members"),
    pytest.param(lambda: AdaptiveSoftmaxTreeClassifier(random_state=0), id="adaptive"),
    pytest.param(lambda: LabelTreeClassifier(random_state=0), id="label"),
]


def measured_again(number: int = 60, times: int = 5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows with noisy classes, each given several times, and the row that each comes from."""
    rng = np.random.default_rng(0)
    X, rows = rng.normal(size=(number, 6)), np.repeat(np.arange(number), times)
    y = (X[:, 0] + rng.normal(size=number) > 0).astype(int)
    return X[rows], y[rows], rows


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """The groups that each function was given that holds something out."""
    found: list[tuple[str, Any]] = []

    def recorded(original: Callable[..., Any]) -> Callable[..., Any]:
        def called(*args: Any, **named: Any) -> Any:
            groups = signature(original).bind(*args, **named).arguments.get("groups")
            found.append((original.__name__, groups))
            return original(*args, **named)

        return called

    modules = [each for name, each in sys.modules.items() if name.startswith("structnet")]
    for name in HOLDING_OUT:
        original = getattr(held_out, name)
        for module in modules:
            if vars(module).get(name) is original:
                monkeypatch.setattr(module, name, recorded(original))
    return found


@pytest.mark.parametrize("make", ESTIMATORS)
@pytest.mark.parametrize("number", [60, 150], ids=["few rows", "rows"])
def test_whatever_is_held_out_is_in_whole_groups(make: Any, number: int, told: list) -> None:
    X, y, rows = measured_again(number)
    make().fit(X, y, groups=[f"patient {i}" for i in rows])
    assert told and all(groups is not None for _, groups in told)


def test_naive_bayes_holds_out_whole_groups(told: list) -> None:
    X, y, rows = measured_again()
    model = LabelTreeClassifier(start="naive_bayes", random_state=0)
    model.fit(csr_matrix(X.clip(0)), y, groups=rows)
    assert told and all(groups is not None for _, groups in told)


@pytest.mark.parametrize("make", ESTIMATORS)
def test_groups_name_each_sample(make: Any) -> None:
    X, y, rows = measured_again(times=2)
    with pytest.raises(ValueError, match=r"one entry per sample, 120\. Got 60"):
        make().fit(X, y, groups=rows[:60])


@pytest.mark.parametrize("make", ESTIMATORS)
def test_a_single_group_needs_validation_samples(make: Any) -> None:
    X, y, _ = measured_again(times=2)
    with pytest.raises(ValueError, match="all samples to learn from are of one group; expected"):
        make().fit(X, y, groups=np.zeros(120))


def test_a_single_group_is_no_fault_where_nothing_is_held_out_by_it() -> None:
    X, y, _ = measured_again(times=2)
    same = np.zeros(120)
    LabelTreeClassifier(tree="huffman", learning_rate=0.1).fit(X, y, groups=same)
    for model in (LabelTreeClassifier(), AdaptiveSoftmaxTreeClassifier()):
        model.set_params(random_state=0).fit(X, y, groups=same, X_val=X, y_val=y)


def test_two_groups_of_which_one_chooses_the_round_are_one_to_learn_from() -> None:
    X, y, _ = measured_again(times=2)
    with pytest.raises(ValueError, match="all samples to learn from are of one group; expected"):
        AdaptiveSoftmaxTreeClassifier(random_state=0).fit(X, y, groups=np.arange(120) % 2)


def test_a_row_of_weight_zero_takes_its_group_along() -> None:
    X, y, rows = measured_again(times=3)
    weight = np.arange(len(y)) % 3 > 0
    first, second = (SoftmaxTreeClassifier(random_state=0) for _ in range(2))
    first.fit(X, y, sample_weight=weight, groups=rows)
    second.fit(X[weight], y[weight], sample_weight=np.ones(weight.sum()), groups=rows[weight])
    np.testing.assert_array_equal(first.predict_proba(X), second.predict_proba(X))


@pytest.mark.parametrize("kind", [SoftmaxTreeClassifier, AdaptiveSoftmaxTreeClassifier])
def test_rows_given_several_times_are_not_learnt_by_heart(kind: Any) -> None:
    X, y, rows = measured_again(300)
    model = kind(random_state=0).fit(X, y, groups=rows)
    assert model.get_n_leaves() < 20 < kind(random_state=0).fit(X, y).get_n_leaves()


def test_two_groups_are_enough_where_only_some_rows_are_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(judge, "LARGEST", 150)
    monkeypatch.setattr(judge, "FEW", 150)
    X, y, _ = measured_again(600, times=1)
    model = SoftmaxTreeClassifier(random_state=0).fit(X, y, groups=np.arange(600) % 2)
    assert model.score(X, y) > 0.7


def test_rows_of_one_group_are_parted_where_a_line_is_penalised() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 30))
    y = (X @ rng.normal(size=30) > 0).astype(int)
    groups = np.arange(240) % 2
    model = NeuralTreeClassifier(random_state=0, **SHORT).fit(X, y, groups=groups)
    assert model.score(X, y) > 0.95
