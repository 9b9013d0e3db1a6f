"""The data of a label tree's run: labelled text, next words, rows, planted points."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse

from structnet.datasets import load_planted, load_text, read_fasttext
from structnet.datasets.catalogue import LABELLED, SPARSE, TABLES
from structnet.datasets.csv_file import is_number
from structnet.datasets.fasttext_file import LabelledText
from structnet.datasets.svmlight_file import read as read_svmlight
from structnet.datasets.table import (
    class_names,
    class_numbers,
    feature_columns,
    notes_on,
    target_column,
    with_targets,
)
from structnet.datasets.table_columns import Encoding
from structnet.estimators.counts import learned_scale, scale_of_lists
from structnet.estimators.held_out import hold_out
from structnet.estimators.inputs import in_single
from structnet.estimators.scale import Standardizer
from structnet.label_tree import Examples, Features, TextFeatures
from structnet.label_tree.choice import may_be_direct
from structnet.parse.packed import stem_of
from structnet.recipes.arrays import lines_on_table, read_table
from structnet.recipes.label_tree.settings import LabelTreeRunSettings
from structnet.recipes.protocol import sizes_in_words, sizes_of
from structnet.recipes.recipe import Say, is_file
from structnet.recipes.words import counted
from structnet.trees.end_to_end import offsets_of

CONTEXT = 4  # words before the one to predict
SHARE = 0.1  # of a file for validation, and as much for testing


@dataclass
class LabelData:
    """The examples of a run, with the names of their labels and the way to their features.

    Attributes:
        name: name of the data.
        labels: names of the labels.
        text: way in which words become features; None if there are no words.
        train, validation, test: examples.
        scale: scaler of the rows; None if they are not scaled.
        columns: names of the "features" and of the "targets" of a table; None for other data.
        encoding: way in which the columns of a table became numbers; None for other data.
        notes: lines on how a table was read.
    """

    name: str
    labels: tuple[str, ...]
    text: TextFeatures | None
    train: Examples
    validation: Examples
    test: Examples
    scale: Standardizer | None = field(default=None, kw_only=True)
    columns: dict[str, Any] | None = field(default=None, kw_only=True)
    encoding: Encoding | None = field(default=None, kw_only=True)
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    def describe(self) -> dict[str, Any]:
        """The description in ``config.json``, by which the same data are recognized."""
        counts = self.train.counts(len(self.labels))
        return {
            "name": self.name,
            "labels": len(self.labels),
            "features": self.train.features.size,
            **sizes_of(self),
            "most_frequent": int(counts.max()),
            **({} if self.scale is None else {"scale": self.scale.to_lists()}),
            **({} if self.columns is None else {"columns": self.columns}),
            **({} if self.encoding is None else {"encoding": self.encoding.to_list()}),
            **({"word_weights": "TF-IDF"} if self.text is not None and self.text.lines else {}),
        }

    def in_words(self) -> str:
        """The numbers of examples, labels and features, in words, and the columns of a table."""
        return (
            f"{sizes_in_words(self)}; {counted(len(self.labels), 'label')}, "
            f"{counted(self.train.features.size, 'feature')}"
            + lines_on_table(self.notes, self.encoding)
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


def load_data(
    settings: LabelTreeRunSettings, say: Say, described: Mapping[str, Any] | None = None
) -> LabelData:
    """The data of a run.

    Args:
        settings: settings of the run.
        say: function that prints a line for the user.
        described: description of the data of a trained run, as in ``config.json``, whose rows may
            be scaled in a way of before; None for a new run.

    Raises:
        LabelledTextError, TableError, TextError: a file does not have the format.
        ValueError: there is only one label, or there are too few examples.
    """
    data = settings.data
    if data == "planted":
        found = _planted(settings)
    elif is_file(data, LABELLED):
        found = _labelled_text(settings, say)
    elif is_file(data, SPARSE + TABLES):
        found = _rows(settings, described)
    else:
        found = _next_words(settings)
    if len(found.labels) < 2:
        raise ValueError(f"{data} has only one label, {found.labels[0]!r}; expected at least 2")
    return found


def _planted(settings: LabelTreeRunSettings) -> LabelData:
    rows, seed = settings.rows, settings.training.seed
    number = rows.train_size
    shape = rows.planted_arity, rows.planted_depth, rows.planted_size
    made = load_planted(*shape, number + 2 * (number // 5), seed=seed)
    names = tuple(".".join(map(str, groups)) for groups in made.groups)
    whole = Examples(Features.from_table(made.x), made.y)
    ends = number, number + number // 5
    parts = whole[: ends[0]], whole[ends[0] : ends[1]], whole[ends[1] :]
    return LabelData("planted", names, None, *parts)


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
    return LabelData(settings.data, labels, how, *parts)


def _labelled_text(settings: LabelTreeRunSettings, say: Say) -> LabelData:
    """The lines of a file, with the words of its training part as features.

    Rows that may be classified directly, without vectors of words, have the weights of TF-IDF.
    """
    found = read_fasttext(settings.data)
    if found.several:
        several = counted(found.several, "line")
        say(f"{several} of {len(found):,} have several labels: one of each is drawn to learn from")
    parts = _split(len(found), settings)
    line = np.repeat(np.arange(len(found)), np.diff(found.offsets))
    learnt = np.unique(found.ids[np.isin(line, parts[0])])
    words = tuple(found.words[word] for word in learnt)
    how = TextFeatures(words, settings.rows.word_pairs, settings.rows.char_ngrams)
    number = np.full(len(found.words), -1, np.int32)
    number[learnt] = np.arange(len(learnt))
    known = number[found.ids] >= 0
    ends = offsets_of(np.bincount(line[known], minlength=len(found)))
    features = how.from_ids(ends, number[found.ids[known]])
    if may_be_direct(settings.training, len(found.labels), how.size):
        how = how.weighted(features[parts[0]])
        features = how.from_ids(ends, number[found.ids[known]])
    whole = lines_of(found, features, settings.training.seed)
    return LabelData(
        stem_of(Path(settings.data)), found.labels, how, *(whole[part] for part in parts)
    )


def lines_of(found: LabelledText, features: Features, seed: int = 0) -> LabelledLines:
    """Lines of labelled text as examples, with all their labels for measurements."""
    ones = np.ones(len(found.label_ids), np.int32)
    shape = len(found), 1 + len(found.labels)
    wanted = csr_matrix((ones, found.label_ids + 1, found.label_offsets), shape=shape)
    wanted.sum_duplicates()
    return LabelledLines(features, found.one_label(seed), wanted=wanted)


def _rows(settings: LabelTreeRunSettings, described: Mapping[str, Any] | None) -> LabelData:
    """The rows of a table, or sparse rows, with their labels."""
    told: dict[str, Any] = {}
    if is_file(settings.data, SPARSE):
        ((x, values),) = read_svmlight([Path(settings.data)])
        names, y = np.unique(values, return_inverse=True)
        labels, places = tuple(f"{name:.17g}" for name in names), _split(len(y), settings)
    else:
        table = read_table(settings.data)
        target = target_column(table, settings.rows.target)
        table, left_out = with_targets(table, target)
        labels = class_names(table.texts(target))
        fractions = any(is_number(name) and not float(name).is_integer() for name in labels)
        if fractions and all(map(is_number, labels)):
            raise ValueError(
                f"{settings.data} has numbers to predict; a label tree predicts classes (--target "
                "names another column)"
            )
        y = class_numbers(table, target, labels, "there is")
        places = _split(len(table.rows), settings)
        used = feature_columns(table, target, settings.rows.without or ())
        encoding = Encoding.learned(table, used, places[0])
        x = encoding(table, used)
        named = encoding.names and list(encoding.names)
        columns = {"features": named, "targets": table.names and [table.names[target]]}
        notes = *notes_on(table, target, settings.rows.target, used), *left_out
        told = {"columns": columns, "encoding": encoding, "notes": notes}
    scale: Standardizer | None = learned_scale(x[places[0]], y[places[0]].astype(np.int64))
    if described is not None:
        before = scale_of_lists(described.get("scale"))
        # One of the same kind is learned again, so that data that have changed are noticed.
        scale = scale if _kind_of(before) == _kind_of(scale) else before
    whole = Examples(features_of(x if scale is None else scale(x)), y.astype(np.int64))
    parts, name = (whole[part] for part in places), stem_of(Path(settings.data))
    return LabelData(name, labels, None, *parts, scale=scale, **told)


def _kind_of(scale: Standardizer | None) -> Any:
    """What two scales that were learned in the same way have in common."""
    return scale and (bool(getattr(scale, "bends", ())), getattr(scale, "length", 0))


def features_of(x: Any) -> Features:
    """Scaled rows, dense or sparse, as a tree takes them."""
    x = in_single(x)
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
