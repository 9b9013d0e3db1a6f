"""A fitted estimator on disk, and the folder of one that is interrupted."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.model_selection import cross_val_score
from small_estimators import NARROW, SMALL, X4, classifier, weights_of
from torch import nn

from structnet import TreeLSTMClassifier
from structnet.estimators import file
from structnet.neural_tree import Growth, presets
from structnet.neural_tree.estimator import NeuralTreeClassifier, NeuralTreeRegressor
from structnet.training.checkpoint import CheckpointError, load_model, save_model
from structnet.training.loop import Loop


@pytest.mark.parametrize("labels", ["text", "object", "int", "bool"])
def test_a_saved_classifier_predicts_the_same(labels: str, blobs: tuple, tmp_path: Path) -> None:
    X, y = blobs
    y = {"text": y, "object": y.astype(object), "int": (y == "b") + 5, "bool": y == "b"}[labels]
    model = NeuralTreeClassifier("mlp", **SMALL, n_members=2, prune=0.2, path="greedy").fit(X, y)
    model.set_params(max_leaves=np.int64(3)).save(tmp_path / "model")
    again = NeuralTreeClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.predict(X).dtype == model.predict(X).dtype
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.apply(X), model.apply(X))
    assert again.get_params() == model.get_params()
    assert again.trained_.decisions == model.trained_.decisions
    assert list(again.history_) == list(model.history_)


@pytest.mark.parametrize("options", [{"loss": "gaussian"}, {"standardize": False}])
def test_a_saved_regressor_predicts_the_same(options: dict, lines: tuple, tmp_path: Path) -> None:
    X, y = lines
    model = NeuralTreeRegressor(**SMALL, **options).fit(X, y[:, :1])
    model.save(tmp_path / "model")
    state = torch.get_rng_state()
    again = NeuralTreeRegressor.load(tmp_path / "model")
    assert torch.equal(torch.get_rng_state(), state)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    with pytest.raises(CheckpointError, match="NeuralTreeRegressor; expected NeuralTreeClassifier"):
        NeuralTreeClassifier.load(tmp_path / "model")


CHOICES = {
    "partial": partial(presets.mlp, width=7, router_width=3),
    "function": presets.table,
    "primitives": presets.mlp(3, width=7),
    "changed": replace(presets.table(3, width=7), pool_every=2, router=None),
}


@pytest.mark.parametrize("name", CHOICES)
def test_presets_are_saved_with_their_arguments(name: str, blobs: tuple, tmp_path: Path) -> None:
    X, y = blobs
    model = NeuralTreeClassifier(CHOICES[name], **SMALL).fit(X, y)
    model.save(tmp_path / "model")
    again = NeuralTreeClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    again.fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_presets_of_images_are_saved_with_their_arguments(tmp_path: Path) -> None:
    X, y = np.random.default_rng(0).normal(size=(20, 1, 8, 8)), np.arange(20) % 2
    small = {**SMALL, "epochs": 1, "prune": None, "min_samples": 0, "gain_errors": 0}
    for chosen in (partial(presets.conv, width=3, kernel=3, pooled_solver=True), "mnist_c"):
        # Which seed's tree branches by chance differs from machine to machine.
        tried = (NeuralTreeClassifier(chosen, **small | {"random_state": i}) for i in range(20))
        model = next(model for model in tried if model.fit(X, y).get_n_leaves() > 1)
        model.save(tmp_path / "model")
        again = NeuralTreeClassifier.load(tmp_path / "model")
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_functions_of_ones_own_are_not_saved(blobs: tuple, tmp_path: Path) -> None:
    own = replace(presets.mlp(3), solver=lambda shape: torch.nn.Linear(*shape, 3))
    for chosen in (own, lambda outputs: presets.mlp(outputs), partial(presets.mlp, width="7")):
        model = classifier(max_depth=0).set_params(primitives=NARROW).fit(*blobs)
        message = r"'primitives' parameter must consist of presets and their arguments, .* Got "
        with pytest.raises(TypeError, match=message):
            model.set_params(primitives=chosen).save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_what_a_file_does_not_hold_is_named(tmp_path: Path) -> None:
    dates = np.array(["2020-01-01", "2021-01-01"] * 3, dtype="datetime64[D]")
    model = NeuralTreeClassifier("mlp", **SMALL).set_params(max_depth=0)
    start = "a file holds text, numbers, booleans and None; expected "
    model.fit(X4, dates)
    with pytest.raises(TypeError) as raised:
        model.save(tmp_path / "model")
    assert str(raised.value) == start + "'classes_' to be made of these. Got date."
    assert not (tmp_path / "model").exists()


TREES: tuple = (["(a b)", "(a c)"] * 10, [0, 1] * 10)


@pytest.mark.parametrize("pools", [("root", "max"), ["root", "max"], None])
def test_lists_and_tuples_come_back_as_they_were(pools: Any, tmp_path: Path) -> None:
    model = TreeLSTMClassifier(hidden_size=2, epochs=1, pools=pools, random_state=0).fit(*TREES)
    model.nested_ = {(1, "a"): [(np.float64(2),), []]}
    model.save(tmp_path / "model")
    again = TreeLSTMClassifier.load(tmp_path / "model")
    assert again.get_params() == model.get_params() and type(again.pools) is type(pools)
    assert again.nested_ == model.nested_


class PowerCutError(Exception):
    pass


def cut_after(monkeypatch: pytest.MonkeyPatch, cls: type, method: str, calls: int) -> list:
    """Lets a method work so many times, and fail then; the list grows with every call."""
    done, works = [], getattr(cls, method)

    def until(self: Any, *arguments: Any) -> Any:
        if len(done) == calls:
            raise PowerCutError
        done.append(None)
        return works(self, *arguments)

    monkeypatch.setattr(cls, method, until)
    return done


@pytest.mark.parametrize("cut", ["growth", "refinement", "second member"])
def test_an_interrupted_fit_goes_on(
    cut: str, blobs: tuple, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pair: Any
) -> None:
    model = classifier(n_members=2, folder=tmp_path)
    growths = [len(member.decisions) for member in pair.members_]
    epochs = [len(member.history) for member in pair.members_]
    place = {
        "growth": (Growth, "step", 2),
        "refinement": (Loop, "_epoch", epochs[0] - 1),
        "second member": (Growth, "step", growths[0] + 1),
    }[cut]
    with monkeypatch.context() as patch:
        done = cut_after(patch, *place)
        with pytest.raises(PowerCutError):
            model.fit(*blobs)
        before = len(done)
    assert not hasattr(model, "members_")
    done = cut_after(monkeypatch, place[0], place[1], 1000)
    model.fit(*blobs)
    assert before + len(done) == sum(growths if place[0] is Growth else epochs)
    assert torch.equal(weights_of(model), weights_of(pair))


def test_a_folder_is_not_for_a_cross_validation(blobs: tuple, tmp_path: Path) -> None:
    model = classifier(max_depth=0, folder=tmp_path)
    said = "inputs of the data differ.* cross-validation or search, which trains several times"
    with pytest.raises(CheckpointError, match=f"{said}, folder=None$"):
        cross_val_score(model, *blobs, cv=2, error_score="raise")
    assert cross_val_score(model.set_params(folder=None), *blobs, cv=2, error_score="raise").all()


def test_a_folder_belongs_to_one_training(blobs: tuple, tmp_path: Path) -> None:
    X, y = blobs
    model = classifier(max_depth=0, folder=tmp_path).fit(X, y)
    model.set_params(path="greedy", refine_epochs=1).fit(X, y)
    model.set_params(min_gain=np.float64(0.01), validation_fraction=np.float64(0.2)).fit(X, y)
    with pytest.raises(CheckpointError, match="wrote: inputs of the data differ"):
        model.fit(X + 1, y)
    with pytest.raises(CheckpointError, match="validation data is None there and told here"):
        model.fit(X, y, X_val=X[::2], y_val=y[::2])
    other = classifier(max_depth=0, folder=tmp_path / "told").fit(X, y, X_val=X, y_val=y)
    with pytest.raises(CheckpointError, match="wrote: targets of the validation data differ"):
        other.fit(X, y, X_val=X, y_val=np.roll(y, 1))
    with pytest.raises(CheckpointError, match=r"learning_rate is 0.05 there and 0.1 here"):
        model.set_params(learning_rate=0.1).fit(X, y)


CHANGES = [
    lambda config: config["members"][0]["tree"].update(transformers=[10**9]),
    lambda config: config["members"][0]["tree"].update(shape=[10**9]),
    lambda config: config["members"][0]["tree"].update(children=[[0, 0]]),
    lambda config: config["members"][0].update(tree=None),
    lambda config: config["members"][0].update(decisions=[{"node": 0}]),
    lambda config: config.update(members=7),
    lambda config: config.pop("fitted"),
    lambda config: config.update(primitives="nothing"),
    lambda config: config.update(primitives=["print", {}]),
    lambda config: config.update(primitives=["mlp", {"width": 10**9}]),
    lambda config: config.update(primitives=["mlp", 7]),
    lambda config: config.update(primitives=["conv", {"width": 1, "kernel": 1, "layers": 10**9}]),
    lambda config: config.update(primitives={"router": ["linear", {}]}),
    lambda config: config["parameters"].update(colour="red"),
    lambda config: config["fitted"].update(classes_={"dtype": "O", "values": [[], [1]]}),
    lambda config: config["fitted"].update(classes_={"dtype": ",", "values": [0, 1]}),
    lambda config: config["fitted"].update(classes_=[0] * 10**6),
]


@pytest.mark.parametrize("change", CHANGES, ids=range(len(CHANGES)))
def test_a_file_that_somebody_changed(change: Any, blobs: tuple, tmp_path: Path) -> None:
    """Refused at once and by name, however much it asks for."""
    model = NeuralTreeClassifier("mlp", **SMALL).set_params(max_depth=0).fit(*blobs)
    model.save(tmp_path / "model")
    _, config = load_model(tmp_path / "model")
    change(config)
    save_model(tmp_path / "model", model._state()[0], config)
    with pytest.raises(CheckpointError, match=str(tmp_path / "model")):
        NeuralTreeClassifier.load(tmp_path / "model")


def test_a_file_with_other_parameters_is_refused(tmp_path: Path) -> None:
    model = TreeLSTMClassifier(hidden_size=2, epochs=1).fit(["(a b)", "(a c)"] * 10, [0, 1] * 10)
    model.save(tmp_path / "model")
    _, config = load_model(tmp_path / "model")
    config["parameters"]["context"] = True
    save_model(tmp_path / "model", model.model_, config)
    with pytest.raises(CheckpointError, match="this version has no parameter context; fit it anew"):
        TreeLSTMClassifier.load(tmp_path / "model")


LINEAR = "torch.nn.modules.linear.Linear"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1"), (True, "True"), ("1.0", "1"), (nn.Linear, LINEAR),
        (partial(nn.Linear, 3, bias=False), f"partial({LINEAR}, 3, bias=False)"),
        (partial(nn.Linear, bias=len), f"partial({LINEAR}, bias=builtins.len)"),
    ],
)  # fmt: skip
def test_a_folder_tells_functions_by_their_names(value: Any, text: str) -> None:
    """Their repr has an address, which is another in each process."""
    assert file._as_text(value) == text


@pytest.mark.parametrize(
    ("lacking", "what"),
    [
        ("config", "does not describe a TreeLSTMClassifier"),
        ("weights", r"lacks 'bag\.bias', as if"),
    ],
)
def test_a_file_without_what_this_version_fits_is_refused(
    lacking: str, what: str, tmp_path: Path
) -> None:
    model = TreeLSTMClassifier(hidden_size=2, epochs=1).fit(["(a b)", "(a c)"] * 10, [0, 1] * 10)
    model.save(tmp_path / "model")
    _, config = load_model(tmp_path / "model")
    if lacking == "config":
        del config["fitted"]
    else:
        model.model_.bag = nn.Identity()
    save_model(tmp_path / "model", model.model_, config)
    with pytest.raises(CheckpointError, match=what + ".*; fit it anew"):
        TreeLSTMClassifier.load(tmp_path / "model")
