"""Whether the words of texts and names at leaves, and their letters, help with held-out examples.

Names tell what a function is for, but not how long it is or whether it has a loop in a condition;
for such questions their words are only more to memorise. Pieces of words help where new trees have
new words, as names of packages or short texts in many languages do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from structnet.estimators.held_out import hold_out
from structnet.tensor_tree.building import Question, Targets, bag_sizes
from structnet.tensor_tree.label_bag import FORMS, HARDER, LabelBag
from structnet.tensor_tree.settings import MANY, TreeLSTMSettings
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
    told = _Choice.of(learn, validation, question, seed)
    if not told.tells or told.given.forest.texts is None:
        return True
    with_words = told.loss()
    for examples in (told.given, told.held):
        if examples is not None:
            examples.forest.texts = None
    return with_words <= told.loss()


def letters_tell(learn: Targets, validation: Targets | None, question: Question, seed: int) -> bool:
    """Whether a linear model predicts held-out examples better with pieces of words.

    The losses are those of :func:`words_tell`. With letters they must be lower by a standard error
    and, for numbers, by as much as other forms of the counts must be better. The answer is False if
    there are few labels, or no way to tell.

    Args:
        learn, validation, question, seed: arguments of :func:`words_tell`.
    """
    told = _Choice.of(learn, validation, question, seed, letters=True)
    texts = told.given.forest.texts
    few = texts is None or texts.spelling is None or len(texts.spelling.listed) <= MANY
    if few or not told.tells or question.kind == "labels":
        return False
    numbers = question.kind == "numbers"
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
class _Choice:
    """Examples of which linear models say whether something helps.

    Attributes:
        given: examples to learn from.
        held: validation examples, if there are any.
        vocabulary: numbers of the labels.
        question: question about the examples.
        seed: seed of the folds and parts.
        groups: group of each example to learn from, ``[n]``; None if each is one by itself.
    """

    given: TreeExamples
    held: TreeExamples | None
    vocabulary: Vocabulary
    question: Question
    seed: int
    groups: np.ndarray | None

    @classmethod
    def of(
        cls,
        learn: Targets,
        validation: Targets | None,
        question: Question,
        seed: int,
        letters: bool = False,
    ) -> _Choice:
        """Some of the examples, with letters of their words if ``letters``."""
        learn = _some(learn, seed)
        vocabulary = Vocabulary.from_trees(
            learn.trees, unknown=True, min_count=2, any_arity=True, numbers=None
        )
        vocabulary = vocabulary.with_letters() if letters else vocabulary
        given = learn.examples(question, vocabulary)
        held = validation and _some(validation, seed).examples(question, vocabulary)
        assert isinstance(given, TreeExamples) and isinstance(held, TreeExamples | None)
        return cls(given, held, vocabulary, question, seed, learn.groups)

    @property
    def tells(self) -> bool:
        """Whether there are different answers, and a way to predict some of them."""
        asked = self.held is not None or self.question.kind != "classes"
        return asked and len(self.given.targets.unique(dim=0)) > 1

    @property
    def weights(self) -> np.ndarray | None:
        """The weights of the examples to learn from, ``[n]``."""
        return None if self.given.weights is None else self.given.weights.double().numpy()

    def losses_of_classes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The losses of held-out examples without and with letters, and the examples' weights.

        Shapes:
            ``[n]`` each.
        """
        found, sizes = [], bag_sizes(self.vocabulary, self.question)
        for plain, learn, judge in self._fitted():
            lettered = LabelBag.knowing(learn.forest, True, **(sizes | {"form": plain.form}))
            lettered.penalty = plain.penalty
            lettered.fit_classes(learn)
            count = np.ones(len(judge)) if judge.weights is None else judge.weights.double().numpy()
            found.append((plain.losses(judge), lettered.losses(judge), count))
            if count @ (found[-1][0] - found[-1][1]) <= 0:
                break  # a large gain is seen in each part
        before, after, counts = (np.concatenate(each) for each in zip(*found, strict=True))
        return before, after, counts

    def losses_of_numbers(self) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """The same over folds, where letters must be as much better as other forms of counts."""
        y, sizes = self.given.targets.numpy(), bag_sizes(self.vocabulary, self.question)
        y = y.astype(np.float64)
        plain = LabelBag.knowing(self.given.forest, **sizes)
        how = self.given.forest, y, self.weights, self.seed
        before = plain.fit_numbers(*how, groups=self.groups)
        lettered = LabelBag.knowing(self.given.forest, True, **sizes)
        after = lettered.fit_numbers(*how, [plain.form], self.groups)
        losses = (((said - y) ** 2).mean(axis=1) for said in (before, after))
        return next(losses), HARDER * next(losses), self.weights

    def loss(self) -> float:
        """The loss of a linear model on examples that it has not learned from."""
        targets, forms, question = self.given.targets.numpy(), list(FORMS), self.question
        if question.kind == "classes":
            losses, sizes = [], []
            for bag, _, judge in self._fitted():
                losses.append(bag.loss(judge))
                sizes.append(len(judge) if judge.weights is None else float(judge.weights.sum()))
            return float(np.average(losses, weights=sizes))
        if question.kind == "labels":
            targets = targets[:, np.argsort(-targets.var(axis=0), kind="stable")[:MOST_LABELS]]
            question, forms = replace(question, num_outputs=targets.shape[1]), ["logarithm"]
        bag = LabelBag.knowing(self.given.forest, **bag_sizes(self.vocabulary, question))
        y = targets.astype(np.float64)
        said = bag.fit_numbers(self.given.forest, y, self.weights, self.seed, forms, self.groups)
        return float(np.average(((said - targets) ** 2).mean(axis=1), weights=self.weights))

    def _fitted(self) -> Iterator[tuple[LabelBag, TreeExamples, TreeExamples]]:
        """Linear models, each with the examples it has learned from and those to judge it by."""
        for learn, judge in self._parts():
            bag = LabelBag.knowing(learn.forest, **bag_sizes(self.vocabulary, self.question))
            bag.fit_classes(learn, judge)
            yield bag, learn, judge

    def _parts(self) -> Iterator[tuple[TreeExamples, TreeExamples]]:
        """Pairs of examples to learn from and to judge by, until enough have been judged by."""
        assert self.held is not None
        yield self.given, self.held
        judged, labels = len(self.held), self.given.targets.numpy()
        for part in range(1, PARTS + 1):
            if judged >= ENOUGH:
                return
            seed = self.seed + part
            try:
                learn, judge = hold_out(len(self.given), SHARE, seed, labels, groups=self.groups)
            except ValueError:  # too few examples, or groups too large
                return
            if len(np.unique(labels[learn])) < 2:
                return
            yield self.given[learn], self.given[judge]
            judged += len(judge)


def _some(targets: Targets, seed: int) -> Targets:
    number = len(targets.samples)
    if number <= MOST:
        return targets
    return targets.take(np.random.default_rng(seed).permutation(number)[:MOST])
