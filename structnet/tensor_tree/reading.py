"""What a model of users' trees reads of them: words, beginnings and endings, known labels."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from structnet.checks import wrong
from structnet.tensor_tree.aggregators.full_tensor import FullTensor
from structnet.tensor_tree.counts.rare_labels import known_labels, labels_of_trees
from structnet.tensor_tree.counts.word_choice import WordChoice, affixes_help, choose_words
from structnet.tensor_tree.settings import FEW, STATES, TreeLSTMSettings
from structnet.tensor_tree.targets import Question, Targets, carry_tokens
from structnet.text.vectors import read_vectors
from structnet.text.words import Words
from structnet.trees.examples import TreeExamples
from structnet.trees.vocabulary import Vocabulary

SIZE = 64  # of a node's state
MAX_PARAMETERS = 2_000_000  # of a full tensor; a step with 20 million takes 0.3 s


class Reading(NamedTuple):
    """Samples in the form that a model reads, and the choices that this form follows from.

    Attributes:
        learn, validation: samples, with the words and the affixes that are read below their leaves.
        question: question, with what is known of the inputs.
        settings: settings, resolved.
        vocabulary: numbers of the labels.
        chosen: choice of what is read of words at leaves.
        affixes: True if the affixes of words are read.
        vectors: vectors of the tokens, and a mask of the tokens that have one; None for no vectors.

    Shapes:
        vectors ``[num_tokens, size]`` and ``[num_tokens]``, bool.
    """

    learn: Targets
    validation: Targets | None
    question: Question
    settings: TreeLSTMSettings
    vocabulary: Vocabulary
    chosen: WordChoice
    affixes: bool
    vectors: tuple[np.ndarray, np.ndarray] | None

    def counts_as(self, other: Reading) -> bool:
        """Whether models of counts find the same in both, which may be read by different cells."""
        labels, others = (each.vocabulary.changed(arity=None) for each in (self, other))
        return (
            labels == others
            and self.chosen.forms == other.chosen.forms
            and _same_trees(self.learn, other.learn)
            and _same_trees(self.validation, other.validation)
        )


def read_by(
    settings: TreeLSTMSettings,
    question: Question,
    learn: Targets,
    validation: Targets | None,
    vectors: str | Path | None,
) -> Reading:
    """What a model with these settings reads of the samples.

    Args:
        settings: settings of one cell; what is None is chosen from the samples.
        question: question that the model answers.
        learn, validation: samples.
        vectors: file of word vectors; None for no file.

    Raises:
        ValueError: the cell has no label vectors, or the file has none of the words.
        TextError: the file does not contain vectors.
    """
    if vectors is not None and settings.words is None:
        settings = replace(settings, words=False)  # a whole label has a known meaning
    chosen = WordChoice()
    if settings.reads_words(question.kind):
        read, held = learn.with_words(), validation and validation.with_words()
        if question.kind != "nodes" and (settings.words is None or settings.bag):
            chosen = choose_words(read, held, question, settings)
            settings = replace(settings, words=chosen.words)
        if chosen.words:
            learn, validation = read, held
    affixes = affixes_help(learn.trees, settings, question)
    if affixes:
        learn, validation = learn.with_affixes(), validation and validation.with_affixes()
    vocabulary, given = _labels_of(learn, settings, question, vectors is not None)
    carried = vocabulary.inner_numbers or carry_tokens(learn.trees)
    question = replace(question, carried=carried)
    vocabulary = vocabulary.changed(letters=chosen.letters, names=settings.bag)
    if given.hidden_size is None:
        given = replace(given, hidden_size=default_size(given, vocabulary, question))
    known = None if vectors is None else _known_vectors(vectors, vocabulary, given)
    if known is not None:
        question = replace(question, input_size=known[0].shape[1])
    return Reading(learn, validation, question, given, vocabulary, chosen, affixes, known)


def _same_trees(one: Targets | None, other: Targets | None) -> bool:
    """Whether both have the same objects as trees: none has words or affixes that others lack."""
    if one is None or other is None:
        return one is other
    pairs = zip(one.samples, other.samples, strict=True)
    return all(a is b for trees in pairs for a, b in zip(*trees, strict=True))


def _labels_of(
    learn: Targets, settings: TreeLSTMSettings, question: Question, vectors: bool
) -> tuple[Vocabulary, TreeLSTMSettings]:
    """The vocabulary, and the settings completed with choices made from the data.

    Args:
        vectors: True if a file gives vectors, which also say what a word of a single tree means.
    """

    def listed(least: int) -> Vocabulary:
        return Vocabulary.from_trees(
            learn.trees,
            unknown=True,
            min_count=least,
            any_arity=settings.cell in ("child-sum", "automaton"),
            numbers=False if settings.cell == "automaton" else settings.numbers,
        )

    least = settings.min_count or 2
    vocabulary = listed(least)
    every = listed(1) if vectors and settings.min_count is None else vocabulary
    size = every.num_types + every.num_tokens
    given = settings.resolved(len(learn.y), size, question.kind)
    given = replace(given, numbers=vocabulary.any_numbers, min_count=least)
    # Without dropout by rarity, the unknown label's vector is only learned from labels left out.
    if settings.min_count is not None or given.label_dropout is not None:
        return vocabulary, given
    vocabulary = listed(1)
    if question.kind != "nodes" and not vectors:
        vocabulary = _worth_knowing(vocabulary, learn, question)
    return vocabulary, replace(given, min_count=1)


def _worth_knowing(every: Vocabulary, learn: Targets, question: Question) -> Vocabulary:
    """The labels of a vocabulary that tell enough about the answers to get their own vectors."""
    examples = learn.examples(question, every)
    assert isinstance(examples, TreeExamples)
    known = known_labels(
        examples.forest, examples.targets.numpy(), every.num_types, every.num_tokens
    )
    if every.num_types + every.num_tokens > FEW:  # more vectors take time
        counts = labels_of_trees(examples.forest, every)
        known = known[0] & (counts[0] != 1), known[1] & (counts[1] != 1)
    types, tokens = (
        [label for label, kept in zip(labels, which, strict=False) if kept]
        for labels, which in zip((every.types or (), every.tokens), known, strict=True)
    )
    numbers = {"numbers": every.numbers, "inner_numbers": every.inner_numbers}
    return Vocabulary(types, tokens, every.arity, unknown=True, **numbers)


def default_size(settings: TreeLSTMSettings, vocabulary: Vocabulary, question: Question) -> int:
    """The length of a node's state if the settings name none.

    Example:
        >>> given = Vocabulary("pqrst", "abc", arity=3), Question("classes", 2)
        >>> cells = "tucker", "full", "automaton"
        >>> [default_size(TreeLSTMSettings(cell=cell), *given) for cell in cells]
        [64, 18, 20]
    """
    if settings.cell not in ("full", "automaton"):
        return SIZE
    gates, most, modes = 1, STATES, 2  # an automaton's table of a state and that of a child
    if settings.cell == "full":
        assert vocabulary.arity is not None  # as it is counted for this cell
        gates, most = 3, SIZE
        modes = vocabulary.arity + question.carried  # an input vector is one more

    def parameters(c: int) -> int:
        return vocabulary.num_types * FullTensor.count(c, modes, gates=gates)

    return next((c for c in range(most, 1, -1) if parameters(c) <= MAX_PARAMETERS), 1)


def _known_vectors(
    path: str | Path, vocabulary: Vocabulary, settings: TreeLSTMSettings
) -> tuple[np.ndarray, np.ndarray]:
    """The vectors in a file for the tokens of a vocabulary, and a mask of the tokens that have one.

    Shapes:
        ``[num_tokens, size]``; ``[num_tokens]``, bool.

    Raises:
        ValueError: the cell has no label vectors, or the file has none of the words.
        TextError: the file does not contain vectors.
    """
    if settings.cell != "child-sum":
        raise wrong("vectors", "None for all cells but 'child-sum'", str(path))
    tokens = [token if isinstance(token, str) else None for token in vocabulary.tokens]
    words = [token for token in tokens if token is not None]
    read, found = read_vectors(path, Words(words, [1] * len(words)))
    if not found.any():
        raise ValueError(f"{path} has a vector for none of the {len(words)} words of the trees")
    vectors = np.zeros((vocabulary.num_tokens, read.shape[1]))
    which = np.zeros(vocabulary.num_tokens, bool)
    places = [i for i, token in enumerate(tokens) if token is not None]
    vectors[places], which[places] = read, found
    return vectors, which
