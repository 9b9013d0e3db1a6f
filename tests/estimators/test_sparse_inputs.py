"""Sparse samples through the checks of estimators: taken as CSR by those that say they take it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import coo_matrix, csc_matrix, csr_array, csr_matrix
from sklearn.base import BaseEstimator
from small_estimators import X4, Y4, classifier

from structnet.estimators.checked import Checked
from structnet.estimators.inputs import check_inputs, check_sample, check_training
from structnet.routing import Samples
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
    found = check_training(taker, given, Y, [1, 0, 2], reset=True)
    assert found.x.format == "csr" and found.x.toarray().tolist() == DENSE[[0, 2]].tolist()
    assert (taker.n_features_in_, taker.sample_shape_) == (3, (3,))
    assert check_inputs(taker, given).toarray().tolist() == DENSE.tolist()
    assert check_inputs(taker, DENSE) is not None  # a dense one may follow
    row = check_sample(taker, csr_matrix(DENSE)[1])
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
        check_sample(taker, csr_matrix(DENSE))


def test_those_that_take_none_say_so() -> None:
    with pytest.raises(TypeError, match="Sparse data was passed"):
        classifier().fit(csr_matrix(X4), Y4)


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
    digests = {Checked(csr_matrix(x), Y, None).digest() for x in (DENSE, DENSE.copy(), other)}
    assert len(digests) == 2


def test_inputs_that_a_model_does_not_take() -> None:
    targets = torch.tensor([0, 1, 0])
    assert Samples(DENSE, targets)[np.array([1])].x.tolist() == [[1, 0, 0]]
    with pytest.raises(TypeError, match=r"a tensor, an array or a CSR matrix\. Got csc"):
        Samples(csc_matrix(DENSE), targets)
    with pytest.raises(TypeError, match="Got list"):
        Samples(DENSE.tolist(), targets)
    with pytest.raises(ValueError, match="3 targets for 2 samples"):
        Samples(csr_matrix(DENSE[:2]), targets)
