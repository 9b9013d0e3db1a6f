from typing import Any

import numpy as np
import pytest

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
