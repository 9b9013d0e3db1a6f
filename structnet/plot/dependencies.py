"""Draws dependency trees as linguists do: words in order, with an arc from head to dependent.

:func:`plot_dependencies` draws words in a row with arcs above. A sentence that is too wide for a
page has one word on each line instead, with the arcs at the right.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from structnet.checks import check_one_of
from structnet.plot.fonts import Fonts
from structnet.plot.labels import FONT
from structnet.plot.page import A4, INCH, MARGIN, SMALLEST, room_of
from structnet.plot.sentence_layout import RELATION, SPACE, Drawing, Sentence, across, down
from structnet.plot.style import GREY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.path import Path

FORMS = ("auto", "across", "down")
CORNER = 6.0  # points: radius of an arc's corners


def plot_dependencies(
    words: Sequence[str],
    heads: Sequence[int],
    relations: Sequence[str] | None = None,
    tags: Sequence[str] | None = None,
    *,
    ax: Axes | None = None,
    form: str = "auto",
) -> Axes:
    """Draws a sentence with an arc from each head to each of its dependents.

    The words are in a row, with the arcs above; each arrow points to the dependent, and the root
    has an arrow from above. A long sentence has one word on each line instead, with the relation to
    its head beside it, so that it can be read on a page.

    The arguments are three columns of CoNLL-U, ``form``, ``head`` and ``deprel``. For a sentence of
    spaCy they are ``[w.text for w in s]``, ``[0 if w.head == w else w.head.i - s.start + 1 for w in
    s]`` and ``[w.dep_ for w in s]``.

    Args:
        words: words, in the order of the sentence.
        heads: number of each word's head, from 1; 0 for a root, of which there may be several.
        relations: relation of each word to its head; None to draw none.
        tags: annotations in grey, such as parts of speech; None to draw none.
        ax: axes to draw on; by default new ones, large enough to read.
        form: "across" for a row, "down" for lines, or "auto" for a row if it can be read.

    Raises:
        ValueError: there are no words, the columns have different lengths, a head is not the number
            of another word or 0, or the form is unknown.

    Warns:
        UserWarning: no installed font has some letters; they are drawn as boxes.

    Example:
        >>> from matplotlib.figure import Figure
        >>> words, heads = ["Dogs", "bark", "loudly"], [2, 0, 2]
        >>> relations = ["nsubj", "root", "advmod"]
        >>> ax = plot_dependencies(words, heads, relations, ax=Figure().add_subplot())
        >>> [text.get_text() for text in ax.texts]
        ['Dogs', 'bark', 'loudly', 'nsubj', 'advmod', 'root']
    """
    import matplotlib.pyplot as plt

    check_one_of("form", form, FORMS)
    _check(words, heads, relations, tags)
    sentence = Sentence(words, heads, relations, tags)
    if form == "auto":
        form = "across" if _can_be_read(across(sentence), ax) else "down"
    drawing = down(sentence) if form == "down" else across(sentence)
    if ax is None:
        room = drawing.size + 2 * MARGIN
        scale = min(1.0, *(np.array([2000.0, 2000.0]) / room))
        ax = plt.figure(figsize=scale * room / INCH, dpi=130).add_axes((0, 0, 1, 1))
    _draw(ax, drawing, sentence.fonts)
    return ax


def _check(
    words: Sequence[str],
    heads: Sequence[int],
    relations: Sequence[str] | None,
    tags: Sequence[str] | None,
) -> None:
    if not len(words):
        raise ValueError("a sentence needs a word; got none")
    for name, column in {"heads": heads, "relations": relations, "tags": tags}.items():
        if column is not None and len(column) != len(words):
            raise ValueError(
                f"{name} must be as many as words, {len(words)}; got {len(column)} of them"
            )
    for number, head in enumerate(heads, start=1):
        if head not in range(len(words) + 1) or head == number:
            raise ValueError(
                f"the head of word {number}, {words[number - 1]!r}, must be the number of another "
                f"word, 1 to {len(words)}, or 0 for the root; got {head!r}"
            )


def _can_be_read(drawing: Drawing, ax: Axes | None) -> bool:
    """True if the letters are large enough to read, on the axes or on a landscape page of A4."""
    if ax is not None:
        return _scale(ax, drawing.size) >= SMALLEST
    return bool((SMALLEST * drawing.size <= A4[::-1] - 2 * MARGIN).all())


def _scale(ax: Axes, size: np.ndarray) -> float:
    room = room_of(ax)
    return float(min(1.0, *(room / (size + 2 * SPACE))))


def _draw(ax: Axes, drawing: Drawing, fonts: Fonts) -> None:
    """Draws in the middle of the axes; a data unit is a point at the normal size of letters."""
    from matplotlib.collections import PathCollection, PolyCollection

    scale = _scale(ax, drawing.size)
    room = room_of(ax) / scale
    corner = drawing.low - (room - drawing.size) / 2
    ax.set(xlim=(corner[0], corner[0] + room[0]), ylim=(corner[1], corner[1] + room[1]))
    ax.set_axis_off()
    for text in drawing.texts:
        style: dict[str, Any] = {"color": text.color, "fontsize": FONT * text.size * scale}
        if text.color == RELATION:  # hides arcs that cross the name
            style["bbox"] = {"facecolor": "white", "edgecolor": "none", "pad": 0.3}
        style |= {"ha": text.ha, "va": "baseline", "family": list(fonts.families)}
        ax.text(text.x, text.y, text.text, parse_math=False, **style)
    paths = [_rounded(corners) for corners in drawing.arrows]
    style = {"facecolors": "none", "edgecolors": GREY, "linewidths": 0.9 * scale}
    ax.add_collection(PathCollection(paths, label="_arcs", **style), autolim=False)
    tips = [_tip(*corners[-2:]) for corners in drawing.arrows]
    ax.add_collection(PolyCollection(tips, facecolors=GREY, label="_tips"), autolim=False)


def _rounded(corners: list[tuple[float, float]]) -> Path:
    from matplotlib.path import Path

    points, codes = [corners[0]], [Path.MOVETO]
    for before, at, after in zip(corners, corners[1:], corners[2:], strict=False):
        radius = min(CORNER, _length(before, at) / 2, _length(at, after) / 2)
        points += [_towards(at, before, radius), at, _towards(at, after, radius)]
        codes += [Path.LINETO, Path.CURVE3, Path.CURVE3]
    return Path([*points, corners[-1]], [*codes, Path.LINETO])


def _tip(before: tuple[float, float], end: tuple[float, float]) -> np.ndarray:
    """The corners of an arrow's tip, which points to the end."""
    along = (np.array(end) - before) / max(_length(before, end), 1e-9)
    across = np.array([-along[1], along[0]])
    return np.array([end, end - 5 * along + 2.2 * across, end - 5 * along - 2.2 * across])


def _length(a: tuple[float, float], b: tuple[float, float]) -> float:
    return float(np.hypot(b[0] - a[0], b[1] - a[1]))


def _towards(a: tuple[float, float], b: tuple[float, float], way: float) -> tuple[float, float]:
    share = way / max(_length(a, b), 1e-9)
    return a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1])
