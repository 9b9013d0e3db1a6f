"""scikit-learn's own checks, of all estimators of the library."""

from __future__ import annotations

from inspect import Parameter, signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from expressions import data
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from structnet import (
    LabelTreeLanguageModel,
    RoutedLanguageModel,
    TreeLSTMClassifier,
    TreeLSTMNodeClassifier,
    TreeLSTMRegressor,
)
from structnet.estimators.next_words import NextWordEstimator
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
TOLD = {"leaf_penalty": 0.1, "start": "centroids", "max_iter": 3, "solver_steps": 10}
ESTIMATORS = [
    NeuralTreeClassifier(**SMALL),
    NeuralTreeRegressor(**SMALL),
    SoftmaxTreeClassifier(**TOLD, depth=1, k=2),
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


# ---- parameters that are numbers of numpy, as a grid has them

ANY = {"random_state": 0, "verbose": False}
HELD = ANY | {"epochs": 1, "patience": 1, "batch_size": 8, "learning_rate": 0.01}
HELD |= {"validation_fraction": 0.3}
OF_TREES = {"hidden_size": 3, "min_count": 1, "dropout": 0.1, "label_dropout": 0.1, "bag": True}
OF_TREES |= HELD | {"weight_decay": 0.1, "train_vectors": True, "words": True, "numbers": True}
GROWN = HELD | {"refine_epochs": 1, "stop_refinement": True, "weight_decay": 0.1, "n_init": 1}
GROWN |= {"max_depth": 2, "max_leaves": 2, "max_parameters": 1000, "max_transformers": 1}
GROWN |= {"min_gain": 0.01, "gain_errors": 2.0, "min_samples": 2.0, "prune": 0.01, "lookahead": 2}
GROWN |= {"cache_bytes": 1e6, "n_members": 2, "standardize": True, "warm_start": False}
GROWN |= dict.fromkeys(("routers", "transformers", "prefer_split", "balance_routers"), True)
SOFT = ANY | {"decision_penalty": 0.1, "leaf_penalty": 0.1, "missing_loss": 2.0, "tol": 0.01}
SOFT |= {"max_iter": 1, "solver_steps": 2, "n_jobs": 1, "standardize": True}
ADAPTED = {"alpha": 0.9, "rho": 0.9, "start_k": 1, "step": 1, "max_depth": 2, "max_leaves": 4}
ADAPTED |= {"start_depth": 1, "max_rounds": 1, "min_samples": 5, "validation_fraction": 0.3}
LABELS = ANY | {"arity": 2, "embedding_size": 2, "epochs": 1, "learning_rate": 0.1, "rebuilds": 1}
LABELS |= {"prior_weight": 1.0, "max_depth": 3, "memory": 0.5, "n_jobs": 1, "standardize": True}
WORDS = HELD | {"max_cone": 2, "vector_size": 3, "min_count": 1, "max_words": 9, "max_length": 9}
WORDS |= {"clip_norm": 1.0, "lazy": True, "balance": 0.1, "gate_noise": 0.1}
PASTS = ANY | {"context": 2, "vector_size": 3, "arity": 2, "max_depth": 4, "ngrams": True}
PASTS |= {"min_count": 1, "max_words": 9, "epochs": 1, "batch_size": 8, "learning_rate": 0.01}
PASTS |= {"rebuilds": 2, "prior_weight": 2.0, "memory": 0.5, "dropout": 0.1}
PASTS |= {"validation_fraction": 0.3}
TREES, CLASSES = data(40)
ROWS = np.random.default_rng(0).normal(size=(40, 3))
NODES = [[node.label for node in tree.preorder()] for tree in TREES]
TEXT = ["the cat sees the dog .", "the dog sees the cat ."] * 10
OF_NUMPY = [
    (TreeLSTMClassifier(), OF_TREES, TREES, CLASSES),
    (TreeLSTMClassifier(cell="tucker"), HELD | {"rank": 2, "hidden_size": 3}, TREES, CLASSES),
    (TreeLSTMRegressor(), OF_TREES, TREES, ROWS[:, 0]),
    (TreeLSTMNodeClassifier(), OF_TREES | {"context": True}, TREES, NODES),
    (NeuralTreeClassifier(), GROWN, ROWS, CLASSES),
    (NeuralTreeRegressor(), GROWN, ROWS, ROWS[:, 0]),
    (SoftmaxTreeClassifier(start="random"), SOFT | {"depth": 1, "k": 2}, ROWS, CLASSES),
    (AdaptiveSoftmaxTreeClassifier(start="random"), SOFT | ADAPTED, ROWS, CLASSES),
    (LabelTreeClassifier(start="huffman"), LABELS, ROWS, CLASSES),
    (RoutedLanguageModel(sizes=(1, 2, 1), dims=(4,)), WORDS, TEXT, None),
    (LabelTreeLanguageModel(), PASTS, TEXT, None),
]


def of_numpy(value: bool | int | float) -> np.generic:
    return np.array(value)[()]


@pytest.mark.parametrize(("estimator", "given", "X", "y"), OF_NUMPY)
def test_parameters_may_be_numbers_of_numpy(
    estimator: Any, given: dict, X: Any, y: Any, tmp_path: Path
) -> None:
    given = {name: of_numpy(value) for name, value in given.items()}
    model = clone(estimator).set_params(**given).fit(X, y)
    model.save(tmp_path / "model")
    assert len(type(estimator).load(tmp_path / "model").predict(X)) == len(X)


# ---- the same names in all families

OF_ALL = "fit predict score summary history_ save load"
OF_CLASSES = "predict_proba predict_log_proba predict_top"
OF_MODEL_TREES = "tree_ explain plot export_text read samples apply decision_path to_networkx"
OF_TREES = "model_ explain settings_"
FAMILIES = {
    NeuralTreeClassifier: f"{OF_CLASSES} {OF_MODEL_TREES} trained_",
    NeuralTreeRegressor: f"{OF_MODEL_TREES} trained_",
    SoftmaxTreeClassifier: f"{OF_CLASSES} {OF_MODEL_TREES} settings_ measure",
    AdaptiveSoftmaxTreeClassifier: f"{OF_CLASSES} {OF_MODEL_TREES} settings_ measure",
    LabelTreeClassifier: f"{OF_CLASSES} explain plot export_text read samples apply",
    TreeLSTMClassifier: f"{OF_CLASSES} {OF_TREES}",
    TreeLSTMRegressor: OF_TREES,
    TreeLSTMNodeClassifier: OF_TREES,
    RoutedLanguageModel: f"{OF_CLASSES} measure",
    LabelTreeLanguageModel: f"{OF_CLASSES} measure",
}


@pytest.mark.parametrize("kind", FAMILIES, ids=lambda kind: kind.__name__)
def test_what_a_user_of_another_family_expects(kind: type) -> None:
    names = f"{OF_ALL} {FAMILIES[kind]}".split()
    set_by_fit = {"history_"} if issubclass(kind, NextWordEstimator) else set()
    assert [name for name in names if not hasattr(kind, name) and name not in set_by_fit] == []
    parameters = signature(kind.fit).parameters
    assert "X_val" in parameters and parameters["X_val"].kind is Parameter.KEYWORD_ONLY
    with pytest.raises(NotFittedError):
        kind().summary()
