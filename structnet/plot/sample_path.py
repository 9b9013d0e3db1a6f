"""Draws the path of one sample through a model tree, and what it is predicted to be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from structnet.plot.names import cut, short_names
from structnet.plot.style import (
    GREY,
    LINES,
    add_legend,
    as_written,
    fit_legend,
    one_axes,
    tidy,
)
from structnet.routing.explanation import Choice, Explanation
from structnet.routing.words import percent

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend

MOST = 5  # classes
STEPS = 24  # choices
REASON = 44  # characters of a reason
ROOM = 1.35  # for the numbers beside bars, where 1 is a probability of 100 %
PATH, LEAF, ALL = LINES[0], LINES[1], LINES[5]


def draw_path(explanation: Explanation, ax: Axes | None) -> Axes:
    """Draws a bar for each choice on a sample's path, and for each of its likeliest classes.

    The bar of a choice is the probability of the branch taken, with the main reason, if it is
    known, below its name; that of the leaf the probability of the whole path. If several leaves are
    reached, a class has a second bar, for all leaves together, or that alone if the leaf is a
    class. Of a long path, only the beginning is drawn.

    Args:
        explanation: explanation of the prediction for the sample.
        ax: axes to draw on; None for new ones.
    """
    rows = [(_name(each), each.probability) for each in explanation.choices]
    if len(rows) > STEPS:
        left_out = f"… {len(rows) - STEPS} more choices", np.nan
        rows = [*rows[:STEPS], left_out]
    rows.append((f"leaf {explanation.leaf}", explanation.probability))
    bars: list[tuple[float, float, float, str]] = [  # place, height, length, colour
        (place, 0.7, value, PATH) for place, (_, value) in enumerate(rows)
    ]
    legend, labels = {"a branch taken, and the whole path": PATH}, [name for name, _ in rows]
    several = not np.allclose(explanation.prediction, explanation.mixture)
    answer, color, leaves = explanation.prediction, LEAF, f"leaf {explanation.leaf} says"
    answers = "a class, for the leaf"
    if explanation.ends_at_class:  # the leaf is sure of it, whatever the sample
        several, answer, color = False, explanation.mixture, ALL
        answers, leaves = "a class, for all leaves", "all leaves together say"
    if explanation.class_names is not None:
        names = short_names(explanation.class_names)
        best = np.argsort(-np.array(explanation.mixture), kind="stable")[:MOST].tolist()
        for place, k in enumerate(best, start=len(rows)):
            height = 0.35 if several else 0.7
            bars.append((place - several * 0.175, height, answer[k], color))
            if several:
                bars.append((place + 0.175, height, explanation.mixture[k], ALL))
        labels += [names[k] for k in best]
        legend |= {answers: color} | ({"for all leaves": ALL} if several else {})
    reasons = any(each.reason for each in explanation.choices)
    ax = one_axes(ax, 7.5 if reasons else 5.5, 1.6 + (0.42 if reasons else 0.3) * len(labels))
    _draw(ax, bars, labels, legend)
    if explanation.class_names is not None:
        ax.axhline(len(rows) - 0.5, color=GREY, linewidth=0.8)
    title = [f"{leaves} {_prediction_text(explanation, answer)}"]
    title += [
        f"all leaves together say {_prediction_text(explanation, explanation.mixture)}"
    ] * several
    as_written(ax.set_title("\n".join(title), fontsize=11))
    return ax


def _name(choice: Choice) -> str:
    name = f"node {choice.node}: {choice.side}"
    first, *more = choice.reason.split(", ")
    reason = cut(first, REASON) + ", …" * bool(more)
    return f"{name}\n{reason}" if first else name


def _draw(ax: Axes, bars: list, labels: list[str], legend: dict[str, str]) -> None:
    from matplotlib.patches import Patch

    places, heights, lengths, colors = map(list, zip(*bars, strict=True))
    ax.barh(places, np.nan_to_num(lengths), heights, color=colors)
    for place, length in zip(places, lengths, strict=True):
        if np.isfinite(length):
            ax.text(length + 0.02, place, percent(length, 1), va="center", fontsize=8)
    tidy(ax)
    ax.grid(False)
    ax.set(xlim=(0, ROOM), ylim=(len(labels) - 0.4, -0.6), xticks=[])
    ax.set_yticks(range(len(labels)), labels)
    as_written(*ax.get_yticklabels())
    handles: list[Artist] = [Patch(color=color) for color in legend.values()]
    style: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.02), "fontsize": 8}

    def made(columns: int) -> Legend:
        return add_legend(ax, handles, list(legend), ncols=columns, frameon=False, **style)

    fit_legend(ax, len(legend), made)


def _prediction_text(explanation: Explanation, prediction: tuple[float, ...]) -> str:
    if explanation.class_names is None:
        return explanation.says(prediction)
    best = int(np.argmax(prediction))
    return f"{cut(explanation.class_names[best])}: {percent(prediction[best], 1)}"
