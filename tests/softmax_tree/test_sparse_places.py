"""Sparse rows for softmax trees whose places are in 64 bits, or too many for 32."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array, csr_matrix
from softmax_trees import clusters, points_of, thinned

from structnet.softmax_tree import AdaptiveSoftmaxTreeClassifier, SoftmaxTreeClassifier, start
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
