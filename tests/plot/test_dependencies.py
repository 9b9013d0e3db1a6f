"""Sentences with arcs from heads to dependents."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from structnet.plot import plot_dependencies
from structnet.plot.page import A4
from structnet.plot.sentence_layout import Arc, arcs_of

WORDS = ["The", "quick", "brown", "fox", "jumps", "over", "the", "lazy", "dog", "."]
HEADS = [4, 4, 4, 5, 0, 9, 9, 9, 5, 5]
RELATIONS = ["det", "amod", "amod", "nsubj", "root", "case", "det", "amod", "obl", "punct"]
TAGS = ["DET", "ADJ", "ADJ", "NOUN", "VERB", "ADP", "DET", "ADJ", "NOUN", "PUNCT"]


def arcs(ax: Axes) -> list[np.ndarray]:
    [drawn] = [each for each in ax.collections if each.get_label() == "_arcs"]
    return [path.vertices for path in drawn.get_paths()]


def overlaps(ax: Axes) -> int:
    ax.figure.draw_without_rendering()
    found = [text.get_window_extent() for text in ax.texts]
    return sum(a.fully_overlaps(b) for a, b in combinations(found, 2))


def test_words_in_order_and_arcs_between_them() -> None:
    ax = plot_dependencies(WORDS, HEADS, RELATIONS, TAGS)
    texts = [text.get_text() for text in ax.texts]
    assert texts[:20] == WORDS + TAGS
    assert sorted(texts[20:]) == sorted(RELATIONS)
    x = [text.get_position()[0] for text in ax.texts[:10]]
    assert x == sorted(x)
    *between, root = arcs(ax)
    dependents = [word for word, head in enumerate(HEADS) if head]
    for word, line in zip(dependents, between, strict=True):  # from the head to the dependent
        nearest = [int(np.abs(np.array(x) - end).argmin()) for end in line[[0, -1], 0]]
        assert nearest == [HEADS[word] - 1, word]
    assert np.abs(np.array(x) - root[-1, 0]).argmin() == 4
    assert overlaps(ax) == 0


def test_a_long_sentence_has_a_word_a_line() -> None:
    count = 55
    heads = [0, *range(1, count)]
    ax = plot_dependencies([f"word{i}" for i in range(count)], heads, ["obl:tmod"] * count)
    assert (ax.figure.get_size_inches() * 72 <= A4).all()
    assert ax.texts[0].get_fontsize() == 10
    y = [text.get_position()[1] for text in ax.texts[:count]]
    assert y == sorted(y, reverse=True) and len(set(y)) == count
    assert overlaps(ax) == 0
    wide = plot_dependencies(["a"] * count, heads, form="across")
    assert len({text.get_position()[1] for text in wide.texts}) == 1


def test_on_small_axes() -> None:
    ax = Figure(figsize=(1.5, 4)).add_axes((0, 0, 1, 1))
    plot_dependencies(WORDS, HEADS, RELATIONS, ax=ax)
    assert ax.texts[0].get_fontsize() > 6  # a word a line, as the row would be tiny
    assert overlaps(ax) == 0


def sentences(most: int) -> st.SearchStrategy[list[int]]:
    return st.integers(1, most).flatmap(
        lambda n: st.lists(st.integers(0, n), min_size=n, max_size=n).map(
            lambda heads: [0 if head == i else head for i, head in enumerate(heads, 1)]
        )
    )


@given(sentences(12))
def test_an_arc_stands_above_those_below_it(heads: list[int]) -> None:
    found = arcs_of(heads)
    assert [(arc.head + 1, arc.dependent) for arc in found] == [
        (head, word) for word, head in enumerate(heads) if head
    ]
    for a, b in combinations(found, 2):
        (a0, a1), (b0, b1) = sorted(a[:2]), sorted(b[:2])
        if a0 < b1 and b0 < a1:  # they share a gap between two words
            assert a.level != b.level
        if a0 <= b0 and b1 <= a1 and a1 - a0 > b1 - b0:
            assert a.level > b.level


def test_arcs_that_cross() -> None:
    heads = [2, 4, 4, 0, 7, 7, 2, 4]
    assert Arc(1, 6, 4) in arcs_of(heads)
    ax = plot_dependencies(list("abcdefgh"), heads, ["r"] * 8)
    assert len(arcs(ax)) == 8


def test_words_as_they_are_written() -> None:
    ax = plot_dependencies(["$x$", "", "w" * 40], [0, 1, 1])
    assert [text.get_text() for text in ax.texts] == ["$x$", '""', "w" * 23 + "…"]
    assert not ax.texts[0].get_parse_math()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([], []), "a sentence needs a word; got none"),
        ((["a"], [0, 1]), "heads must be as many as words, 1; got 2 of them"),
        ((["a"], [0], []), "relations must be as many as words, 1; got 0 of them"),
        ((["a"], [1]), "the head of word 1, 'a', must be the number of another word, 1 to 1"),
        ((["a", "b"], [0, 3]), "1 to 2, or 0 for the root; got 3"),
    ],
)
def test_wrong_columns(columns: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plot_dependencies(*columns)
    with pytest.raises(ValueError, match="'form' parameter must be one of"):
        plot_dependencies(["a"], [0], form="up")
