"""Trees whose nodes carry numbers: vectors and sums of values, and estimators that read them."""

from __future__ import annotations

import itertools
import json
import random
from functools import partial
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch

from structnet import TreeLSTMClassifier, TreeLSTMNodeClassifier, TreeLSTMRegressor, parse
from structnet.errors import GraphError
from structnet.tensor_tree import ChildSumTreeLSTM, RecursiveNetwork, TreeLSTM
from structnet.tensor_tree.counts.label_bag import FORMS, LabelBag
from structnet.tensor_tree.counts.number_sums import NumberSums
from structnet.tensor_tree.number_embedding import FURTHEST, NumberEmbedding
from structnet.trees.forest import Forest
from structnet.trees.number_tokens import number_of, token_of_number, values_of
from structnet.trees.tree import Tree
from structnet.trees.vocabulary import Vocabulary


def expressions(count: int, seed: int, inner: bool = False) -> tuple[list[Tree], np.ndarray]:
    """Sums and differences of numbers and x, which is 1, and their values."""
    rng = random.Random(seed)

    def draw(depth: int) -> tuple[Tree, float]:
        if depth == 0:
            value = round(rng.uniform(-5, 5), 2)
            return (Tree("x"), 1.0) if rng.random() < 0.2 else (Tree(str(value)), value)
        (left, a), (right, b) = draw(depth - 1), draw(depth - 1)
        token = rng.choice([None, "x", "0.5"]) if inner else None
        if rng.random() < 0.5:
            return Tree("+", [left, right], token), a + b
        return Tree("-", [left, right], token), a - b

    trees, values = zip(*(draw(rng.randint(1, 2)) for _ in range(count)), strict=True)
    return list(trees), np.array(values)


def test_features_follow_the_equation():
    table = NumberEmbedding(2, 3)
    values = np.arange(-8.0, 9.0)
    table.fit_scale(values)
    found = table.features(np.array([-8.0, -3.0, 8.0, 1e9]))
    logarithm = np.sign(values) * np.log1p(np.abs(values) / 4.5)
    at = np.sign([-3]) * np.log1p(3 / 4.5)
    np.testing.assert_allclose(found[1, :3], [1, -3 / values.std(), at[0] / logarithm.std()])
    np.testing.assert_allclose(found[:, 3:][:3], [[0] * 8, [1, 1, 0.5] + [0] * 5, [1] * 8])
    assert found[3, 1] == FURTHEST and np.isfinite(found).all()
    with torch.no_grad():
        rows = table(torch.tensor([1, token_of_number(-3.0)]))
        expected = torch.from_numpy(found[1]).float() @ table.number_weight
    torch.testing.assert_close(rows, torch.stack([table.weight[1], expected]))


def test_values_that_do_not_differ_have_finite_features():
    table = NumberEmbedding(1, 2)
    for values in (np.zeros(3), np.full(5, 7.0), np.array([0.0, 0.0, 0.0, 1e30])):
        table.fit_scale(values)
        assert np.isfinite(table.features(np.array([0.0, 7.0, -1e38]))).all()
    table.fit_scale(np.full(37, 19.99))  # whose mean is rounded
    assert np.abs(table.features(np.array([20.0]))[0, 1:3]).max() < 1


def encoders(vocabulary: Vocabulary, inner: bool) -> list[torch.nn.Module]:
    size = vocabulary.num_types, vocabulary.num_tokens
    made = [ChildSumTreeLSTM(4, *size, numbers=True)]
    for kind in (TreeLSTM, RecursiveNetwork):
        inputs = NumberEmbedding(vocabulary.num_tokens, 3)
        made.append(kind(4, vocabulary.num_types, vocabulary.arity, inputs, inner_inputs=inner))
    return made


@pytest.mark.parametrize("inner", [False, True])
@pytest.mark.parametrize("which", range(3))
def test_both_backends_give_the_same_with_numbers(which: int, inner: bool):
    torch.manual_seed(0)
    trees, _ = expressions(30, 0, inner)
    vocabulary = Vocabulary.from_trees(trees, numbers=True)
    forest, model = Forest.from_trees(trees, vocabulary), encoders(vocabulary, inner)[which]
    model.double()
    found = []
    for backend in ("levels", "dgl"):
        model.zero_grad()
        states = model(forest, backend)
        (states * torch.linspace(-1, 1, 4, dtype=torch.float64)).sum().backward()
        found.append([states, *(p.grad for p in model.parameters())])
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b)
    table = next(part for part in model.modules() if isinstance(part, NumberEmbedding))
    assert table.number_weight.grad.abs().min() > 0  # every feature counts


def test_a_model_without_numbers_refuses_them():
    trees, _ = expressions(5, 0)
    forest = Forest.from_trees(trees, Vocabulary.from_trees(trees, numbers=True))
    with pytest.raises(GraphError, match="the model has 1 tokens"):
        ChildSumTreeLSTM(4, 2, 1)(forest)
    with pytest.raises(GraphError, match="the model has 1 input vectors"):
        TreeLSTM(4, 2, 2, torch.eye(1))(forest)


@pytest.mark.parametrize("inner", [False, True])
def test_sums_are_those_of_the_trees(inner: bool):
    trees, _ = expressions(20, 1, inner)
    vocabulary = Vocabulary.from_trees(trees, numbers=True)
    sums = NumberSums(vocabulary.num_types)
    found = sums(Forest.from_trees(trees, vocabulary)).toarray()
    expected = np.zeros((20, 2 * (1 + vocabulary.num_types)))

    def add(row: np.ndarray, field: int, label: object) -> None:
        value = number_of(label)
        if value is not None:
            row[[0, 2 + 2 * field]] += value
            row[[1, 3 + 2 * field]] += np.sign(value) * np.log1p(abs(value))

    for row, tree in zip(expected, trees, strict=True):
        for node in tree.preorder():
            if node.children:
                field = vocabulary.type_of(node.label)
                add(row, field, node.token)
                for child in node.children:
                    if not child.children:
                        add(row, field, child.label)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    sums.fit_scale(Forest.from_trees(trees, vocabulary))
    scaled = sums(Forest.from_trees(trees, vocabulary)).toarray()
    np.testing.assert_allclose(scaled.std(axis=0), np.sqrt((found != 0).mean(axis=0)))


@pytest.mark.parametrize("constant", [0.0, 0.1, 1234.5])
def test_a_sum_that_does_not_differ_keeps_its_size(constant: float):
    trees = [Tree.fromstring(f"(o (k {constant}) (v {i}))") for i in range(37)]
    vocabulary = Vocabulary.from_trees(trees, numbers=True)
    sums = NumberSums(vocabulary.num_types)
    sums.fit_scale(Forest.from_trees(trees, vocabulary))
    found = sums(Forest.from_trees([*trees, Tree.fromstring("(o (k 1e4))")], vocabulary))
    assert abs(found.toarray()).max() < 2e5


def test_a_sum_that_few_trees_have_is_no_larger_than_there():
    rng = np.random.default_rng(0)
    rows = [
        f"(o (v {x}){f' (w {x})' if i % 50 == 0 else ''})" for i, x in enumerate(rng.random(500))
    ]
    trees = [Tree.fromstring(row) for row in rows]
    vocabulary = Vocabulary.from_trees(trees, numbers=True)
    sums = NumberSums(vocabulary.num_types)
    sums.fit_scale(Forest.from_trees(trees, vocabulary))
    found = sums(Forest.from_trees(trees, vocabulary)).toarray()
    column = 2 + 2 * vocabulary.type_of("w")
    assert (found[:, column] > 0).sum() == 10
    assert found[:, column].max() < 2.5  # of the deviation over all trees it would be above 7


@pytest.mark.parametrize("kind", [TreeLSTMClassifier, TreeLSTMRegressor])
def test_a_number_far_beyond_the_others_does_not_decide_about_classes(kind: type):
    """But numbers that are sums of others follow them as far as they go."""
    rng = np.random.default_rng(0)
    named, limits = rng.integers(2, size=200), rng.random(200)
    X = [Tree.fromstring(f"(o {'ab'[i]} (limit {x}))") for i, x in zip(named, limits, strict=True)]
    far = [Tree.fromstring(f"(o {'ab'[i]} (limit {2**63 - 1}))") for i in (0, 1)]
    model = kind(epochs=1, hidden_size=4, numbers=True, random_state=0)
    y = named if kind is TreeLSTMClassifier else limits
    model.fit(X, y)
    if kind is TreeLSTMClassifier:
        assert model.predict(far).tolist() == [0, 1]
    else:
        assert model.predict(far).min() > 2**62


@pytest.mark.parametrize("form", FORMS)
def test_sums_have_the_scale_of_the_counts_beside_them(form: str):
    trees, _ = expressions(20, 1, False)
    forest = Forest.from_trees(trees, vocabulary := Vocabulary.from_trees(trees, numbers=True))
    sums = NumberSums(vocabulary.num_types)
    sums.spread.fill_(0.1)  # so that some terms are above 10
    entry, column, value = sums.added(forest, forest.preorder())
    assert (abs(value) > FURTHEST).any() and (abs(value) < FURTHEST).any()
    if form != "count":
        value = value.clip(-FURTHEST, FURTHEST)
    if form == "tf-idf":
        value /= 30**0.5
    expected = np.zeros((20, sums.width))
    np.add.at(expected, (forest.preorder().trees[entry], column), value)
    np.testing.assert_allclose(sums(forest, form).toarray(), expected)


def test_numbers_that_trees_share_are_counted_by_themselves(tmp_path: Path):
    rng = random.Random(0)
    ports = [rng.choice([22, 25, 80, 443, 8080]) for _ in range(300)]
    trees = [Tree.fromstring(f"(server (port {p}) (load {rng.random()}))") for p in ports]
    y = [p in (25, 443) for p in ports]  # no line between values parts these
    model = TreeLSTMClassifier(hidden_size=4, epochs=1, random_state=0).fit(trees[:200], y[:200])
    assert model.settings_.numbers is True
    bag = model.model_.bag
    assert values_of(bag.values.numpy()).tolist() == [22, 25, 80, 443, 8080]
    forest = Forest.from_trees(trees, model.trained_.vocabulary)
    assert (bag(forest).argmax(1).numpy() == y).all()
    model.save(tmp_path / "model")
    again = TreeLSTMClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(trees), model.predict_proba(trees))


def test_each_number_that_trees_share_has_a_column_in_each_tree_of_a_pair():
    rows = ["(f 7 7 0.5)", "(g 9 (f 7))", "(f 9 1.5)", "(g (f -7))"]
    trees = [Tree.fromstring(row) for row in rows]
    vocabulary = Vocabulary(["f", "g"], [], None, unknown=True, numbers=True)
    sizes = {"num_types": vocabulary.num_types, "num_tokens": vocabulary.num_tokens}
    forest = Forest.from_trees(trees, vocabulary)
    bag = LabelBag.knowing(forest, **sizes, num_outputs=1, roots=2, form="count", numbers=True)
    assert values_of(bag.values.numpy()).tolist() == [7.0, 9.0]
    place = np.concatenate([i * bag.width + bag.num_counts + np.arange(-2, 0) for i in (0, 1)])
    found = bag.counts(forest).toarray()[:, place]
    np.testing.assert_array_equal(found, [[2, 0, 1, 1], [0, 1, 0, 0]])


fitted = partial(TreeLSTMRegressor, cell="child-sum", hidden_size=24, epochs=10, random_state=0)


def test_values_are_learnt_and_those_never_seen_are_known(tmp_path: Path):
    trees, y = expressions(600, 0)
    model = fitted().fit(trees[:450], y[:450])
    assert model.settings_.numbers is True
    assert "reads numbers at leaves by their values" in model.summary()
    assert model.score(trees[450:], y[450:]) > 0.7
    words = fitted(numbers=False).fit(trees[:450], y[:450])
    assert words.score(trees[450:], y[450:]) < 0.5
    model.save(tmp_path / "model")
    again = TreeLSTMRegressor.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(trees), model.predict(trees))
    new = model.predict(["(+ 3.14159 x)", "(+ 3.1416 x)", "(+ -3.14159 x)", "(+ 1e30 -1e-30)"])
    assert abs(new[0] - new[1]) < 1e-3 < abs(new[0] - new[2]) and np.isfinite(new).all()
    why = model.explain(trees[0])
    assert why.gradient is not None and np.isfinite(why.gradient).all()


def test_all_kinds_of_trees_have_the_same_numbers():
    rng = np.random.default_rng(0)
    values = rng.uniform(0, 100, (60, 2)).round(3).tolist()
    texts = [json.dumps({"a": a, "b": b}) for a, b in values]
    graphs = []
    for a, b in values:
        graph = nx.DiGraph([("object", "a"), ("object", "b"), ("a", 0), ("b", 1)])
        nx.set_node_attributes(graph, {0: a, 1: b}, "label")
        graphs.append(graph)
    brackets = [f"(object (a {a}) (b {b}))" for a, b in values]
    y = [a - b for a, b in values]
    model = TreeLSTMRegressor(hidden_size=4, epochs=2, random_state=0).fit(brackets, y)
    expected = model.predict(brackets)
    for same in ([parse.json(text) for text in texts], graphs):
        np.testing.assert_array_equal(model.predict(same), expected)


@pytest.mark.parametrize("kind", ["classes", "pairs", "nodes", "sum"])
def test_every_question_can_be_asked_of_numbers(kind: str):
    trees, y = expressions(80, 2)
    few = {"hidden_size": 4, "epochs": 2, "random_state": 0}
    if kind == "nodes":
        model = TreeLSTMNodeClassifier(**few)
        labels = [["n" if number_of(n.label) else "o" for n in t.preorder()] for t in trees]
        model.fit(trees, labels)
        assert len(model.predict(trees)[0]) == trees[0].size
    elif kind == "pairs":
        model = TreeLSTMClassifier(**few).fit(list(itertools.pairwise(trees)), y[1:] > 0)
        assert len(model.predict([("(+ 0.123 x)", "(- x 7)")])) == 1
    elif kind == "sum":
        model = TreeLSTMRegressor(cell="sum", **few).fit(trees, y)
        assert np.isfinite(model.predict(["(+ 0.123 x)"])).all()
    else:
        model = TreeLSTMClassifier(**few).fit(trees, y > 0)
        assert model.score(trees, y > 0) > 0.8
    assert model.trained_.vocabulary.numbers


def heaps(count: int, seed: int) -> tuple[list[Tree], np.ndarray]:
    """Trees of numbers, and whether no number is above that of its parent."""
    rng = random.Random(seed)

    def draw(most: float, depth: int, breach: bool) -> Tree:
        value = round(rng.uniform(most / 2, most), 2)
        children = rng.randint(1, 3) if depth else 0
        at = rng.randrange(children) if children and breach else None
        below = [draw(value * (1.5 if i == at else 1), depth - 1, False) for i in range(children)]
        return Tree(str(value), below)

    y = np.array([rng.random() < 0.5 for _ in range(count)])
    return [draw(100, rng.randint(1, 3), not kept) for kept in y], y


def test_numbers_at_inner_nodes_are_read_by_their_values(tmp_path: Path):
    trees, y = heaps(500, 0)
    model = TreeLSTMClassifier(epochs=15, random_state=0).fit(trees[:400], y[:400])
    assert "reads numbers at leaves and inner nodes by their values" in model.summary()
    assert not model.trained_.vocabulary.types
    assert model.score(trees[400:], y[400:]) > 0.75
    words = TreeLSTMClassifier(epochs=15, numbers=False, random_state=0)
    assert words.fit(trees[:400], y[:400]).score(trees[400:], y[400:]) < 0.65
    model.save(tmp_path / "model")
    again = TreeLSTMClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(trees), model.predict_proba(trees))
    typed = TreeLSTMClassifier(cell="tucker", hidden_size=4, epochs=2, random_state=0)
    assert typed.fit(trees[:400], y[:400]).predict(["(12.345 77.7 (0.1 3))"]).shape == (1,)


def test_codes_at_leaves_stay_words_below_numbers():
    rng = random.Random(0)
    trees = [Tree(f"{rng.uniform(0, 9):.2f}", [Tree(rng.choice("0123"))]) for _ in range(90)]
    y = [tree.children[0].label in "01" for tree in trees]
    model = TreeLSTMClassifier(hidden_size=8, epochs=10, random_state=0).fit(trees, y)
    assert "reads numbers at inner nodes by their values" in model.summary()
    assert model.score(trees, y) > 0.9
    [[one], [other]] = (model.predict_proba([f"(5.0 {leaf})"])[:, 0] for leaf in ("99", "x"))
    assert one == other  # codes that it does not know are all the same


def test_few_numbers_at_inner_nodes_are_operators():
    trees, y = expressions(80, 3)
    trees = [Tree(str(i % 5), [tree]) for i, tree in enumerate(trees)]
    few = {"hidden_size": 4, "epochs": 2, "random_state": 0}
    model = TreeLSTMRegressor(cell="tucker", **few).fit(trees, y)
    assert set(map(str, range(5))) < set(model.trained_.vocabulary.types)
    assert not model.trained_.question.carried
    assert np.isfinite(model.predict(["(9 (+ 1.25 x))"])).all()  # another operator, no number
    # Nor are there any where all numbers are to be read, and none is at an inner node.
    told = TreeLSTMRegressor(cell="tucker", numbers=True, **few).fit(expressions(80, 3)[0], y)
    assert np.isfinite(told.predict(["(9 1.25 x)"])).all()


def test_digits_stay_words_bit_by_bit():
    rng = random.Random(0)
    trees = [Tree("+", [Tree(rng.choice("0123456789")) for _ in range(3)]) for _ in range(60)]
    y = [sum(int(str(leaf.label)) for leaf in tree.children) for tree in trees]
    few = {"hidden_size": 4, "epochs": 2, "random_state": 0}
    guessed, told = (TreeLSTMRegressor(numbers=n, **few).fit(trees, y) for n in (None, False))
    assert guessed.settings_.numbers is False
    assert not any("number" in name for name in guessed.model_.state_dict())
    np.testing.assert_array_equal(guessed.predict(trees), told.predict(trees))
