"""The data of a label tree's run: labelled text, next words, rows, planted points."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_matrix, issparse

from structnet.datasets import Arrays, load_planted, load_text, read_fasttext
from structnet.datasets.catalogue import LABELLED, SPARSE, TABLES
from structnet.datasets.fasttext_file import LabelledText
from structnet.estimators.held_out import hold_out
from structnet.label_tree import Examples, Features, TextFeatures
from structnet.label_tree.choice import may_be_direct
from structnet.parse.packed import stem_of
from structnet.recipes.arrays import ArrayData, load_classes
from structnet.recipes.label_tree.settings import LabelTreeRunSettings
from structnet.recipes.protocol import sizes_in_words, sizes_of
from structnet.recipes.recipe import Say, is_file
from structnet.recipes.words import counted
from structnet.routing import Samples
from structnet.trees.end_to_end import offsets_of

CONTEXT = 4  # words before the one to predict
SHARE = 0.1  # of a file for validation, and as much for testing


@dataclass
class LabelData:
    """The examples of a run, with the names of their labels and the way to their features.

    Attributes:
        labels: names of the labels.
        train, validation, test: examples.
        text: way in which words become features; None for rows.
        rows: rows that the examples are made of; None for a text.
        name: name of a text.
    """

    labels: tuple[str, ...]
    train: Examples
    validation: Examples
    test: Examples
    text: TextFeatures | None = field(default=None, kw_only=True)
    rows: ArrayData | None = field(default=None, kw_only=True)
    name: str = field(default="", kw_only=True)

    def describe(self) -> dict[str, Any]:
        """The description in ``config.json``, by which the same data are recognized."""
        if self.rows is not None:
            return self.rows.describe()
        counts = self.train.counts(len(self.labels))
        return {
            "name": self.name,
            "labels": len(self.labels),
            "features": self.train.features.size,
            **sizes_of(self),
            "most_frequent": int(counts.max()),
            **({"word_weights": "TF-IDF"} if self.text is not None and self.text.lines else {}),
        }

    def in_words(self) -> str:
        """The numbers of examples, labels and features, in words, and the columns of a table."""
        if self.rows is not None:
            return self.rows.in_words()
        return (
            f"{sizes_in_words(self)}; {counted(len(self.labels), 'label')}, "
            f"{counted(self.train.features.size, 'feature')}"
        )


@dataclass(frozen=True)
class LabelledLines(Examples):
    """Examples with several labels: ``labels`` has one of them, ``wanted`` has all.

    Args:
        wanted: number of times that each example has each label; the first column is for unknown
            labels.

    Shapes:
        wanted ``[n, 1 + labels]``, sparse.
    """

    wanted: csr_matrix = field(kw_only=True)

    def __getitem__(self, rows: Any) -> LabelledLines:
        one = super().__getitem__(rows)
        return LabelledLines(one.features, one.labels, one.shares, wanted=self.wanted[rows])


def wanted_labels(examples: Examples) -> tuple[np.ndarray, np.ndarray]:
    """All labels of examples: the row and the number of each, -1 for unknown labels.

    Shapes:
        both ``[labels of all examples]``.
    """
    if not isinstance(examples, LabelledLines):
        return np.arange(len(examples)), examples.labels
    wanted = examples.wanted.tocoo()
    times = np.where(wanted.col == 0, wanted.data, 1)  # only unknown labels count repeatedly
    return np.repeat(wanted.row, times), np.repeat(wanted.col, times) - 1


def load_data(settings: LabelTreeRunSettings, say: Say) -> LabelData:
    """The data of a run.

    Args:
        settings: settings of the run.
        say: function that prints a line for the user.

    Raises:
        LabelledTextError, TableError, TextError: a file does not have the format.
        ValueError: there is only one label, or there are too few examples.
    """
    data = settings.data
    if data == "planted":
        loaded = _of_rows(_planted(settings))
    elif is_file(data, LABELLED):
        loaded = _labelled_text(settings, say)
    elif is_file(data, SPARSE + TABLES):
        loaded = _of_rows(_of_file(load_classes(settings)))
    else:
        loaded = _next_words(settings)
    if len(loaded.labels) < 2:
        raise ValueError(f"{data} has only one label, {loaded.labels[0]!r}; expected at least 2")
    return loaded


def _planted(settings: LabelTreeRunSettings) -> ArrayData:
    rows, seed = settings.rows, settings.training.seed
    number = rows.train_size
    shape = rows.planted_arity, rows.planted_depth, rows.planted_size
    made = load_planted(*shape, number + 2 * (number // 5), seed=seed)
    names = tuple(".".join(map(str, groups)) for groups in made.groups)
    ends = number, number + number // 5
    learn, held, test = np.split(np.arange(len(made.y)), ends)
    x, y = made.x.astype(np.float32), made.y
    parts = (x[: ends[1]], y[: ends[1]], x[test], y[test])
    arrays = Arrays(*parts, names, "planted", "classification", f"5:1:1, seed {seed}", x_scale=None)
    learnt, held_out, tested = (Samples(x[p], torch.from_numpy(y[p])) for p in (learn, held, test))
    return ArrayData(arrays, learnt, held_out, tested, np.arange(len(test)))


def _of_file(arrays: Arrays) -> ArrayData:
    """All training rows of a file to learn from, as settings are chosen among these."""
    x, y = arrays.x_train, torch.from_numpy(arrays.y_train)
    test = Samples(arrays.x_test, torch.from_numpy(arrays.y_test))
    return ArrayData(arrays, Samples(x, y), Samples(x[:0], y[:0]), test, np.arange(len(test)))


def _of_rows(data: ArrayData) -> LabelData:
    parts = map(examples_of, (data.train, data.validation, data.test))
    return LabelData(data.arrays.classes or (), *parts, rows=data)


def examples_of(samples: Samples) -> Examples:
    """Rows with their labels, as a tree takes them."""
    return Examples(features_of(samples.x), samples.targets.numpy())


def _next_words(settings: LabelTreeRunSettings) -> LabelData:
    """Words to predict, if they are frequent enough, from the words before them in the sentence."""
    text = load_text(settings.data, settings.place.data_dir, settings.training.seed)
    pairs = [
        [(s[i], s[max(0, i - CONTEXT) : i]) for s in part for i in range(1, len(s))]
        for part in (text.train, text.validation, text.test)
    ]
    counts = Counter(word for word, _ in pairs[0])
    least = settings.rows.min_count
    labels = tuple(word for word, count in counts.most_common() if count >= least)
    if not labels:
        raise ValueError(
            f"no word of {settings.data} occurs {least} times; expected a lower --min-count"
        )
    number = {word: i for i, word in enumerate(labels)}
    words = dict.fromkeys(word for _, before in pairs[0] for word in before)
    how = TextFeatures(tuple(words), settings.rows.word_pairs, settings.rows.char_ngrams)
    parts = []
    for part in pairs:
        kept = [(number[word], before) for word, before in part if word in number]
        features = how.of([before for _, before in kept])
        parts.append(Examples(features, np.array([label for label, _ in kept])))
    return LabelData(labels, *parts, text=how, name=settings.data)


def _labelled_text(settings: LabelTreeRunSettings, say: Say) -> LabelData:
    """The lines of a file, with the words of its training part as features.

    Rows that may be classified directly, without vectors of words, have the weights of TF-IDF.
    """
    text = read_fasttext(settings.data)
    if text.several:
        several = counted(text.several, "line")
        say(f"{several} of {len(text):,} have several labels: one of each is drawn to learn from")
    parts = _split(len(text), settings)
    line = np.repeat(np.arange(len(text)), np.diff(text.offsets))
    learnt = np.unique(text.ids[np.isin(line, parts[0])])
    words = tuple(text.words[word] for word in learnt)
    how = TextFeatures(words, settings.rows.word_pairs, settings.rows.char_ngrams)
    number = np.full(len(text.words), -1, np.int32)
    number[learnt] = np.arange(len(learnt))
    known = number[text.ids] >= 0
    ends = offsets_of(np.bincount(line[known], minlength=len(text)))
    features = how.from_ids(ends, number[text.ids[known]])
    if may_be_direct(settings.training, len(text.labels), how.size):
        how = how.weighted(features[parts[0]])
        features = how.from_ids(ends, number[text.ids[known]])
    whole = lines_of(text, features, settings.training.seed)
    name = stem_of(Path(settings.data))
    return LabelData(text.labels, *(whole[part] for part in parts), text=how, name=name)


def lines_of(text: LabelledText, features: Features, seed: int = 0) -> LabelledLines:
    """Lines of labelled text as examples, with all their labels for measurements."""
    ones = np.ones(len(text.label_ids), np.int32)
    shape = len(text), 1 + len(text.labels)
    wanted = csr_matrix((ones, text.label_ids + 1, text.label_offsets), shape=shape)
    wanted.sum_duplicates()
    return LabelledLines(features, text.one_label(seed), wanted=wanted)


def features_of(x: Any) -> Features:
    """Scaled rows, dense or sparse, as a tree takes them."""
    return Features.from_csr(x) if issparse(x) else Features.from_table(x)


def _split(size: int, settings: LabelTreeRunSettings) -> list[np.ndarray]:
    """The numbers of the rows, split at random, 8:1:1, by the seed."""
    if size < 10:
        raise ValueError(
            f"{settings.data} has {counted(size, 'example')}; expected at least 10, to hold "
            "some out for validation and testing"
        )
    seed = settings.training.seed
    rest, test = hold_out(size, SHARE, seed)
    learn, held = hold_out(len(rest), SHARE / (1 - SHARE), seed + 1)
    return [rest[learn], rest[held], test]
