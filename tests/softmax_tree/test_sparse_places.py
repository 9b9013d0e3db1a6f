"""Sparse rows for softmax trees whose places are in 64 bits, or too many for 32."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array, csr_matrix, hstack
from scipy.sparse import random as random_rows
from softmax_trees import clusters, objective, points_of, thinned

from structnet.softmax_tree import (
    AdaptiveSoftmaxTreeClassifier,
    SoftmaxTreeClassifier,
    leaf_update,
    start,
)
from structnet.softmax_tree.draft import Draft
from structnet.softmax_tree.nodes import first_leaf
from structnet.softmax_tree.points import Points

X, Y = clusters(240, classes=6)


def in_64_bits(x: csr_matrix) -> csr_array:
    """Rows as ``csr_array((data, columns, starts))`` makes them of numpy's own integers."""
    return csr_array((x.data, *(part.astype(np.int64) for part in (x.indices, x.indptr))), x.shape)


def as_triples(x: csr_matrix) -> coo_array:
    """Rows as a coordinate array of numpy's own integers."""
    rows, columns = (part.astype(np.int64) for part in x.nonzero())
    return coo_array((x.data, (rows, columns)), x.shape)


@pytest.mark.parametrize("cls", [SoftmaxTreeClassifier, AdaptiveSoftmaxTreeClassifier])
@pytest.mark.parametrize("form", [in_64_bits, as_triples])
def test_places_may_be_in_64_bits(cls: type, form: Any) -> None:
    x, y = thinned(X)[:120], Y[:120] % 2
    given = form(x)
    model = cls(random_state=0, start="axes").fit(given, y)
    same = cls(random_state=0, start="axes").fit(x, y)
    assert np.array_equal(model.predict_proba(given), same.predict_proba(x))
    if given.format == "csr":  # the caller's rows are left as they were
        assert given.indices.dtype == given.indptr.dtype == np.int64


def test_a_decision_tree_learns_of_as_many_entries_as_its_places_can_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    points = points_of(sparse=True)
    whole = start.axes_draft(points, 3, 12, 0)
    monkeypatch.setattr(start, "LARGEST_INDEX", points.x.nnz)
    same = start.axes_draft(points, 3, 12, 0)
    assert same.children == whole.children
    monkeypatch.setattr(start, "LARGEST_INDEX", points.x.nnz // 2)
    some = start._in_32_bits(points, 0)
    assert 0.4 < some.x.nnz / points.x.nnz <= 0.5
    assert len(np.unique(some.y)) == 12  # drawn from everywhere
    assert len(start.axes_draft(points, 3, 12, 0).nodes) > 3


def test_more_columns_than_places_can_count_are_refused() -> None:
    wide = csr_matrix(([1.0], [2**32], [0, 1]), shape=(1, 2**33))
    with pytest.raises(ValueError, match="x has 8589934592 columns; expected at most 2147483647"):
        Points.made(wide, [0], 2)


def test_columns_that_get_no_weight_cost_a_leaf_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, (x, y) = np.random.default_rng(0), clusters(400, classes=6)
    rare = random_rows(400, 5000, 0.002, "csr", np.float32, rng)
    rare.data[:] = 1
    points = Points.made(hstack([thinned(x), rare], format="csr"), y, 6)
    widths, solved = [], leaf_update.multinomial

    def noted(x: Any, *given: Any) -> Any:
        widths.append(x.shape[1])
        return solved(x, *given)

    aim, rows = objective(leaf=3.0, classes=6, steps=400), np.arange(400)
    start_leaf = first_leaf(points.counts(rows), 6, points.num_features, True)
    monkeypatch.setattr(leaf_update, "multinomial", noted)
    leaf = start_leaf
    for _ in range(3):
        leaf = leaf_update.updated_leaf(leaf, points, rows, aim)
    monkeypatch.setattr(leaf_update, "_needed", lambda leaf, x, *given: np.arange(x.shape[1]))
    whole = leaf_update.updated_leaf(start_leaf, points, rows, aim)
    assert max(widths[:3]) < 100 < 2000 < widths[3]
    values = [aim.of(Draft([()], [each]), points) for each in (leaf, whole)]
    assert values[0] < values[1] * 1.002


@pytest.mark.parametrize("rows", [2, 3, 4, 6])
def test_a_handful_of_rows(rows: int) -> None:
    x = csr_matrix(np.random.default_rng(rows).normal(size=(rows, 4)))
    model = SoftmaxTreeClassifier(random_state=0).fit(x, np.arange(rows) % 2)
    np.testing.assert_allclose(model.predict_proba(x).sum(axis=1), 1, rtol=1e-6)
