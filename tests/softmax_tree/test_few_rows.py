"""A single leaf that is solved, where few rows show no tree to be better."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from structnet.estimators.checked import Checked
from structnet.estimators.few_rows import solved
from structnet.softmax_tree import AdaptiveSoftmaxTreeClassifier, SoftmaxTreeClassifier, train

BOTH = pytest.mark.parametrize("kind", [SoftmaxTreeClassifier, AdaptiveSoftmaxTreeClassifier])


def apart(number: int, seed: int = 0, columns: int = 20) -> tuple[np.ndarray, np.ndarray]:
    """Rows of two classes that lie apart on six of the columns, with heavy tails."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(number) % 2)
    x = rng.standard_t(3, size=(number, columns))
    x[:, :6] += 1.2 * y[:, None]
    return x, y


@BOTH
@pytest.mark.parametrize("weighted", [False, True])
def test_its_scores_are_the_solution_of_all_rows(kind: Any, weighted: bool) -> None:
    x, y = apart(60)
    weights = np.random.default_rng(1).uniform(0.5, 2, 60) if weighted else None
    model = kind(standardize=False, random_state=0).fit(x, y, weights)
    assert model.settings_.solved and model.history_[-1]["leaves"] == 1
    rows = Checked(x.astype(np.float32), y, weights)
    weight, bias = solved(rows, 2, model.seed_)
    expected = log_softmax(rows.x @ weight.T + bias, axis=1)
    np.testing.assert_allclose(model.predict_log_proba(x), expected, atol=1e-4)
    again = train(rows.x, y, model.settings_, model.trained_.growth, weights=weights)
    np.testing.assert_allclose(again.tree.choices(rows.x).dense(2), expected, atol=1e-4)


@BOTH
def test_a_tree_that_is_surely_better_is_taken(kind: Any) -> None:
    x = np.random.default_rng(0).normal(size=(200, 2))
    model = kind(random_state=0).fit(x, (x > 0).sum(1) == 1)
    assert not model.settings_.solved and model.history_[-1]["leaves"] > 2


@pytest.mark.parametrize(
    "given", [{"leaf_penalty": 1.0}, {"depth": 1}, {"k": 2}, {"start": "rows"}]
)
def test_what_is_given_is_trained(given: dict[str, Any]) -> None:
    x, y = apart(60)
    assert not SoftmaxTreeClassifier(**given, random_state=0).fit(x, y).settings_.solved


def test_sparse_and_many_rows_are_trained() -> None:
    x, y = apart(401, columns=6)
    for rows, classes in ((x, y), (csr_matrix(x[:60]), y[:60])):
        assert not SoftmaxTreeClassifier(random_state=0).fit(rows, classes).settings_.solved


def test_each_member_is_solved() -> None:
    x, y = apart(60)
    model = SoftmaxTreeClassifier(n_members=3, random_state=0).fit(x, y)
    assert all(each.settings.solved for each in model.members_)
    found = [each.tree.choices(model.samples(x, y).x).dense(2) for each in model.members_]
    assert all(0 < np.abs(each - found[0]).max() < 3 for each in found[1:])


@BOTH
@pytest.mark.parametrize("number", [30, 90])
def test_of_few_rows_nothing_is_sure_by_chance(kind: Any, number: int) -> None:
    found = []
    for seed in range(3):
        x, y = apart(1000, seed)
        learn, asked = slice(0, number), slice(number, None)
        model = kind(random_state=seed).fit(x[learn], y[learn])
        unit = x[learn].std(0)
        theirs = LogisticRegression().fit(x[learn] / unit, y[learn])
        of = model.predict_proba(x[asked]), theirs.predict_proba(x[asked] / unit)
        found.append([log_loss(y[asked], each) for each in of])
    ours, expected = np.mean(found, axis=0)
    assert ours < expected
