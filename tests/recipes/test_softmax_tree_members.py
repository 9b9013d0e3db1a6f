"""Runs of several softmax trees, whose probabilities are averaged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from alike import assert_same, assert_same_model
from commands import Done, ran

from structnet import SoftmaxTreeClassifier
from structnet.estimators.checked import seed_from
from structnet.recipes.recipe import Place
from structnet.recipes.run import Run
from structnet.recipes.softmax_tree import comparison
from structnet.recipes.softmax_tree.data import load_data
from structnet.recipes.softmax_tree.settings import SoftmaxTreeRunSettings
from structnet.recipes.softmax_tree.work import open
from structnet.training.checkpoint import load_model

CLUSTERS = ["--data", "clusters", "--num-classes", "8", "--train-size", "300", "--test-size", "100"]
TREE = ["--depth", "2", "--k", "4", "--max-iter", "3", "--leaf-penalty", "1", "--start", "rows"]
SEED = seed_from(0)  # of an estimator with random_state=0
TREES = ["softmax-tree", *CLUSTERS, *TREE, "--seed", SEED, "--n-members", "3"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    folder = tmp_path_factory.mktemp("runs") / "run"
    return folder, ran("train", *TREES, "--out", folder)


def test_a_run_has_the_trees_of_the_estimator(run: tuple[Path, Done]) -> None:
    folder, done = run
    data = load_data(Run(folder).settings(SoftmaxTreeRunSettings))
    how: Any = {"max_iter": 3, "leaf_penalty": 1.0, "start": "rows", "standardize": False}
    model = SoftmaxTreeClassifier(2, 4, n_members=3, random_state=0, **how)
    model.fit(data.train.x, data.train.targets.numpy())
    trees = open(Run(folder), Place()).model
    assert len(trees) == 3
    for tree, expected in zip(trees, model._trees(), strict=True):
        np.testing.assert_array_equal(tree.weights.detach(), expected.weights.detach())
    x, y = data.test.x, data.test.targets.numpy()
    assert done.json["test"]["accuracy"] == pytest.approx(model.score(x, y))
    assert done.json["test"]["leaves"] == model.get_n_leaves() > len(trees[0].topology.leaves)
    prob = model.predict_proba(x).max(1)
    loaded = SoftmaxTreeClassifier.load(folder / "model.safetensors")
    read: Any = data.arrays.x_test_read
    asked = loaded.predict_proba(read[data.places])  # which it scales
    np.testing.assert_allclose(asked, model.predict_proba(x), rtol=1e-6)
    assert loaded.score(read[data.places], y) == pytest.approx(model.score(x, y))
    assert loaded.export_text().count("of training samples") == trees[0].topology.num_nodes
    told = ran("predict", folder, "0", "7")
    answers = told.json["answers"]
    assert [each["probability"] for each in answers] == pytest.approx(prob[[0, 7]], abs=1e-5)
    assert told.out.count("of all 3 trees: class ") == 2
    assert ran("plot", folder).json.keys() == {"tree", "errors", "nodes"}


def test_as_many_are_trained_at_a_time_as_asked_for(run: tuple[Path, Done], tmp_path: Path) -> None:
    again = ran("train", *TREES, "--n-jobs", "2", "--out", tmp_path / "run")
    assert again.json["test"]["error"] == run[1].json["test"]["error"]
    both = (load_model(each / "model.safetensors")[0] for each in (run[0], tmp_path / "run"))
    assert_same(*both)


def test_a_run_that_was_interrupted_goes_on(
    run: tuple[Path, Done], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*args: Any, **how: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(comparison, "further", interrupted)
        with pytest.raises(AssertionError):
            ran("train", *TREES, "--out", tmp_path / "run")
    again = ran("train", "--resume", tmp_path / "run")
    assert "going on after iteration 3" in again.out and "iteration 1:" not in again.err
    assert_same_model(run[0], tmp_path / "run")
    assert not list((tmp_path / "run").glob("training*"))


def test_trees_that_grow_are_surer_of_the_truth_together(tmp_path: Path) -> None:
    growing = ["adaptive-softmax-tree", *CLUSTERS, "--max-rounds", "1"]
    one = ran("train", *growing, "--out", tmp_path / "one").json
    several = ran("train", *growing, "--n-members", "5", "--out", tmp_path / "several").json
    assert several["test"]["perplexity"] < one["test"]["perplexity"]
    assert several["details"]["chosen"] == one["details"]["chosen"]
