"""Whether the words of texts and names at leaves, and their letters, help with held-out examples.

Names tell what a function is for, but not how long it is or whether it has a loop in a condition;
for such questions their words are only more to memorise. Pieces of words help where new trees have
new words, as names of packages or short texts in many languages do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from structnet.estimators.held_out import hold_out
from structnet.tensor_tree.building import Question, Targets, bag_sizes
from structnet.tensor_tree.label_bag import FORMS, HARDER, LabelBag
from structnet.tensor_tree.settings import MANY, TreeLSTMSettings
from structnet.training.gains import gained
from structnet.trees.examples import TreeExamples
from structnet.trees.spelling import word_of
from structnet.trees.tree import Tree
from structnet.trees.vocabulary import Vocabulary

MOST = 2000  # examples that are used, so that it takes some seconds
ENOUGH = 250  # held-out examples with classes, below which parts of the others are held out, too
SHARE, PARTS = 0.2, 4  # of the others for each of these parts, and the most parts
BETTER = 1.0  # standard errors by which letters must make the loss lower
MOST_LABELS = 5  # of several labels, those nearest to half of the examples are used


def words_tell(learn: Targets, validation: Targets | None, question: Question, seed: int) -> bool:
    """Whether a linear model on labels predicts held-out examples at least as well with words.

    The losses compared are, for classes, the cross-entropy on the validation examples and, if these
    are few, on up to four random parts of the training examples that are held out as well; for
    numbers, and for several labels as numbers 0 and 1, the squared error over folds of the training
    examples. The answer is also True if there is no way to tell: without validation examples for
    classes, if no leaf is a text, or if all training examples have the same answer.

    Args:
        learn, validation: examples with their words; see :meth:`.Targets.with_words`.
        question: question of kind "classes", "labels" or "numbers".
        seed: seed of the folds, and of the random choice of examples if there are very many.
    """
    learn = _some(learn, seed)
    vocabulary = _vocabulary(learn)
    given = learn.examples(question, vocabulary)
    held = validation and _some(validation, seed).examples(question, vocabulary)
    assert isinstance(given, TreeExamples) and isinstance(held, TreeExamples | None)
    asked = held is not None or question.kind != "classes"
    if not asked or given.forest.texts is None or len(given.targets.unique(dim=0)) < 2:
        return True
    told = vocabulary, question, seed, learn.groups
    with_words = _loss(given, held, *told)
    for examples in (given, held):
        if examples is not None:
            examples.forest.texts = None
    return with_words <= _loss(given, held, *told)


def letters_tell(learn: Targets, validation: Targets | None, question: Question, seed: int) -> bool:
    """Whether a linear model predicts held-out examples better with pieces of words.

    The losses are those of :func:`words_tell`. With letters they must be lower by a standard error
    and, for numbers, by as much as other forms of the counts must be better. The answer is False if
    there are few labels, or no way to tell.

    Args:
        learn, validation, question, seed: arguments of :func:`words_tell`.
    """
    learn = _some(learn, seed)
    vocabulary = _vocabulary(learn).with_letters()
    given = learn.examples(question, vocabulary)
    held = validation and _some(validation, seed).examples(question, vocabulary)
    assert isinstance(given, TreeExamples) and isinstance(held, TreeExamples | None)
    texts = given.forest.texts
    few = texts is None or texts.spelling is None or len(texts.spelling.listed) <= MANY
    if few or (held is None and question.kind == "classes") or question.kind == "labels":
        return False
    if len(given.targets.unique(dim=0)) < 2:
        return False
    losses = _losses_of_numbers if question.kind == "numbers" else _losses_of_classes
    before, after, counts = losses(given, held, vocabulary, question, seed, learn.groups)
    gain, error = gained(before, after, counts)
    return gain > BETTER * error


def affixes_help(trees: Iterable[Tree], settings: TreeLSTMSettings, question: Question) -> bool:
    """Whether the beginnings and endings of words are read: for nodes, where words are many.

    Of few words, new trees have hardly any other.
    """
    if question.kind != "nodes" or settings.words is False or settings.cell != "child-sum":
        return False
    words: set[str | None] = {None}
    for tree in trees:
        words.update(map(word_of, tree.postorder(once=True)))
        if len(words) > MANY + 1:
            return True
    return False


def _losses_of_classes(
    given: TreeExamples,
    held: TreeExamples | None,
    vocabulary: Vocabulary,
    question: Question,
    seed: int,
    groups: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The losses of held-out examples without and with letters, and the examples' weights.

    Shapes:
        ``[n]`` each.
    """
    assert held is not None
    found, sizes = [], bag_sizes(vocabulary, question)
    for plain, learn, judge in _fitted(given, held, vocabulary, question, seed, groups):
        lettered = LabelBag.knowing(learn.forest, True, **(sizes | {"form": plain.form}))
        lettered.penalty = plain.penalty
        lettered.fit_classes(learn)
        count = np.ones(len(judge)) if judge.weights is None else judge.weights.double().numpy()
        found.append((plain.losses(judge), lettered.losses(judge), count))
        if count @ (found[-1][0] - found[-1][1]) <= 0:
            break  # a large gain is seen in each part
    before, after, counts = (np.concatenate(each) for each in zip(*found, strict=True))
    return before, after, counts


def _losses_of_numbers(
    given: TreeExamples,
    held: TreeExamples | None,
    vocabulary: Vocabulary,
    question: Question,
    seed: int,
    groups: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """The same over folds, where letters must be as much better as other forms of the counts."""
    y, sizes = given.targets.numpy().astype(np.float64), bag_sizes(vocabulary, question)
    weights = None if given.weights is None else given.weights.double().numpy()
    plain = LabelBag.knowing(given.forest, **sizes)
    before = plain.fit_numbers(given.forest, y, weights, seed, groups=groups)
    lettered = LabelBag.knowing(given.forest, True, **sizes)
    after = lettered.fit_numbers(given.forest, y, weights, seed, [plain.form], groups)
    losses = (((said - y) ** 2).mean(axis=1) for said in (before, after))
    return next(losses), HARDER * next(losses), weights


def _vocabulary(learn: Targets) -> Vocabulary:
    return Vocabulary.from_trees(
        learn.trees, unknown=True, min_count=2, any_arity=True, numbers=None
    )


def _some(targets: Targets, seed: int) -> Targets:
    number = len(targets.samples)
    if number <= MOST:
        return targets
    return targets.take(np.random.default_rng(seed).permutation(number)[:MOST])


def _loss(
    given: TreeExamples,
    held: TreeExamples | None,
    vocabulary: Vocabulary,
    question: Question,
    seed: int,
    groups: np.ndarray | None,
) -> float:
    """The loss of a linear model on examples that it has not learned from."""
    weights = None if given.weights is None else given.weights.double().numpy()
    targets, forms = given.targets.numpy(), list(FORMS)
    if question.kind == "labels":
        targets = targets[:, np.argsort(-targets.var(axis=0), kind="stable")[:MOST_LABELS]]
        question, forms = replace(question, num_outputs=targets.shape[1]), ["logarithm"]
    if question.kind == "classes":
        assert held is not None
        losses, sizes = [], []
        for bag, _, judge in _fitted(given, held, vocabulary, question, seed, groups):
            losses.append(bag.loss(judge))
            sizes.append(len(judge) if judge.weights is None else float(judge.weights.sum()))
        return float(np.average(losses, weights=sizes))
    bag = LabelBag.knowing(given.forest, **bag_sizes(vocabulary, question))
    said = bag.fit_numbers(given.forest, targets.astype(np.float64), weights, seed, forms, groups)
    return float(np.average(((said - targets) ** 2).mean(axis=1), weights=weights))


def _fitted(
    given: TreeExamples,
    held: TreeExamples,
    vocabulary: Vocabulary,
    question: Question,
    seed: int,
    groups: np.ndarray | None,
) -> Iterator[tuple[LabelBag, TreeExamples, TreeExamples]]:
    """Linear models, each with the examples it has learned from and those to judge it by."""
    for learn, judge in _parts(given, held, seed, groups):
        bag = LabelBag.knowing(learn.forest, **bag_sizes(vocabulary, question))
        bag.fit_classes(learn, judge)
        yield bag, learn, judge


def _parts(
    given: TreeExamples, held: TreeExamples, seed: int, groups: np.ndarray | None
) -> Iterator[tuple[TreeExamples, TreeExamples]]:
    """Pairs of examples to learn from and to judge by, until enough have been judged by."""
    yield given, held
    judged, labels = len(held), given.targets.numpy()
    for part in range(1, PARTS + 1):
        if judged >= ENOUGH:
            return
        try:
            learn, judge = hold_out(len(given), SHARE, seed + part, labels, groups=groups)
        except ValueError:  # too few examples, or groups too large
            return
        if len(np.unique(labels[learn])) < 2:
            return
        yield given[learn], given[judge]
        judged += len(judge)
