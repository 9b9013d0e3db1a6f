"""Neural trees as scikit-learn estimators: how they are trained, and what they predict."""

from __future__ import annotations

import copy
import inspect
import pickle
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from small_estimators import NARROW, SMALL, classifier, held_out, regressor, weights_of
from torch import nn

from structnet.neural_tree import Growth, NeuralTreeSettings, Primitives, presets, refine
from structnet.neural_tree.estimator import NeuralTreeClassifier, NeuralTreeRegressor
from structnet.training.history import History
from structnet.training.progress import Progress

# ---- prediction


@pytest.mark.parametrize("columns", [(), (1,), (2,)])
@pytest.mark.parametrize("loss", ["squared_error", "gaussian"])
def test_predictions_have_the_shape_and_the_units_of_the_targets(
    columns: tuple, loss: str, lines: tuple
) -> None:
    X, y = lines
    y = y[:, : columns[0]] if columns else y[:, 0]
    model = regressor(loss=loss).set_params(epochs=40).fit(X, y)
    assert model.predict(X).shape == y.shape
    assert model.score(X, y) > 0.7
    assert model.tree_.num_outputs == y.reshape(150, -1).shape[1] * (1 + (loss == "gaussian"))


def test_the_unit_of_the_targets_does_not_matter(lines: tuple) -> None:
    X, y = lines
    first, second = (regressor().fit(X, y[:, 0] * unit).predict(X) for unit in (1, 1024))
    np.testing.assert_array_equal(first * 1024, second)


def test_targets_that_are_not_standardized_stay_as_they_are(lines: tuple) -> None:
    X, y = lines
    model = regressor(standardize=False).fit(X, y[:, 1])
    (member,) = model.members_
    assert member.inputs is member.targets is None
    with torch.no_grad():
        own = model.tree_.double().output(torch.from_numpy(X))
    np.testing.assert_allclose(model.predict(X), own[:, 0].numpy())


@pytest.mark.parametrize("path", ["greedy", "stochastic", "most_likely", "least_likely"])
def test_another_path(path: str, fitted: NeuralTreeClassifier, blobs: tuple) -> None:
    X, _ = blobs
    model = copy.copy(fitted).set_params(path=path)
    again = model.predict_proba(X)
    np.testing.assert_array_equal(model.predict_proba(X), again)
    tree = copy.deepcopy(model.tree_).double()
    x = torch.from_numpy(model.members_[0].inputs(X))
    with torch.no_grad():
        if path == "stochastic":  # each sample's prediction is that of one of the leaves
            of_leaves = tree(x).outputs.softmax(-1).numpy()
            assert np.abs(of_leaves - again[:, None]).max(2).min(1).max() < 1e-9
        else:
            np.testing.assert_allclose(again, tree.output(x, path).exp().numpy())


def test_single_precision_is_close(fitted: NeuralTreeClassifier, blobs: tuple) -> None:
    X, _ = blobs
    single, double = (fitted.predict_proba(X.astype(dtype)) for dtype in ("f4", "f8"))
    np.testing.assert_allclose(single, double, atol=1e-4)


# ---- seeds and weights


@pytest.mark.parametrize("model", [classifier, regressor])
def test_weights_say_who_is_right(model: partial) -> None:
    X, y = np.zeros((200, 1)), np.arange(200) % 2
    heavy = model(max_depth=0, transformers=False, standardize=False).set_params(epochs=60)
    heavy.fit(X, y, sample_weight=np.where(y == 1, 9, 1))
    found = heavy.predict_proba(X[:1])[0, 1] if model is classifier else heavy.predict(X[:1])[0]
    assert found == pytest.approx(0.9, abs=0.03)


def test_standardization_sees_the_samples_to_learn_from_alone(lines: tuple) -> None:
    X, y = lines
    model = regressor(max_depth=0).fit(X, y, X_val=X[:9] + 1e3, y_val=y[:9] - 1e3)
    np.testing.assert_allclose(model.members_[0].inputs.mean, X.mean(0))
    np.testing.assert_allclose(model.members_[0].targets.sd, y.std(0))
    own = regressor(max_depth=0, validation_fraction=0.5).fit(X, y)
    assert not np.allclose(own.members_[0].inputs.mean, X.mean(0))


def test_the_users_validation_set_decides(blobs: tuple) -> None:
    X, y = blobs
    swapped = np.array(["b", "c", "a"])[np.searchsorted(["a", "b", "c"], y)]
    honest, misled = (
        classifier(max_depth=0).fit(X, y, X_val=X, y_val=labels, sample_weight_val=np.ones(120))
        for labels in (y, swapped)
    )
    losses = [model.trained_.decisions[0].loss for model in (honest, misled)]
    assert losses[0] < 0.5 < losses[1]
    root = [r["validation_loss"] for r in misled.history_ if r["phase"] == "root"]
    assert min(root) > losses[1]  # it gets worse by learning


def test_targets_too_large_for_the_precision_of_the_inputs(lines: tuple) -> None:
    X, y = lines
    model = regressor(max_depth=0).set_params(epochs=40).fit(X, y[:, 0] * 1e200)
    double, single = (model.predict(X.astype(dtype)) for dtype in ("f8", "f4"))
    assert np.corrcoef(double / 1e200, y[:, 0])[0, 1] > 0.9
    np.testing.assert_allclose(single, double, rtol=1e-4)


# ---- what it is made of


@pytest.mark.parametrize(
    "chosen", ["sarcos", presets.mlp, presets.mlp(3, width=4)], ids=["name", "function", "object"]
)
def test_ways_to_say_what_a_tree_is_made_of(chosen: Any, blobs: tuple) -> None:
    model = NeuralTreeClassifier(chosen, **SMALL, max_depth=0).fit(*blobs)
    width = 4 if isinstance(chosen, Primitives) else 128
    assert model.tree_.nodes[0].transformers[0][0].out_features == width
    assert model.get_params()["primitives"] is chosen


def test_trees_without_routers_or_transformers(blobs: tuple) -> None:
    chain = classifier(routers=False).fit(*blobs)
    assert chain.get_n_leaves() == 1
    plain = classifier(transformers=False).fit(*blobs)
    assert plain.get_n_leaves() > 1
    assert not any(len(node.transformers) for node in plain.tree_.nodes)


def test_images_get_convolutions() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 1, 8, 8)).astype(np.float32)
    X[y == 1, :, 2:5, 2:5] += 2
    model = NeuralTreeClassifier(**SMALL, max_depth=1).fit(X, y)
    assert any(isinstance(module, nn.Conv2d) for module in model.tree_.modules())
    assert model.score(X, y) > 0.9
    assert (model.n_features_in_, model.sample_shape_) == (1, (1, 8, 8))
    for wrong in (X[:, :, :7], X.reshape(60, 64), X.reshape(60, 8, 8), np.repeat(X, 2, axis=1)):
        shape = str(list(wrong.shape[1:]))
        with pytest.raises(ValueError) as raised:
            model.predict(wrong)
        assert shape in str(raised.value) and "[1, 8, 8]" in str(raised.value)
    np.testing.assert_array_equal(model.predict(X.tolist()), model.predict(X))
    assert model.explain(X[5]) == model.explain(X[5:6])
    assert model.explain(X[5]).leaf == model.apply(X[5:6])[0]
    X[7, 0, 3, 4] = np.inf
    with pytest.raises(ValueError, match="infinity: 1 value, in sample 7, channel 0, row 3, colu"):
        model.predict(X)


# ---- how it is trained


def test_pruning_leaves_no_branch_with_few_samples(blobs: tuple) -> None:
    X, y = blobs
    whole, pruned = (classifier(prune=share, path="greedy").fit(X, y) for share in (None, 0.9))
    assert pruned.get_n_leaves() == 1 < whole.get_n_leaves()


def test_records_of_the_training(fitted: NeuralTreeClassifier) -> None:
    phases = list(dict.fromkeys(fitted.history_["phase"]))
    assert phases == ["root", "split", "refine", "finish"]
    assert [fitted.history_["phase"].count(phase) for phase in phases[2:]] == [2, 1]
    growth = fitted.trained_
    assert growth.history is fitted.history_ and len(growth.growth) == len(fitted.history_) - 3
    assert growth.decisions[0].action == "root"
    assert growth.decisions[-1].leaves == fitted.get_n_leaves()


def test_every_parameter_reaches_the_training(
    blobs: tuple, monkeypatch: pytest.MonkeyPatch
) -> None:
    grown, refined = {}, {}

    class Spy(Growth):
        def __init__(self, *given: Any, **options: Any):
            grown.update(options, settings=given[-1])
            super().__init__(*given, **options)

    def spy(*samples: Any, **options: Any) -> History:
        refined.update(options)
        return refine(*samples, **options)

    monkeypatch.setattr("structnet.neural_tree.training.Growth", Spy)
    monkeypatch.setattr("structnet.neural_tree.training.refine", spy)
    limits = {
        "max_depth": 1,
        "max_leaves": 2,
        "max_transformers": 4,
        "min_gain": 0.5,
    }
    model = NeuralTreeClassifier(NARROW, **limits, epochs=6, patience=7, refine_epochs=8)
    model.set_params(batch_size=9, learning_rate=0.01, warm_start_solvers=True).fit(*blobs)
    others = {"epochs": 6, "patience": 7, "refine_epochs": 8, "batch_size": 9}
    others |= {"learning_rate": 0.01, "warm_start_solvers": True, "seed": grown["settings"].seed}
    assert grown["settings"] == NeuralTreeSettings(**limits, **others)
    assert (refined["epochs"], refined["batch_size"], refined["seed"]) == (8, 9, others["seed"])
    [group] = refined["optimizer"](model.tree_.parameters()).param_groups
    assert (group["lr"], group["fused"], group["weight_decay"]) == (0.01, True, 0)
    for options in (grown, refined):
        assert (options["device"], Progress.of(options["progress"]).shown) == ("cpu", False)


@pytest.mark.parametrize("weights", [None, np.arange(120) % 3 + 1.0])
def test_a_classifier_keeps_its_most_accurate_epoch(
    weights: np.ndarray | None, blobs: tuple, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = blobs
    y = np.where(np.arange(120) % 4, y, "a")  # not to be learnt by heart
    model = classifier(max_depth=0, transformers=False).set_params(epochs=1, learning_rate=0.5)
    model.set_params(refine_epochs=9).fit(X, y, weights, **held_out((X, y, weights)))
    records = [record for record in model.history_ if record["phase"] == "refine"]
    scores = [record["validation_accuracy"] for record in records]
    losses = [record["validation_loss"] for record in records]
    assert np.argmax(scores) != np.argmin(losses)
    assert model.score(X, y, weights) == pytest.approx(max(scores))


def test_a_regressor_keeps_the_epoch_of_its_lowest_loss(lines: tuple) -> None:
    model = regressor(max_depth=0).fit(*lines)
    assert "validation_accuracy" not in model.history_[-1]


def test_no_refinement(blobs: tuple) -> None:
    model = classifier(max_depth=0).set_params(refine_epochs=0).fit(*blobs)
    assert set(model.history_["phase"]) <= {"root", "deepen"}


# ---- among scikit-learn's own


class Frame:
    """Numbers whose columns have names, as data frames do."""

    def __init__(self, values: np.ndarray, columns: list):
        self.values, self.columns, self.shape = values, columns, values.shape

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.array(self.values, dtype=dtype)


@pytest.mark.parametrize(
    ("columns", "expected"), [(["pull", "lift"], ("pull", "lift")), ([0, 1], None)]
)
def test_targets_with_names_are_read_by_them(
    columns: list, expected: tuple | None, lines: tuple, tmp_path: Path
) -> None:
    X, y = lines
    both = Frame(y, columns)
    model = regressor(max_depth=0).set_params(epochs=1, refine_epochs=0).fit(X, both)
    model.save(tmp_path / "model.safetensors")
    for each in (model, NeuralTreeRegressor.load(tmp_path / "model.safetensors")):
        assert each.read(X, both).target_names == expected
    assert model.fit(X, y).read(X, y).target_names is None


def test_the_data_are_forgotten() -> None:
    X = np.random.default_rng(0).normal(size=(2000, 60))
    model = classifier(max_depth=0).set_params(epochs=1).fit(X, X[:, 0] > 0)
    assert len(pickle.dumps(model)) < X.size / 4  # not even one byte a number


def test_both_have_the_same_parameters_and_defaults() -> None:
    one, other = NeuralTreeClassifier().get_params(), NeuralTreeRegressor().get_params()
    assert other == one
    changed = {name: object() for name in other}
    assert NeuralTreeRegressor(**changed).get_params(deep=False) == changed


def test_the_defaults_are_those_of_the_settings() -> None:
    signature = inspect.signature(NeuralTreeClassifier).parameters
    for field in fields(NeuralTreeSettings):
        if field.name != "seed":  # random_state here
            assert signature[field.name].default == field.default, field.name
            assert signature[field.name].annotation == field.type, field.name


def test_the_settings_of_the_training_are_kept(blobs: tuple, tmp_path: Path) -> None:
    model = classifier(max_depth=1, n_members=2, random_state=3).fit(*blobs)
    told = {field.name: getattr(model, field.name, None) for field in fields(NeuralTreeSettings)}
    seed = model.settings_.seed
    assert model.settings_ == NeuralTreeSettings(**told | {"seed": seed})
    assert clone(model).fit(*blobs).settings_ == model.settings_
    assert clone(model).set_params(random_state=4).fit(*blobs).settings_.seed != seed
    model.set_params(max_depth=5).save(tmp_path / "model.safetensors")
    loaded = NeuralTreeClassifier.load(tmp_path / "model.safetensors")
    assert loaded.settings_ == model.settings_ and loaded.settings_.max_depth == 1


def test_the_loss_is_by_default_the_tasks_own(lines: tuple) -> None:
    X, y = lines
    short = {"max_depth": 0, "transformers": False}
    own, named, other = (
        weights_of(regressor(loss=loss, **short).fit(X, y))
        for loss in (None, "squared_error", "gaussian")
    )
    assert torch.equal(own, named) and own.shape != other.shape


def test_in_pipelines_and_searches(blobs: tuple) -> None:
    X, y = blobs
    model = classifier(max_depth=0).set_params(refine_epochs=0)
    steps = make_pipeline(StandardScaler(), model)
    assert cross_val_score(steps, X, y, cv=2).mean() > 0.9
    search = GridSearchCV(steps, {"neuraltreeclassifier__learning_rate": [1e-9, 0.1]}, cv=2)
    assert search.fit(X, y).best_params_ == {"neuraltreeclassifier__learning_rate": 0.1}


# ---- bad parameters
