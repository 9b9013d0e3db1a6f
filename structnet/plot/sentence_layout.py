"""Lays out the words and arcs of a dependency tree, in a row or with one word on each line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from structnet.plot.fonts import fonts_for
from structnet.plot.labels import FONT, text_width, visible
from structnet.plot.style import GREY, LINES, cut_end

RELATION = LINES[0]  # the colour of relations
MAX_WORD = 24  # letters
# In points: gap between words, gap between words and arcs, height of each level of arcs; height of
# a line and, in the form "down", width of each level of arcs.
SPACE, ABOVE, RISE, LINE, STEP = 12.0, 12.0, 20.0, 13.0, 11.0
SMALL = 0.8  # relative size of letters in relations and tags
APART = 4.0  # points between arcs that end at the same word


class Arc(NamedTuple):
    """An arc between two words, which are numbered from 0; level 1 is the lowest."""

    head: int
    dependent: int
    level: int


def arcs_of(heads: Sequence[int]) -> list[Arc]:
    """The arcs in the order of their dependents, each at a level above the arcs that it spans.

    Args:
        heads: number of each word's head, from 1; 0 for a root.

    Example:
        >>> [tuple(arc) for arc in arcs_of([2, 0, 4, 2])]
        [(1, 0, 1), (3, 2, 1), (1, 3, 2)]
    """
    pairs = [(head - 1, word) for word, head in enumerate(heads) if head]
    height = np.zeros(max(len(heads) - 1, 0), int)  # of the arcs between each word and the next
    level = {}
    for head, word in sorted(pairs, key=lambda pair: (abs(pair[0] - pair[1]), pair)):
        below = height[min(head, word) : max(head, word)]
        level[word] = int(below.max()) + 1
        below[:] = level[word]
    return [Arc(head, word, level[word]) for head, word in pairs]


class Sentence:
    """The words, relations and tags of a sentence as they are drawn, and its arcs."""

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
            [cut_end(self.fonts.shown(text), MAX_WORD) for text in column] for column in columns
        )
        self.heads = list(heads)
        self.arcs = arcs_of(self.heads)
        self.roots = [word for word, head in enumerate(self.heads) if not head]

    def widths(self, texts: Iterable[str], size: float = 1.0) -> np.ndarray:
        """The widths of texts in points, ``[texts]``, in letters of a relative size."""
        return np.array([size * text_width(text, self.fonts) for text in texts])


class Text(NamedTuple):
    """A text on its baseline, placed by its left end or its middle; the size is relative."""

    x: float
    y: float
    text: str
    size: float
    color: str
    ha: str


class Drawing(NamedTuple):
    """Texts and arrows in points; y points up."""

    texts: list[Text]
    arrows: list[list[tuple[float, float]]]  # corners of each; the last is the tip
    low: np.ndarray  # the lower left corner of the drawing
    size: np.ndarray


def across(sentence: Sentence) -> Drawing:
    """The drawing with the words in a row and the arcs above."""
    arcs, count = sentence.arcs, len(sentence.words)
    widths = sentence.widths(sentence.words)
    if sentence.tags:
        widths = np.maximum(widths, sentence.widths(sentence.tags, SMALL))
    ending = np.bincount([end for arc in arcs for end in arc[:2]] or [0], minlength=count)
    widths = np.maximum(widths, 0.6 * APART * ending)  # room for all arcs at a word
    x = np.concatenate([[0.0], np.cumsum(widths[:-1] / 2 + SPACE + widths[1:] / 2)])
    if sentence.relations:
        names = sentence.widths(sentence.relations, SMALL)
        # Moves short words apart, so that each arc is wider than its name.
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
    """The drawing with one word, its tag and its relation on each line, and arcs at the right."""
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
        # The middle of small letters is 3.5 points above their baseline.
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
    """The offsets of each word's arc: from the middle of its head, and from that of the word.

    Args:
        sentence: words and arcs.
        room: largest distance between the outermost arcs at each word, in points.
    """
    at: list[list[tuple[int, int, int, int]]] = [[] for _ in sentence.words]
    for arc in sentence.arcs:
        for here, there, end in ((arc.head, arc.dependent, 0), (arc.dependent, arc.head, 1)):
            # Wide arcs pass above short ones: among those to the left, the widest comes last, and
            # among those to the right, first. So arcs do not cross at a word.
            side, away = (0, here - there) if there < here else (2, here - there)
            at[here].append((side, away, arc.dependent, end))
    for root in sentence.roots:
        at[root].append((1, 0, root, 1))
    shifts = [[0.0, 0.0] for _ in sentence.words]
    for ends, most in zip(at, room.tolist(), strict=True):
        apart = min(APART, max(most, APART) / max(len(ends) - 1, 1))
        for place, (_, _, word, end) in enumerate(sorted(ends)):
            shifts[word][end] = apart * (place - (len(ends) - 1) / 2)
    return [(a, b) for a, b in shifts]
