"""Files of labelled text in fastText's format: ``__label__x __label__y some words``."""

from __future__ import annotations

from array import array
from codecs import BOM_UTF8
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import numpy as np

from structnet.trees.end_to_end import offsets_of

PREFIX = "__label__"
UNKNOWN = -1


class LabelledTextError(ValueError):
    """A file is not labelled text; the message names the line, where there is one."""


@dataclass(frozen=True)
class LabelledText:
    """Lines of words with labels.

    Attributes:
        words, labels: names by number, in the order given or else of their first occurrence.
        offsets, ids: numbers of the words; those of line i are ``ids[offsets[i]:offsets[i + 1]]``.
        label_offsets, label_ids: numbers of the labels, likewise; -1 for an unknown label.
        unknown_words: number of words in the text that were left out as unknown.

    Shapes:
        offsets, label_offsets ``[lines + 1]``, int64; ids, label_ids int32.
    """

    words: tuple[str, ...]
    labels: tuple[str, ...]
    offsets: np.ndarray
    ids: np.ndarray
    label_offsets: np.ndarray
    label_ids: np.ndarray
    unknown_words: int = 0

    def __repr__(self) -> str:
        sizes = f"{len(self):,} lines, {len(self.words):,} words, {len(self.labels):,} labels"
        return f"LabelledText({sizes})"

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def several(self) -> int:
        """The number of lines with several labels."""
        return int((np.diff(self.label_offsets) > 1).sum())

    def one_label(self, seed: int = 0) -> np.ndarray:
        """One label of each line, drawn at random if there are several. ``[lines]``, int64."""
        sizes = np.diff(self.label_offsets)
        drawn = np.random.default_rng(seed).integers(np.maximum(sizes, 1))
        return self.label_ids[self.label_offsets[:-1] + drawn].astype(np.int64)


def read_fasttext(
    path: str | Path,
    words: Sequence[str] | None = None,
    labels: Sequence[str] | None = None,
) -> LabelledText:
    """Reads a file whose lines are labels, ``__label__x``, and words, separated by blanks.

    Empty lines are skipped.

    Args:
        path: path of the file, in UTF-8.
        words: known words; all others are left out. By default all words are known.
        labels: known labels; all others get the number -1. By default all labels are known.

    Raises:
        LabelledTextError: the file cannot be read, is empty or is not UTF-8, or a line has labels
            without words or words without a label.

    Reference:
        Joulin et al., "Bag of Tricks for Efficient Text Classification", EACL 2017.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "lines.txt")
        ...     _ = path.write_text("__label__cat it purrs\\n__label__dog it barks\\n")
        ...     text = read_fasttext(path)
        >>> text
        LabelledText(2 lines, 3 words, 2 labels)
        >>> text.labels, text.words, text.ids.tolist()
        (('cat', 'dog'), ('it', 'purrs', 'barks'), [0, 1, 0, 2])

        Converted to samples for :class:`structnet.LabelTreeClassifier` with ``tokens=True``:

        >>> X = np.split(text.ids, text.offsets[1:-1])
        >>> y = np.take(text.labels, text.one_label())
        >>> [line.tolist() for line in X], y.tolist()
        ([[0, 1], [0, 2]], ['cat', 'dog'])
    """
    number: defaultdict[bytes, int] = defaultdict(count().__next__)
    ids_read, lengths = array("i"), array("i")
    try:
        with Path(path).open("rb") as file:
            for place, row in enumerate(file):
                if not place:
                    row = row.removeprefix(BOM_UTF8)  # which would hide the first label
                tokens = row.replace(b"\0", b" ").split()  # as fastText does
                ids_read.extend(map(number.__getitem__, tokens))
                lengths.append(len(tokens))
    except OSError as error:
        raise LabelledTextError(f"{path} cannot be read: {error.strerror}") from None
    numbers, size = np.frombuffer(ids_read, np.int32), len(lengths)
    line = np.repeat(np.arange(size), lengths)  # the line of each token
    names: list[str] = []
    try:
        names.extend(token.decode() for token in number)
    except UnicodeDecodeError:
        bad = line[numbers == len(names)][0] + 1
        raise LabelledTextError(f"{path}, line {bad}: the text is not UTF-8") from None
    is_label = np.array([name.startswith(PREFIX) for name in names], bool)
    is_tag = is_label[numbers] if len(names) else np.zeros(0, bool)
    sizes = [np.bincount(line[which], minlength=size) for which in (is_tag, ~is_tag)]
    kept = _checked_lines(path, *sizes)
    of_words, known_words = _numbered(names, ~is_label, words)
    of_labels, known_labels = _numbered(names, is_label, labels)
    ids, at = of_words[numbers[~is_tag]], line[~is_tag]
    there = ids != UNKNOWN
    sizes[1] = np.bincount(at[there], minlength=size)
    offsets = [offsets_of(size[kept]) for size in sizes]
    left_out = int((~there).sum())
    return LabelledText(
        known_words, known_labels, offsets[1], ids[there], offsets[0], of_labels[numbers[is_tag]],
        left_out,
    )  # fmt: skip


def _checked_lines(path: str | Path, labels: np.ndarray, words: np.ndarray) -> np.ndarray:
    """True for each line that is not empty; refuses lines that lack a label or words."""
    if not (labels.any() or words.any()):
        raise LabelledTextError(f"{path} is empty; expected lines like '{PREFIX}x some words'")
    for what, lacks in (
        (f"no label; expected one that begins with {PREFIX}", (labels == 0) & (words > 0)),
        ("a label without words; expected words after it", (labels > 0) & (words == 0)),
    ):
        if lacks.any():
            raise LabelledTextError(f"{path}, line {int(lacks.argmax()) + 1}: {what}")
    return labels + words > 0


def _numbered(
    names: list[str], which: np.ndarray, known: Sequence[str] | None
) -> tuple[np.ndarray, tuple[str, ...]]:
    """The number of each token among the words, or among the labels, and their names."""
    code_of = np.full(len(names), UNKNOWN, np.int32)
    places = np.flatnonzero(which)
    without_prefix = [names[place].removeprefix(PREFIX) for place in places]
    if known is None:
        code_of[places] = np.arange(len(without_prefix))
        return code_of, tuple(without_prefix)
    number = {name: i for i, name in enumerate(known)}
    code_of[places] = [number.get(name, UNKNOWN) for name in without_prefix]
    return code_of, tuple(known)
