"""Whether the words of texts and names at leaves, and their letters, help with held-out examples.

Names tell what a function is for, but not how long it is or whether it has a loop in a condition;
for such questions their words are only more to memorise. Pieces of words help where new trees have
new words, as names of packages or short texts in many languages do.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from structnet.estimators.held_out import hold_out
from structnet.tensor_tree.counts.form_choice import fit_in_best_form
from structnet.tensor_tree.counts.label_bag import FORMS, HARDER, LabelBag
from structnet.tensor_tree.counts.sizes import bag_sizes
from structnet.tensor_tree.settings import MANY, TreeLSTMSettings
from structnet.tensor_tree.targets import Question, Targets
from structnet.training.gains import is_better
from structnet.trees.examples import TreeExamples
from structnet.trees.spelling import word_of
from structnet.trees.tree import Tree
from structnet.trees.vocabulary import Vocabulary

MOST = 2000  # examples that are used, so that it takes some seconds
ENOUGH = 250  # held-out examples with classes, below which parts of the others are held out, too
SHARE, PARTS = 0.2, 4  # of the others for each of these parts, and the most parts
BETTER = 1.0  # standard errors by which letters must make the loss lower
MOST_LABELS = 5  # of several labels, those nearest to half of the examples are used


def words_tell(told: Choice) -> bool:
    """Whether a linear model on labels predicts held-out examples at least as well with words.

    The losses compared are, for classes, the cross-entropy on the validation examples and, if these
    are few, on up to four random parts of the training examples that are held out as well; for
    numbers, and for several labels as numbers 0 and 1, the squared error over folds of the training
    examples. The answer is also True if there is no way to tell: without validation examples for
    classes, if no leaf is a text, or if all training examples have the same answer.

    Args:
        told: examples with their words; see :meth:`.Targets.with_words`.
    """
    texts = told.given.forest.texts
    if not told.tells or texts is None or not len(texts.words):
        return True
    return told.loss() <= told.without_words().loss()


def letters_tell(told: Choice) -> bool:
    """Whether a linear model predicts held-out examples better with pieces of words.

    The losses are those of :func:`words_tell`. With letters they must be lower by a standard error
    and, for numbers, by as much as other forms of the counts must be better. The answer is False if
    there are few labels, or no way to tell.

    Args:
        told: examples, with their words if these are read.
    """
    texts = told.given.forest.texts
    few = texts is None or texts.spelling is None or len(texts.spelling.listed) <= MANY
    if few or not told.tells or told.question.kind == "labels":
        return False
    numbers = told.question.kind == "numbers"
    before, after, counts = told.losses_of_numbers() if numbers else told.losses_of_classes()
    return is_better(before, after, BETTER, counts)


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


@dataclass(frozen=True)
class Choice:
    """Examples of which linear models say whether something helps; each model is fitted once.

    Attributes:
        given: examples to learn from, with the letters of their words.
        held: validation examples, if there are any.
        vocabulary: numbers of the labels.
        question: question of kind "classes", "labels" or "numbers".
        seed: seed of the folds and parts, and of the random choice of examples if there are very
            many.
        groups: group of each example to learn from, ``[n]``; None if each is one by itself.
        asked: forms of counts of numbers, of which the best is chosen.
    """

    given: TreeExamples
    held: TreeExamples | None
    vocabulary: Vocabulary
    question: Question
    seed: int
    groups: np.ndarray | None
    asked: Sequence[str] = FORMS
    _fitted: dict[int, LabelBag] = field(default_factory=dict)  # to each part

    @classmethod
    def of(
        cls, learn: Targets, validation: Targets | None, question: Question, seed: int
    ) -> Choice:
        """The choice by some of the examples."""
        learn = _some(learn, seed)
        vocabulary = Vocabulary.from_trees(
            learn.trees, unknown=True, min_count=2, any_arity=True, numbers=None
        ).with_letters()
        given = learn.examples(question, vocabulary)
        held = validation and _some(validation, seed).examples(question, vocabulary)
        assert isinstance(given, TreeExamples) and isinstance(held, TreeExamples | None)
        return cls(given, held, vocabulary, question, seed, learn.groups)

    def without_words(self) -> Choice:
        """The same examples, of whose texts the words and letters are not read."""
        held = self.held and _without_texts(self.held)
        given = _without_texts(self.given)
        return replace(self, given=given, held=held, asked=self.forms, _fitted={})

    @property
    def forms(self) -> Sequence[str]:
        """The forms of counts of numbers that may be best: one, if a model has been fitted."""
        return [self._predicted[1]] if "_predicted" in vars(self) else self.asked

    @property
    def tells(self) -> bool:
        """Whether there are different answers, and a way to predict some of them."""
        asked = self.held is not None or self.question.kind != "classes"
        return asked and len(self.given.targets.unique(dim=0)) > 1

    @property
    def weights(self) -> np.ndarray | None:
        """The weights of the examples to learn from, ``[n]``."""
        return None if self.given.weights is None else self.given.weights.double().numpy()

    def loss(self) -> float:
        """The loss of a linear model on examples that it has not learned from."""
        if self.question.kind != "classes":
            targets, _, said = self._predicted
            return float(np.average(((said - targets) ** 2).mean(axis=1), weights=self.weights))
        losses, sizes = [], []
        for part, (_, judge, _) in enumerate(self._parts):
            losses.append(self._plain(part).loss(judge))
            sizes.append(len(judge) if judge.weights is None else float(judge.weights.sum()))
        return float(np.average(losses, weights=sizes))

    def losses_of_classes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The losses of held-out examples without and with letters, and the examples' weights.

        Shapes:
            ``[n]`` each.
        """
        found, sizes = [], bag_sizes(self.vocabulary, self.question)
        for part, (learn, judge, _) in enumerate(self._parts):
            plain = self._plain(part)
            lettered = LabelBag.knowing(learn.forest, True, **(sizes | {"form": plain.form}))
            lettered.penalty = plain.penalty
            if not plain.used.all():
                lettered.used = lettered.labels_alone
            lettered.fit_classes(learn)
            count = np.ones(len(judge)) if judge.weights is None else judge.weights.double().numpy()
            found.append((plain.losses(judge), lettered.losses(judge), count))
            if count @ (found[-1][0] - found[-1][1]) <= 0:
                break  # a large gain is seen in each part
        before, after, counts = (np.concatenate(each) for each in zip(*found, strict=True))
        return before, after, counts

    def losses_of_numbers(self) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """The same over folds, where letters must be as much better as other forms of counts."""
        y, form, before = self._predicted
        sizes = bag_sizes(self.vocabulary, self.question)
        lettered = LabelBag.knowing(self.given.forest, True, **sizes)
        given = self.given.forest, y, self.weights, self.seed
        after = lettered.fit_numbers(*given, [form], self.groups)
        losses = (((said - y) ** 2).mean(axis=1) for said in (before, after))
        return next(losses), HARDER * next(losses), self.weights

    @cached_property
    def _predicted(self) -> tuple[np.ndarray, str, np.ndarray]:
        """The targets as numbers, and the form of the counts and predictions over folds.

        Shapes:
            targets and predictions ``[n, outputs]``.
        """
        y, forms, question = self.given.targets.double().numpy(), self.asked, self.question
        if question.kind == "labels":
            y = y[:, np.argsort(-y.var(axis=0), kind="stable")[:MOST_LABELS]]
            question, forms = replace(question, num_outputs=y.shape[1]), ["logarithm"]
        bag = LabelBag.knowing(self.given.forest, **bag_sizes(self.vocabulary, question))
        given = self.given.forest, y, self.weights, self.seed
        said = bag.fit_numbers(*given, forms, self.groups)
        return y, bag.form, said

    def _plain(self, part: int) -> LabelBag:
        """The linear model without letters that is fitted to what a part has to learn from."""
        if part not in self._fitted:
            learn, judge, groups = self._parts[part]
            sizes = bag_sizes(self.vocabulary, self.question)
            self._fitted[part] = LabelBag.knowing(learn.forest, **sizes)
            fit_in_best_form(self._fitted[part], learn, judge, self.seed, groups)
        return self._fitted[part]

    @cached_property
    def _parts(self) -> list[tuple[TreeExamples, TreeExamples, np.ndarray | None]]:
        """Examples to learn from, those to judge by, and groups, until enough are judged by."""
        assert self.held is not None
        found = [(self.given, self.held, self.groups)]
        judged, labels = len(self.held), self.given.targets.numpy()
        for part in range(1, PARTS + 1):
            if judged >= ENOUGH:
                break
            seed = self.seed + part
            try:
                learn, judge = hold_out(len(self.given), SHARE, seed, labels, groups=self.groups)
            except ValueError:  # too few examples, or groups too large
                break
            if len(np.unique(labels[learn])) < 2:
                break
            groups = None if self.groups is None else self.groups[learn]
            found.append((self.given[learn], self.given[judge], groups))
            judged += len(judge)
        return found


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
