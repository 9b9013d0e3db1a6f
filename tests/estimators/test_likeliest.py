from typing import Any

import numpy as np
import pytest

from structnet import TreeLSTMNodeClassifier
from structnet.estimators.likeliest import LikeliestMixin


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


def test_each_node_has_likeliest_classes() -> None:
    X, y = ["(+ 1 0)", "(+ 0 0)"], [["odd", "odd", "even"], ["even", "even", "even"]]
    model = TreeLSTMNodeClassifier(hidden_size=4, epochs=3, random_state=0).fit(X * 9, y * 9)
    for k in (1, 5):
        for (names, prob), every in zip(
            model.predict_top(X, k), model.predict_proba(X), strict=True
        ):
            assert names.shape == prob.shape == (3, min(k, 2))
            np.testing.assert_array_equal(prob, -np.sort(-every)[:, :k])
            places = np.searchsorted(model.classes_, names)
            np.testing.assert_array_equal(np.take_along_axis(every, places, axis=1), prob)
    with pytest.raises(ValueError, match="'k' parameter of predict_top must be an int in the ran"):
        model.predict_top(X, 0)
