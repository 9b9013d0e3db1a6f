"""The likeliest classes of a classifier, where its answer is one of several."""

from __future__ import annotations

from typing import Any

import numpy as np

from structnet.checks import check_integer


class LikeliestMixin:
    """A classifier that also tells the likeliest few of its classes."""

    classes_: np.ndarray
    predict_proba: Any  # scikit-learn's

    def predict_top(self, X: Any, k: int = 5) -> tuple[np.ndarray, np.ndarray]:
        """The k likeliest classes of each sample and their probabilities, likeliest first.

        Of equally likely classes, the first in ``classes_`` comes first.

        Args:
            X: samples, as for ``predict``.
            k: number of classes, all if there are fewer.

        Shapes:
            both ``[n, min(k, classes)]``.

        Raises:
            ValueError: k is below 1, or the samples do not fit those of ``fit``.
        """
        check_integer("k", k, 1, owner="predict_top")
        return self._top(X, k)

    def _top(self, X: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
        """As :meth:`predict_top`; a family may find the likeliest without all others."""
        return top_of(self.predict_proba(X), self.classes_, k)


def top_of(prob: np.ndarray, classes: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k likeliest classes of each row of probabilities, and these, likeliest first.

    Shapes:
        prob ``[n, classes]`` -> both ``[n, min(k, classes)]``.

    Example:
        >>> top_of(np.array([[0.2, 0.5, 0.3]]), np.array(["a", "b", "c"]), 2)
        (array([['b', 'c']], dtype='<U1'), array([[0.5, 0.3]]))
    """
    places = np.argsort(-prob, axis=1, kind="stable")[:, :k]
    return classes[places], np.take_along_axis(prob, places, axis=1)
