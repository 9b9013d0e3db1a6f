"""Where words and arcs of a dependency tree stand: the words in a row, or a word a line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from structnet.plot.fonts import fonts_for
from structnet.plot.labels import FONT, text_width, visible
from structnet.plot.style import GREY, LINES, cut

RELATION = LINES[0]  # the colour of relations
MAX_WORD = 24  # letters
# In points: between words, between words and arcs, the height of the first arc and of each further
# one; in the form down, a line, and the width of each arc.
SPACE, ABOVE, RISE, LINE, STEP = 12.0, 12.0, 20.0, 13.0, 11.0
SMALL = 0.8  # of the letters, of relations and tags
APART = 4.0  # points between the arcs that end at one word


class Arc(NamedTuple):
    """An arc between two words, numbered from 0; ``level`` 1 is the lowest."""

    head: int
    dependent: int
    level: int


def arcs_of(heads: Sequence[int]) -> list[Arc]:
    """The arcs, each above all that stand below it, in the order of their dependents.

    Args:
        heads: the number of each word's head, from 1 on, 0 for a root.

    Example:
        >>> [tuple(arc) for arc in arcs_of([2, 0, 4, 2])]
        [(1, 0, 1), (3, 2, 1), (1, 3, 2)]
    """
    pairs = [(head - 1, word) for word, head in enumerate(heads) if head]
    height = np.zeros(max(len(heads) - 1, 0), int)  # between each word and the next
    level = {}
    for head, word in sorted(pairs, key=lambda pair: (abs(pair[0] - pair[1]), pair)):
        below = height[min(head, word) : max(head, word)]
        level[word] = int(below.max()) + 1
        below[:] = level[word]
    return [Arc(head, word, level[word]) for head, word in pairs]


class Sentence:
    """The columns as they are drawn."""

    def __init__(
        self,
        words: Sequence[str],
        heads: Sequence[int],
        relations: Sequence[str] | None,
        tags: Sequence[str] | None,
    ):
        columns = [
            [visible(str(each)) for each in column or ()] for column in (words, relations, tags)
        ]
        self.fonts = fonts_for([*(text for column in columns for text in column), "…"])
        self.words, self.relations, self.tags = (
            [cut(self.fonts.shown(text), MAX_WORD) for text in column] for column in columns
        )
        self.heads = list(heads)
        self.arcs = arcs_of(self.heads)
        self.roots = [word for word, head in enumerate(self.heads) if not head]

    def widths(self, texts: Iterable[str], size: float = 1.0) -> np.ndarray:
        """The widths in points, ``[texts]``, of letters of so much of the usual size."""
        return np.array([size * text_width(text, self.fonts) for text in texts])


class Text(NamedTuple):
    """A text on its line: its end at the left, or its middle; the size is one of the usual."""

    x: float
    y: float
    text: str
    size: float
    color: str
    ha: str


class Drawing(NamedTuple):
    """Texts and arrows in points, y up."""

    texts: list[Text]
    arrows: list[list[tuple[float, float]]]  # corners; the last is the tip
    low: np.ndarray  # the lower left corner of all
    size: np.ndarray


def across(sentence: Sentence) -> Drawing:
    """The words in a row, the arcs above."""
    arcs, count = sentence.arcs, len(sentence.words)
    widths = sentence.widths(sentence.words)
    if sentence.tags:
        widths = np.maximum(widths, sentence.widths(sentence.tags, SMALL))
    ending = np.bincount([end for arc in arcs for end in arc[:2]] or [0], minlength=count)
    widths = np.maximum(widths, 0.6 * APART * ending)  # room for all arcs at a word
    x = np.concatenate([[0.0], np.cumsum(widths[:-1] / 2 + SPACE + widths[1:] / 2)])
    if sentence.relations:
        names = sentence.widths(sentence.relations, SMALL)
        # An arc is wider than its name; where words are short, they move apart.
        for arc in sorted(arcs, key=lambda arc: abs(arc.head - arc.dependent)):
            first, last = sorted(arc[:2])
            lacking = names[arc.dependent] + 4 * APART - (x[last] - x[first])
            if lacking > 0:
                x[first + 1 :] += (
                    lacking * np.arange(1, count - first).clip(max=last - first) / (last - first)
                )
    ends = _ends(sentence, 0.8 * widths)
    texts = [Text(x[i], 0, word, 1.0, "black", "center") for i, word in enumerate(sentence.words)]
    texts += [Text(x[i], -LINE, tag, SMALL, GREY, "center") for i, tag in enumerate(sentence.tags)]
    arrows, top = [], ABOVE + RISE * max((arc.level for arc in arcs), default=0)
    low = FONT
    for arc in arcs:
        a, b = x[arc.head] + ends[arc.dependent][0], x[arc.dependent] + ends[arc.dependent][1]
        y = ABOVE + RISE * (arc.level - 0.4)
        arrows.append([(a, low), (a, y), (b, y), (b, low)])
        if sentence.relations:
            name = sentence.relations[arc.dependent]
            texts.append(Text((a + b) / 2, y + 2, name, SMALL, RELATION, "center"))
    for root in sentence.roots:
        arrows.append([(x[root] + ends[root][1], top + 4), (x[root] + ends[root][1], low)])
        if sentence.relations:
            place = x[root] + ends[root][1], top + 6
            texts.append(Text(*place, sentence.relations[root], SMALL, RELATION, "center"))
    half = widths / 2
    left, right = float((x - half).min()), float((x + half).max())
    bottom = -LINE * (1.5 if sentence.tags else 0.5)
    return Drawing(
        texts, arrows, np.array([left, bottom]), np.array([right - left, top + 20 - bottom])
    )


def down(sentence: Sentence) -> Drawing:
    """A word a line, with its relation and its tag beside it, and the arcs at the right."""
    texts, left = [], 0.0
    columns = (
        (sentence.words, 1.0, "black"),
        (sentence.tags, SMALL, GREY),
        (sentence.relations, SMALL, RELATION),
    )
    for column, size, color in columns:
        texts += [Text(left, -LINE * i, text, size, color, "left") for i, text in enumerate(column)]
        if column:
            left += float(sentence.widths(column, size).max()) + SPACE
    ends = _ends(sentence, np.full(len(sentence.words), 0.7 * LINE))
    arrows = []
    for arc in sentence.arcs:
        # The middle of small letters is 3.5 points above the line they stand on.
        a = 3.5 - LINE * arc.head - ends[arc.dependent][0]
        b = 3.5 - LINE * arc.dependent - ends[arc.dependent][1]
        x = left + SPACE + STEP * arc.level
        arrows.append([(left, a), (x, a), (x, b), (left, b)])
    for root in sentence.roots:
        y = 3.5 - LINE * root - ends[root][1]
        arrows.append([(left + SPACE, y), (left, y)])
    right = left + SPACE + STEP * (max((arc.level for arc in sentence.arcs), default=0) + 0.5)
    bottom = -LINE * (len(sentence.words) - 0.6)
    return Drawing(texts, arrows, np.array([0.0, bottom]), np.array([right, LINE * 0.9 - bottom]))


def _ends(sentence: Sentence, room: np.ndarray) -> list[tuple[float, float]]:
    """Where each word's arc begins and ends, beyond the middles of its head and of itself.

    Args:
        room: how far the arcs at each word may stand apart.
    """
    at: list[list[tuple[int, int, int, int]]] = [[] for _ in sentence.words]
    for arc in sentence.arcs:
        for here, there, end in ((arc.head, arc.dependent, 0), (arc.dependent, arc.head, 1)):
            # Wide arcs pass above short ones: of those to the left, the widest stands last, of
            # those to the right, first. So none crosses another at a word.
            side, away = (0, here - there) if there < here else (2, here - there)
            at[here].append((side, away, arc.dependent, end))
    for root in sentence.roots:
        at[root].append((1, 0, root, 1))
    found = [[0.0, 0.0] for _ in sentence.words]
    for ends, most in zip(at, room.tolist(), strict=True):
        apart = min(APART, max(most, APART) / max(len(ends) - 1, 1))
        for place, (_, _, word, end) in enumerate(sorted(ends)):
            found[word][end] = apart * (place - (len(ends) - 1) / 2)
    return [(a, b) for a, b in found]
