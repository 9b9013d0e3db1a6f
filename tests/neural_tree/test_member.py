"""The copies of a trained tree that an estimator predicts with."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from structnet.neural_tree import NeuralTreeClassifier, member

X = np.random.default_rng(0).normal(size=(120, 2))
Y = (X[:, 0] * X[:, 1] > 0).astype(int)


@pytest.fixture
def model() -> NeuralTreeClassifier:
    short: dict[str, Any] = {"epochs": 3, "refine_epochs": 2, "max_leaves": 2}
    return NeuralTreeClassifier(random_state=0, **short).fit(X, Y)


def test_a_tree_is_copied_once_for_each_precision(
    model: NeuralTreeClassifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, deepcopy = list[Any](), copy.deepcopy

    def noted(tree: Any) -> Any:
        made.append(tree)
        return deepcopy(tree)

    monkeypatch.setattr(member.copy, "deepcopy", noted)
    first = [model.predict_proba(X.astype(kind)) for kind in (np.float64, np.float32)]
    again = [model.predict_proba(X.astype(kind)) for kind in (np.float64, np.float32)]
    assert len(made) == 2
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("how", ["in place", "through data", "another tensor"])
def test_weights_that_have_changed_count(model: NeuralTreeClassifier, how: str) -> None:
    before = model.predict_proba(X)
    solver: Any = model.tree_.nodes[int(model.tree_.topology.leaves[0])].solver
    with torch.no_grad():
        if how == "in place":
            solver.weight.mul_(-3)
        elif how == "through data":
            solver.weight.data *= -3
        else:
            solver.weight = nn.Parameter(-3 * solver.weight)
    after = model.predict_proba(X)
    assert np.abs(after - before).max() > 0.01
    again = pickle.loads(pickle.dumps(model))
    assert not again.members_[0]._copies
    np.testing.assert_array_equal(again.predict_proba(X), after)


def test_modes_stay_as_they_are(model: NeuralTreeClassifier) -> None:
    tree = model.tree_.train()
    frozen: Any = tree.nodes[0].end
    frozen.eval()
    model.predict(X)
    modes = [module.training for module in tree.modules()]
    assert not frozen.training and sum(modes) == len(modes) - 1


def test_a_model_predicts_after_it_was_asked_in_inference_mode(model: NeuralTreeClassifier) -> None:
    with torch.inference_mode():
        first = model.predict_proba(X)
    np.testing.assert_array_equal(model.predict_proba(X), first)


def test_copies_do_not_go_into_the_pickle_of_a_member(model: NeuralTreeClassifier) -> None:
    before = len(pickle.dumps(model.members_[0]))
    model.predict_proba(X)
    assert len(pickle.dumps(model.members_[0])) == before
