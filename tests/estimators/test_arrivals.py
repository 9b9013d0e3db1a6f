"""Counts of training samples: the same as of samples that are given, and kept by files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from reports import draw, tree_of
from scipy.sparse import csr_matrix
from small_estimators import classifier, regressor

from structnet import LabelTreeClassifier, NeuralTreeClassifier, SoftmaxTreeClassifier
from structnet.neural_tree.likelihood import SquaredError
from structnet.routing import Samples, export_text, reach
from structnet.routing.arrivals import Arrivals, arrivals_of


@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("numbers", [False, True])
def test_counts_are_those_of_reach(weighed: bool, numbers: bool) -> None:
    tree, x = tree_of(**{"likelihood": SquaredError()} if numbers else {}), draw(40)
    rng = np.random.default_rng(0)
    y = rng.normal(size=(40, tree.num_outputs)) if numbers else rng.integers(0, 3, 40)
    weights = rng.random(40) if weighed else None
    counts = None if weights is None else torch.from_numpy(weights)
    found = arrivals_of(tree, x, y, weights)
    expected = Arrivals.of(reach(tree, Samples(x, torch.from_numpy(y), counts), "greedy"))
    for ours, theirs in zip(found, expected, strict=True):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            np.testing.assert_allclose(ours, theirs, atol=1e-12)


def without_samples(text: str) -> str:
    return text.replace("training samples", "samples")


@pytest.mark.parametrize("sparse", [False, True])
def test_a_softmax_tree_from_a_file_says_what_leaves_predict(sparse: bool, tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(200, 3))
    y = np.where(X[:, 0] > 0, "ill", np.where(X[:, 1] > 0, "well", "fine"))
    X = csr_matrix(X) if sparse else X
    model = SoftmaxTreeClassifier(depth=2, k=2, random_state=0).fit(X, y, np.arange(200) % 3)
    model.save(tmp_path / "model.safetensors")
    text = SoftmaxTreeClassifier.load(tmp_path / "model.safetensors").export_text()
    # Of hard paths, no router is told to be less than certain.
    assert without_samples(text) == model.export_text(X, y, np.arange(200) % 3)
    assert "of training samples" in text and "(ill, well)" in text


def test_a_neural_tree_says_it_in_units(blobs: tuple, lines: tuple, tmp_path: Path) -> None:
    X, y = lines
    model = regressor(max_depth=0).fit(X, y[:, 0])
    model.save(tmp_path / "model.safetensors")
    text = type(model).load(tmp_path / "model.safetensors").export_text()
    assert f"100.0 % of training samples, mean {y[:, 0].mean():.5g}" in text
    X, y = blobs
    model = classifier(max_depth=0).set_params(class_weight={"a": 100.0}).fit(X, y)
    names, counts = np.unique(y, return_counts=True)  # classes count as they come
    told = f"{100 * counts.max() / len(y):.1f} % of them class {names[counts.argmax()]}"
    assert told in model.export_text()


def test_a_changed_tree_has_no_counts(fitted: NeuralTreeClassifier) -> None:
    assert "of training samples" in fitted.export_text()
    old = fitted.arrivals_
    fitted.arrivals_ = {**old, "share": old["share"][:0]}
    assert "samples" not in fitted.export_text()
    del fitted.arrivals_  # as in a file of a time when they were not kept
    assert "samples" not in fitted.export_text()
    fitted.arrivals_ = old


def test_a_label_tree_names_its_labels() -> None:
    X = np.random.default_rng(0).normal(size=(300, 2))
    y = np.array(["cat", "dog", "eel"])[(X > 0).sum(axis=1)]
    model = LabelTreeClassifier(arity=2, random_state=0).fit(X, y)
    text = model.export_text()
    for k, name in enumerate(model.classes_):
        assert f"label {k} ({name})\n" in text + "\n"
    # The numbers of classes are names that say nothing more.
    assert "label 0\n" in export_text(model.tree_, class_names=["0", "1", "2"]) + "\n"
