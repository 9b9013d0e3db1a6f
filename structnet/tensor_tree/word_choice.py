"""Whether the words of texts and names at leaves say anything of the class, by held-out examples.

Of what a function is for its names tell; whether it has a loop in a condition they do not, and then
their words are only more to learn by heart.
"""

from __future__ import annotations

import numpy as np
import torch.nn.functional as F

from structnet.tensor_tree.building import Question, Targets, bag_sizes
from structnet.tensor_tree.label_bag import LabelBag
from structnet.trees.examples import TreeExamples
from structnet.trees.vocabulary import Vocabulary

MOST = 2000  # examples that are asked, so that it takes a second or two


def words_tell(learn: Targets, validation: Targets, question: Question, seed: int) -> bool:
    """Does a linear model on labels say the class of held-out examples better with words?

    Better is a cross-entropy that is not higher. It is so, too, where nobody can say: where no leaf
    is a text, or all examples are of one class.

    Args:
        learn, validation: examples with their words; see :meth:`.Targets.with_words`.
        question: one of "classes".
        seed: seed of the choice of some examples, where there are very many.
    """
    learn, validation = (_some(each, seed) for each in (learn, validation))
    vocabulary = Vocabulary.from_trees(
        learn.trees, unknown=True, min_count=2, any_arity=True, numbers=None
    )
    given, held = (each.examples(question, vocabulary) for each in (learn, validation))
    assert isinstance(given, TreeExamples) and isinstance(held, TreeExamples)
    if given.forest.texts is None or len(given.targets.unique()) < 2:
        return True
    with_words = _loss(given, held, vocabulary, question)
    given.forest.texts = held.forest.texts = None
    return with_words <= _loss(given, held, vocabulary, question)


def _some(targets: Targets, seed: int) -> Targets:
    number = len(targets.samples)
    if number <= MOST:
        return targets
    return targets.take(np.random.default_rng(seed).permutation(number)[:MOST])


def _loss(
    given: TreeExamples, held: TreeExamples, vocabulary: Vocabulary, question: Question
) -> float:
    """The cross-entropy of a linear model on held-out examples."""
    bag = LabelBag.knowing(given.forest, **bag_sizes(vocabulary, question))
    weights = None if given.weights is None else given.weights.double().numpy()
    bag.fit_classes(given.forest, given.targets.numpy(), weights)
    losses = F.cross_entropy(bag(held.forest), held.targets, reduction="none")
    return float((losses if held.weights is None else losses * held.weights).mean())
