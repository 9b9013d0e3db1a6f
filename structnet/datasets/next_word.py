"""Prediction of a text's next word as classification: a row describes the words before it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from structnet.checks import check_integer
from structnet.datasets.arrays import Arrays
from structnet.datasets.text import load_text
from structnet.text import Words, learn_vectors

UNSEEN = 20_000  # at most so many words have a vector of their own


def load(
    name: str | Path = "brown",
    data_dir: str | Path | None = None,
    *,
    num_classes: int = 1000,
    context: int = 4,
    size: int = 32,
    num_train: int | None = None,
    num_test: int | None = None,
    seed: int = 0,
) -> Arrays:
    """The most frequent words of a text as classes, each place with a row for the words before it.

    Word vectors come from the co-occurrences in the training text (truncated SVD of PPMI). A row,
    before it is scaled, has the vectors of the words before a place, the nearest first, and 0 where
    the sentence has no such word.

    Args:
        name: name of a text or path of a file, as in :func:`structnet.datasets.load_text`.
        data_dir: folder to search for the files of the text.
        num_classes: number of the most frequent words that are classes; other words are not
            predicted.
        context: number of words before a place that the row describes.
        size: length of a word vector.
        num_train, num_test: numbers of places, drawn at random; None for all.
        seed: seed of the split, of the places drawn and of the vectors.

    Shapes:
        x ``[N, context * size]``; y ``[N]``, classes numbered by falling frequency.

    Raises:
        DownloadError: the files of the text are not found.
        TextError: a file is not UTF-8 text, or is too short to split.
        ValueError: a number is out of range.

    Example:
        >>> data = load("pydoc", num_classes=50, size=8, num_train=500, num_test=100)
        >>> data.x_train.shape, len(data.classes)
        ((500, 32), 50)
    """
    for what, value in {"num_classes": num_classes, "context": context, "size": size}.items():
        check_integer(what, value, 2 if what == "num_classes" else 1)
    text, rng = load_text(name, data_dir, seed), np.random.default_rng(seed)
    words = Words.from_sentences(text.train, max_size=UNSEEN)
    vectors = learn_vectors(words.encode(text.train), len(words), size, seed=seed)
    listed = [i for i in range(len(words)) if i != words.unknown][:num_classes]
    label = np.full(len(words), -1)
    label[listed] = np.arange(len(listed))

    def places(sentences: list[list[str]], number: int | None) -> tuple[np.ndarray, np.ndarray]:
        ids, offsets = words.encode(sentences)
        y = label[ids]
        rows = np.flatnonzero(y >= 0)
        if number is not None and number < len(rows):
            rows = np.sort(rng.permutation(rows)[:number])
        begin = np.repeat(offsets[:-1], np.diff(offsets))[rows]
        before = [rows - distance for distance in range(1, context + 1)]
        parts = [np.where((at >= begin)[:, None], vectors[ids[at]], 0) for at in before]
        return np.concatenate(parts, axis=1), y[rows]

    return Arrays.scaled(
        places(text.train, num_train),
        places(text.test, num_test),
        tuple(words.words[i] for i in listed),
        name=Path(name).stem,
        split=text.split,
    )
