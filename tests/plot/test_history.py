"""Histories of training and accuracies by group, as drawn."""

from __future__ import annotations

import math
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text
from pictures import axes

from structnet import LabelTreeClassifier, datasets
from structnet.plot import plot_accuracy_by, plot_history
from structnet.softmax_tree import SoftmaxTreeClassifier
from structnet.training.history import History

RECORDS = [
    {
        "epoch": epoch,
        "loss": math.exp(-epoch / 5),
        "validation_loss": math.exp(-epoch / 5) + 0.05 * max(0, epoch - 20),
        "validation_accuracy": 1 - math.exp(-epoch / 4),
        "best": epoch in (1, 2, 20),
        "seconds": 1.5,
    }
    for epoch in range(1, 31)
]


def values(ax: Axes) -> dict[str, list]:
    return {str(line.get_label()): list(line.get_ydata()) for line in ax.lines}


def test_history_on_new_axes() -> None:
    losses, accuracy = plot_history(RECORDS)
    assert list(values(losses)) == ["training", "validation", "best epoch, 20"]
    assert values(losses)["training"] == [record["loss"] for record in RECORDS]
    assert list(values(accuracy)) == ["accuracy", "best epoch, 20"]
    assert losses.figure is accuracy.figure
    assert accuracy.get_ylabel() == "validation accuracy"
    assert accuracy.yaxis.get_major_formatter()(0.5) == "50 %"


def test_history_on_given_axes() -> None:
    figure = Figure()
    pair = list(figure.subplots(1, 2))
    assert plot_history(RECORDS, ax=pair) == pair
    one = axes()
    losses, accuracy = plot_history(RECORDS, ax=one)
    assert losses is one and accuracy is not one
    legend = [text.get_text() for text in losses.get_legend().get_texts()]
    assert legend == ["training", "validation", "best epoch, 20", "accuracy"]
    assert accuracy.get_legend() is None
    with pytest.raises(ValueError, match="needs 2 axes; got 0"):
        plot_history(RECORDS, ax=[])


def test_history_from_a_file(tmp_path: Path) -> None:
    History(RECORDS).save(tmp_path / "history.jsonl")
    for source in (tmp_path / "history.jsonl", str(tmp_path / "history.jsonl"), History(RECORDS)):
        assert values(plot_history(source)[0]) == values(plot_history(RECORDS)[0])


def test_history_of_few_fields() -> None:
    [losses] = plot_history([{"train_loss": 2.0}, {"train_loss": 1.0}], ax=axes())
    assert values(losses) == {"training": [2.0, 1.0]}
    assert list(losses.lines[0].get_xdata()) == [1, 2]
    [losses] = plot_history([{"loss": 2.0, "validation_loss": v} for v in (3, 1, 2)], ax=axes())
    assert list(values(losses))[-1] == "best epoch, 2"  # none is marked, so the lowest


def test_history_with_gaps() -> None:
    records = [{"epoch": 1, "loss": 1.0, "validation_loss": None}, {"epoch": 2, "loss": 0.5}]
    assert list(values(plot_history(records, ax=axes())[0])) == ["training"]
    records.append({"epoch": 3, "validation_loss": 0.7})
    losses = values(plot_history(records, ax=axes())[0])
    assert np.isnan(losses["validation"]).tolist() == [True, True, False]
    assert np.isnan(losses["training"]).tolist() == [False, False, True]


def test_history_of_a_softmax_tree() -> None:
    x, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 3
    fixed = SoftmaxTreeClassifier(depth=1, k=3, start="centroids", leaf_penalty=1.0, random_state=0)
    for history in (fixed.fit(x, y), fixed.history_):
        objective, error = plot_history(history)
        assert values(objective) == {"training": [each["objective"] for each in fixed.history_]}
        assert values(error) == {"training": [each["error"] for each in fixed.history_]}
        assert objective.get_ylabel() == "objective" and objective.get_xlabel() == "iteration"
        assert error.get_ylabel() == "error"
        assert error.yaxis.get_major_formatter()(0.5).endswith(" %")
    held = fixed.fit(x, y, X_val=x, y_val=y)
    assert list(values(plot_history(held)[1])) == ["training", "validation"]
    with pytest.raises(TypeError, match="estimator with a history_; got int"):
        plot_history(3)


@pytest.mark.parametrize("records", [[], [{"epoch": 1}]])
def test_empty_history(records: list) -> None:
    with pytest.raises(ValueError, match="nothing to draw"):
        plot_history(records)


def test_an_estimator_that_has_no_epochs() -> None:
    rows = datasets.clusters.generate(
        300, 1, num_classes=6, num_modes=1, num_groups=2, num_features=12
    )
    model = LabelTreeClassifier(random_state=0).fit(rows.x_train, rows.y_train)
    assert not len(model.history_)  # as a single linear model
    [ax] = plot_history(model, ax=axes())
    assert [text.get_text() for text in ax.texts] == ["trained without epochs"]


def test_accuracy_by_group() -> None:
    results = {"Tucker": {1: 0.9, 0: 1.0}, "sum": {0: (0.99, 6), 1: (0.8, 410), 2: (0.7, 5)}}
    ax = plot_accuracy_by(results, "operators", ax=axes(), trained_up_to=1)
    assert values(ax) == {"Tucker": [1.0, 0.9], "sum": [0.99, 0.8, 0.7]}
    assert list(ax.lines[0].get_xdata()) == [0, 1]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("operators", "accuracy")
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == ["Tucker", "sum", "trained on"]
    [span] = ax.patches
    assert (span.get_x(), span.get_width()) == (-0.5, 2.0)


def test_names_of_models_are_drawn_as_they_are_written() -> None:
    names = ["$x_1$", "_plain", "sum"]
    ax = plot_accuracy_by({name: {0: 0.5} for name in names}, "US$, $", ax=axes(), trained_up_to=0)
    texts = ax.get_legend().get_texts()
    assert [text.get_text() for text in texts] == [*names, "trained on"]
    assert not any(text.get_parse_math() for text in (*texts, ax.xaxis.label))


def test_many_models_can_be_told_apart() -> None:
    ax = plot_accuracy_by({f"model {i}": {0: 0.5} for i in range(12)}, ax=axes())
    looks = {(line.get_color(), line.get_linestyle()) for line in ax.lines}
    assert len(looks) == 12


@pytest.mark.parametrize("results", [{}, {"sum": {}}, {"sum": {0: 97.5}}])
def test_results_that_cannot_be_drawn(results: dict) -> None:
    with pytest.raises(ValueError, match=r"no results|must be in \[0, 1\]"):
        plot_accuracy_by(results)


def test_legends_are_readable() -> None:
    ax = plot_accuracy_by({"sum": {0: 0.5, 1: 0.4}})
    assert all(isinstance(text, Text) and text.get_fontsize() >= 8 for text in ax.findobj(Text))


def test_trainings_in_a_row() -> None:
    phases = [("root", [1, 2]), ("split", [1, 2, 3]), ("refine", [1])]
    epochs = [epoch for _, each in phases for epoch in each]
    records = [{"epoch": e, "loss": 9.0 - i, "best": i in (1, 5)} for i, e in enumerate(epochs)]
    [losses] = plot_history(records, ax=axes())
    assert list(losses.lines[0].get_xdata()) == [1, 2, 3, 4, 5, 6]
    assert losses.get_xlabel() == "epoch, all trainings in a row"
    assert list(values(losses))[-1] == "best epoch, 6"


def test_many_metrics_can_be_told_apart() -> None:
    records = [{"epoch": 1, "loss": 1.0, **{f"validation_metric {i}": 0.5 for i in range(9)}}]
    _, metrics = plot_history(records)
    looks = {(line.get_color(), line.get_linestyle()) for line in metrics.lines}
    assert len(looks) == len(metrics.lines) == 9
    assert metrics.get_ylabel() == "validation metrics"


def test_objective_and_errors_in_one_picture() -> None:
    errors = {"error": 0.5, "validation_error": 0.6}
    records = [{"epoch": e, "round": e // 2, "objective": 9.0, **errors} for e in range(4)]
    objective, error = plot_history(records, ax=axes())
    legend = [text.get_text() for text in objective.get_legend().get_texts()]
    assert legend == ["training", "error, training", "validation", "the tree is expanded"]
    assert len({line.get_color() for line in [*objective.lines, *error.lines[:2]]}) == 3
    assert list(error.lines[-1].get_xdata()) == [2, 2]
    assert [line.get_clip_on() for line in error.lines[:2]] == [False, False]  # at an error of 0


def test_a_single_epoch_has_one_tick() -> None:
    drawn = [
        *plot_history([{"epoch": 1, "loss": 1.0, "validation_accuracy": 0.5}]),
        plot_accuracy_by({"sum": {1: 0.5}}),
    ]
    for ax in drawn:
        low, high = ax.get_xlim()
        assert [tick for tick in ax.get_xticks() if low <= tick <= high] == [1]


def test_legends_can_be_read_on_any_ground() -> None:
    with plt.style.context("dark_background"):
        for ax in (*plot_history(RECORDS), plot_accuracy_by({"sum": {0: 0.5}})):
            legend = ax.get_legend()
            ground = to_rgb(legend.get_frame().get_facecolor())
            assert all(to_rgb(text.get_color()) != ground for text in legend.get_texts())


def test_legends_hide_the_grid_and_no_part_of_a_curve() -> None:
    records = [{"epoch": n, "loss": 1 / n, "validation_accuracy": 1 - 0.2 / n} for n in (1, 2, 3)]
    for ax in plot_history(records):
        order = ax.get_legend().get_zorder()
        assert all(order < line.get_zorder() for line in ax.lines)
        assert order > 1.5  # that of the grid, which is below lines
