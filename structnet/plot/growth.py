"""Draws how a neural tree grew: the training of all its candidates, one after another.

Reference:
    Tanno et al., "Adaptive Neural Trees", ICML 2019, Fig. 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from structnet.plot.history import records_of
from structnet.plot.style import GREY, LINES, legend_above, one_axes, tidy, whole_numbers

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

PHASES = {
    "root": GREY,
    "split": LINES[0],
    "deepen": LINES[1],
    "refine": LINES[2],
    "finish": LINES[5],
}
LOSS = "validation_loss"
NARROW = 5.0  # ratio of losses below which ticks at powers of ten would be too few
ROOM = 1.15  # height of the axis, relative to the range from the lowest loss to the root's highest


class Decision(Protocol):
    """The parts of a decision that are drawn."""

    @property
    def action(self) -> str:
        """The phase of the training that was taken."""

    @property
    def number(self) -> int:
        """The number of the decision."""

    @property
    def loss(self) -> float:
        """The loss of the tree after the decision."""

    @property
    def leaves(self) -> int:
        """The number of leaves of the tree after the decision."""


def plot_growth(
    history: Iterable[Mapping] | str | Path | Any,
    decisions: Sequence[Decision] | None = None,
    *,
    ax: Axes | None = None,
) -> list[Axes]:
    """Draws the validation loss over the epochs of all training runs, in their order.

    Each run has the colour of its phase. With decisions, the runs of candidates that were taken are
    thick, with a marker at the epoch of their lowest loss, and step lines show the loss of the tree
    and its number of leaves. Losses far above the root's, with which new candidates may begin, are
    cut off. The refinement has a tinted background and, if the records say which, a marker at the
    epoch that was kept. The axis of the losses is logarithmic, unless one is 0 or less, as losses
    of densities may be.

    Args:
        history: ``Growth.history``, its records, the path of its file, or a fitted estimator of
            neural trees, whose first tree is drawn with its own decisions. Records of a refinement,
            with ``"refine"`` as their ``phase``, may follow, and those of final epochs without a
            validation loss (``"finish"``), which have no line.
        decisions: ``Growth.decisions``; None for those of the estimator, if it is one.
        ax: axes for the losses; the leaves get an axis at its right. By default new ones.

    Returns:
        The axes of the losses and, with decisions, the axes of the leaves.

    Raises:
        TypeError: the history is something else.
        ValueError: there are no records, one has another phase, or none has a validation loss.

    Example:
        >>> from matplotlib.figure import Figure
        >>> records = [{"phase": "root", "decision": 0, "epoch": 1, "validation_loss": 2.0},
        ...            {"phase": "split", "decision": 1, "epoch": 1, "validation_loss": 1.5}]
        >>> [losses] = plot_growth(records, ax=Figure().add_subplot())
        >>> [(line.get_label(), line.get_xdata().tolist()) for line in losses.lines]
        [('_root', [1]), ('_split', [2])]
        >>> [text.get_text() for text in losses.get_legend().get_texts()]
        ['root', 'split']
    """
    records = records_of(history)
    _check(records)
    if decisions is None:
        decisions = getattr(getattr(history, "trained_", None), "decisions", None)
    losses = np.array([record.get(LOSS) for record in records], float)  # None becomes nan
    trainings = _trainings(records)
    ax = one_axes(ax, width=9.0, height=4.0)
    taken = _taken(records, trainings, losses, decisions or ())
    for place, rows in enumerate(trainings):
        _draw_training(ax, rows, losses, records[rows[0]]["phase"], place in taken)
    tidy(ax)
    ax.set(xlabel="epoch, all trainings in a row", ylabel="validation loss")
    whole_numbers(ax)
    _limit(ax, losses, losses[trainings[0]])
    _mark_refinement(ax, records, losses)
    axes = [ax]
    if decisions:
        ends = _ends(records, decisions)
        tree: dict[str, Any] = {
            "color": ax.yaxis.label.get_color(),
            "linewidth": 1.2,
            "linestyle": "--",
            "label": "tree",
        }
        ax.step(ends, [decision.loss for decision in decisions], where="post", **tree)
        axes.append(_draw_leaves(ax, decisions, ends))
        if all(decision.leaves == 1 for decision in decisions):
            ax.set_xlabel("epoch, all trainings in a row\none leaf: no branch was taken")
    seen = np.isfinite(losses)
    _add_legend(
        axes, {record["phase"] for record, drawn in zip(records, seen, strict=True) if drawn}
    )
    return axes


def _check(records: Sequence[Mapping]) -> None:
    if not any(isinstance(record.get(LOSS), (int, float)) for record in records):
        raise ValueError(f"there is no {LOSS} to draw in a history of {len(records)} records")
    for number, record in enumerate(records):
        if record.get("phase") not in PHASES:
            raise ValueError(
                f"record {number} has the phase {record.get('phase')!r}; expected one of "
                f"{', '.join(PHASES)}"
            )


def _trainings(records: Sequence[Mapping]) -> list[np.ndarray]:
    """The places of the records of each run: one phase of one decision, with ascending epochs."""
    starts = [0]
    for i in range(1, len(records)):
        before, now = records[i - 1], records[i]
        other = any(before.get(key) != now.get(key) for key in ("phase", "decision", "node"))
        if other or now.get("epoch", 0) <= before.get("epoch", -1):
            starts.append(i)
    return np.split(np.arange(len(records)), starts[1:])


def _taken(
    records: Sequence[Mapping],
    trainings: Sequence[np.ndarray],
    losses: np.ndarray,
    decisions: Sequence[Decision],
) -> set[int]:
    """The numbers of the training runs that became part of the tree."""
    places = set()
    for decision in decisions:
        of_it = [
            place
            for place, rows in enumerate(trainings)
            if (decision.action, decision.number)
            == (records[rows[0]]["phase"], records[rows[0]].get("decision"))
        ]
        # Among several attempts, the one that has the loss of the tree; for a split that was
        # pruned before it was judged, the best.
        exact = [place for place in of_it if decision.loss in losses[trainings[place]]]
        best = sorted(of_it, key=lambda place: np.nanmin([*losses[trainings[place]], np.inf]))
        places.update((exact or best)[:1])
    return places


def _draw_training(ax: Axes, rows: np.ndarray, losses: np.ndarray, phase: str, taken: bool) -> None:
    best = []
    # Without a marker, a run of one epoch would be invisible.
    if (taken or len(rows) == 1) and np.isfinite(losses[rows]).any():
        best = [int(np.nanargmin(losses[rows]))]
    ax.plot(
        rows + 1,
        losses[rows],
        label="_" + phase,  # not in the legend, which has each phase once
        color=PHASES[phase],
        linewidth=2.2 if taken else 1.0,
        alpha=1.0 if taken or phase == "refine" else 0.6,
        marker="o",
        markevery=best,
        markersize=5,
        markeredgecolor="white",
    )


def _ends(records: Sequence[Mapping], decisions: Sequence[Decision]) -> list[int]:
    """The epoch after which each decision was made, the previous one's if nothing was trained."""
    last = {record.get("decision"): i + 1 for i, record in enumerate(records)}
    return np.maximum.accumulate([last.get(each.number, 0) for each in decisions]).tolist()


def _draw_leaves(ax: Axes, decisions: Sequence[Decision], ends: Sequence[int]) -> Axes:
    twin = ax.twinx()
    leaves = [1, *(decision.leaves for decision in decisions)]
    x = [0, *ends, max(ends[-1], int(ax.dataLim.x1))]  # refinement keeps the leaves
    style: dict[str, Any] = {"color": LINES[3], "linewidth": 1.6, "label": "leaves"}
    twin.step(x, [*leaves, leaves[-1]], where="post", **style)
    twin.set(ylabel="leaves", ylim=(0, max(leaves) * 1.08 + 1))
    twin.locator_params("y", integer=True)
    twin.spines["top"].set_visible(False)
    return twin


def _mark_refinement(ax: Axes, records: Sequence[Mapping], losses: np.ndarray) -> None:
    """Tints the background of the refinement's epochs and marks the one that was kept."""
    epochs = [i for i, record in enumerate(records) if record["phase"] == "refine"]
    if not epochs:
        return
    color = PHASES["refine"]
    ground = ax.axvspan(epochs[0] + 0.5, epochs[-1] + 1.5, color=color, alpha=0.1, linewidth=0)
    ground.set(zorder=0, label="_refinement")
    kept = [i for i in epochs if records[i].get("best") and np.isfinite(losses[i])]
    text = "refinement"
    if any("best" in records[i] for i in epochs):
        text += f"\n{_kept(records[kept[-1]])}" if kept else "\nno epoch was better"
    style: dict[str, Any] = {"ha": "right", "va": "top", "fontsize": 8, "color": color}
    ax.text(epochs[-1] + 1.5, 0.99, text, transform=ax.get_xaxis_transform(), **style)
    if kept:
        dot: dict[str, Any] = {"marker": "o", "markersize": 7, "markeredgecolor": "white"}
        ax.plot(kept[-1] + 1, losses[kept[-1]], color=color, label="_kept", **dot)


def _kept(record: Mapping) -> str:
    """The measures by which the kept epoch was chosen: for classes, the accuracy comes first."""
    right = record.get("validation_accuracy")
    if right is None:
        return f"kept: {record[LOSS]:.3g}"
    return f"kept with accuracy {100 * right:.1f} %\nand loss {record[LOSS]:.3g}"


def _limit(ax: Axes, losses: np.ndarray, root: np.ndarray) -> None:
    """Limits the axis, logarithmic if possible, to losses not far above those of the first run."""
    low, high = np.nanmin(losses), np.nanmax(losses)
    if np.isfinite(root).any():
        high = min(high, low + ROOM * (np.nanmax(root) - low))
    if low <= 0:
        margin = 0.05 * (high - low) or 0.05
        ax.set_ylim(low - margin, high + margin)
        return
    from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator, StrMethodFormatter

    ax.set_yscale("log")
    margin = (high / low) ** 0.05 if high > low else 1.05
    ax.set_ylim(low / margin, high * margin)
    ax.set_ylabel("validation loss, logarithmic")
    narrow = high / low < NARROW  # few or no powers of ten would be in the range
    ticks: Any = MaxNLocator(6, steps=[1, 2, 5, 10]) if narrow else LogLocator(10, (1, 2, 5))
    ax.yaxis.set_major_locator(ticks)
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))


def _add_legend(axes: Sequence[Axes], phases: set[str]) -> None:
    """One legend for both axes, above them, where it hides no line."""
    from matplotlib.lines import Line2D

    handles: list[Artist] = [
        Line2D([], [], color=color, linewidth=1.6, label=phase)
        for phase, color in PHASES.items()
        if phase in phases
    ]
    if len(axes) > 1:
        marked: dict[str, Any] = {
            "color": "#444444",
            "linewidth": 2.2,
            "marker": "o",
            "markersize": 5,
        }
        handles.append(Line2D([], [], label="taken", markeredgecolor="white", **marked))
        handles += [handle for ax in axes for handle in ax.get_legend_handles_labels()[0]]
    legend_above(axes[0], handles, columns=7)
