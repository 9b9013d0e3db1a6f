"""How a neural tree grew: the trainings of all its candidates, one after the other.

Reference:
    Tanno et al., Adaptive Neural Trees, ICML 2019, Fig. 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from structnet.plot.style import GREY, LINES, legend_above, one_axes, tidy
from structnet.training.history import History

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
NARROW = 5.0  # losses that differ by less than so many times
ROOM = 1.15  # the highest loss that is shown, in losses of the best root


class Decision(Protocol):
    """What is drawn of a decision."""

    @property
    def action(self) -> str:
        """The phase of the training that it took."""

    @property
    def number(self) -> int:
        """Its place among the decisions."""

    @property
    def loss(self) -> float:
        """The loss of the tree afterwards."""

    @property
    def leaves(self) -> int:
        """The leaves of the tree afterwards."""


def plot_growth(
    history: Iterable[Mapping] | str | Path,
    decisions: Sequence[Decision] | None = None,
    ax: Axes | None = None,
) -> list[Axes]:
    """Draws the validation loss over the epochs of all trainings, in their order.

    The trainings have the colours of their phases. With decisions, those of candidates that were
    taken are thick and have a marker at the epoch that was, and the tree's own loss and its number
    of leaves are steps. Losses far above the root's, as new candidates may begin with, are cut off.
    The refinement has a ground of its own and, where a record says so, a marker at the epoch that
    was kept. The losses are on a logarithmic axis, unless one is 0 or less, as those of densities.

    Args:
        history: ``Growth.history``, its records, or the path of its file; records of a refinement
            may follow, with ``"refine"`` as their ``phase``, and those of last epochs without a
            validation loss (``"finish"``), which have no line.
        decisions: ``Growth.decisions``.
        ax: the axes of the losses; the leaves go on an axis of their own at its right. By default
            new ones.

    Returns:
        The axes of the losses and, if there are decisions, of the leaves.

    Raises:
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
    records = list(History.load(history) if isinstance(history, (str, Path)) else history)
    _check(records)
    losses = np.array([record.get(LOSS) for record in records], float)  # None becomes nan
    trainings = _trainings(records)
    ax = one_axes(ax, width=9.0, height=4.0)
    taken = _taken(records, trainings, losses, decisions or ())
    for place, rows in enumerate(trainings):
        _draw_training(ax, rows, losses, records[rows[0]]["phase"], place in taken)
    tidy(ax)
    ax.set(xlabel="epoch, all trainings in a row", ylabel="validation loss")
    ax.locator_params("x", integer=True, min_n_ticks=1)  # of one epoch, one
    _limit(ax, losses, losses[trainings[0]])
    _mark_refinement(ax, records, losses)
    axes = [ax]
    if decisions:
        ends = _ends(records, decisions)
        tree: dict[str, Any] = {
            "color": "black",
            "linewidth": 1.2,
            "linestyle": "--",
            "label": "tree",
        }
        ax.step(ends, [decision.loss for decision in decisions], where="post", **tree)
        axes.append(_draw_leaves(ax, decisions, ends))
        if all(decision.leaves == 1 for decision in decisions):
            ax.set_xlabel("epoch, all trainings in a row\none leaf: no branch was taken")
    _add_legend(axes, {record["phase"] for record in records})
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
    """The records of each training: one phase of one decision, its epochs ascending."""
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
    """The places of the trainings that the tree has."""
    found = set()
    for decision in decisions:
        of_it = [
            place
            for place, rows in enumerate(trainings)
            if (decision.action, decision.number)
            == (records[rows[0]]["phase"], records[rows[0]].get("decision"))
        ]
        # Of several attempts the one whose loss the tree has; of a split that was cut before it
        # was judged, the best.
        exact = [place for place in of_it if decision.loss in losses[trainings[place]]]
        best = sorted(of_it, key=lambda place: np.nanmin([*losses[trainings[place]], np.inf]))
        found.update((exact or best)[:1])
    return found


def _draw_training(ax: Axes, rows: np.ndarray, losses: np.ndarray, phase: str, taken: bool) -> None:
    best = []
    # Without a marker, a training of one epoch would not be seen.
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
    """The epoch after which each decision was made; at once, if nothing was trained for it."""
    last = {record.get("decision"): i + 1 for i, record in enumerate(records)}
    return np.maximum.accumulate([last.get(each.number, 0) for each in decisions]).tolist()


def _draw_leaves(ax: Axes, decisions: Sequence[Decision], ends: Sequence[int]) -> Axes:
    twin = ax.twinx()
    leaves = [1, *(decision.leaves for decision in decisions)]
    x = [0, *ends, max(ends[-1], int(ax.dataLim.x1))]  # refinement leaves the leaves as they are
    style: dict[str, Any] = {"color": LINES[3], "linewidth": 1.6, "label": "leaves"}
    twin.step(x, [*leaves, leaves[-1]], where="post", **style)
    twin.set(ylabel="leaves", ylim=(0, max(leaves) * 1.08 + 1))
    twin.locator_params("y", integer=True)
    twin.spines["top"].set_visible(False)
    return twin


def _mark_refinement(ax: Axes, records: Sequence[Mapping], losses: np.ndarray) -> None:
    """A ground behind the epochs of the refinement, and a marker at the one that was kept."""
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
    """What the epoch that was kept has; of classes it is the accuracy that chose it."""
    right = record.get("validation_accuracy")
    if right is None:
        return f"kept: {record[LOSS]:.3g}"
    return f"kept by accuracy: {100 * right:.1f} %\nits loss: {record[LOSS]:.3g}"


def _limit(ax: Axes, losses: np.ndarray, root: np.ndarray) -> None:
    """Leaves out losses far above those of the first training, on a logarithmic axis if it can."""
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
    narrow = high / low < NARROW  # powers of ten would leave it without a number
    ticks: Any = MaxNLocator(6, steps=[1, 2, 5, 10]) if narrow else LogLocator(10, (1, 2, 5))
    ax.yaxis.set_major_locator(ticks)
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))


def _add_legend(axes: Sequence[Axes], phases: set[str]) -> None:
    """One legend for both, above them, where no line is in its way."""
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
