"""Draws figures as bars: those of a reference, such as a paper, beside those measured here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from structnet.plot.style import as_written

if TYPE_CHECKING:
    from matplotlib.axes import Axes

REFERENCE, MEASURED = "#BBBBBB", "#4477AA"
NAMES = "the paper", "measured here"  # in the legend
COLUMNS = 4  # most quantities side by side, so that a page's width is enough to read them
WIDE = 100  # ratio of figures above which the scale is logarithmic


class Bar(NamedTuple):
    """One quantity in one row.

    Args:
        reference: figure to compare with; None if there is none.
        measured: figure of each seed; the bar shows their mean, dots show each.
    """

    reference: float | None
    measured: Sequence[float] = ()


def plot_bars(
    quantities: Mapping[str, Mapping[str, Bar]],
    title: str = "",
    *,
    ax: Sequence[Axes] | None = None,
) -> list[Axes]:
    """Draws quantities side by side, with a pair of bars in each row and seeds as dots.

    More than four quantities take several lines. Without a reference, all bars have one meaning,
    and there is no legend.

    Args:
        quantities: bars by quantity and row; all quantities have the same rows.
        title: title of the figure.
        ax: axes to draw on, one for each quantity; by default new ones.

    Returns:
        The axes of the quantities.

    Example:
        >>> error = {"tree": Bar(1.62, [1.5, 1.7]), "forest": Bar(None, [2.0])}
        >>> [ax] = plot_bars({"error": error})
        >>> [label.get_text() for label in ax.get_yticklabels()]
        ['forest', 'tree']
    """
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    rows = list(next(iter(quantities.values())))[::-1]  # so that the first one is on top
    axes = ax
    if axes is None:
        lines = -(-len(quantities) // COLUMNS)
        columns = -(-len(quantities) // lines)
        figure = Figure(figsize=(1.5 + 2.5 * columns, 0.5 + lines * (0.9 + 0.6 * len(rows))))
        places = figure.subplots(lines, columns, sharey=True, squeeze=False).ravel().tolist()
        axes, empty = places[: len(quantities)], places[len(quantities) :]
        for each in empty:
            each.remove()
    every = [bar for bars in quantities.values() for bar in bars.values()]
    drawn = any(bar.reference is not None for bar in every), any(bar.measured for bar in every)
    shift = 0.2 if all(drawn) else 0.0  # a single bar is level with its name
    for on, (quantity, bars) in zip(axes, quantities.items(), strict=True):
        _draw(on, quantity, [bars[row] for row in rows], shift)
    axes[0].set_yticks(range(len(rows)), rows)
    whole: Any = axes[0].figure  # or a subfigure
    as_written(*axes[0].get_yticklabels(), whole.suptitle(title, fontsize=11))
    shown = [each for each in zip(NAMES, (REFERENCE, MEASURED), drawn, strict=True) if each[2]]
    handles = [Patch(color=color, label=name) for name, color, _ in shown]
    beside: dict[str, Any] = {
        "loc": "upper left",
        "bbox_to_anchor": (1, 0.9),
    }  # outside, as no corner is free with few bars
    if drawn[0]:
        whole.legend(handles=handles, frameon=False, **beside)
    whole.tight_layout()
    return list(axes)


def _draw(ax: Axes, quantity: str, bars: Sequence[Bar], shift: float) -> None:
    for i, (reference, measured) in enumerate(bars):
        if reference is not None:
            ax.barh(i + shift, reference, 0.36, color=REFERENCE)
        if measured:
            ax.barh(i - shift, sum(measured) / len(measured), 0.36, color=MEASURED)
            ax.plot(measured, [i - shift] * len(measured), "k.", markersize=4)
    drawn = [value for bar in bars for value in (bar.reference, *bar.measured) if value is not None]
    if drawn and max(drawn) > WIDE * min(drawn) > 0:
        ax.set_xscale("log")
    ax.set_xlabel(quantity.replace(", ", ",\n").replace(",\n%", ", %"))
    ax.spines[["top", "right"]].set_visible(False)
