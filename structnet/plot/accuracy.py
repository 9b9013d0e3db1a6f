"""Draws accuracy by group, such as number of operators, depth or size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from structnet.plot.style import (
    BEHIND_LINES,
    LEGEND,
    add_legend,
    as_written,
    look_of,
    one_axes,
    percent_axis,
    tidy,
    whole_numbers,
)

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes


def plot_accuracy_by(
    results: Mapping[str, Mapping[Any, float | tuple[float, int]]],
    xlabel: str = "operators",
    *,
    ax: Axes | None = None,
    trained_up_to: float | None = None,
) -> Axes:
    """Draws the accuracy on each group of examples, with one line for each model.

    Args:
        results: for each model, the accuracy in [0, 1] by the number of the group; or the accuracy
            and the number of examples, as from :func:`structnet.training.metrics.accuracy_by`.
        xlabel: label for the numbers of the groups.
        ax: axes to draw on; by default new ones.
        trained_up_to: largest group that was trained on; up to it, the background is grey.

    Raises:
        ValueError: there are no results, or an accuracy is not in [0, 1].

    Example:
        >>> from matplotlib.figure import Figure
        >>> results = {"Tucker": {0: 1.0, 1: 0.98}, "sum": {0: 1.0, 1: (0.97, 410)}}
        >>> ax = plot_accuracy_by(results, ax=Figure().add_subplot())
        >>> [line.get_ydata().tolist() for line in ax.lines]
        [[1.0, 0.98], [1.0, 0.97]]
    """
    if not any(results.values()):
        raise ValueError("there are no results to draw; expected at least one model and group")
    ax = one_axes(ax, width=5.5, height=3.8)
    handles: dict[str, Artist] = {}
    for number, (name, groups) in enumerate(results.items()):
        [handles[name]] = ax.plot(
            sorted(groups),
            [_accuracy(name, group, groups[group]) for group in sorted(groups)],
            label=name,
            markersize=5,
            **look_of(number),
        )
    tidy(ax)
    percent_axis(ax)
    ax.set_xlabel(xlabel)
    ax.set_ylabel("accuracy")
    whole_numbers(ax)
    if trained_up_to is not None:
        first = min(group for groups in results.values() for group in groups)
        ground = ax.axvspan(first - 0.5, trained_up_to + 0.5, color="#EEEEEE", zorder=0)
        handles |= {"trained on": ground}
    add_legend(ax, list(handles.values()), list(handles), **LEGEND).set_zorder(BEHIND_LINES)
    as_written(ax.xaxis.label)
    return ax


def _accuracy(name: str, group: float, value: float | tuple[float, int]) -> float:
    accuracy = value[0] if isinstance(value, (tuple, list)) else value
    if not 0 <= accuracy <= 1:
        raise ValueError(f"an accuracy must be in [0, 1]; {name!r} has {accuracy} in group {group}")
    return accuracy
