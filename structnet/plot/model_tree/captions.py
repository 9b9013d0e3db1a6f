"""Writes the texts at the nodes of a model tree's picture."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from structnet.plot.fonts import fonts_for
from structnet.plot.labels import text_width
from structnet.plot.model_tree.sheet import FONT, LINE, MIN_TEXT, SMALL, WIDTH, Sheet
from structnet.plot.names import cut, short_names
from structnet.plot.style import GREY, as_written, cut_end
from structnet.routing.protocol import RoutedTree
from structnet.routing.visits import Reach
from structnet.routing.words import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

THIN, THICK = 0.8, 6.0  # points: width of an edge without samples, and what all samples add
LEAST, MOST = 1e-4, 1e7  # sizes between which numbers have no power of ten
NAME_LENGTHS = 9, 7, 5  # characters of a class name below a leaf, the first that fit


def draw_captions(
    ax: Axes,
    tree: RoutedTree,
    sheet: Sheet,
    reached: Reach,
    names: Sequence[str] | None,
    answers: Mapping[int, str],
    scale: float,
) -> None:
    """Writes the number and the share of samples above each node, and below each leaf the most
    frequent class of its samples and its own prediction; names the branches of inner nodes."""
    if scale < MIN_TEXT:
        return
    draw_marks(ax, sheet, scale)
    shorter = [] if names is None else [short_names(names, length) for length in NAME_LENGTHS]
    stems = edge_width(reached.share)
    for v, x, top, bottom in zip(sheet.nodes, sheet.x, sheet.top, sheet.bottom, strict=True):
        left, right = x - WIDTH / 2, x + WIDTH / 2
        if v < 0:
            continue
        above, below = {"va": "bottom"}, {"va": "top"}
        # The stem in the middle is as wide as the share of samples.
        beside = WIDTH / 2 - 1 - float(stems[v]) / 2
        name = _fitting([f"node {v}", str(v)], beside)
        write(ax, left, top + 1, name, SMALL * scale, color=GREY, **above)
        write(ax, right, top + 1, share_text(reached.share[v]), FONT * scale, ha="right", **above)
        branches = tree.branch_names(v)
        if not branches:
            room = (sheet.form.unit - 4) * SMALL / FONT
            lines = [
                _fitting(_class_or_mean(reached, int(v), shorter), room),
                answers.get(int(v), ""),
            ]
            text = "\n".join(lines).rstrip()
            write(ax, x, bottom + LINE - 2, text, FONT * scale, ha="center", **below)
        else:
            small = {"color": GREY, **below}
            for name, at, side in ((branches[0], left, "left"), (branches[-1], right, "right")):
                if side == "left" or len(branches) > 1:
                    name = _fitting([name, *name.split()[-1:], cut(name, 6)], beside)
                    write(ax, at, bottom - 1, name, SMALL * scale, ha=side, **small)


def edge_width(share: np.ndarray) -> np.ndarray:
    """The width of edges in points, by the share of the samples that take them. ``[n] -> [n]``."""
    return THIN + THICK * share


def _fitting(names: Sequence[str], width: float) -> str:
    """The first of ever shorter names that fits a width in small letters, or else the last."""
    fonts = fonts_for(names)
    scale = 1.05 * SMALL / 10  # small letters are a little wider on a screen
    first = bisect_left(names, True, key=lambda name: scale * text_width(name, fonts) <= width)
    return names[min(first, len(names) - 1)]


def question_lines(questions: Mapping[int, str]) -> int:
    """The largest number of lines below a router."""
    return max((len(text.splitlines()) for text in questions.values()), default=0)


def draw_questions(ax: Axes, sheet: Sheet, questions: Mapping[int, str], scale: float) -> None:
    """Writes what each router asks below it, over the stem, at most as wide as its children."""
    if scale < MIN_TEXT:
        return
    parent = sheet.placed.parent
    for i, v in enumerate(sheet.nodes.tolist()):
        below = sheet.x[parent == i]
        if not len(below) or not questions.get(v):
            continue
        room = max(float(np.ptp(below)) + WIDTH, WIDTH)
        y = (sheet.bottom[i] - sheet.form.foot + sheet.bar[parent == i][0]) / 2
        text = "\n".join(_shortened(line, room) for line in questions[v].splitlines())
        ground = {"facecolor": "white", "edgecolor": "none", "pad": 0.6 * scale}
        style = {"ha": "center", "bbox": ground, "color": "black", "linespacing": 1.1}
        write(ax, sheet.x[i], y, text, SMALL * scale, **style)


def _shortened(line: str, room: float) -> str:
    """A line with as many of its entries as fit, or else as many of its letters."""
    entries = line.split(", ")
    fewer = [f"{', '.join(entries[:n])}, …" for n in range(len(entries) - 1, 0, -1)]
    letters = [cut_end(line, n) for n in range(len(line), 5, -2)] or [line]
    return _fitting([line, *fewer, _fitting(letters, room)], room)


def share_text(share: float) -> str:
    """A share in percent, without decimals.

    Example:
        >>> [share_text(share) for share in (1, 0.126, 0.001, 0)]
        ['100 %', '13 %', '<1 %', '0 %']
    """
    return "<1 %" if 0 < share < 0.005 else percent(share)


def commonest(names: Sequence[str], counts: np.ndarray) -> str:
    """The most frequent class, by counts ``[classes]``, and its share.

    Example:
        >>> commonest(["cat", "dog"], np.array([1, 3]))
        'dog: 75 %'
    """
    return f"{names[int(counts.argmax())]}: {share_text(counts.max() / counts.sum())}"


def _class_or_mean(reached: Reach, leaf: int, shorter: Sequence[Sequence[str]]) -> list[str]:
    """The most frequent class at a leaf, or the mean and the deviation of its targets, in ever
    fewer letters; those of classes are in ``shorter``."""
    if not reached.share[leaf]:
        return ["no samples"]
    if shorter and reached.classes is not None:
        return [commonest(names, reached.classes[leaf]) for names in shorter]
    if reached.mean is None or reached.spread is None or reached.mean.shape[1] > 1:
        return [""]
    mean, spread = reached.mean[leaf, 0], reached.spread[leaf, 0]
    digits, powers = ((3, 2), (2, 1), (1, 1)), ((2, 1), (1, 1))
    plain = [f"{brief(mean, one)} ± {brief(spread, other)}" for one, other in digits]
    # Where not even few digits fit, both are written as powers of ten.
    return plain + [f"{_power(mean, one)} ± {_power(spread, other)}" for one, other in powers]


def brief(value: float, digits: int) -> str:
    """A number rounded to some digits, without a power of ten unless it is very large or small;
    NaN and infinity as they are.

    Example:
        >>> [brief(value, 3) for value in (1.5, 78712.0, -0.0000131, float("inf"))]
        ['1.5', '78700', '-1.31e-5', 'inf']
    """
    if not LEAST <= abs(value) < MOST:
        return _power(value, digits) if value else "0"
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:.10f}".rstrip("0").rstrip(".")


def _power(value: float, digits: int) -> str:
    """A number with a power of ten, in few letters: 78712.0 in two digits is "7.9e4"."""
    if not isfinite(value):
        return f"{value}"
    mantissa, power = f"{value:.{digits - 1}e}".split("e")
    return f"{mantissa}e{int(power)}"


def draw_marks(ax: Axes, sheet: Sheet, scale: float) -> None:
    """Writes the marks of folded branches: their numbers of leaves and shares of the samples."""
    for i, mark in sheet.marks.items():
        x, y = sheet.x[i], sheet.top[i] - 1
        write(ax, x, y, mark.words(), FONT * scale, ha="center", va="top")


def write(ax: Axes, x: float, y: float, text: str, size: float, **style: Any) -> None:
    """Writes a user's text into the picture."""
    style = {"va": "center"} | style
    as_written(ax.text(x, y, text, fontsize=size, clip_on=True, zorder=3, **style))
