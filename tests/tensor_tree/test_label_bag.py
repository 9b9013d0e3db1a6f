"""The linear model on counts of labels and pairs, and what stands beside it."""

from __future__ import annotations

import copy
import itertools
import random
from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch
from label_counts import SIZES, counted, pairs_of
from random_trees import TOKENS, TYPES, VOCABULARY, random_trees, with_texts
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold

from structnet import TreeLSTMClassifier, TreeLSTMRegressor
from structnet.estimators.held_out import parted
from structnet.estimators.logistic import SOLVER
from structnet.estimators.row_space import space_of
from structnet.parse import bracketed
from structnet.tensor_tree import ChildSumTreeLSTM, TreePredictor, TreeReadout
from structnet.tensor_tree.counts.beside import BesideBag
from structnet.tensor_tree.counts.form_choice import fit_in_best_form
from structnet.tensor_tree.counts.label_bag import FORMS, LabelBag
from structnet.tensor_tree.counts.ridge import PENALTIES
from structnet.tensor_tree.counts.shares import best_shares
from structnet.tensor_tree.targets import Targets
from structnet.trees.examples import TreeExamples
from structnet.trees.forest import Forest
from structnet.trees.tree import Tree
from structnet.trees.vocabulary import Vocabulary


@pytest.mark.parametrize("texts", [False, True])
@pytest.mark.parametrize("inner_tokens", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_labels_and_pairs_are_counted(form: str, inner_tokens: bool, texts: bool):
    for seed in range(8):
        trees = random_trees(random.Random(seed), inner_tokens)
        if texts:
            trees = [with_texts(tree, random.Random(seed)) for tree in trees]
        forest = Forest.from_trees(trees, VOCABULARY)
        of = {**SIZES, "num_outputs": 1, "roots": 1, "form": form}
        bag = LabelBag.knowing(forest, **of)
        met = Counter(code for tree in trees for code in set(pairs_of(tree)))
        assert bag.pairs.tolist() == sorted(code for code, count in met.items() if count >= 2)
        expected = np.array(counted(trees, bag.pairs.tolist()))
        if form != "count":
            expected = np.log1p(expected)
        if form == "tf-idf":
            bag.take_form(form, bag.rarity_in(forest))
            expected *= 1 + np.log((1 + len(trees)) / (1 + (expected > 0).sum(axis=0)))
        if form == "tf-idf":
            expected /= np.linalg.norm(expected, axis=1, keepdims=True)
        np.testing.assert_allclose(bag.counts(forest).toarray(), expected, rtol=1e-6)


def test_what_is_not_counted_is_not_in_the_state():
    states = [
        LabelBag(**SIZES, num_outputs=1, roots=1, form="logarithm", num_values=each).state_dict()
        for each in (0, 3)
    ]
    assert states[1].keys() - states[0].keys() == {"values"}
    other = LabelBag(**SIZES, num_outputs=1, roots=1, form="tf-idf").state_dict()
    assert other.keys() - states[0].keys() == {"rarity"}


def test_the_trees_of_a_pair_have_columns_of_their_own():
    trees = [Tree("x"), Tree("y"), Tree("y"), Tree("y")]
    forest = Forest.from_trees(trees, VOCABULARY)
    bag = LabelBag(**SIZES, num_outputs=1, roots=2, form="count")
    x, y = 2, 3  # columns
    expected = np.zeros((2, 14))
    expected[0, [x, 5 + y]] = expected[1, [y, 5 + y]] = 1
    expected[1, [11, 13]] = 1  # the cosines of tokens and of all
    assert bag.counts(forest).toarray().tolist() == expected.tolist()


@pytest.mark.parametrize("classes", [[0, 1], [0, 1, 3]])
def test_classes_are_learnt_from_what_is_there(classes: list[int]):
    rng = random.Random(0)
    trees = [Tree("A", [Tree(rng.choice(TOKENS)) for _ in range(3)]) for _ in range(300)]
    most = [Counter(leaf.label for leaf in tree.leaves()).most_common()[0][0] for tree in trees]
    y = np.array([classes[min(TOKENS.index(label), len(classes) - 1)] for label in most])
    forest = Forest.from_trees(trees, VOCABULARY)
    bag = LabelBag(**SIZES, num_outputs=4, roots=1, form="logarithm")
    bag.fit_classes(TreeExamples(forest, y))
    logits = bag(forest)
    assert (logits.argmax(1).numpy() == y).mean() > 0.85
    absent = sorted(set(range(4)) - set(classes))
    assert logits.softmax(1)[:, absent].max() < 1e-6


def spelled(number: int, telling: str, seed: int) -> tuple[TreeExamples, TreeExamples]:
    """Examples to learn from and others: rare words tell the class, or how many words there are.

    Two of 30 rare words stand in each tree, among up to 60 others, each below what tells the class
    together with it; or many words are below "p" and few below "q". By themselves, labels tell
    nothing.
    """
    rng, trees = np.random.default_rng(seed), []
    y = rng.integers(2, size=2 * number)
    for label in y:
        if telling == "rare":
            below = [Tree("pq"[(i + label) % 2], [Tree(f"w{i}")]) for i in rng.integers(30, size=2)]
            below += [Tree(f"n{i}") for i in rng.integers(10, size=rng.integers(1, 60))]
        else:
            sizes = rng.integers(1, 30, size=2) + 30 * np.array([label, 1 - label])
            words = [
                [Tree(f"n{i}", [Tree("w")]) for i in rng.integers(10, size=size)] for size in sizes
            ]
            below = [Tree(name, each) for name, each in zip("pq", words, strict=True)]
        trees.append(Tree("f", below))
    vocabulary = Vocabulary.from_trees(trees[:number], unknown=True, any_arity=True)
    examples = TreeExamples(Forest.from_trees(trees, vocabulary), y)
    return examples[:number], examples[number:]


@pytest.mark.parametrize(("telling", "form"), [("rare", "tf-idf"), ("size", "logarithm")])
@pytest.mark.parametrize("asked", [10_000, 100])
def test_held_out_examples_choose_the_form_of_the_counts_of_classes(
    monkeypatch: pytest.MonkeyPatch, telling: str, form: str, asked: int
) -> None:
    monkeypatch.setattr("structnet.tensor_tree.counts.form_choice.ASKED", asked)
    learn, held = spelled(200, telling, seed=0)
    types, tokens = int(learn.forest.types.max()) + 1, int(learn.forest.tokens.max()) + 1
    sizes = {"num_types": types, "num_tokens": tokens, "num_outputs": 2, "roots": 1}
    bag = LabelBag.knowing(learn.forest, **sizes, form="logarithm")
    fit_in_best_form(bag, learn, held, seed=0)
    assert bag.form == form
    losses = {}
    for other in ("logarithm", "tf-idf"):  # each by itself, fitted to all
        one = LabelBag.knowing(learn.forest, **sizes, form=other)
        one.fit_classes(learn)
        losses[other] = one.losses(held).mean()
        if other == form:
            torch.testing.assert_close(bag.weight, one.weight)
    assert min(losses, key=losses.__getitem__) == form


def test_pairs_that_only_drown_the_labels_are_left_out() -> None:
    """Which of two labels is the more frequent one, among twenty that stand in any order."""
    rng = np.random.default_rng(0)
    drawn = rng.integers(20, size=(200, 30))
    trees = [Tree("f", [Tree(f"n{i}") for i in row]) for row in drawn]
    y = ((drawn == 0).sum(axis=1) > (drawn == 1).sum(axis=1)).astype(int)
    forest = Forest.from_trees(trees, vocabulary := Vocabulary.from_trees(trees, any_arity=True))
    sizes = {"num_types": vocabulary.num_types, "num_tokens": vocabulary.num_tokens}
    bag = LabelBag.knowing(forest, **sizes, num_outputs=2, roots=1, form="logarithm")
    learn, held = (TreeExamples(forest, y)[part] for part in (slice(100), slice(100, 200)))
    fit_in_best_form(bag, learn, held, seed=0)
    assert bag.form == "count" and (bag.used == bag.labels_alone).all() and not bag.used.all()
    assert not bag.weight[~bag.used].any()
    right = (bag(held.forest).argmax(1) == held.targets).double().mean()
    bag.used = np.ones_like(bag.used)
    bag.fit_classes(learn)  # with pairs
    assert right > (bag(held.forest).argmax(1) == held.targets).double().mean() + 0.02


@pytest.mark.parametrize("rare", [0, 1])
def test_a_class_of_one_example_is_among_those_that_choose_the_form(
    monkeypatch: pytest.MonkeyPatch, rare: int
) -> None:
    monkeypatch.setattr("structnet.tensor_tree.counts.form_choice.ASKED", 20)
    trees = [Tree("A", [Tree(TOKENS[i % 3])]) for i in range(200)]
    forest = Forest.from_trees(trees, VOCABULARY)
    for place in range(0, 200, 40):
        y = np.full(200, 1 - rare)
        y[place] = rare
        bag = LabelBag(**SIZES, num_outputs=2, roots=1, form="logarithm")
        fit_in_best_form(bag, examples := TreeExamples(forest, y), examples[:50], seed=0)
        assert (bag(forest).argmax(1) == 1 - rare).all()


def test_a_classifier_takes_the_form_that_says_held_out_trees_best() -> None:
    learn, held = spelled(200, "rare", seed=0)
    X, others = ([each.forest.tree(i) for i in range(200)] for each in (learn, held))
    model = TreeLSTMClassifier(hidden_size=4, epochs=1, numbers=False, random_state=0)
    model.fit(X, learn.targets.numpy(), X_val=others, y_val=held.targets.numpy())
    assert model.model_.bag.form == "tf-idf"


def test_numbers_are_counted_exactly():
    trees = [tree for seed in range(60) for tree in random_trees(random.Random(seed))]
    forest = Forest.from_trees(trees, VOCABULARY)
    y = np.array([[tree.size, sum(leaf.label == "x" for leaf in tree.leaves())] for tree in trees])
    bag = LabelBag.knowing(forest, **SIZES, num_outputs=2, roots=1, form="count")
    guesses = bag.fit_numbers(TreeExamples(forest, y), seed=0)
    assert np.abs(bag(forest).numpy() - y).max() < 0.05
    # What is said of an example comes from a model that has not seen it.
    assert not np.allclose(guesses, bag(forest).numpy(), atol=1e-9)
    assert np.abs(guesses - y).max() < 0.5


@pytest.mark.parametrize("form", FORMS)
def test_the_form_of_the_counts_is_chosen(form: str):
    """Leaves of one kind: their number, its logarithm, or the share of one of two kinds."""
    rng = np.random.default_rng(0)
    of = [rng.integers(2, 40, 2) for _ in range(200)]
    trees = [Tree("+", [Tree("x")] * int(a) + [Tree("y")] * int(b)) for a, b in of]
    x, y = np.array(of, float).T
    logs = np.log1p((x, y))
    others = [x * 0 + 1, x * 0 + 1, x - 1, y - 1]  # the root, and pairs of the next leaf
    again = [x + y - 2] * 2  # leaves whose name was there before, and that come again
    length = np.sqrt(2 * (logs**2).sum(0) + (np.log1p(others + again) ** 2).sum(0))
    says = {"count": x - y, "logarithm": logs[0], "tf-idf": logs[0] / length}  # nothing is rare
    forest = Forest.from_trees(trees, vocabulary := Vocabulary.from_trees(trees))
    sizes = {"num_types": vocabulary.num_types, "num_tokens": vocabulary.num_tokens}
    bag = LabelBag.knowing(forest, **sizes, num_outputs=1, roots=1, form="count")
    bag.fit_numbers(TreeExamples(forest, says[form][:, None]), seed=0)
    assert bag.form == form
    assert np.abs(bag(forest).numpy()[:, 0] - says[form]).max() < 0.1 * says[form].std()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("wide", [False, True])
def test_the_linear_model_is_that_of_the_counts(
    monkeypatch: pytest.MonkeyPatch, wide: bool, weighted: bool
) -> None:
    """In the span of wide rows as in all columns, and for numbers with the penalty that is best."""
    number, rng = 30 if wide else 120, np.random.default_rng(0)
    monkeypatch.setattr("structnet.estimators.row_space.WIDE", 0.01 if wide else 1.0)
    trees = [tree for seed in range(20) for tree in random_trees(random.Random(seed))][:number]
    forest, y = Forest.from_trees(trees, VOCABULARY), rng.integers(3, size=number)
    weights = rng.uniform(0.1, 5, number) if weighted else None
    bag = LabelBag.knowing(forest, **SIZES, num_outputs=3, roots=1, form="logarithm")
    x = bag.counts(forest).toarray()
    assert (space_of(csr_matrix(x)) is not None) == wide
    bag.fit_classes(TreeExamples(forest, y, weights))
    said = LogisticRegression(tol=1e-8, max_iter=9999).fit(x, y, weights).decision_function(x)
    found = bag(forest).numpy()
    assert np.abs(found - found.mean(1, keepdims=True) - said).max() < 0.03

    numbers = x[:, :3] + rng.normal(size=(number, 3))
    guess, losses = bag.fit_numbers(TreeExamples(forest, numbers, weights), seed=0), {}
    labels, place = len(TYPES + TOKENS), np.arange(x.shape[1])
    code = np.concatenate((np.full(labels, -1), bag.pairs.numpy()))
    names = code >= 2 * labels**2  # that are met again, or not
    under = place[(code < labels**2) | names]
    count = np.ones(number) if weights is None else weights
    known = copy.deepcopy(bag)
    some = place[(code < 0) | names], under, place
    for form, which, penalty in itertools.product(FORMS, range(3), PENALTIES):
        known.form = form
        x = known.counts(forest).toarray()[:, some[which]]
        model, held = Ridge(penalty, solver="svd"), np.empty(numbers.shape)
        for learn, rest in KFold(5, shuffle=True, random_state=0).split(x):
            model.fit(x[learn], numbers[learn], count[learn])
            held[rest] = model.predict(x[rest])
        error = (count[:, None] * (held - numbers) ** 2).sum()
        error *= 2 if which == 2 else 1  # with pairs of siblings
        losses[form, which, penalty] = error * (1.2 if form != "count" else 1)
        if losses[form, which, penalty] == min(losses.values()):
            best = held, model.fit(x, numbers, count).predict(x)
    assert bag.form == min(losses, key=losses.__getitem__)[0]
    assert np.abs(guess - best[0]).max() < 0.02
    assert np.abs(bag(forest).numpy() - best[1]).max() < 0.02


def test_a_fit_to_more_examples_keeps_what_was_chosen() -> None:
    trees = [tree for seed in range(20) for tree in random_trees(random.Random(seed))]
    forest = Forest.from_trees(trees, VOCABULARY)
    y = np.array([[np.log1p(sum(leaf.label == "x" for leaf in tree.leaves()))] for tree in trees])
    bag = LabelBag.knowing(forest, **SIZES, num_outputs=1, roots=1, form="count")
    bag.fit_numbers(TreeExamples(forest[:60], y[:60]), seed=0)
    form, used, penalty = bag.form, bag.used.copy(), bag.penalty
    noise = np.random.default_rng(0).normal(size=y.shape)  # of which another penalty is best
    bag.refit_numbers(TreeExamples(forest, noise))
    assert (bag.form, bag.penalty) == (form, penalty) and (bag.used == used).all()
    x = bag.counts(forest).toarray()[:, used]
    expected = Ridge(penalty, solver="svd").fit(x, noise).predict(x)
    np.testing.assert_allclose(bag(forest).numpy()[:, 0], expected, atol=0.02)
    bag.fit_numbers(TreeExamples(forest, noise), seed=0)
    assert bag.penalty > penalty


def test_what_one_held_out_example_says_is_no_gain() -> None:
    model, forest = beside("numbers", 1)
    with torch.no_grad():
        tree, bag = (x.clone() for x in model.parts(forest))
    model.shares.fill_(1.0)
    model.choose(TreeExamples(forest, bag + 0.5 * tree))
    assert model.shares[0] == pytest.approx(0.5, abs=1e-4)
    far = bag.clone()
    far[0] += 100 * tree[0].sign()
    model.shares.fill_(1.0)
    model.choose(TreeExamples(forest, far))
    assert model.shares[0] == 0


def beside(kind: str, outputs: int) -> tuple[BesideBag, Forest]:
    torch.manual_seed(0)
    trees = [tree for seed in range(20) for tree in random_trees(random.Random(seed))]
    encoder = ChildSumTreeLSTM(4, len(TYPES), len(TOKENS))
    bag = LabelBag(
        **SIZES, num_outputs=outputs, roots=1, form="logarithm" if kind == "classes" else "count"
    )
    bag.weight.normal_()
    model = BesideBag(TreePredictor(TreeReadout(encoder, outputs), kind), bag)
    return model.eval(), Forest.from_trees(trees, VOCABULARY)


def test_the_better_of_both_counts_more():
    model, forest = beside("classes", 3)
    with torch.no_grad():
        tree, bag = (part.argmax(1) for part in model.parts(forest))
    model.choose(TreeExamples(forest, bag))
    assert model.shares[1] > 2 * model.shares[0]
    assert (model(forest).argmax(1) == bag).double().mean() > 0.9
    model.bag.weight.zero_()  # it knows nothing then
    model.choose(TreeExamples(forest, tree))
    assert model.shares[0] > model.shares[1]


def test_the_shares_are_the_best_there_are():
    model, forest = beside("classes", 3)
    targets = torch.randint(3, (len(forest),), generator=torch.Generator().manual_seed(1))
    targets[:80] = model(forest)[:80].argmax(1)
    examples = TreeExamples(forest, targets)

    def loss(shares: list[float]) -> float:
        model.shares.copy_(torch.tensor(shares))
        return torch.nn.functional.cross_entropy(model(forest), targets).item()

    with torch.no_grad():
        model.choose(examples)
        found = model.shares.tolist()
        grid = [loss([a / 20, b / 20]) for a in range(21) for b in range(21 - a)]
        assert loss(found) <= min(grid) + 1e-3


def test_few_examples_that_are_right_do_not_make_a_model_sure():
    model, forest = beside("classes", 3)
    model.choose(TreeExamples(forest[:4], model(forest)[:4].argmax(1)))
    assert 0.99 < model.shares.sum() <= 1.0001


def test_where_few_examples_do_not_tell_models_apart_the_simpler_ones_count():
    said = (9 * torch.eye(3).double()).log_softmax(-1)  # of three examples, all rightly
    for expected in ([0, 1], [0, 0.5, 0.5]):
        alike = said.expand(len(expected), 3, 3)
        found = best_shares(alike, torch.arange(3), torch.ones(3))
        np.testing.assert_allclose(found, expected, atol=1e-3)


def test_of_numbers_the_tree_adds_what_helps():
    model, forest = beside("numbers", 2)
    model.shares.copy_(torch.tensor([2.0, 1.0]))
    with torch.no_grad():
        tree, bag = model.parts(forest)
        for factor, expected in ((1.5, 1.5), (-1.0, 0.0), (5.0, 2.0)):
            model.shares[0] = 2.0
            model.choose(TreeExamples(forest, bag + factor * tree))
            assert model.shares.tolist() == pytest.approx([expected, 1.0], abs=1e-5)


@pytest.mark.parametrize("kind", [TreeLSTMClassifier, TreeLSTMRegressor])
def test_held_out_samples_teach_the_linear_model_in_the_end(
    kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    exact = {**SOLVER, "ftol": 0.0, "gtol": 1e-9}  # wherever it begins
    monkeypatch.setattr("structnet.estimators.logistic.SOLVER", exact)
    rng = np.random.default_rng(0)
    X = [f"(f {' '.join(rng.choice(list('abcd'), 3))})" for _ in range(60)]
    y = np.array([text.count("a") + 2 * text.count("b") for text in X])
    y = y > 2 if kind is TreeLSTMClassifier else y.astype(float)
    count = rng.integers(1, 4, 60)
    told = {"epochs": 1, "hidden_size": 4, "random_state": 0}

    def again(model: Any, X: list, y: np.ndarray, weight: np.ndarray | None) -> LabelBag:
        """The linear model of these samples alone."""
        trained = model.trained_
        scaled = y if kind is TreeLSTMClassifier else model.target_scale_(y[:, None])
        samples = [(bracketed(text),) for text in X]
        examples = Targets(samples, scaled, weight).examples(trained.question, trained.vocabulary)
        bag = copy.deepcopy(model.model_.bag)
        bag.weight.fill_(7)
        if kind is TreeLSTMClassifier:
            bag.fit_classes(examples)
        else:
            bag.fit_numbers(examples, trained.settings.seed)
        return bag

    model = kind(**told).fit(X, y, sample_weight=count)
    learn, held = parted(60, 0.1, model.seed_, y.astype(int) if y.dtype == bool else None)
    order = np.concatenate((learn, held))
    whole = again(model, [X[i] for i in order], y[order], count[order].astype(float))
    torch.testing.assert_close(model.model_.bag.weight, whole.weight, rtol=1e-4, atol=1e-5)

    model = kind(**told).fit(X[:50], y[:50], X_val=X[50:], y_val=y[50:])
    theirs = again(model, X[:50], y[:50], None)
    torch.testing.assert_close(model.model_.bag.weight, theirs.weight, rtol=1e-4, atol=1e-5)
