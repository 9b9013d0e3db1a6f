"""Whether the words of texts and names at leaves, and their letters, help with held-out examples.

Names tell what a function is for, but not how long it is or whether it has a loop in a condition;
for such questions their words are only more to memorise. Pieces of words help where new trees have
new words, as names of packages or short texts in many languages do.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from structnet.tensor_tree.counts.form_choice import set_apart, take_best_form, weights_of
from structnet.tensor_tree.counts.label_bag import FORMS, HARDER, LabelBag
from structnet.tensor_tree.counts.ridge import numbers_of
from structnet.tensor_tree.settings import MANY, TreeLSTMSettings
from structnet.tensor_tree.targets import Question, Targets
from structnet.training.gains import is_better
from structnet.trees.examples import TreeExamples
from structnet.trees.spelling import word_of
from structnet.trees.tree import Tree
from structnet.trees.vocabulary import Vocabulary

MOST = 2000  # examples that are used, so that it takes some seconds
BETTER = 1.0  # standard errors by which letters must make the loss lower
MOST_LABELS = 5  # of several labels, those nearest to half of the examples are used
LABELS = ("logarithm",)  # form of counts for them


class WordChoice(NamedTuple):
    """What is read of the texts and names at leaves.

    Attributes:
        words: True if they are read word by word.
        letters: True if the linear model counts pieces of words.
        forms: forms of the counts of the linear model of numbers, of which the best is chosen.
    """

    words: bool = True
    letters: bool = False
    forms: Sequence[str] = FORMS


def choose_words(
    learn: Targets, validation: Targets | None, question: Question, settings: TreeLSTMSettings
) -> WordChoice:
    """What linear models read of the words of some examples to predict others best.

    Words are read if the loss is at least as low with them; letters if it is lower with them by a
    standard error and, for numbers, by as much as other forms of the counts must be better. The
    loss is, for classes, the cross-entropy on the validation examples and, if these are few, on
    some of those to learn from, which are then held out as well; for numbers, and for several
    labels as numbers 0 and 1, the squared error over folds of the examples to learn from.

    Where there is no way to tell, words are read and letters are not: without validation examples
    for classes, or if all examples to learn from have the same answer. Letters are also not read
    if there are few labels, for several labels, or without the model of counts.

    Args:
        learn, validation: examples with their words; see :meth:`.Targets.with_words`.
        question: question of kind "classes", "labels" or "numbers".
        settings: settings, of which ``words`` is True if words are read in any case.
    """
    learn = _some(learn, settings.seed)
    vocabulary = Vocabulary.from_trees(
        learn.trees, unknown=True, min_count=2, any_arity=True, numbers=None
    ).changed(letters=True)
    given = learn.examples(question, vocabulary)
    assert isinstance(given, TreeExamples)
    texts = given.forest.texts
    if texts is None or len(given.targets.unique(dim=0)) < 2:
        return WordChoice()
    words = settings.words is None and len(texts.words) > 0
    letters = settings.bag and texts.spelling is not None and len(texts.spelling.listed) > MANY
    letters = letters and question.kind != "labels"
    if not words and not letters:
        return WordChoice()
    if question.kind != "classes":
        return _by_folds(given, question, vocabulary, settings.seed, learn.groups, words, letters)
    if validation is None:
        return WordChoice()
    held = _some(validation, settings.seed).examples(question, vocabulary)
    assert isinstance(held, TreeExamples)
    parts = set_apart(given, held, settings.seed, learn.groups)
    return _by_others(*parts, LabelBag.sizes(vocabulary, question), words, letters)


def _by_others(
    learn: TreeExamples,
    judged: Sequence[TreeExamples],
    sizes: dict[str, Any],
    words: bool,
    letters: bool,
) -> WordChoice:
    """The choice for classes, by examples to judge by.

    Args:
        learn, judged: examples to learn from, and others.
        sizes: sizes of a linear model.
        words, letters: True to ask whether they help; words are read and letters are not otherwise.
    """
    plain, count = LabelBag.knowing(learn.forest, **sizes), weights_of(judged)
    before = take_best_form(plain, learn, judged)
    if words:
        labels, *others = map(_without_texts, (learn, *judged))
        alone = take_best_form(LabelBag.knowing(labels.forest, **sizes), labels, others)
        if np.average(alone, weights=count) < np.average(before, weights=count):
            return WordChoice(words=False)
    if letters:
        lettered = LabelBag.knowing(learn.forest, True, **sizes)
        lettered.form, lettered.penalty = plain.form, plain.penalty
        if not plain.used.all():
            lettered.used = lettered.labels_alone
        lettered.fit_classes(learn)
        after = np.concatenate([lettered.losses(each) for each in judged])
        letters = is_better(before, after, BETTER, count)
    return WordChoice(letters=letters)


def _by_folds(
    given: TreeExamples,
    question: Question,
    vocabulary: Vocabulary,
    seed: int,
    groups: np.ndarray | None,
    words: bool,
    letters: bool,
) -> WordChoice:
    """The choice for numbers and for several labels, by folds; arguments as above."""
    forms = FORMS
    if question.kind == "labels":
        nearest = np.argsort(-given.targets.double().numpy().var(axis=0), kind="stable")
        targets = given.targets[:, nearest[:MOST_LABELS]]
        given = TreeExamples(given.forest, targets, given.weights, given.roots_per_example)
        question, forms = replace(question, num_outputs=targets.shape[1]), LABELS
    sizes, (y, count) = LabelBag.sizes(vocabulary, question), numbers_of(given)

    def fitted(
        examples: TreeExamples, forms: Sequence[str], letters: bool = False
    ) -> tuple[LabelBag, np.ndarray]:
        """A model, and the loss of each example by the folds that do not have it, ``[n]``."""
        bag = LabelBag.knowing(examples.forest, letters, **sizes)
        predicted = bag.fit_numbers(examples, seed, forms, groups)
        return bag, ((predicted - y) ** 2).mean(axis=1)

    plain, before = fitted(given, forms)
    forms = (plain.form,)
    if words:
        _, alone = fitted(_without_texts(given), forms)
        if np.average(alone, weights=count) < np.average(before, weights=count):
            return WordChoice(False, False, forms)
    if letters:
        _, after = fitted(given, forms, letters=True)
        letters = is_better(before, HARDER * after, BETTER, count)
    return WordChoice(True, letters, forms)


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


def _without_texts(examples: TreeExamples) -> TreeExamples:
    """The examples with a forest whose labels are read as they are."""
    forest = copy.copy(examples.forest)
    forest.texts = None
    return TreeExamples(forest, examples.targets, examples.weights, examples.roots_per_example)


def _some(targets: Targets, seed: int) -> Targets:
    number = len(targets.samples)
    if number <= MOST:
        return targets
    return targets.take(np.random.default_rng(seed).permutation(number)[:MOST])
