from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from small_estimators import classifier

from structnet import TreeLSTMClassifier
from structnet.estimators.likeliest import LikeliestMixin

TREES = ["(a b)", "(a c)", "(a d)", "(a e)"] * 10


class Told(LikeliestMixin):
    """Says what it is asked."""

    classes_ = np.array(["ant", "bee", "cow"])

    def predict_proba(self, X: Any) -> np.ndarray:
        return np.array(X)


def test_the_likeliest_come_first_and_of_equals_the_first() -> None:
    names, prob = Told().predict_top([[0.2, 0.5, 0.3], [0.4, 0.2, 0.4]], k=2)
    assert names.tolist() == [["bee", "cow"], ["ant", "cow"]]
    assert prob.tolist() == [[0.5, 0.3], [0.4, 0.4]]
    assert Told().predict_top([[0.2, 0.5, 0.3]])[0].tolist() == [["bee", "cow", "ant"]]
    with pytest.raises(ValueError, match="'k' parameter of predict_top must be an int in the ran"):
        Told().predict_top([[0.2, 0.5, 0.3]], k=0)


def test_estimators_of_trees_and_tables_have_it() -> None:
    X, y = np.repeat(np.eye(3), 20, axis=0), np.repeat(["x", "y", "z"], 20)
    for model, samples, labels in (
        (classifier(), X, y),
        (TreeLSTMClassifier(epochs=1, random_state=0), TREES, list("pqrs") * 10),
    ):
        with pytest.raises(NotFittedError):
            model.predict_top(samples)
        model.fit(samples, labels)
        names, prob = model.predict_top(samples, k=2)
        assert (names[:, 0] == model.predict(samples)).all() and (names[:, 0] != names[:, 1]).all()
        np.testing.assert_array_equal(prob[:, 0], model.predict_proba(samples).max(1))
