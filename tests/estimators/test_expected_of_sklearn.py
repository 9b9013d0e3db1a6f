"""What users of scikit-learn expect: class weights, deviations, pickles, and what to put before."""

from __future__ import annotations

import copy
import pickle
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from small_estimators import SMALL, classifier, regressor
from torch.utils.data import DataLoader, TensorDataset

from structnet import NeuralTreeClassifier, TreeLSTMClassifier
from structnet.neural_tree import presets

FINITE = "made of finite numbers of at least 0"
GAUSSIAN = {"loss": "gaussian"}


def same(ours: NeuralTreeClassifier, theirs: NeuralTreeClassifier, X: np.ndarray) -> None:
    np.testing.assert_array_equal(ours.predict_proba(X), theirs.predict_proba(X))


def test_class_weights_are_sample_weights(blobs: tuple) -> None:
    X, y = blobs
    X, y = X[10:], y[10:]
    each = {"a": 3.0, "b": 0.5}
    weights = np.array([each.get(name, 1.0) for name in y])
    same(classifier(class_weight=each).fit(X, y), classifier().fit(X, y, weights), X)
    twice = classifier(class_weight=each).fit(X, y, weights)
    same(twice, classifier().fit(X, y, weights**2), X)
    counts = {name: (y == name).sum() for name in set(y)}
    balanced = np.array([len(y) / (3 * counts[name]) for name in y])
    same(classifier(class_weight="balanced").fit(X, y), classifier().fit(X, y, balanced), X)
    held = classifier(class_weight=each).fit(X, y, X_val=X, y_val=y)
    same(held, classifier().fit(X, y, weights, X_val=X, y_val=y, sample_weight_val=weights), X)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("even", "a dict, 'balanced' or None"),
        ({"d": 2}, "of the classes"),
        *(({"a": weight}, FINITE) for weight in (-1, np.inf, np.nan, "2", "heavy", None)),
        ({"a": 0, "b": 0.0, "c": 0}, "above 0 for at least one class"),
    ],
)
def test_other_class_weights_are_refused(given: object, expected: str, blobs: tuple) -> None:
    with pytest.raises(ValueError, match=f"'class_weight' parameter must be .*{expected}"):
        classifier(class_weight=given).fit(*blobs)


def test_samples_of_a_class_that_weighs_nothing_are_left_out(blobs: tuple) -> None:
    X, y = blobs
    weights = {"a": 0, "c": 2}
    ours = classifier(class_weight=weights).fit(X, y, X_val=X, y_val=y)
    assert ours.classes_.tolist() == ["a", "b", "c"]
    for counted in (X[y == "a"], X):  # whatever its samples are
        moved = np.where((y == "a")[:, None], counted.mean(0) + 9, X)
        same(classifier(class_weight=weights).fit(moved, y, X_val=X, y_val=y), ours, X)
    assert set(ours.predict(X[y != "a"])) == {"b", "c"}
    trees = ["(f a)", "(f b)", "(f c)"] * 10
    model = TreeLSTMClassifier(class_weight={"x": 0}, epochs=5, random_state=0)
    model.fit(trees, [*"xyz"] * 10, X_val=trees, y_val=[*"xyz"] * 10)
    assert model.classes_.tolist() == [*"xyz"] and model.predict(trees[1:3]).tolist() == [*"yz"]
    assert model.fit(trees, [*"xyz"] * 10).predict_proba(trees)[:, 0].max() < 0.3
    with pytest.raises(ValueError, match="all 10 samples have the weight zero"):
        model.fit(trees, [*"xyz"] * 10, X_val=trees[::3], y_val=["x"] * 10)


def test_numbers_have_no_classes(lines: tuple) -> None:
    with pytest.raises(ValueError, match="'class_weight' parameter must be None where the targets"):
        regressor(class_weight="balanced").fit(*lines)


@pytest.mark.parametrize("members", [1, 2])
@pytest.mark.parametrize("standardize", [True, False])
def test_deviations_are_those_of_the_mixture(members: int, standardize: bool, lines: tuple) -> None:
    X, y = lines
    own = {"n_members": members, "standardize": standardize}
    model = regressor(**GAUSSIAN, **own).fit(X, y)
    mean, deviation = model.predict(X[:5], return_std=True)
    np.testing.assert_array_equal(mean, model.predict(X[:5]))
    rng, drawn = np.random.default_rng(0), []
    for member in model.members_:
        x = torch.tensor(X[:5] if member.inputs is None else member.inputs(X[:5]))
        with torch.no_grad():
            log_prob, outputs = member.tree.double()(x)
        member.tree.float()
        means, log_sd = outputs.numpy()[:, :, :2], outputs.numpy()[:, :, 2:]
        leaf = [
            rng.choice(log_prob.shape[1], 40_000, p=p / p.sum()) for p in log_prob.exp().numpy()
        ]
        at = np.arange(5)[:, None], np.array(leaf)
        y_drawn = rng.normal(means[at], np.exp(log_sd[at]))  # [5, draws, 2]
        drawn.append(y_drawn if member.targets is None else member.targets.inverse(y_drawn))
    np.testing.assert_allclose(deviation, np.concatenate(drawn, axis=1).std(axis=1), rtol=0.03)


@pytest.mark.parametrize("own", [{}, {**GAUSSIAN, "path": "greedy"}])
def test_other_losses_and_paths_have_no_deviations(own: dict, lines: tuple) -> None:
    model = regressor(max_depth=0, **own).fit(*lines)
    got = rf"Got loss='{own.get('loss', 'squared_error')}' and path='{own.get('path', 'multi')}'"
    with pytest.raises(ValueError, match=f"expected loss='gaussian' and path='multi'. {got}"):
        model.predict(lines[0], return_std=True)


@pytest.mark.parametrize("primitives", ["table", partial(presets.mlp, width=7, router_width=3)])
def test_pickles_hold_presets_of_any_width(primitives: object, blobs: tuple) -> None:
    model = NeuralTreeClassifier(primitives, **SMALL).fit(*blobs)
    same(pickle.loads(pickle.dumps(model)), model, blobs[0])


class Frame(np.ndarray):
    """A table with names of its columns, as a data frame has them."""

    columns = ("colour", "size")


ROWS = [["red", 1.0], ["blue", 2.0], ["red", np.nan], [None, 4.0]] * 10
ANSWERS = ["warm", "cold", "warm", "cold"] * 10


def test_text_and_gaps_are_told_what_to_put_before() -> None:
    rows = np.array(ROWS, dtype=object)
    with pytest.raises(ValueError, match=r"is a list of texts; .* CountVectorizer"):
        classifier().fit(["a red house", "a house"] * 10, [0, 1] * 10)
    with pytest.raises(ValueError, match=r"text: 'red' in column 0 .* OneHotEncoder"):
        classifier().fit(rows, ANSWERS)
    with pytest.raises(ValueError, match=r"contains NaN: 10 values.* put SimpleImputer"):
        classifier().fit(rows[:, 1:], ANSWERS)
    named = rows.view(Frame)
    with pytest.raises(ValueError, match=r"text: 'red' in column 'colour'; expected numbers"):
        classifier().fit(named, ANSWERS)
    named[:, 0] = 1.0
    with pytest.raises(ValueError, match=r"in row 2 \(counted from 0\), column 'size'; "):
        classifier().fit(named, ANSWERS)
    before = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), [0]), (SimpleImputer(add_indicator=True), [1])
    )
    model = make_pipeline(before, classifier(epochs=30)).fit(rows, ANSWERS)
    assert model.score(rows, ANSWERS) == 1
    assert model.predict(np.array([["green", np.nan]], dtype=object)).shape == (1,)
    regressor(max_depth=0).fit(np.array([["1.5"], ["2"]] * 9), np.arange(18.0))  # text of numbers


def test_a_dataset_is_told_where_to_go() -> None:
    data = TensorDataset(torch.zeros(4, 2), torch.tensor([0, 1, 0, 1]))
    for given in (data, DataLoader(data)):
        with pytest.raises(TypeError, match=r"neural_tree\.train\(tree, settings, train, valid"):
            classifier().fit(given)


def more(blobs: tuple) -> tuple:
    """Other samples of the same clusters, that have moved."""
    return blobs[0] + np.array([4.0, -4.0, 0.0]), blobs[1]


def test_a_warm_start_goes_on_with_the_trees_that_are_there(blobs: tuple) -> None:
    model = classifier(warm_start=True, n_members=2).fit(*blobs)
    cold = classifier(n_members=2).fit(*blobs)
    assert [d.loss for d in model.trained_.decisions] == [d.loss for d in cold.trained_.decisions]
    trees, scales = [m.tree for m in model.members_], [m.inputs.mean for m in model.members_]
    weights = [tree.state_dict() for tree in copy.deepcopy(trees)]
    before, old = model.score(*more(blobs)), [len(m.history) for m in model.members_]
    X, y = more(blobs)
    model.set_params(refine_epochs=20, n_members=3).fit(X[10:], y[10:], sample_weight=y[10:] != "c")
    assert model.score(*more(blobs)) > before
    assert model.classes_.tolist() == ["a", "b", "c"]  # one of which is not among the new ones
    for member, tree, scale, count in zip(model.members_, trees, scales, old, strict=False):
        assert member.tree.config() == tree.config()
        assert len(member.history) == count + 20 and member.history[-1]["phase"] == "refine"
        np.testing.assert_array_equal(member.inputs.mean, scale)
    for tree, was in zip(trees, weights, strict=True):  # the old trees are left as they were
        assert all(torch.equal(value, was[name]) for name, value in tree.state_dict().items())
    assert len(model.members_) == 3 and model.members_[2].decisions[0].action == "root"


def test_what_a_warm_start_cannot_go_on_with(blobs: tuple, lines: tuple, tmp_path: Path) -> None:
    model = classifier(warm_start=True, max_depth=0).fit(*blobs)
    with pytest.raises(ValueError, match="got the class 'd', which is not in the y to learn from"):
        model.fit(blobs[0], np.where(blobs[1] == "a", "d", blobs[1]))
    with pytest.raises(ValueError, match=r"X has 2 features, but .* is expecting 3"):
        model.fit(blobs[0][:, :2], blobs[1])
    with pytest.raises(ValueError, match="'folder' parameter must be None where 'warm_start'"):
        model.set_params(folder=tmp_path).fit(*blobs)
    numbers = regressor(warm_start=True, max_depth=0).fit(*lines)
    with pytest.raises(ValueError, match="got targets of shape"):
        numbers.fit(lines[0], lines[1][:, 0])
    assert numbers.fit(lines[0], lines[1] + 1).predict(lines[0]).shape == lines[1].shape


def test_what_may_decide_again_is_not_learnt_from(blobs: tuple) -> None:
    X, y = np.random.default_rng(0).normal(size=(80, 4)), np.arange(80) % 2
    phases = [
        set(classifier(warm_start=warm, max_depth=0).fit(X, y).history_["phase"])
        for warm in (False, True)
    ]
    assert "finish" in phases[0] and "finish" not in phases[1]


def test_a_tree_does_not_go_on_as_another(lines: tuple) -> None:
    model = regressor(warm_start=True, max_depth=0).fit(*lines)
    with pytest.raises(ValueError, match=r"'loss'.*as for the trees that are trained further"):
        model.set_params(loss="gaussian").fit(*lines)
    assert model.set_params(loss=None).fit(*lines).predict(lines[0]).ndim
