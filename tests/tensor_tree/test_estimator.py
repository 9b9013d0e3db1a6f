"""Estimators of trees, as users of scikit-learn know them."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from expressions import QUICK, data, expression, value
from random_trees import doubled
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from small_estimators import held_out
from threadpoolctl import ThreadpoolController

from structnet import Tree, TreeLSTMClassifier, TreeLSTMNodeClassifier, TreeLSTMRegressor
from structnet.tensor_tree.settings import CELLS


@pytest.fixture(scope="module")
def fitted() -> TreeLSTMClassifier:
    return TreeLSTMClassifier(**QUICK).fit(*data())


def test_values_of_nested_expressions_are_learnt():
    model = TreeLSTMClassifier(hidden_size=16, random_state=0).fit(*data(250))
    assert model.score(*data(200, seed=1)) > 0.95


def test_threads_learn_what_one_after_another_would(fitted: TreeLSTMClassifier):
    states = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state()
    with ThreadPoolExecutor(3) as pool:
        models = list(pool.map(lambda _: TreeLSTMClassifier(**QUICK).fit(*data()), range(3)))
    X, _ = data(30, seed=2)
    for model in models:
        assert (model.predict_proba(X) == fitted.predict_proba(X)).all()
    assert random.getstate() == states[0]
    assert np.random.get_state()[1].tolist() == states[1]
    assert torch.equal(torch.get_rng_state(), states[2])


@pytest.mark.parametrize("cell", CELLS)
def test_every_cell_is_saved_and_read_again(cell: str, tmp_path: Path):
    model = TreeLSTMClassifier(cell=cell, epochs=2, hidden_size=3, random_state=0).fit(*data())
    model.save(tmp_path / "model.safetensors")
    again = TreeLSTMClassifier.load(tmp_path / "model.safetensors")
    X, _ = data(20, seed=3)
    assert (again.predict_proba(X) == model.predict_proba(X)).all()


def test_it_is_an_estimator_like_any_other():
    X, y = data(60)
    model = TreeLSTMClassifier(epochs=2, hidden_size=4, random_state=0)
    assert clone(model).get_params() == model.get_params()
    assert cross_val_score(model, X, y, cv=3).shape == (3,)
    search = GridSearchCV(model, {"hidden_size": [2, 4]}, cv=2).fit(X, y)
    assert search.predict(X[:3]).shape == (3,)
    doubled = FunctionTransformer(lambda trees: [Tree("and", [t, t]) for t in trees])
    assert make_pipeline(doubled, model).fit(X, y).predict(X[:3]).shape == (3,)


def test_trees_of_any_kind():
    X = ["(and 0 1)", "(or 0 1)"] * 10
    model = TreeLSTMClassifier(**QUICK).fit(X, [0, 1] * 10)
    graph = nx.DiGraph()
    graph.add_nodes_from([(0, {"label": "or"}), (1, {"label": "0"}), (2, {"label": "1"})])
    graph.add_edges_from([(0, 1, {"pos": 0}), (0, 2, {"pos": 1})])
    same = [Tree("or", [Tree("0"), Tree("1")]), "(or 0 1)", graph]
    found = model.predict_proba(same)
    assert (found == found[0]).all()


def test_what_was_never_seen_is_asked_about_all_the_same(fitted: TreeLSTMClassifier):
    strange = [Tree("nand", [Tree("2")] * 40), Tree("?"), Tree("and", [Tree("0")], token="new")]
    assert np.isfinite(fitted.predict_proba(strange)).all()


def test_pairs_of_trees():
    X, _ = data(160)
    pairs = list(zip(X[::2], X[1::2], strict=True))
    y = [value(left) == value(right) for left, right in pairs]
    model = TreeLSTMClassifier(**QUICK).fit(pairs, y)
    assert model.predict(pairs).shape == (80,) and model.predict(pairs).dtype == bool
    with pytest.raises(ValueError, match="sample 0 has 1 tree; expected 2, as in the samples"):
        model.predict(X[:2])
    for alone in (pairs[0], list(pairs[0])):
        with pytest.raises(ValueError, match=r"has 1 tree; .*; X must be a list of such tuples$"):
            model.predict(alone)
    with pytest.raises(ValueError, match=r"2 samples and 80 answers .* by list\(zip\(\*X\)\)$"):
        model.fit([*zip(*pairs, strict=True)], y)
    written = np.array([[str(tree) for tree in pair] for pair in pairs])
    assert (model.predict_proba(written) == model.predict_proba(pairs)).all()


def test_several_labels():
    X, _ = data(120)
    y = np.array([[value(tree), tree.label == "and"] for tree in X], dtype=int)
    model = TreeLSTMClassifier(epochs=20, hidden_size=8, random_state=0).fit(X, y)
    assert model.predict(X).shape == y.shape
    assert (model.predict(X)[:, 1] == y[:, 1]).mean() > 0.95
    assert ((model.predict_proba(X) > 0.5) == model.predict(X)).all()


def test_weights_say_what_counts():
    X = ["(f a)", "(f a)", "(f a)"] * 20
    y = ["one", "two", "two"] * 20
    even = TreeLSTMClassifier(**QUICK).fit(X, y)
    heavy = TreeLSTMClassifier(**QUICK).fit(X, y, sample_weight=[10, 1, 1] * 20)
    by_class = TreeLSTMClassifier(class_weight={"one": 10, "two": 1}, **QUICK).fit(X, y)
    balanced = TreeLSTMClassifier(class_weight="balanced", **QUICK).fit(X, y)
    found = [model.predict_proba(["(f a)"])[0, 0] for model in (even, balanced, heavy, by_class)]
    assert found[0] < 0.45 < found[1] < 0.55 < found[2]
    assert found[2] == pytest.approx(found[3], abs=1e-6)


def test_balanced_labels_count_alike():
    X = ["(f a)", "(f a)", "(f a)"] * 20
    y = np.array([[1, 0], [0, 1], [0, 1]] * 20)  # both labels say the same
    balanced = TreeLSTMClassifier(class_weight="balanced", **QUICK).fit(X, y)
    weights = np.where(y[:, 0], (60 / 40) ** 2, (60 / 80) ** 2)
    weighed = TreeLSTMClassifier(**QUICK).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(balanced.predict_proba(X), weighed.predict_proba(X), atol=1e-6)


def test_given_validation_samples_of_several_labels_are_balanced_like_those_to_learn_from():
    rng = np.random.default_rng(0)
    X = [f"(f {' '.join(rng.choice(list('abc'), 2))})" for _ in range(120)]
    y = np.array([["a" in text or rng.random() < 0.2, "b" in text] for text in X]).astype(int)
    weights = np.prod([(30 / np.bincount(of[60:]))[of] for of in y.T], axis=0)
    asked = {"X_val": X[:60], "y_val": y[:60]}
    balanced = TreeLSTMClassifier(class_weight="balanced", **QUICK)
    weighed = TreeLSTMClassifier(**QUICK)
    balanced.fit(X[60:], y[60:], **asked)
    weighed.fit(X[60:], y[60:], weights[60:], sample_weight_val=weights[:60], **asked)
    np.testing.assert_allclose(balanced.predict_proba(X), weighed.predict_proba(X), atol=1e-6)
    told = [[one["validation_loss"] for one in model.history_] for model in (balanced, weighed)]
    np.testing.assert_allclose(*told, atol=1e-6)


def test_numbers_of_one_column_or_several(tmp_path: Path):
    rng = random.Random(0)
    X = [expression(rng) for _ in range(150)]
    sizes = np.array([[tree.size, tree.height] for tree in X], dtype=float)
    one = TreeLSTMRegressor(**QUICK).fit(X, sizes[:, 0])
    assert one.predict(X).shape == (150,) and one.score(X, sizes[:, 0]) > 0.999
    two = TreeLSTMRegressor(epochs=30, random_state=0).fit(X, 1000 + sizes)
    assert two.predict(X).shape == (150, 2) and two.score(X, 1000 + sizes) > 0.97
    two.save(tmp_path / "model.safetensors")
    again = TreeLSTMRegressor.load(tmp_path / "model.safetensors")
    assert (again.predict(X) == two.predict(X)).all()


def depth_of_first_leaf(tree: Tree) -> int:
    return 1 + depth_of_first_leaf(tree.children[0]) if tree.children else 0


def test_the_tree_says_what_counting_leaves_open():
    """How deep the leftmost leaf lies cannot be counted."""
    rng = random.Random(0)
    X = [expression(rng, 5) for _ in range(300)]
    y = np.array([depth_of_first_leaf(tree) for tree in X], dtype=float)
    model = TreeLSTMRegressor(epochs=30, hidden_size=16, random_state=0).fit(X[:200], y[:200])
    score = model.score(X[200:], y[200:])
    model.model_.shares[0] = 0  # the linear model alone
    assert score > 0.9 and model.score(X[200:], y[200:]) < 0.7


def test_the_order_of_many_siblings_is_learnt():
    rng, X = random.Random(0), []
    for _ in range(700):
        X.append(Tree("row", [Tree(rng.choice("abcde")) for _ in range(rng.randint(3, 10))]))
    y = np.array(["a b" in str(tree) for tree in X])
    model = TreeLSTMClassifier(epochs=5, random_state=0).fit(X[:500], y[:500])
    assert model.score(X[500:], y[500:]) > 0.97  # the frequent class 0.78


def test_a_digit_within_a_name_is_learnt():
    rng = random.Random(0)
    names = [(rng.choice(["get", "set", "is"]), rng.choice("46")) for _ in range(300)]
    X = [
        Tree("call", [Tree(f"{verb}Ipv{digit}From{rng.randrange(10**6)}")]) for verb, digit in names
    ]
    y = [digit for _, digit in names]
    model = TreeLSTMClassifier(epochs=5, random_state=0).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > 0.95


def test_a_class_for_each_node():
    X, _ = data(200)
    y = [[value(node) for node in tree.preorder()] for tree in X]
    for labels in y:
        labels[-1] = None
    model = TreeLSTMNodeClassifier(epochs=20, hidden_size=16, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.98
    assert [len(each) for each in model.predict(X)] == [tree.size for tree in X]
    probable, logarithm = model.predict_proba(X), model.predict_log_proba(X)
    for tree, names, p, log_p in zip(X, model.predict(X), probable, logarithm, strict=True):
        assert p.shape == (tree.size, len(model.classes_))
        np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-6)
        np.testing.assert_allclose(np.log(p), log_p, atol=1e-4)
        assert model.classes_[p.argmax(axis=1)].tolist() == names


@pytest.mark.parametrize("kind", [TreeLSTMClassifier, TreeLSTMRegressor])
def test_validation_samples_have_weights(kind: type):
    X, y = data()
    others, answers = data(40, seed=5)
    y, answers = (np.array(each) == answers[0] for each in (y, answers))
    weights, few = np.repeat([1.0, 0.0], 20), QUICK | {"epochs": 2}
    found = [
        kind(**few).fit(X, y * 1.0, **held_out(given)).history_["validation_loss"]
        for given in ((others[:20], answers[:20]), (others, answers, weights), (others, answers))
    ]
    assert found[0] == found[1] != found[2]


def test_two_samples_are_enough():
    model = TreeLSTMClassifier(epochs=1, random_state=0).fit(["(a b)", "(a c)"], [0, 1])
    assert model.predict(["(a b)"]).shape == (1,)


def test_training_goes_on_where_it_stopped(tmp_path: Path):
    X, y = data()
    whole = TreeLSTMClassifier(**QUICK).fit(X, y)

    class Stop(Exception):
        pass

    import structnet.training.loop as loop

    original = loop.Loop._epoch

    def stopping(self, number: int) -> None:
        if number == 4:
            raise Stop
        original(self, number)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(Stop):
        patch.setattr(loop.Loop, "_epoch", stopping)
        TreeLSTMClassifier(folder=tmp_path, **QUICK).fit(X, y)
    resumed = TreeLSTMClassifier(folder=tmp_path, **QUICK).fit(X, y)
    assert (resumed.predict_proba(X) == whole.predict_proba(X)).all()


def test_known_vectors_of_words(tmp_path: Path):
    file = tmp_path / "vectors.txt"
    file.write_text("0 1 0 0\n1 0 2 0\nelephant 5 5 5\n", encoding="utf-8")
    X, y = data(60)
    model = TreeLSTMClassifier(vectors=file, train_vectors=False, **QUICK).fit(X, y)
    table = model.model_.tree.readout.encoder.token_vectors.weight
    rows = [table[model.trained_.vocabulary.token_of(word)].tolist() for word in "01"]
    scale = rows[0][0]
    assert rows == [pytest.approx([scale, 0, 0]), pytest.approx([0, 2 * scale, 0])]
    assert np.mean(np.square(rows)) == pytest.approx(0.25)
    model.save(tmp_path / "model.safetensors")
    again = TreeLSTMClassifier.load(tmp_path / "model.safetensors")
    assert (again.predict_proba(X) == model.predict_proba(X)).all()
    trained = TreeLSTMClassifier(vectors=file, **QUICK).fit(X, y).model_
    assert trained.tree.readout.encoder.token_vectors.weight[0].tolist() != rows[0]
    file.write_text("yak 1 2\n", encoding="utf-8")
    with pytest.raises(ValueError, match="has a vector for none of the 2 words of the trees"):
        TreeLSTMClassifier(vectors=file, **QUICK).fit(X, y)
    refused = "'vectors' parameter must be None for all cells but 'child-sum'"
    with pytest.raises(ValueError, match=refused):
        TreeLSTMClassifier(vectors=file, cell="sum", **QUICK).fit(X, y)


def test_a_training_of_ten_steps():
    X, y = data(160)
    model = TreeLSTMClassifier(epochs=1, batch_size=16, random_state=0)
    assert len(model.fit(X, y, **held_out(data(20, seed=1))).history_) == 1


def test_samples_of_weight_zero_are_as_if_not_given():
    X, y = data(60)
    strange = [*X, *["(nand 7 8)", "(nor 9 9)"] * 5]
    weights = [1] * 60 + [0] * 10
    found = TreeLSTMClassifier(**QUICK).fit(strange, [*y, *["yes"] * 10], sample_weight=weights)
    plain = TreeLSTMClassifier(**QUICK).fit(X, y, sample_weight=[1] * 60)
    assert (found.predict_proba(X) == plain.predict_proba(X)).all()
    model = TreeLSTMClassifier(**{**QUICK, "epochs": 15})
    model.fit(strange, [*y, *["odd"] * 10], sample_weight=weights)
    assert model.classes_.tolist() == ["no", "odd", "yes"]  # as if its weight were small
    assert "odd" not in model.predict(X)
    numbers = TreeLSTMRegressor(**QUICK).fit(X, range(60), sample_weight=[1] * 8 + [0] * 52)
    assert np.isfinite(numbers.history_["validation_loss"]).all()
    for told, weights in {"all": [0] * 60, "all but 1 of": [1] + [0] * 59}.items():
        with pytest.raises(ValueError, match=f"{told} 60 samples have the weight zero; expected"):
            TreeLSTMClassifier(**QUICK).fit(X, y, sample_weight=weights)


@pytest.mark.parametrize("weights", [{0: 1, 1: 3}, {False: 1, True: 2}])
def test_class_weights_are_saved_with_their_keys(tmp_path: Path, weights: dict):
    X, names = data(40)
    y = [type(next(iter(weights)))(name == "yes") for name in names]
    model = TreeLSTMClassifier(class_weight=weights, epochs=1, random_state=0).fit(X, y)
    model.save(tmp_path / "model.safetensors")
    again = TreeLSTMClassifier.load(tmp_path / "model.safetensors")
    assert again.class_weight == weights and again.fit(X, y).classes_.tolist() == [0, 1]


def test_shared_trees_cost_what_they_store():
    trees = [doubled(60), doubled(60, "g")] * 4
    model = TreeLSTMClassifier(bag=False, epochs=1, pools=["root", "max"], random_state=0)
    assert model.fit(trees, [0, 1] * 4).predict(trees[:1]).shape == (1,)


def test_threads_of_the_matrix_library_come_back():
    X, y = data(40)
    model = TreeLSTMClassifier(epochs=1, random_state=0).fit(X, y)
    blas = ThreadpoolController().select(internal_api="openblas")
    with blas.limit(limits=2):
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(model.predict, [X] * 20))
        assert {each["num_threads"] for each in blas.info()} <= {2}
