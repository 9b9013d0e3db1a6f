"""How growth is drawn: the trainings, what was taken, the steps of the tree."""

from __future__ import annotations

import math

import numpy as np
import pytest
from pictures import axes

from structnet.neural_tree.growth.growth import Decision
from structnet.plot import plot_growth
from structnet.plot.growth import LOSS, PHASES

SEEN = [phase for phase in PHASES if phase != "finish"]  # which is seldom drawn


def training(phase: str, number: int | None, losses: list, node: int = 0) -> list[dict]:
    place = {"phase": phase} if number is None else {"phase": phase, "node": node}
    place |= {} if number is None else {"decision": number}
    return [place | {"epoch": e, "validation_loss": v} for e, v in enumerate(losses, 1)]


RECORDS = [
    *training("root", 0, [2.0, 1.5, 1.6]),
    *training("split", 1, [1.4, 1.2]),
    *training("deepen", 1, [9.0, 1.3]),
    *training("split", 2, [1.3], node=1),
    *training("refine", None, [1.1, 1.0, 1.0]),
]

DECISIONS = [
    Decision(0, 0, "root", 1.5, {}, 1, 10, 1.0),
    Decision(1, 0, "split", 1.2, {"split": 1.2, "deepen": 1.3}, 2, 30, 1.0),
    Decision(2, 1, "keep", 1.2, {"split": 1.3}, 2, 30, 1.0),
    Decision(3, 2, "keep", 1.2, {}, 2, 30, 1.0),  # nothing was tried
]


def test_growth_draws_every_training() -> None:
    [ax] = plot_growth(RECORDS, ax=axes())
    lines = [
        (line.get_label(), list(line.get_xdata()), list(line.get_ydata())) for line in ax.lines
    ]
    assert lines == [
        ("_root", [1, 2, 3], [2.0, 1.5, 1.6]),
        ("_split", [4, 5], [1.4, 1.2]),
        ("_deepen", [6, 7], [9.0, 1.3]),
        ("_split", [8], [1.3]),
        ("_refine", [9, 10, 11], [1.1, 1.0, 1.0]),
    ]
    assert [text.get_text() for text in ax.texts] == ["refinement"]
    assert all(line.get_color() == PHASES[line.get_label()[1:]] for line in ax.lines)
    assert [t.get_text() for t in ax.get_legend().get_texts()] == SEEN
    low, high = ax.get_ylim()
    assert low < 1.0 and 2.0 < high < 2.5  # what begins at 9 leaves the axes


def test_growth_marks_what_was_taken() -> None:
    ax, _ = plot_growth(RECORDS, DECISIONS, ax=axes())
    marked = {
        (line.get_label(), int(line.get_xdata()[line.get_markevery()[0]]))
        for line in ax.lines
        if line.get_label()[0] == "_" and line.get_markevery()
    }
    # The last one is of one epoch: without a marker, nothing would be seen of it.
    assert marked == {("_root", 2), ("_split", 5), ("_split", 8)}
    thick = [line.get_linewidth() > 2 for line in ax.lines[:5]]
    assert thick == [True, True, False, False, False]


def test_growth_steps() -> None:
    losses, leaves = plot_growth(RECORDS, DECISIONS, ax=axes())
    [tree] = [line for line in losses.lines if line.get_label() == "tree"]
    assert at(tree, [3, 6.5, 7.5, 8]) == [1.5, 1.5, 1.2, 1.2]
    [steps] = leaves.lines
    assert at(steps, [0, 2, 6.5, 7.5, 8, 11]) == [1, 1, 1, 2, 2, 2]
    assert leaves.get_ylabel() == "leaves"
    texts = [t.get_text() for t in losses.get_legend().get_texts()]
    assert texts == [*SEEN, "taken", "tree", "leaves"]


def at(line, places: list[float]) -> list[float]:
    """The values of a line of steps."""
    x, y = line.get_xdata(), line.get_ydata()
    assert min(x) <= places[0] and places[-1] <= max(x)
    return [y[np.flatnonzero(np.array(x) <= place)[-1]] for place in places]


def test_losses_stand_on_a_logarithmic_axis() -> None:
    for lowest in (1.0, 0.01, 1e-5):
        [ax] = plot_growth(training("root", 0, [2.0, lowest]), ax=axes())
        ax.figure.canvas.draw()
        assert ax.get_yscale() == "log" and "logarithmic" in ax.get_ylabel()
        low, high = ax.get_ylim()
        shown = [label.get_text() for label in ax.get_yticklabels() if low <= label._y <= high]
        assert len(shown) >= 2 and all(float(text.replace("−", "-")) > 0 for text in shown)
        assert low < lowest < 2.0 < high
    [ax] = plot_growth(training("root", 0, [2.0, -0.5]), ax=axes())  # of a density
    assert (ax.get_yscale(), ax.get_ylabel()) == ("linear", "validation loss")
    assert ax.get_ylim()[0] < -0.5


def refined(bests: list[bool | None]) -> list[dict]:
    found = training("refine", None, [1.1, 1.0, 1.2])
    return [r | ({} if b is None else {"best": b}) for r, b in zip(found, bests, strict=True)]


def test_refinement_is_marked() -> None:
    [ax] = plot_growth(RECORDS[:8] + refined([True, True, False]), ax=axes())
    [ground] = [patch for patch in ax.patches if patch.get_label() == "_refinement"]
    box = ground.get_bbox()
    assert (box.x0, box.x1) == (8.5, 11.5)
    [kept] = [line for line in ax.lines if line.get_label() == "_kept"]
    assert (list(kept.get_xdata()), list(kept.get_ydata())) == ([10], [1.0])
    assert [text.get_text() for text in ax.texts] == ["refinement\nkept: 1"]
    right = [each | {"validation_accuracy": 0.75} for each in refined([True, True, False])]
    [ax] = plot_growth(RECORDS[:8] + right, ax=axes())
    [text] = ax.texts
    assert text.get_text() == "refinement\nkept with accuracy 75.0 %\nand loss 1"
    [ax] = plot_growth(RECORDS[:8] + refined([False] * 3), ax=axes())
    assert [text.get_text() for text in ax.texts] == ["refinement\nno epoch was better"]
    [ax] = plot_growth(RECORDS[:8], ax=axes())
    assert not ax.patches and not ax.texts


def test_growth_of_one_leaf_says_so() -> None:
    one = [Decision(0, 0, "root", 1.5, {}, 1, 10, 1.0), Decision(1, 0, "keep", 1.5, {}, 1, 10, 1.0)]
    ax, _ = plot_growth(training("root", 0, [2.0, 1.5]), one, ax=axes())
    assert "one leaf" in ax.get_xlabel()
    assert "one leaf" not in plot_growth(RECORDS, DECISIONS, ax=axes())[0].get_xlabel()


@pytest.mark.parametrize("epochs", [1, 2, 3, 40])
def test_growth_counts_whole_epochs(epochs: int) -> None:
    [ax] = plot_growth(training("root", 0, list(np.linspace(2, 1, epochs))))
    ax.figure.canvas.draw()
    low, high = ax.get_xlim()
    ticks = [tick for tick in ax.get_xticks() if low <= tick <= high]
    assert ticks and all(tick == round(tick) for tick in ticks)


def test_growth_separates_trainings_of_one_phase() -> None:
    records = training("refine", None, [1.0, 0.9]) + training("refine", None, [0.8])
    assert len(plot_growth(records, ax=axes())[0].lines) == 2


def test_growth_of_a_file_and_of_a_gap(tmp_path) -> None:
    file = tmp_path / "history.jsonl"
    file.write_text('{"phase": "root", "epoch": 1, "validation_loss": 1.0}\n')
    assert plot_growth(file, ax=axes())[0].lines[0].get_ydata().tolist() == [1.0]
    [ax] = plot_growth(training("root", 0, [1.0, None, 0.5]), ax=axes())
    assert math.isnan(ax.lines[0].get_ydata()[1])


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([], "no validation_loss to draw in a history of 0 records"),
        ([{"phase": "root", "epoch": 1}], "no validation_loss"),
        ([{"epoch": 1, "validation_loss": 1.0}], "record 0 has the phase None"),
        (training("prune", 0, [1.0]), "'prune'; expected one of root, split, deepen, refine"),
    ],
)
def test_growth_that_cannot_be_drawn(records: list, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plot_growth(records, ax=axes())


def test_last_epochs_without_a_validation_loss_have_no_line() -> None:
    last = [{"phase": "finish", "decision": 1, "node": 0, "epoch": 1, "loss": 1.0}]
    [ax] = plot_growth([*RECORDS, *last], ax=axes())
    lines = {line.get_label(): line.get_ydata() for line in ax.lines}
    assert np.isnan(lines["_finish"]).all()
    assert "finish" not in [text.get_text() for text in ax.get_legend().get_texts()]


def test_a_split_that_was_cut_when_it_was_judged_is_marked() -> None:
    records = [
        {"phase": phase, "decision": number, "node": 0, "epoch": epoch, LOSS: loss}
        for phase, number, epoch, loss in (
            ("root", 0, 1, 3.0), ("split", 1, 1, 2.5), ("split", 1, 1, 2.0), ("split", 1, 2, 1.5),
        )
    ]  # fmt: skip
    decisions = [
        Decision(0, 0, "root", 3.0, {}, 1, 10, 0.1),
        Decision(1, 0, "split", 1.7, {"split": 1.7}, 3, 30, 0.1),  # none of the records'
    ]
    ax, _ = plot_growth(records, decisions, ax=axes())
    widths = {tuple(line.get_xdata()): line.get_linewidth() for line in ax.lines}
    assert widths[3, 4] > widths[2,]
