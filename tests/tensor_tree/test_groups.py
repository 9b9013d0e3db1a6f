"""Samples in groups, such as files: what is held out by whole groups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.model_selection import GroupKFold
from small_estimators import held_out

from structnet import Tree, TreeLSTMClassifier, TreeLSTMNodeClassifier, TreeLSTMRegressor
from structnet.tensor_tree import estimator as module
from structnet.tensor_tree.counts import label_bag, ridge
from structnet.tensor_tree.samples import numbered
from structnet.tensor_tree.targets import Targets

TOLD: dict[str, Any] = {"epochs": 1, "hidden_size": 4, "random_state": 0}
NAMES = [f"{i // 6}.py" for i in range(60)]


def data(kind: type) -> tuple[list[str], Any]:
    rng = np.random.default_rng(0)
    X = [f"(f {' '.join(rng.choice(list('abcd'), 3))})" for _ in range(60)]
    count = np.array([text.count("a") for text in X])
    if kind is TreeLSTMNodeClassifier:
        return X, [[None, *(text[i] == "a" for i in (3, 5, 7))] for text in X]
    return X, count > 0 if kind is TreeLSTMClassifier else count.astype(float)


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Targets, Targets]]:
    """What is learnt from, and what is held out, at each training."""
    found, train = [], module.train

    def recorded(settings: Any, question: Any, learn: Targets, held: Targets, **told: Any) -> Any:
        found.append((learn, held))
        return train(settings, question, learn, held, **told)

    monkeypatch.setattr(module, "train", recorded)
    return found


@pytest.mark.parametrize("kind", [TreeLSTMClassifier, TreeLSTMRegressor, TreeLSTMNodeClassifier])
def test_no_group_is_both_learnt_from_and_chosen_by(kind: type, parts: list) -> None:
    X, y = data(kind)
    kind(**TOLD, bag=kind is TreeLSTMRegressor).fit(X, y, groups=NAMES)
    ((learn, held),) = parts
    of = {f"(f {' '.join(str(leaf.label) for leaf in tree.leaves())})" for tree in learn.trees}
    assert of <= set(X) and len(learn.samples) + len(held.samples) == 60
    assert not set(learn.groups) & set(held.groups)
    assert np.bincount(np.concatenate((learn.groups, held.groups))).tolist() == [6] * 10


def test_a_sample_of_weight_zero_takes_its_group_along(parts: list) -> None:
    X, y = data(TreeLSTMRegressor)
    weight = np.arange(60) % 6 > 0
    TreeLSTMRegressor(**TOLD).fit(X, y, sample_weight=weight, groups=np.array(NAMES))
    ((learn, held),) = parts
    assert np.bincount(np.concatenate((learn.groups, held.groups))).tolist() == [5] * 10


def test_folds_of_the_linear_model_part_no_group(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    class Recorded(GroupKFold):
        def split(self, X: Any, y: Any = None, groups: Any = None) -> Any:
            for learn, held in super().split(X, y, groups):
                asked.append((set(groups[learn]), set(groups[held])))
                yield learn, held

    monkeypatch.setattr(ridge, "GroupKFold", Recorded)
    X, y = data(TreeLSTMRegressor)
    TreeLSTMRegressor(**TOLD).fit(X, y, groups=NAMES)
    assert len(asked) == 5
    assert not any(learn & held for learn, held in asked)
    assert len(set.union(*(held for _, held in asked))) == 9  # a tenth was held out of all folds
    TreeLSTMRegressor(**TOLD).fit(X, y, X_val=X, y_val=y, groups=["one"] * 60)
    assert len(asked) == 5


@pytest.mark.parametrize("kind", [list, np.array, torch.tensor])
def test_groups_are_numbered_as_they_come(kind: Any) -> None:
    assert numbered(kind([7, 3, 7]), 3).tolist() == [0, 1, 0]


def test_words_are_asked_by_folds_that_part_no_group(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    fit = label_bag.LabelBag.fit_numbers

    def noted(self: Any, *given: Any, **told: Any) -> Any:
        asked.append(told.get("groups", given[-1]))
        return fit(self, *given, **told)

    monkeypatch.setattr(label_bag.LabelBag, "fit_numbers", noted)
    texts = [Tree("f", [Tree(f"some words of {i}"), Tree("x")]) for i in range(60)]
    TreeLSTMRegressor(**TOLD).fit(texts, np.arange(60.0), groups=NAMES)
    assert len(asked) == 5  # words are asked twice, as the tree is also trained alone
    assert all(len(np.unique(groups)) > 5 for groups in asked)


def test_the_held_out_accuracy_is_that_of_other_groups() -> None:
    """A file's own word tells the class of all that stands in it, and nothing of other files."""
    rng = np.random.default_rng(0)
    files = np.arange(600) // 20
    y = files % 2
    told = np.where(rng.random(600) < 0.8, y, 1 - y)
    own = [f"{a}{b}" for a in "pqrst" for b in "uvwxyz"]
    X = [f"(f {own[file]} {'ab'[says]})" for file, says in zip(files, told, strict=True)]
    asked = TOLD | {"epochs": 10, "hidden_size": 8, "label_dropout": 0.0}
    model = TreeLSTMClassifier(**asked).fit(X, y)
    assert model.history_.best["validation_accuracy"] > 0.95
    model.fit(X, y, groups=files)
    assert 0.65 < model.history_.best["validation_accuracy"] < 0.9


@pytest.mark.parametrize(
    "groups",
    [["a"] * 59, "a" * 60, 3, np.array(3), [None] * 60, [float("nan")] * 60, [["a"]] * 60],
)
def test_groups_that_are_none_are_refused(groups: Any) -> None:
    X, y = data(TreeLSTMClassifier)
    with pytest.raises(ValueError, match=r"groups must (be a list|.* sample)"):
        TreeLSTMClassifier(**TOLD).fit(X, y, groups=groups)


def test_a_training_with_other_groups_is_another(tmp_path: Path) -> None:
    X, y = data(TreeLSTMRegressor)
    model = TreeLSTMRegressor(**TOLD, folder=tmp_path)
    held = (X[:6], y[:6])
    model.fit(X, y, groups=NAMES, **held_out(held)).fit(X, y, groups=NAMES, **held_out(held))
    with pytest.raises(Exception, match=r"data"):
        model.fit(X, y, groups=np.arange(60) % 10, **held_out(held))
