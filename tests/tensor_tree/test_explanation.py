"""What matters in a tree, on trees where it is known."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from hiding import without
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from random_trees import random_trees, with_texts

from structnet import Tree, TreeLSTMClassifier, TreeLSTMRegressor
from structnet.plot import plot_explanation
from structnet.tensor_tree.explanation import TreeExplanation, hidden_one_by_one
from structnet.trees.forest import Forest
from structnet.trees.label_words import Text
from structnet.trees.vocabulary import Vocabulary

NOISE = "uvwxyz"


def planted(rng: random.Random, word: str) -> Tree:
    """A tree of noise with one word somewhere."""
    words = [rng.choice(NOISE) for _ in range(5)]
    words[rng.randrange(5)] = word
    return Tree("S", [Tree("L", map(Tree, words[:2])), Tree("R", map(Tree, words[2:]))])


@pytest.fixture(scope="module")
def model() -> TreeLSTMClassifier:
    rng = random.Random(0)
    y = ["good", "bad"] * 100
    X = [planted(rng, word) for word in y]
    told = {"cell": "child-sum", "bag": False, "epochs": 6, "hidden_size": 16, "random_state": 0}
    return TreeLSTMClassifier(**told).fit(X, y)


def above(tree: Tree, place: int) -> tuple[int, int]:
    """The nodes above a place that have own children, and the edges of these, by recursion."""
    if place == 0 or isinstance(tree, Text):
        return 0, 0
    start = 1
    for child in tree.children:
        if start <= place < start + child.size:
            nodes, edges = above(child, place - start)
            return nodes + 1, edges + len(tree.children)
        start += child.size
    raise IndexError(place)


def test_a_forest_has_none_of_the_texts_of_others():
    tree = Tree("f", [Text("text", [Tree(word) for word in "abcdefgh"])] * 20)
    vocabulary = Vocabulary.from_trees([tree], unknown=True)
    for forest in hidden_one_by_one(tree, vocabulary, 1):
        assert forest.num_nodes <= 21 + 3  # those of the tree, what replaces one, and a copy above


@pytest.mark.parametrize("most", [1, 60, 10**6])
@pytest.mark.parametrize("inner_tokens", [False, True])
def test_each_subtree_is_hidden_in_turn(inner_tokens: bool, most: int):
    trees = random_trees(random.Random(0), inner_tokens)
    for tree in trees + [with_texts(tree, random.Random(1)) for tree in trees]:
        vocabulary = Vocabulary.from_trees([tree], unknown=True)
        forests = list(hidden_one_by_one(tree, vocabulary, most))
        expected = Forest.from_trees([without(tree, i) for i in range(tree.size)], vocabulary)
        found = [forest.tree(i) for forest in forests for i in range(len(forest))]
        assert found == [expected.tree(i) for i in range(tree.size)]
        costs = [above(tree, i) for i in range(tree.size)]
        for forest in forests:
            _, *more = costs[: len(forest)]
            assert sum(8 * nodes + edges for nodes, edges in more) <= most
            del costs[: len(forest)]


def test_a_chain_is_explained_as_its_parts_are_predicted(model: TreeLSTMClassifier):
    rng = random.Random(5)
    tree = Tree("good")
    for _ in range(60):
        tree = Tree(rng.choice("SLR"), [tree, Tree("u")])
    explained = model.explain(tree, "good")
    log_prob = model.predict_log_proba([without(tree, i) for i in range(tree.size)])
    bad, good = log_prob.T
    np.testing.assert_allclose(explained.score - explained.occlusion, good - bad, atol=1e-4)


def test_the_word_that_decides_matters_most(model: TreeLSTMClassifier):
    rng, found = random.Random(1), 0
    for word in ("good", "bad") * 5:
        explained = model.explain(planted(rng, word))
        assert explained.answer == word
        leaves = [(value, str(node)) for node, value in explained.top(9) if not node.children]
        assert leaves[0][1] == word and leaves[0][0] > 1
        nodes = list(explained.tree.preorder())
        shares = [
            (abs(g), n.label)
            for g, n in zip(explained.gradient, nodes, strict=True)
            if not n.children
        ]
        found += max(shares)[1] == word
        above = next(n for n in nodes[1:] if n.children and word in [c.label for c in n.children])
        assert explained.values()[id(above)] > 0  # what holds the word matters too
    assert found >= 7  # a gradient is what the next small step would do, no more


def test_the_score_is_the_log_odds(model: TreeLSTMClassifier):
    tree = planted(random.Random(2), "bad")
    for i, name in enumerate(model.classes_):
        explained = model.explain(tree, name)
        log_prob = model.predict_log_proba([tree, without(tree, 3)])
        expected = log_prob[:, i] - log_prob[:, 1 - i]
        assert explained.score == pytest.approx(expected[0], rel=1e-4)
        assert explained.occlusion[3] == pytest.approx(expected[0] - expected[1], abs=1e-3)


def test_the_gradient_is_that_of_the_label_vectors(model: TreeLSTMClassifier):
    """Against the difference that a longer vector makes."""
    tree = planted(random.Random(3), "good")
    predictor, vocabulary = model.model_, model.trained_.vocabulary
    for parameter in predictor.parameters():
        parameter.grad = torch.ones_like(parameter)
    explained = model.explain(tree)
    place = next(i for i, node in enumerate(tree.preorder()) if node.label == "good")
    row = predictor.readout.encoder.token_vectors.weight[vocabulary.token_of("good")]
    forest, scores = Forest.from_trees([tree], vocabulary), []
    sign = torch.tensor([-1.0, 1.0])  # bad, good
    for factor in (1.01, 0.99 / 1.01):
        with torch.no_grad():
            row *= factor
            scores.append((predictor(forest) @ sign).item())
    with torch.no_grad():
        row /= 0.99
    assert explained.gradient[place] == pytest.approx((scores[0] - scores[1]) / 0.02, rel=0.05)
    assert all((parameter.grad == 1).all() for parameter in predictor.parameters())


def test_threads_explain_what_one_after_another_would(model: TreeLSTMClassifier):
    rng = random.Random(5)
    X = [planted(rng, word) for word in ("good", "bad") * 10]
    serial, predicted = [model.explain(x) for x in X], model.predict_proba(X)
    with ThreadPoolExecutor(8) as pool:
        found = pool.map(model.explain, X * 3)
        beside = list(pool.map(model.predict_proba, [X] * 20))
    for ours, theirs in zip(found, serial * 3, strict=True):
        assert ours.score == theirs.score
        np.testing.assert_array_equal(ours.occlusion, theirs.occlusion)
        np.testing.assert_array_equal(ours.gradient, theirs.gradient)
    assert all((each == predicted).all() for each in beside)


def test_numbers_are_explained_in_their_own_units():
    rng = random.Random(0)
    words = [rng.choice(["ten", "one"]) for _ in range(120)]
    X = [planted(rng, word) for word in words]
    y = [1000.0 * {"ten": 10, "one": 1}[word] for word in words]
    model = TreeLSTMRegressor(epochs=6, hidden_size=8, random_state=0).fit(X, y)
    explained = model.explain(X[0])
    assert explained.score == pytest.approx(model.predict(X[:1])[0], rel=1e-4)
    assert explained.heading.startswith("prediction 1")
    best = next(node for node, _ in explained.top() if not node.children)
    assert best.label == words[0] and np.abs(explained.occlusion).max() > 2000
    for target in (1, False, 0.0, None):
        with pytest.raises(
            ValueError, match="'target' parameter of explain must be an int from 0 to 0"
        ):
            model.explain(X[0], target=target)


def test_models_without_label_vectors_are_explained_too():
    rng = random.Random(0)
    y = ["good", "bad"] * 20
    X = [planted(rng, word) for word in y]
    model = TreeLSTMClassifier(cell="sum", epochs=3, hidden_size=4, random_state=0).fit(X, y)
    assert model.explain(X[0]).gradient is None


def test_vectors_that_are_not_trained_are_explained_too(tmp_path: Path):
    file = tmp_path / "vectors.txt"
    file.write_text("good 1 0\nbad 0 1\n", encoding="utf-8")
    rng, y = random.Random(0), ["good", "bad"] * 20
    X = [planted(rng, word) for word in y]
    how = {"bag": False, "epochs": 2, "hidden_size": 4, "random_state": 0}
    model = TreeLSTMClassifier(vectors=file, train_vectors=False, **how).fit(X, y)
    assert np.abs(model.explain(X[0]).gradient).max() > 0
    assert not model.model_.readout.encoder.token_vectors.weight.requires_grad


def test_a_deep_tree_is_explained():
    tree = Tree("x")
    for _ in range(300):
        tree = Tree("f", [tree])
    model = TreeLSTMClassifier(epochs=1, random_state=0).fit([tree, Tree("x")] * 2, [0, 1] * 2)
    assert model.explain(tree).occlusion.shape == (301,)


def test_the_picture_shows_what_matters(model: TreeLSTMClassifier):
    explained = model.explain(planted(random.Random(4), "good"))
    ax = plot_explanation(explained, ax=Figure(figsize=(8, 4)).add_subplot())
    below = explained.occlusion[1:]
    said = f"without an orange part it falls, by up to {below.max():.3g}"
    assert below.min() > 0  # so nothing is blue
    assert ax.get_title().splitlines() == [f"good: log-odds {explained.score:.3f}", said]
    boxes = {t.get_text(): t.get_bbox_patch() for t in ax.texts if t.get_bbox_patch()}
    assert to_rgb(boxes["S"].get_facecolor()) == (1, 1, 1)
    red, _, blue = to_rgb(boxes["good"].get_facecolor())
    assert red - blue > 0.7  # what matters most has the full colour


def test_what_cannot_be_explained_is_refused(model: TreeLSTMClassifier):
    for target in ("ugly", 1, ["bad", "good"], np.array(["bad", "good"])):
        with pytest.raises(
            ValueError, match=r"'target' parameter of explain must be one of \['bad', "
        ):
            model.explain("(S good)", target)
    pairs = [("(f x)", "(f y)"), ("(f y)", "(f y)")] * 3
    of_pairs = TreeLSTMClassifier(epochs=1, random_state=0).fit(pairs, [0, 1] * 3)
    with pytest.raises(ValueError, match="a sample of 2 trees, as in fit; got 1"):
        of_pairs.explain(pairs[0][0])
    with pytest.raises(ValueError, match="a sample of one tree, as in fit; got 2"):
        model.explain(pairs[0])


def test_the_heading_has_the_class_and_not_a_number_that_equals_it():
    X, y = ["(f x)", "(f y)"] * 10, [True, False] * 10
    model = TreeLSTMClassifier(epochs=1, hidden_size=4, random_state=0).fit(X, y)
    assert model.explain(X[0], 1).heading.startswith("True: ")


@pytest.mark.parametrize("roots", [2, 3])
@pytest.mark.parametrize("kind", [TreeLSTMClassifier, TreeLSTMRegressor])
@pytest.mark.parametrize("most", [1, 2**19])
def test_each_tree_of_a_sample_is_explained(
    kind: type, roots: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("structnet.tensor_tree.explanation.MAX_EDGES", most)
    rng = random.Random(0)
    X = [tuple(planted(rng, rng.choice(NOISE)) for _ in range(roots)) for _ in range(60)]
    y = ["u" in str(one) for one, *_ in X]
    bag = kind is TreeLSTMClassifier  # so little is learnt that of numbers it is all there is
    told = {"cell": "child-sum", "epochs": 2, "hidden_size": 8, "words": False, "bag": bag}
    model = kind(**told, random_state=0)
    model.fit(X, np.array(y) + 0)

    def score(sample: tuple[Tree, ...]) -> float:
        if kind is TreeLSTMRegressor:
            return model.predict([sample])[0]
        return np.subtract(*model.predict_log_proba([sample])[0][::-1])

    which = {} if kind is TreeLSTMRegressor else {"target": 1}
    explained = model.explain(X[0], **which)
    assert len(explained) == roots
    for place, (tree, of) in enumerate(zip(X[0], explained, strict=True)):
        assert of.tree == tree and of.score == pytest.approx(score(X[0]), abs=1e-4)
        others = [
            score((*X[0][:place], without(tree, i), *X[0][place + 1 :])) for i in range(tree.size)
        ]
        np.testing.assert_allclose(of.occlusion, of.score - np.array(others), atol=1e-4)
        assert np.abs(of.occlusion).max() > 1e-3
        assert of.gradient.shape == (tree.size,)
        assert bag or np.abs(of.gradient).max() > 0  # 0 where a bag alone is kept
    ax = plot_explanation(explained, ax=Figure(figsize=(12, 4)).add_subplot())
    boxes = [t.get_bbox_patch() for t in ax.texts if t.get_bbox_patch()]
    assert len(boxes) == 8 * roots
    white = sum(to_rgb(box.get_facecolor()) == (1, 1, 1) for box in boxes)
    assert roots <= white < len(boxes)


def test_the_text_lists_what_matters(model: TreeLSTMClassifier):
    explained = model.explain(planted(random.Random(5), "good"))
    lines = str(explained).splitlines()
    assert lines[0].startswith("good: log-odds ") and 1 + 5 <= len(lines) <= 1 + 7
    assert any(line.endswith("without good") for line in lines)
    for (_, fall), line in zip(explained.top(), lines[1:], strict=True):
        word = "falls" if fall >= 0 else "rises"
        assert line.startswith(f"  {word} by {abs(fall):.3f} without ")


def test_what_is_around_the_part_that_matters_is_not_told_again() -> None:
    tree = Tree.fromstring("(f (g (h x y)) (k (l z)))")  # f g h x y k l z
    falls = np.array([9.0, 7.9, 8.1, 2.0, 2.5, -1.0, -3.0, -2.9])
    told = TreeExplanation(tree, "spam", 2.0, falls, None)
    assert [str(node) for node, _ in told.top()] == ["(h x y)", "z", "y", "x"]
    assert [str(node) for node, _ in told.top(2)] == ["(h x y)", "z"]
    nothing = TreeExplanation(tree, "spam", 2.0, np.zeros(8), None)
    assert str(nothing) == "spam: log-odds 2.000\n  no part matters"
    title = plot_explanation(nothing, ax=Figure().add_subplot()).get_title()
    assert title.splitlines()[1] == "no part matters: it stays the same without each"


def test_the_text_shows_trees_as_users_wrote_them():
    text = Text("error 404", [Tree("error"), Tree("#404")])
    tree = Tree(
        "f", [Tree("g", [text, Tree("#7")]), Tree("h", [Tree(str(i)) for i in range(1999)])]
    )
    told = TreeExplanation(tree, "spam", 2.0, 0.5 ** np.arange(tree.size), None)
    said = [line.partition(" without ")[2] for line in str(told).splitlines()[1:]]
    assert said[:6] == ["(g error 404 #7)", "error 404", "error", "404", "#7", "h with 2,000 nodes"]


def test_parts_that_look_the_same_are_told_by_their_places() -> None:
    X, y = (
        ["(f (g a b) (g a c))", "(f (g b b) (g a b))", "(f (g a a) (g b a))"] * 10,
        [0, 1, 0] * 10,
    )
    model = TreeLSTMClassifier(epochs=2, random_state=0).fit(X, y)
    told = model.explain(X[0])
    lines, nodes = str(told).splitlines()[1:], [node for node, _ in told.top()]
    texts = [line.partition(" without ")[2].partition(", tree[")[::2] for line in lines]
    assert sorted(place for text, place in texts if text == "a") == ["0, 0]", "1, 0]"]
    assert all(not place for text, place in texts if text != "a")
    for node, (_, place) in zip(nodes, texts, strict=True):
        if place:
            assert told.tree[tuple(map(int, place[:-1].split(", ")))] is node


@pytest.mark.parametrize(("unit", "size"), [(1e-6, "1.5e-06"), (1e6, "1500000")])
def test_effects_on_numbers_have_the_digits_of_their_unit(unit: float, size: str) -> None:
    tree = Tree("f", [Tree("x"), Tree("y")])
    told = TreeExplanation(tree, None, 2 * unit, np.array([2.0, 1.5, -0.25]) * unit, None)
    assert str(told).splitlines()[1] == f"  falls by {size} without x"
    title = plot_explanation(told, ax=Figure().add_subplot()).get_title()
    assert f"it falls, by up to {size}\n" in title
