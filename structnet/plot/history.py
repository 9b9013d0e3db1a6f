"""Draws the losses and metrics of a training run, epoch by epoch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from structnet.plot.style import (
    BEHIND_LINES,
    GREY,
    LEGEND,
    legend_above,
    look_of,
    new_axes,
    percent_axis,
    tidy,
    whole_numbers,
)
from structnet.training.history import History

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TRAIN_LOSS = ("loss", "train_loss")
VALIDATION_LOSS = "validation_loss"
OBJECTIVE, ERROR = "objective", "error"  # of softmax trees, which have iterations, not epochs
BEST = "best epoch"
MANY = 60  # epochs above which markers would overlap
MOST_NAMES = 3  # metrics that the label of an axis names


def plot_history(
    history: Iterable[Mapping] | str | Path | Any, *, ax: Axes | Sequence[Axes] | None = None
) -> list[Axes]:
    """Draws the losses and, beside them, the other metrics on the validation data.

    Of a softmax tree, it draws the objective and, beside it, the errors, with a vertical line where
    the tree was expanded. The trainings of a neural tree, in which the epochs begin anew, are drawn
    in a row.

    Of an estimator that was trained without epochs, as a label tree with one linear model over all
    classes may be, the axes say so.

    A vertical line marks the best epoch: the last one that is recorded as best or, if no record
    says which are, the one with the lowest validation loss.

    Args:
        history: :class:`structnet.History`, its records, the path of its file, or a fitted
            estimator with a ``history_``. The fields ``loss`` (or ``train_loss`` or ``objective``),
            ``error`` and all that begin with ``validation_`` are drawn over ``epoch``.
        ax: one or two axes, for the losses and the metrics; if there is one, the metrics get an
            axis at its right. By default new ones.

    Returns:
        The axes of the losses and, if there are other metrics, of these.

    Raises:
        TypeError: the history is something else.
        ValueError: there are no records, or they have nothing to draw, or there are too few axes.

    Example:
        >>> from matplotlib.figure import Figure
        >>> records = [{"epoch": 1, "loss": 2.0, "validation_loss": 2.1},
        ...            {"epoch": 2, "loss": 1.5, "validation_loss": 1.9, "best": True}]
        >>> [losses] = plot_history(records, ax=Figure().add_subplot())
        >>> [line.get_label() for line in losses.lines]
        ['training', 'validation', 'best epoch, 2']
    """
    records = records_of(history)
    if not records and hasattr(history, "history_"):
        return [_without_epochs(_axes(ax, 1)[0])]
    panels = [fields for fields in (_losses(records), _measures(records)) if fields]
    if not panels:
        raise ValueError(f"there is nothing to draw in a history of {len(records)} records")
    axes = _axes(ax, len(panels))
    epochs, unit = _epochs(records)
    for number, (on, fields) in enumerate(zip(axes, panels, strict=True)):
        _draw(on, records, epochs, fields, first=2 * number)
        on.set_xlabel(unit)
        if ERROR in fields:
            _mark_expansions(on, records, epochs)
    _mark_best(axes, records, epochs)
    _add_legends(axes)
    return axes


def records_of(history: Any) -> list[Mapping]:
    """The records of a history, which may be in a file or belong to a fitted estimator.

    Raises:
        TypeError: the history is something else.
    """
    if isinstance(history, (str, Path)):
        return list(History.load(history))
    history = getattr(history, "history_", history)
    if not isinstance(history, Iterable):
        raise TypeError(
            "expected a history, its records, its file, or a fitted estimator with a history_; got "
            f"{type(history).__name__}"
        )
    return list(history)


def _losses(records: Sequence[Mapping]) -> dict[str, str]:
    """The names of the losses in the legend, by field."""
    names = dict.fromkeys((*TRAIN_LOSS, OBJECTIVE), "training") | {VALIDATION_LOSS: "validation"}
    return {field: name for field, name in names.items() if _has(records, field)}


def _measures(records: Sequence[Mapping]) -> dict[str, str]:
    fields = dict.fromkeys(field for record in records for field in record)
    if _has(records, ERROR):
        errors = {ERROR: "training", f"validation_{ERROR}": "validation"}
        return {field: name for field, name in errors.items() if _has(records, field)}
    return {
        field: field.removeprefix("validation_").replace("_", " ")
        for field in fields
        if field.startswith("validation_") and field != VALIDATION_LOSS and _has(records, field)
    }


def _has(records: Sequence[Mapping], field: str) -> bool:
    return any(isinstance(record.get(field), (int, float)) for record in records)


def _values(records: Sequence[Mapping], field: str) -> np.ndarray:
    return np.array([record.get(field) for record in records], float)  # None becomes nan


def _axes(ax: Axes | Sequence[Axes] | None, panels: int) -> list[Axes]:
    if ax is None:
        return new_axes(panels, width=5.0 * panels, height=3.6)
    axes = list(ax) if isinstance(ax, Iterable) else [ax]
    if len(axes) == 1 and panels == 2:
        return [axes[0], axes[0].twinx()]
    if len(axes) < panels:
        raise ValueError(f"this history needs {panels} axes; got {len(axes)}")
    return axes[:panels]


def _without_epochs(ax: Axes) -> Axes:
    """Says in the middle of the axes that there is nothing to draw."""
    middle: dict[str, Any] = {"ha": "center", "va": "center", "transform": ax.transAxes}
    ax.text(0.5, 0.5, "trained without epochs", **middle)
    ax.set_axis_off()
    return ax


def _epochs(records: Sequence[Mapping]) -> tuple[list[int], str]:
    """The place of each record on the x axis, and what the axis counts."""
    epochs = [record.get("epoch", number) for number, record in enumerate(records, 1)]
    if any(now <= before for before, now in pairwise(epochs)):
        return list(range(1, len(records) + 1)), "epoch, all trainings in a row"
    return epochs, "iteration" if {OBJECTIVE, ERROR} & records[0].keys() else "epoch"


def _draw(
    ax: Axes,
    records: Sequence[Mapping],
    epochs: Sequence[int],
    fields: Mapping[str, str],
    first: int,
) -> None:
    for number, (field, name) in enumerate(fields.items(), first):
        style = look_of(number) | ({"marker": None} if len(epochs) > MANY else {})
        style["clip_on"] = ERROR not in fields  # whose axis begins at 0, which is a good error
        ax.plot(epochs, _values(records, field), label=name, markersize=4, **style)
    tidy(ax)
    whole_numbers(ax)
    if {*TRAIN_LOSS, VALIDATION_LOSS, OBJECTIVE} & fields.keys():
        ax.set_ylabel(OBJECTIVE if OBJECTIVE in fields else "loss")
        return
    names = fields.values() if len(fields) <= MOST_NAMES else ["metrics"]
    ax.set_ylabel(ERROR if ERROR in fields else "validation " + " and ".join(names))
    if ERROR in fields:
        ax.set_ylim(bottom=0)
    if ERROR in fields or all("accuracy" in name for name in fields.values()):
        percent_axis(ax)


def _mark_expansions(ax: Axes, records: Sequence[Mapping], epochs: Sequence[int]) -> None:
    """Draws a line where the tree was expanded, at the first iteration of each round but one."""
    rounds = [record.get("round", 0) for record in records]
    starts = [i for i, pair in enumerate(pairwise(rounds), 1) if pair[1] > pair[0]]
    for number, place in enumerate(starts):
        label = "_expanded" if number else "the tree is expanded"
        ax.axvline(epochs[place], color=GREY, linestyle=":", label=label)


def _mark_best(axes: Sequence[Axes], records: Sequence[Mapping], epochs: Sequence[int]) -> None:
    best = [i for i, record in enumerate(records) if record.get("best")]
    losses = _values(records, VALIDATION_LOSS)
    judged = any("best" in record for record in records)
    if not judged and np.isfinite(losses).any():
        best = [int(np.nanargmin(losses))]
    if best:
        epoch = epochs[best[-1]]
        for ax in axes:
            ax.axvline(epoch, color=GREY, linestyle=":", label=f"{BEST}, {epoch}", zorder=1)


def _add_legends(axes: Sequence[Axes]) -> None:
    if len(axes) == 1 or axes[0].get_position().bounds != axes[1].get_position().bounds:
        for ax in axes:
            ax.legend(**LEGEND).set_zorder(BEHIND_LINES)
        return
    # Twin axes share one legend.
    handles, names = axes[0].get_legend_handles_labels()
    for handle, name in zip(*axes[1].get_legend_handles_labels(), strict=True):
        if name.startswith(BEST):
            continue
        if name in names:  # the errors of a softmax tree
            handle.set_label(f"{axes[1].get_ylabel()}, {name}")
        handles.append(handle)
    legend_above(axes[0], handles, columns=2)
    axes[1].grid(False)
    axes[1].spines["right"].set_visible(True)
