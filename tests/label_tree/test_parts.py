"""Label trees of tables whose classes are several clusters."""

from __future__ import annotations

import copy
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix
from scipy.special import log_softmax
from sklearn.base import clone

from structnet import LabelTreeClassifier
from structnet.estimators.checked import Checked
from structnet.estimators.discriminant_analysis import Shrinkage, best_shrinkage, discriminant
from structnet.estimators.parts import parts_within
from structnet.estimators.softmax_of_parts import Division, Told, parts_told
from structnet.label_tree.examples import Examples
from structnet.label_tree.parted import PartedTree
from structnet.label_tree.training import begin
from structnet.label_tree.tree import LabelTree
from structnet.plot import plot_model_tree
from structnet.training.checkpoint import CheckpointError, load_model, save_model


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("structnet.estimators.few_rows.WORK", 0)  # no logistic regressions


@cache
def table(parts: int = 3, number: int = 8, rows: int = 900) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    centres = 3.0 * rng.normal(size=(number, parts, 4))
    y, which = rng.integers(number, size=rows), rng.integers(parts, size=rows)
    return centres[y, which] + 0.6 * rng.normal(size=(rows, 4)), np.array([*"abcdefgh"])[y]


def halves(parts: int = 3) -> list[np.ndarray]:
    x, y = table(parts)
    return [x[:600], y[:600], x[600:], y[600:]]


@cache
def fitted(**given: Any) -> LabelTreeClassifier:
    x, y, *_ = halves()
    return LabelTreeClassifier(random_state=0, **given).fit(x, y)


def test_classes_of_several_clusters_are_told_by_default() -> None:
    *_, x, y = halves()
    one, more = fitted(parts=1), fitted()
    assert one.score(x, y) < 0.7 < 0.9 < more.score(x, y)
    assert len(more.part_classes_) > 8 and one.part_classes_.tolist() == [*range(8)]


def test_classes_of_one_cluster_stay_whole() -> None:
    x, y, *_ = halves(1)
    model = LabelTreeClassifier(random_state=0).fit(x, y)
    alone = LabelTreeClassifier(parts=1, random_state=0).fit(x, y)
    assert model.part_classes_.tolist() == [*range(8)]
    np.testing.assert_array_equal(model.predict_proba(x), alone.predict_proba(x))


def test_the_summary_tells_of_parts_and_of_columns_left_out() -> None:
    model = copy.deepcopy(fitted(parts=3))
    assert fitted(parts=1).summary().note == ""
    assert model.summary().note == "classes of up to 3 parts each"
    with torch.no_grad():
        model.tree_.softmax.weight[..., :3] = 0
    assert "classes of up to 3 parts each, by 1 of 4 columns\n" in str(model.summary())


def test_classes_of_few_rows_are_divided_where_tenths_say_so() -> None:
    (x, y), (new, names) = (part[:200] for part in table()), halves()[2:]
    more, one = (LabelTreeClassifier(parts=parts, random_state=0).fit(x, y) for parts in (None, 1))
    assert one.score(new, names) < 0.7 < 0.85 < more.score(new, names)
    x, y = (part[:200] for part in table(1))
    model, one = (LabelTreeClassifier(parts=parts, random_state=0).fit(x, y) for parts in (None, 1))
    assert model.part_classes_.tolist() == [*range(8)]
    np.testing.assert_array_equal(model.predict_proba(x), one.predict_proba(x))


def test_the_shrinkage_of_parts_is_found_where_they_are_chosen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found: list[int] = []

    def noted(rows: Checked, number: int, seed: int) -> Shrinkage:
        found.append(number)
        return best_shrinkage(rows, number, seed)

    monkeypatch.setattr("structnet.estimators.number_of_parts.best_shrinkage", noted)
    monkeypatch.setattr("structnet.estimators.discriminant_analysis.best_shrinkage", noted)
    x, y, *_ = halves()
    model = LabelTreeClassifier(random_state=0).fit(x, y)
    assert len(model.part_classes_) > 8 and len(found) == len(set(found)) <= 5


@pytest.mark.parametrize(
    ("rows", "given", "number"), [(450, False, 3), (450, True, 1), (4200, False, 1)]
)
def test_several_tenths_are_held_out_where_one_tells_little(
    rows: int, given: bool, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []

    def noted(pairs: list[Any], *others: Any) -> None:
        before = others[2]()  # of the best tree of classes, on each of the held-out rows
        seen.append((pairs, before))

    monkeypatch.setattr("structnet.label_tree.class_parts.best_division", noted)
    x, y = table(rows=rows)
    more: dict[str, Any] = {"X_val": x[:90], "y_val": y[:90]} if given else {}
    LabelTreeClassifier(random_state=0).fit(x, y, **more)
    [(pairs, before)] = seen
    held = [tuple(row) for _, part in pairs for row in part.x]
    assert len(pairs) == number and len(set(held)) == len(held) == len(before.losses)
    if not given:
        assert all(len(learn.y) + len(part.y) == rows for learn, part in pairs)
        assert not any(set(map(tuple, a.x)) & set(map(tuple, b.x)) for a, b in pairs)


@pytest.mark.parametrize("penalty", [0.0, 0.3])
def test_parts_that_were_chosen_are_told_as_held_out_rows_chose(
    penalty: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The labels are the parts of the draw that is told, and no training follows."""
    x, y, *_ = halves()
    division, told = Division(6, Shrinkage(0, 0.1, 1.0), penalty), list[Told]()

    def noted(*given: Any) -> Told:
        told.append(parts_told(*given))
        return told[-1]

    began = list[Examples]()

    def beginning(examples: Examples, *given: Any) -> LabelTree:
        began.append(examples)
        return begin(examples, *given)

    module = "structnet.label_tree."
    monkeypatch.setattr(f"{module}class_parts.best_division", lambda *_: division)
    monkeypatch.setattr(f"{module}class_parts.parts_told", noted)
    monkeypatch.setattr(f"{module}estimator.begin", beginning)
    model = LabelTreeClassifier(random_state=1).fit(x, y)
    assert not model.history_
    np.testing.assert_array_equal(began[-1].labels, told[0].place)
    weight, bias = told[0][2:]
    rows = model._features(model._inputs(x))
    expected = log_softmax(rows.table @ weight.T + bias, axis=1)
    np.testing.assert_allclose(model.tree_.log_prob_of_all(rows), expected, atol=1e-4)


@pytest.mark.parametrize("how", [{}, {"tree": "learned", "arity": 4, "epochs": 5}])
def test_all_answers_are_about_classes(how: dict[str, Any], tmp_path: Path) -> None:
    *_, x, y = halves()
    model = fitted(parts=3, **how)
    prob, tree = model.predict_proba(x), model.tree_
    parts = np.exp(tree.log_prob_of_all(model._features(model._inputs(x))))
    sums = np.stack([parts[:, model.part_classes_ == c].sum(1) for c in range(8)], axis=1)
    np.testing.assert_allclose(prob, sums, atol=1e-9)
    np.testing.assert_array_equal(model.predict(x), model.classes_[prob.argmax(1)])
    names, top = model.predict_top(x, 3)
    np.testing.assert_allclose(top, -np.sort(-prob, axis=1)[:, :3])
    assert (names[:, 0] == model.predict(x)).all() and model.predict_top(x, 99)[0].shape[1] == 8
    assert model.get_n_leaves() == len(model.part_classes_) > 8
    path, leaves = model.decision_path(x), model.apply(x)
    assert path[np.arange(len(x)), leaves].all() and set(leaves) <= set(tree.topology.leaves)
    text, graph = model.export_text(x, y), model.to_networkx()
    assert "    class " not in text  # which would name the columns of a whole class
    assert "label 7, part" in text and "label 8" not in text and len(graph) > 8
    assert model.explain(x[0]).leaf in leaves and str(model.summary(x))
    if not how:  # of a single node, a part is told from those of other classes
        [choice] = model.explain(x[0]).choices
        assert choice.side != choice.other and "a part of class " in choice.side + choice.other
    assert model.plot(x, y) is not None and plot_model_tree(model) is not None
    model.save(tmp_path / "model")
    again = LabelTreeClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(x), prob)


def test_a_single_node_of_parts_is_a_discriminant_analysis(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.undo()
    x, y, *_ = halves()
    model = LabelTreeClassifier(parts=3, epochs=0, arity=24, random_state=0).fit(x, y)
    features = model._features(model._inputs(x))
    rows = Checked(features.table, np.searchsorted(model.classes_, y), None)
    place, part_classes = parts_within(rows, 8, 3, model.seed_)
    weight, bias = discriminant(rows._replace(y=place), len(part_classes), model.seed_)
    np.testing.assert_array_equal(model.part_classes_, part_classes)
    np.testing.assert_allclose(
        model.tree_.log_prob_of_all(features),
        log_softmax(features.table @ weight.T + bias, axis=1),
        atol=1e-4,
    )


def test_a_tree_of_parts_predicts_classes() -> None:
    *_, x, _ = halves()
    model = fitted(parts=3)
    [(tree, rows)] = model._ready(x)
    assert isinstance(tree, PartedTree) and tree.num_classes == 8
    np.testing.assert_allclose(np.exp(tree.predicted(rows)), model.predict_proba(x), atol=1e-5)
    leaf = tree.topology.leaves[0]
    [label] = tree.classes_at(leaf)
    assert np.exp(tree.predicted_at(rows, leaf))[:, label].all()


def test_weights_and_held_out_samples_count() -> None:
    x, y, x_val, y_val = halves()
    weights = np.where(np.arange(600) < 500, 1.0, 0.0)
    model = clone(fitted()).set_params(epochs=2, parts=3)
    model.fit(x, y, weights, X_val=x_val, y_val=y_val)
    alone = clone(model).fit(x[:500], y[:500], X_val=x_val, y_val=y_val)
    np.testing.assert_allclose(model.predict_proba(x_val), alone.predict_proba(x_val), atol=0.02)
    of_right = np.arange(300), np.searchsorted(model.classes_, y_val)
    own = -model.predict_log_proba(x_val)[of_right]
    assert model.history_[-1]["validation_loss"] == pytest.approx(own.mean(), rel=1e-4)


def test_a_stream_after_fit_keeps_the_parts() -> None:
    x, y, x_new, y_new = halves()
    model = clone(fitted(parts=3)).fit(x, y)
    before, score = model.part_classes_, model.score(x_new, y_new)
    for _ in range(3):
        model.partial_fit(x_new[:150], y_new[:150])
    assert model.part_classes_ is before and model.score(x_new[150:], y_new[150:]) > score - 0.05


def test_with_vectors_classes_stay_whole() -> None:
    x, y, *_ = halves()
    model = LabelTreeClassifier(vector_size=3, random_state=0).fit(x, y)
    assert model.part_classes_.tolist() == [*range(8)]


@pytest.mark.parametrize("change", ["swap", "short", "long", "high", "low", "gap", "float", "none"])
def test_parts_that_are_not_of_the_tree_are_refused(change: str, tmp_path: Path) -> None:
    model, path = fitted(parts=3), tmp_path / "model"
    model.save(path)
    config = load_model(path)[1]
    own = config["fitted"]["part_classes_"]
    values = own["values"]
    changed = {
        "swap": values[::-1],
        "short": values[:-1],
        "long": [*values, 7],
        "high": [*values[:-1], 8],
        "low": [-1, *values[1:]],
        "gap": [0 if each == 1 else each for each in values],
        "float": values,
        "none": [],
    }[change]
    config["fitted"]["part_classes_"] = {
        "dtype": "<f8" if change == "float" else own["dtype"],
        "values": changed,
    }
    save_model(path, model.tree_, config)
    message = rf"LabelTreeClassifier: part_classes_ must be {len(values)} ascending ints, .* to 7$"
    with pytest.raises(CheckpointError, match=message):
        LabelTreeClassifier.load(path)


def test_what_has_no_parts_says_so() -> None:
    x, y, *_ = halves()
    for given, rows in (({"parts": 2}, csr_matrix(x)), ({"parts": 2, "vector_size": 3}, x)):
        with pytest.raises(ValueError, match="'parts' parameter must be 1 or None, except for a d"):
            LabelTreeClassifier(**given).fit(rows, y)
    with pytest.raises(ValueError, match=r"of your own, of whole classes\. Got 2"):
        LabelTreeClassifier(tree=[*range(8)], arity=8, parts=2).fit(x, y)
    with pytest.raises(ValueError, match=r"if partial_fit comes before fit\. Got 2"):
        LabelTreeClassifier(parts=2).partial_fit(x, y, np.unique(y))
    with pytest.raises(
        ValueError, match=r"^24 parts of 8 labels do not fit .*, which holds 8; exp"
    ):
        LabelTreeClassifier(parts=3, arity=2, max_depth=3).fit(x, y)
    with pytest.raises(ValueError, match="'parts' parameter must be an int"):
        LabelTreeClassifier(parts=0).fit(x, y)
    whole = LabelTreeClassifier(random_state=0, epochs=1).fit(csr_matrix(abs(x)), y)
    assert len(whole.part_classes_) == 8
