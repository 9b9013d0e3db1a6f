"""Logistic regression with columns in units of their own, beside scikit-learn's."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from random_trees import TOKENS, TYPES, VOCABULARY
from scipy.optimize import check_grad
from scipy.sparse import csr_matrix
from scipy.special import log_softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from structnet.estimators import logistic as module
from structnet.estimators.logistic import SOLVER, logistic_regression
from structnet.tensor_tree.counts.form_choice import fit_in_best_form
from structnet.tensor_tree.counts.label_bag import LabelBag
from structnet.trees.examples import TreeExamples
from structnet.trees.forest import Forest
from structnet.trees.tree import Tree

EXACT = {**SOLVER, "maxiter": 20_000, "ftol": 0.0, "gtol": 1e-9}


def rows(classes: int, columns: int, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Logarithms of counts of rare words and of common ones, ``[n, columns]``, and classes."""
    rng = np.random.default_rng(classes)
    y = rng.permutation(np.arange(number) % classes)
    often = np.geomspace(0.005, 20, columns) * np.exp(rng.normal(size=(classes, columns)) / 10)
    return np.log1p(rng.poisson(often[y])), y


def of_scikit_learn(
    x: np.ndarray, y: np.ndarray, count: np.ndarray | None = None, **told: Any
) -> tuple[np.ndarray, float, int]:
    """Its weights and biases, the penalty that they are of here, and its steps."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LogisticRegression(**told).fit(x, y, count)
    w, penalty = np.vstack((model.coef_.T, model.intercept_)), 1 / model.C
    if len(model.classes_) == 2:  # one vector, the other being its negative
        w, penalty = np.hstack((-w, w)) / 2, 2 * penalty
    return w, penalty, int(model.n_iter_[0])


def loss(x: np.ndarray, y: np.ndarray, w: np.ndarray, penalty: float) -> float:
    """By the definition."""
    logs = log_softmax(x @ w[:-1] + w[-1], axis=1)
    return float(penalty / 2 * (w[:-1] ** 2).sum() - logs[np.arange(len(y)), y].sum())


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("classes", [2, 3, 7])
def test_it_is_that_of_scikit_learn(
    monkeypatch: pytest.MonkeyPatch, classes: int, sparse: bool, weighted: bool
) -> None:
    x, y = rows(classes, 20, 120)
    count = np.random.default_rng(0).uniform(0.1, 5, len(y)) if weighted else None
    theirs, penalty, _ = of_scikit_learn(x, y, count, C=2.0, tol=1e-9, max_iter=20_000)
    monkeypatch.setattr(module, "SOLVER", EXACT)
    w = logistic_regression(csr_matrix(x) if sparse else x, y, penalty, count)
    near = {"atol": 1e-4, "rtol": 1e-4}  # where theirs ends is another place on each processor
    np.testing.assert_allclose(w[:-1], theirs[:-1], **near)
    np.testing.assert_allclose(w[-1] - w[-1].mean(), theirs[-1] - theirs[-1].mean(), **near)


@pytest.mark.parametrize("given", [1.0, 30.0])
@pytest.mark.parametrize(("columns", "number"), [(30, 1000), (400, 200), (200, 2000)])
@pytest.mark.parametrize("classes", [2, 12])
def test_it_ends_as_low_as_scikit_learn_in_fewer_steps(
    monkeypatch: pytest.MonkeyPatch, classes: int, columns: int, number: int, given: float
) -> None:
    x, y = rows(classes, columns, number)
    theirs, penalty, steps = of_scikit_learn(x, y, C=given, max_iter=200)
    monkeypatch.setattr(module, "SOLVER", {**SOLVER, "maxiter": int(0.7 * steps)})
    w = logistic_regression(csr_matrix(x), y, penalty)
    assert loss(x, y, w, penalty) <= 1.0001 * loss(x, y, theirs, penalty)


def test_the_slope_is_that_of_the_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = rows(3, 5, 20)
    count, errors = np.random.default_rng(1).uniform(0.5, 2, 20), []

    def probed(fun: Any, begin: np.ndarray, **told: Any) -> Any:
        place = begin + np.linspace(-1, 1, len(begin))
        errors.append(check_grad(lambda v: fun(v)[0], lambda v: fun(v)[1], place))
        return type("Found", (), {"x": begin})

    monkeypatch.setattr(module, "minimize", probed)
    start = np.random.default_rng(0).normal(size=(6, 3))
    np.testing.assert_allclose(logistic_regression(csr_matrix(x), y, 0.3, count, start), start)
    assert max(errors) < 1e-6


@pytest.mark.parametrize("new", [False, True])
def test_a_linear_model_goes_on_from_its_first_fit(
    monkeypatch: pytest.MonkeyPatch, new: bool
) -> None:
    """Unless there is a class that the first had not, whose weights would be far from the start."""
    begun: list[np.ndarray | None] = []

    def recorded(*args: Any) -> np.ndarray:
        begun.append(args[4])
        return logistic_regression(*args)

    monkeypatch.setattr("structnet.tensor_tree.counts.linear_model.logistic_regression", recorded)
    monkeypatch.setattr("structnet.tensor_tree.counts.linear_model.space_of", lambda *_: None)
    trees = [Tree("A", [Tree(TOKENS[i % 3]), Tree(TOKENS[i % 2])]) for i in range(60)]
    sizes = {"num_types": len(TYPES), "num_tokens": len(TOKENS), "num_outputs": 3, "roots": 1}
    y = np.arange(60) % 3
    y[:50] %= 2 if new else 3
    examples = TreeExamples(Forest.from_trees(trees, VOCABULARY), y)
    bag = LabelBag.knowing(examples.forest, **sizes, form="logarithm")
    fit_in_best_form(bag, examples[:50], examples[:50], seed=0)
    assert all(each is None or not each.any() for each in begun)
    first = np.vstack((bag.weight.numpy()[bag.used], bag.bias.numpy()))
    bag.fit_classes(examples)
    if new:
        assert begun[-1] is None
    else:
        np.testing.assert_array_equal(begun[-1], first)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_penalty_of_counts_is_the_usual_one(
    monkeypatch: pytest.MonkeyPatch, classes: int
) -> None:
    monkeypatch.setattr(module, "SOLVER", EXACT)
    rng = np.random.default_rng(classes)
    words = [rng.choice(list(TOKENS), 3).tolist() for _ in range(200)]
    forest = Forest.from_trees([Tree("A", map(Tree, each)) for each in words], VOCABULARY)
    y = rng.permutation(np.arange(200) % classes)
    sizes = {"num_types": len(TYPES), "num_tokens": len(TOKENS), "num_outputs": classes}
    bag = LabelBag.knowing(forest, **sizes, roots=1, form="logarithm")
    bag.fit_classes(TreeExamples(forest, y))
    model = LogisticRegression(C=1, tol=1e-10, max_iter=9999).fit(bag.counts(forest), y)
    found = model.predict_log_proba(bag.counts(forest))
    np.testing.assert_allclose(bag(forest).log_softmax(1).numpy(), found, atol=1e-4)


def test_a_class_whose_share_is_rounded_to_one_is_the_likeliest() -> None:
    x, y = rows(3, 4, 30)
    for many in (1e15, 1e30):
        w = logistic_regression(x, y, 1.0, np.where(np.arange(30) == 0, many, 1.0))
        assert np.isfinite(w).all() and (w[-1] + x[0] @ w[:-1]).argmax() == y[0]
