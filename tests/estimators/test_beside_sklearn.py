"""Estimators inside scikit-learn's own: pipelines, ensembles, folds, sparse arrays, data frames."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array, csr_matrix
from sklearn import config_context
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from small_estimators import classifier, held_out, regressor

from structnet import (
    LabelTreeClassifier,
    SoftmaxTreeClassifier,
    Tree,
    TreeLSTMClassifier,
    TreeLSTMNodeClassifier,
    TreeLSTMRegressor,
)
from structnet.estimators.class_weights import weights_by_class

TREES = ["(f a)", "(f b)", "(g a)", "(g b)"] * 10
TABLE_KINDS = [
    classifier,
    SoftmaxTreeClassifier,
    lambda: LabelTreeClassifier(arity=2, epochs=2, random_state=0),
]


def test_a_pipeline_scales_the_validation_samples_too(blobs: tuple) -> None:
    X, y = blobs
    far = X * 50 + 1000
    with config_context(enable_metadata_routing=True):
        tree = classifier(standardize=False).set_fit_request(X_val=True, y_val=True)
        steps = [("scale", StandardScaler()), ("tree", tree)]
        pipe = Pipeline(steps, transform_input=["X_val"])
        pipe.fit(far[::2], y[::2], X_val=far[1::2], y_val=y[1::2])
    scale = StandardScaler().fit(far[::2])
    given = scale.transform(far[::2]), y[::2]
    alone = classifier(standardize=False).fit(
        *given, **held_out((scale.transform(far[1::2]), y[1::2]))
    )
    same = alone.predict_proba(scale.transform(far)), pipe.predict_proba(far)
    np.testing.assert_array_equal(*same)


@pytest.mark.parametrize("kind", TABLE_KINDS)
def test_a_class_that_weighs_nothing_stays_known(kind: object, blobs: tuple) -> None:
    X, y = blobs
    voters = [("ours", kind()), ("theirs", LogisticRegression())]
    vote = VotingClassifier(voters, voting="soft").fit(X, y, sample_weight=(y != "a") * 1.0)
    assert vote.predict_proba(X).shape == (120, 3)
    assert vote.estimators_[0].classes_.tolist() == [0, 1, 2]
    assert (vote.estimators_[0].predict(X) != 0).mean() > 0.9


def test_a_fold_may_lack_a_class_that_has_a_weight(blobs: tuple) -> None:
    X, y = (each[np.r_[40:75, 80:115, 0:3]] for each in blobs)
    folds = KFold(4)
    weights = {"a": 1, "b": 2, "c": 10}
    scores = cross_val_score(classifier(class_weight=weights), X, y, cv=folds)
    assert np.isfinite(scores).all()
    with pytest.raises(ValueError, match="'class_weight' parameter must be of the classes"):
        classifier(class_weight={"a": 1, "d": 2}).fit(X, y)


@pytest.mark.parametrize("kind", TABLE_KINDS)
def test_one_row_of_any_sparse_kind_is_explained(kind: object, blobs: tuple) -> None:
    X, y = blobs
    model = kind().fit(csr_array(X), y)
    said = {str(model.explain(row)) for row in (csr_array(X)[[0]], csr_matrix(X)[0], X[0])}
    one_dimensional = csr_array(X)[0]
    if one_dimensional.ndim == 1:
        said.add(str(model.explain(one_dimensional)))
    assert len(said) == 1


def test_a_row_of_a_data_frame_has_names(blobs: tuple) -> None:
    pandas = pytest.importorskip("pandas")
    X, y = pandas.DataFrame(blobs[0], columns=["p", "q", "r"]), blobs[1]
    model = classifier().fit(X, y)
    assert str(model.explain(X.iloc[0])) == str(model.explain(X.iloc[[0]]))
    with pytest.raises(ValueError, match="feature names should match"):
        model.explain(X[["q", "p", "r"]].iloc[0])


def test_one_row_of_a_data_frame_is_predicted(blobs: tuple) -> None:
    pandas = pytest.importorskip("pandas")
    X, y = pandas.DataFrame(blobs[0], columns=["p", "q", "r"]), blobs[1]
    model = SoftmaxTreeClassifier(random_state=0).fit(X, y)
    for i, label in enumerate(model.predict(X[:20])):
        assert model.predict_one(X.iloc[i]) == model.predict_one(X.iloc[[i]]) == label
    classes, shares = model.predict_proba_one(X.iloc[0])
    assert len(classes) == len(shares)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict_one(X[["q", "p", "r"]].iloc[0])


def test_trees_in_a_data_frame_are_asked_for_by_their_column() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"tree": TREES, "class": [0, 1] * (len(TREES) // 2)})
    with pytest.raises(TypeError, match=r"DataFrame; expected a list, .* columns, X\['tree'\]"):
        TreeLSTMClassifier().fit(table, table["class"])
    model = TreeLSTMClassifier(epochs=1).fit(table["tree"], table["class"])
    assert len(model.predict(table["tree"])) == len(table)


def test_targets_that_are_no_numbers_are_named(lines: tuple) -> None:
    X, _ = lines
    with pytest.raises(ValueError, match=r"y must be numbers: .*'1a'"):
        regressor().fit(X, ["1a"] * len(X))
    with pytest.raises(ValueError, match=r"a sparse matrix; expected y.toarray\(\)"):
        regressor().fit(X, csr_matrix(np.ones((len(X), 1))))
    with pytest.raises(ValueError, match=r"y must be numbers: .*; for classes there is"):
        TreeLSTMRegressor().fit(TREES, [[1], [1, 2]] * 20)
    for kind in (TreeLSTMClassifier, TreeLSTMRegressor, TreeLSTMNodeClassifier):
        with pytest.raises(
            ValueError, match=r"y must be one answer for each sample\. Got NoneType"
        ):
            kind().fit(TREES, None)


def test_several_labels_may_be_sparse() -> None:
    y = np.tile(np.eye(4, dtype=int)[:, :3], (10, 1))
    dense, sparse = (
        TreeLSTMClassifier(epochs=1, random_state=0).fit(TREES, each) for each in (y, csr_matrix(y))
    )
    assert (dense.predict_proba(TREES) == sparse.predict_proba(TREES)).all()


def test_a_tree_of_one_node_in_text() -> None:
    model = TreeLSTMClassifier(epochs=1, random_state=0).fit(["(a)", " ( b ) "] * 10, [0, 1] * 10)
    assert (model.predict_proba(["(a)"]) == model.predict_proba([str(Tree("a"))])).all()
    X = ["(f a)", "a", "(f b)", "b"] * 5
    mixed = [TreeLSTMClassifier(epochs=1, random_state=0) for _ in range(2)]
    written = mixed[0].fit(X, [0, 1] * 10).predict_proba(X)
    trees = [Tree(x) if len(x) == 1 else x for x in X]
    assert (written == mixed[1].fit(trees, [0, 1] * 10).predict_proba(trees)).all()
    with pytest.raises(ValueError, match=r"'a' stands outside of brackets; a tree of one node is"):
        model.fit(["a", "b"], [0, 1])


def test_balance_leaves_out_a_class_that_weighs_nothing() -> None:
    codes, names = np.array([0, 1, 1, 1, 2]), np.array(["a", "b", "c"])
    weights = np.array([1.0, 1.0, 1.0, 1.0, 0.0])
    known = weights_by_class("balanced", codes, names, weights)
    absent = weights_by_class("balanced", codes[:4], names[:2])
    assert known[:2].tolist() == absent.tolist()


@pytest.mark.parametrize("kind", TABLE_KINDS)
def test_nothing_that_counts_is_refused(kind: object, blobs: tuple) -> None:
    X, y = blobs
    for labels in (y, np.repeat("a", len(y))):
        with pytest.raises(ValueError, match="the weight zero; expected at least 2"):
            kind().fit(X, labels, sample_weight=np.zeros(len(y)))
    if kind is SoftmaxTreeClassifier:
        with pytest.raises(ValueError, match="the weight zero; expected at least 1"):
            kind().fit(X, y).measure(X, y, np.zeros(len(y)))


def test_weights_may_be_tensors_with_gradients(blobs: tuple) -> None:
    weights = torch.ones(len(blobs[1]), requires_grad=True)
    for kind in TABLE_KINDS:
        assert kind().fit(*blobs, sample_weight=weights).classes_.tolist() == [*"abc"]
    weights = torch.ones(40, requires_grad=True)
    model = TreeLSTMClassifier(epochs=1, random_state=0).fit(TREES, [0, 1] * 20, weights)
    assert model.predict(TREES).shape == (40,)
