"""Colours that people with any kind of colour vision can tell apart, and new axes.

Reference:
    Paul Tol, "Colour Schemes", SRON technical note 09-002, 2021: the schemes "bright" and "light".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LINES = ("#4477AA", "#EE6677", "#228833", "#CCBB44", "#66CCEE", "#AA3377", "#777777")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
INNER, LEAF, GREY = "#CFE1F2", "#F8E8C0", "#777777"


def new_axes(panels: int, width: float, height: float) -> list[Axes]:
    """Axes beside one another in a new figure of pyplot, which notebooks show by themselves.

    Args:
        panels: how many.
        width, height: of the figure, in inches.
    """
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(width, height), layout="constrained")
    return list(figure.subplots(1, panels, squeeze=False)[0])


def tidy(ax: Axes) -> None:
    """A light grid behind the lines, and no box around them."""
    ax.grid(axis="y", color="#DDDDDD", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def percent(ax: Axes) -> None:
    """Labels the y axis, whose values are shares, in percent."""
    from matplotlib.ticker import PercentFormatter

    ax.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
