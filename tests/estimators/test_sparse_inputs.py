"""Sparse samples through the checks of estimators: taken as CSR by those that say they take it."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import coo_matrix, csc_matrix, csr_array, csr_matrix
from scipy.sparse import random as sparse_random
from sklearn.base import BaseEstimator
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from small_estimators import classifier, regressor

from structnet.estimators.checked import Checked
from structnet.estimators.inputs import check_inputs, check_training, one_sample
from structnet.routing import Samples
from structnet.routing.on_demand import DenseRows
from structnet.routing.samples import counted


class Taker(BaseEstimator):
    """An estimator of dense and sparse tables."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


DENSE = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 3.0]])
Y = np.array([0, 1, 0])


@pytest.mark.parametrize("kind", [csr_matrix, csc_matrix, coo_matrix, csr_array])
def test_any_format_becomes_rows(kind: type) -> None:
    taker, given = Taker(), kind(DENSE)
    found = check_training(taker, given, Y, [1, 0, 2], reset=True).counting(2)
    assert found.x.format == "csr" and found.x.toarray().tolist() == DENSE[[0, 2]].tolist()
    assert (taker.n_features_in_, taker.sample_shape_) == (3, (3,))
    assert check_inputs(taker, given).toarray().tolist() == DENSE.tolist()
    assert check_inputs(taker, DENSE) is not None  # a dense one may follow
    row = check_inputs(taker, one_sample(taker, csr_matrix(DENSE)[1]))
    assert row.shape == (1, 3) and row.toarray().tolist() == [[1, 0, 0]]


def test_rows_are_put_in_order_and_the_callers_are_left() -> None:
    given = csr_matrix(([1.0, 2.0, 3.0], [2, 0, 2], [0, 3]), shape=(1, 3))
    taker = Taker()
    check_training(taker, DENSE, Y, reset=True)
    found = check_inputs(taker, given)
    assert (found.indices.tolist(), found.data.tolist()) == ([0, 2], [2, 4])
    assert given.indices.tolist() == [2, 0, 2]


@pytest.mark.parametrize(
    ("value", "name"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")]
)
def test_numbers_that_are_not_finite_have_a_place(value: float, name: str) -> None:
    bad = csr_matrix(DENSE)
    bad.data[2] = value
    message = rf"contains {name}: 1 value, in row 2, column 2 \(counted from 0\); expected finite"
    with pytest.raises(ValueError, match=message):
        check_training(Taker(), bad, Y, reset=True)


def test_another_number_of_columns() -> None:
    taker = Taker()
    check_training(taker, csr_matrix(DENSE), Y, reset=True)
    with pytest.raises(ValueError, match="X has 2 features, but Taker is expecting 3"):
        check_inputs(taker, csr_matrix(DENSE[:, :2]))
    with pytest.raises(ValueError, match=r"x must be one sample.*Got shape \[3, 3\]"):
        one_sample(taker, csr_matrix(DENSE))


def test_those_that_take_none_say_so() -> None:
    with pytest.raises(TypeError, match="Sparse data was passed"):
        check_training(BaseEstimator(), csr_matrix(DENSE), Y, reset=True)


def words(n: int = 200, columns: int = 40) -> tuple[csr_matrix, np.ndarray]:
    """Rows that are mostly 0, whose sums decide between two classes."""
    X = sparse_random(n, columns, 0.1, format="csr", random_state=0)
    return X, np.array(["few", "many"])[(X[:, :8].sum(axis=1) > 0.4).astype(int).A1]


ANY = {"min_gain": -1e9, "gain_errors": 0.0, "prune": None}


BY_BATCH = {
    "cache_bytes": 0,
    "balance_routers": False,
    "lookahead": 1,
}  # which needs no more than a batch


@pytest.mark.parametrize("how", [{}, {"standardize": False}, {"n_members": 2}, BY_BATCH])
def test_a_neural_tree_takes_sparse_rows_as_it_takes_full_ones(
    how: dict, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = words()
    rows, made = [], DenseRows._made
    monkeypatch.setattr("structnet.estimators.scale.BLOCK", 3 * X.shape[0])  # three columns
    if how is BY_BATCH:
        monkeypatch.setattr("structnet.routing.on_demand.NUMBERS", 20 * X.shape[1])

    def watched(self: DenseRows, batches: list) -> Iterator[torch.Tensor]:
        rows.extend(map(len, batches))
        return made(self, batches)

    full = classifier(**ANY, **how).fit(X.toarray(), y, X_val=X.toarray()[:50], y_val=y[:50])
    monkeypatch.setattr(DenseRows, "_made", watched)
    model = classifier(**ANY, **how).fit(csc_matrix(X), y, X_val=X[:50], y_val=y[:50])
    assert model.get_n_leaves() > 1
    assert max(rows) == (32 if how is BY_BATCH else len(y))
    np.testing.assert_allclose(model.predict_proba(X), full.predict_proba(X.toarray()), atol=1e-6)
    np.testing.assert_array_equal(model.apply(X), full.apply(X.toarray()))
    assert str(model.explain(X[3])) == str(full.explain(X[3].toarray()))
    assert model.export_text(X, y) == full.export_text(X.toarray(), y)
    assert str(model.summary(X)) == str(full.summary(X.toarray()))


def test_rows_of_many_batches_take_no_room_before_they_are_read() -> None:
    rows = DenseRows(csr_matrix((200_000, 1)))
    batches = [slice(i, i + 1000) for i in range(0, 200_000, 1000)]
    tracemalloc.start()
    read = rows.read_ahead(batches)
    assert next(read).shape == (1000, 1)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 4e6  # bytes; the number of each row takes 1.6e6
    assert sum(len(batch) for batch in read) == 199_000


def test_text_of_words_fits_in_a_pipeline() -> None:
    texts, y = ["red fish", "blue fish", "red bird", "blue bird"] * 10, [0, 1, 0, 1] * 10
    model = make_pipeline(TfidfVectorizer(), classifier(epochs=30)).fit(texts, y)
    assert model.score(texts, y) == 1
    numbers = regressor(epochs=30, loss="gaussian").fit(words()[0], words()[0].sum(axis=1).A1)
    assert numbers.predict(words()[0], return_std=True)[1].shape == (200,)


def test_sparse_data_as_samples() -> None:
    data = Checked(csr_matrix(DENSE), Y, np.array([1.0, 1.0, 4.0]))
    samples = data.samples()
    assert samples.x.dtype == np.float32 and len(samples) == 3
    for rows in (np.array([2, 0]), torch.tensor([2, 0]), [2, 0]):
        part = samples[rows]
        assert part.x.toarray().tolist() == DENSE[[2, 0]].tolist()
        assert part.weights.tolist() == [2.0, 0.5]
    assert samples[:2].to("cpu").x.shape == (2, 3)
    assert counted(samples.x)[1].tolist() == [1, 1, 1]
    other = DENSE.copy()
    other[0, 1] = 5
    facts = [Checked(csr_matrix(x), Y, None).facts() for x in (DENSE, DENSE.copy(), other)]
    assert facts[0] == facts[1] != facts[2]


def test_inputs_that_a_model_does_not_take() -> None:
    targets = torch.tensor([0, 1, 0])
    assert Samples(DENSE, targets)[np.array([1])].x.tolist() == [[1, 0, 0]]
    with pytest.raises(TypeError, match=r"a tensor, an array or a CSR matrix\. Got csc"):
        Samples(csc_matrix(DENSE), targets)
    with pytest.raises(TypeError, match="Got list"):
        Samples(DENSE.tolist(), targets)
    with pytest.raises(ValueError, match="3 targets for 2 samples"):
        Samples(csr_matrix(DENSE[:2]), targets)
