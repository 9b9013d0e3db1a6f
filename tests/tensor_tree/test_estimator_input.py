"""What estimators of trees refuse, and say of it; what a refusal leaves as it was."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from expressions import QUICK, data
from small_estimators import held_out

from structnet import Tree, TreeLSTMClassifier, TreeLSTMNodeClassifier, TreeLSTMRegressor
from structnet.tensor_tree.targets import Targets
from structnet.training.checkpoint import CheckpointError


@pytest.mark.parametrize(
    ("X", "y", "error", "words"),
    [
        ("(a b)", [0], TypeError, "X must be a list of trees, or of tuples of trees. Got one tree"),
        (3, [0], TypeError, "X must be a list of trees, or of tuples of trees. Got int"),
        ([3, 4], [0, 1], TypeError, "sample 0, 3: a tree must be a structnet.Tree, bracketed text"),
        (["(a b)", "(a"], [0, 1], ValueError, r"sample 1, '\(a': line 1, .* unclosed '\('\n"),
        ([{"a": 1}] * 2, [0, 1], TypeError, "got dict; structnet.parse has readers for JSON"),
        (["it is", "is it"], [0, 1], ValueError, r"brackets; a sentence .* one node, Tree\(sent"),
        (["a b {", "is it"], [0, 1], ValueError, "structnet.parse has readers for JSON"),
        (
            ['{"a": 1}'] * 2,
            [0, 1],
            ValueError,
            "outside of brackets; .*structnet.parse has readers",
        ),
        (
            [("f", ("g", "a"))] * 2,
            [0, 1],
            TypeError,
            "2 trees side by side: a tree cannot be a tuple; structnet.parse.nested reads tup",
        ),
        (
            [["f", "a", "b"]] * 2,
            [0, 1],
            ValueError,
            r"read as 3 trees side by side: .* 'f' stands outside of .* nested for tuples",
        ),
        (
            {"t": ["(a b)"] * 2},
            [0, 1],
            TypeError,
            r"Got dict; expected a list, such as one of its columns, X\['t'\]",
        ),
        (["(a b)"], [0], ValueError, "got 1 samples; expected at least 2"),
        (["(a b)"] * 3, [0, 1], ValueError, "got 3 samples and 2 answers in y"),
        (["(a b)"] * 2, [1, 1], ValueError, "y has only one class, 1"),
        (
            ["(a b)", ("(a b)",) * 2],
            [0, 1],
            ValueError,
            "sample 1 has 2 trees; expected 1, as in s",
        ),
        (["(a b)"] * 2, ["x", None], ValueError, "y must be all text, all numbers"),
    ],
)
def test_what_cannot_be_learnt_from_is_refused(X, y, error: type, words: str):
    with pytest.raises(error, match=words):
        TreeLSTMClassifier(**QUICK).fit(X, y)


def test_numbers_must_be_numbers():
    X = ["(a b)"] * 4
    with pytest.raises(ValueError, match="for classes there is TreeLSTMClassifier"):
        TreeLSTMRegressor().fit(X, list("abcd"))
    with pytest.raises(ValueError, match="'class_weight' parameter must be None where the targets"):
        TreeLSTMRegressor(class_weight="balanced").fit(X, [1, 2, 3, 4])
    with pytest.raises(ValueError, match=r"y must be finite numbers. Got nan for sample 2"):
        TreeLSTMRegressor().fit(X, [1, 2, np.nan, 3])


def test_a_cell_that_cannot_fit_is_refused_with_one_that_can():
    wide = [Tree("f", [Tree("x")] * 40), Tree("g", [Tree("y")] * 40)] * 4
    with pytest.raises(ValueError, match=r"with up to 40 children: .*; cell='child-sum' fits any"):
        TreeLSTMClassifier(cell="tucker", epochs=1).fit(wide, [0, 1] * 4)


@pytest.mark.parametrize(
    "setting",
    [
        {"cell": "gru"},
        {"hidden_size": 0},
        {"epochs": 0},
        {"learning_rate": 0},
        {"label_dropout": 1},
        {"pools": "max"},
        {"bag": "yes"},
        {"rank": 3},
        {"validation_fraction": 1},
    ],
)
def test_settings_out_of_range_are_refused(setting: dict):
    name = next(iter(setting))
    with pytest.raises(ValueError, match=f"'{name}' parameter"):
        TreeLSTMClassifier(**setting).fit(*data(8))


def test_a_folder_belongs_to_one_training(tmp_path: Path):
    X, y = data(60)
    TreeLSTMClassifier(folder=tmp_path, **QUICK).fit(X, y)
    with pytest.raises(CheckpointError, match="data"):
        TreeLSTMClassifier(folder=tmp_path, **QUICK).fit(X, y[::-1])
    with pytest.raises(CheckpointError, match="dropout"):
        TreeLSTMClassifier(folder=tmp_path, dropout=0.3, **QUICK).fit(X, y)
    with pytest.raises(CheckpointError, match="data"):
        TreeLSTMClassifier(folder=tmp_path, **QUICK).fit(X, y, **held_out(data(20, seed=9)))


def test_a_digest_tells_samples_apart_that_are_written_alike():
    def digest(*samples: tuple[Tree, ...]) -> str:
        return Targets(samples, np.zeros(len(samples))).digest()

    one, pair = Tree("f", [Tree("a b")]), Tree("f", [Tree("a"), Tree("b")])
    alike = [
        (digest((Tree("1"),)), digest((Tree(1),))),
        (digest((one,)), digest((pair,))),
        (digest((one, pair)), digest((one,), (pair,))),
    ]
    assert all(a != b for a, b in alike)
    assert digest((one, pair)) == digest((Tree("f", [Tree("a b")]), pair))


def test_a_folder_whose_training_was_refused_is_free(tmp_path: Path):
    X, y = data(60)
    with pytest.raises(ValueError, match="cell"):
        TreeLSTMClassifier(cell="LSTM", folder=tmp_path, **QUICK).fit(X, y)
    TreeLSTMClassifier(folder=tmp_path, **QUICK).fit(X, y)
    with pytest.raises(CheckpointError, match="cell"):
        TreeLSTMClassifier(cell="sum", folder=tmp_path, **QUICK).fit(X, y)


def test_trees_and_then_pairs():
    X, y = data(60)
    model = TreeLSTMClassifier(**QUICK).fit(X, y)
    with pytest.raises(ValueError, match="not in the y to learn from"):
        model.fit(X, [0, 1] * 30, X_val=X[:2], y_val=[7, 8])
    pairs = [(tree, tree) for tree in X]
    assert model.fit(pairs, y, X_val=pairs[:4], y_val=y[:4]).predict(pairs).shape == (60,)


def test_samples_are_alike():
    X, y = data(60)
    with pytest.raises(ValueError, match="sample 0 has no tree; expected at least 1"):
        TreeLSTMClassifier(**QUICK).fit([(), *X], ["no", *y])
    with pytest.raises(ValueError, match="sample 0 has 2 trees; expected 1, as in the"):
        TreeLSTMClassifier(**QUICK).fit(X, y, X_val=[(X[0], X[1])] * 4, y_val=y[:4])
    with pytest.raises(ValueError, match=r"validation targets have shape \[4, 2\]; expected \[4\]"):
        TreeLSTMRegressor(**QUICK).fit(X, range(60), X_val=X[:4], y_val=np.ones((4, 2)))
    for validation in (None, data(30, seed=4)):
        model = TreeLSTMClassifier(class_weight={"no": 1, "yes": 50}, **QUICK)
        model.fit(X, y, **held_out(validation))
        assert model.predict_proba(X)[:, 1].mean() > 0.5


def test_labels_that_no_file_holds_are_refused(tmp_path: Path):
    X = [Tree((1, 2), [Tree("x")]), Tree((1, 3), [Tree("x")])] * 4
    model = TreeLSTMClassifier(epochs=1, random_state=0).fit(X, [0, 1] * 4)
    with pytest.raises(TypeError, match=r"text or numbers. Got a label of the type tuple"):
        model.save(tmp_path / "model.safetensors")


def test_nodes_have_one_label_each():
    X = ["(f a b)"] * 4
    rows = [[0, 1, 1]] * 4
    model = TreeLSTMNodeClassifier(epochs=1, random_state=0)
    for y, words in (
        ([[0, 1]] * 4, "tree 0 has 3 nodes; got 2 labels"),
        ([0] * 4, "a row of labels for each tree. Got 0 for tree 0"),
        ([[None] * 3] * 4, "no node has a class in y"),
        ([[0, 1, math.nan]] * 4, "node 2 of tree 0 has the class nan; expected None"),
        (rows[:3], "got 4 samples and 3 answers in y"),
    ):
        with pytest.raises(ValueError, match=words):
            model.fit(X, y)
    with pytest.raises(ValueError, match="sample 0 has 2 trees; expected 1"):
        model.fit([("(f a b)", "(f a b)")] * 4, rows)
    model.fit(X, [torch.tensor(row) for row in rows])
    with pytest.raises(ValueError, match="tree 0 has 3 nodes; got 2 labels"):
        model.score(X[:1], [[0, 1]])
    with pytest.raises(ValueError, match="no node has a class in y"):
        model.score(X[:1], [[None] * 3])


def test_cells_without_dropout_refuse_it():
    with pytest.raises(ValueError, match="'dropout' parameter must be 0 for the cell 'sum'"):
        TreeLSTMClassifier(cell="sum", dropout=0.5, epochs=1).fit(*data(20))
