"""The form in which a linear model of classes reads counts, and whether it reads those of pairs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from structnet.estimators.held_out import hold_out, parted
from structnet.tensor_tree.counts.label_bag import CLASS_FORMS, LabelBag
from structnet.trees.examples import TreeExamples

# What two trees have in common says more than what is in either, and many small weights would
# drown it.
PAIR_FORMS = (*CLASS_FORMS, ("tf-idf", 1.0))
# Counts of labels alone, of which there may be a hundred times fewer than of pairs.
ALONE = ("count", 0.1)
ASKED = 1000  # examples from which a form is chosen, so that the choice takes a second
ENOUGH, SHARE = 250, 0.3  # held-out examples below which this share of the others is held out, too


def fit_in_best_form(
    bag: LabelBag,
    examples: TreeExamples,
    held_out: TreeExamples,
    seed: int,
    groups: np.ndarray | None = None,
) -> None:
    """Fits a logistic regression, in the form and to the columns that predict others best.

    Args:
        bag: linear model.
        examples: examples of at least two classes to learn from.
        held_out: other examples.
        seed: seed of the random choice of examples.
        groups: group of each example, ``[n]``, no one of which is split; None for no groups.
    """
    some_of, number = examples, len(examples)
    if number > ASKED:  # at least one of each class
        some, _ = parted(number, 1 - ASKED / number, seed, examples.targets.cpu().numpy())
        some_of, groups = examples[some], None if groups is None else groups[some]
    take_best_form(bag, *set_apart(some_of, held_out, seed, groups))
    bag.start_anew()
    bag.fit_classes(examples)


def set_apart(
    examples: TreeExamples, held_out: TreeExamples, seed: int, groups: np.ndarray | None
) -> tuple[TreeExamples, list[TreeExamples]]:
    """Examples to learn from, and those to judge by: also some of the others if these are few.

    Args:
        examples: examples of at least two classes.
        held_out: other examples.
        seed: seed of the random choice of examples.
        groups: group of each example, no one of which is split; None for no groups.

    Shapes:
        groups ``[n]``.
    """
    labels = examples.targets.cpu().numpy()
    if len(held_out) < ENOUGH:
        try:
            learn, judge = hold_out(len(examples), SHARE, seed, labels, groups=groups)
            if len(np.unique(labels[learn])) > 1:
                return examples[learn], [held_out, examples[judge]]
        except ValueError:  # too few examples, or groups too large
            pass
    return examples, [held_out]


def take_best_form(
    bag: LabelBag, learn: TreeExamples, judged: Sequence[TreeExamples]
) -> np.ndarray:
    """Gives a linear model the form and the columns that predict best; returns the losses then.

    Shapes:
        ``[n]``: the loss of each of the n examples to judge by.
    """
    rarity, every = bag.rarity_in(learn.forest), np.ones_like(bag.used)
    forms = PAIR_FORMS if bag.alike else CLASS_FORMS
    choices = [*((*each, every) for each in forms), (*ALONE, bag.labels_alone)]
    losses = []
    for form, bag.penalty, bag.used in choices:
        bag.take_form(form, rarity)
        bag.start_anew()
        bag.fit_form(learn)
        losses.append(np.concatenate([bag.losses(each) for each in judged]))
    count = weights_of(judged)
    best = int(np.argmin([np.average(each, weights=count) for each in losses]))
    form, bag.penalty, bag.used = choices[best]
    bag.take_form(form, rarity)
    return losses[best]


def weights_of(examples: Sequence[TreeExamples]) -> np.ndarray:
    """The weights of the examples of all parts, ``[n]``."""
    return np.concatenate([each.counts().cpu().double().numpy() for each in examples])
