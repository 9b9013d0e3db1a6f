"""scikit-learn's own checks, of all estimators of the library."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from structnet.label_tree import LabelTreeClassifier
from structnet.neural_tree.estimator import NeuralTreeClassifier, NeuralTreeRegressor
from structnet.softmax_tree import AdaptiveSoftmaxTreeClassifier, SoftmaxTreeClassifier
from structnet.softmax_tree.estimator_base import SoftmaxTreeEstimator

# Enough to learn the checks' toy data, and no more.
SMALL = {
    "epochs": 6,
    "refine_epochs": 1,
    "max_leaves": 2,
    "max_transformers": 1,
    "batch_size": 32,
    "learning_rate": 0.05,
}
REPEATED = (
    "a repeated sample is met more often in an epoch, in other batches, and may stand on both "
    "sides of the validation split"
)
FAILING = {
    f"check_sample_weight_equivalence_on_{kind}_data": REPEATED for kind in ("dense", "sparse")
}
EARLY = "the solver stops before its sums are equal to the last digits, however rows are counted"

# What is chosen by held-out samples takes longer; its own tests leave it open.
TOLD = {"leaf_penalty": 0.1, "start": "clusters", "max_iter": 3, "solver_steps": 10}
ESTIMATORS = [
    NeuralTreeClassifier(**SMALL),
    NeuralTreeRegressor(**SMALL),
    SoftmaxTreeClassifier(**TOLD, depth=1, max_leaf_classes=2),
    AdaptiveSoftmaxTreeClassifier(**TOLD, start_depth=1, max_rounds=1),
    LabelTreeClassifier(epochs=30),
]


def failing(estimator: Any) -> dict[str, str]:
    """The checks that an estimator cannot pass, and why."""
    if not isinstance(estimator, SoftmaxTreeEstimator):
        return FAILING
    return dict.fromkeys(FAILING, EARLY)


CHECKS = parametrize_with_checks(ESTIMATORS, expected_failed_checks=failing)


# A list, as pytest wants it: older releases of scikit-learn give a generator.
@pytest.mark.parametrize(CHECKS.args[0], list(CHECKS.args[1]), **CHECKS.kwargs)
def test_scikit_learn_check(estimator: Any, check: Any) -> None:
    check(estimator)
