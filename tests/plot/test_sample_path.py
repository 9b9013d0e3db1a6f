"""Explanations of rows of tables, as drawn."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_hex
from pictures import assert_within, axes, written

from structnet.plot import plot_explanation, plot_tree
from structnet.plot.sample_path import ALL, LEAF, PATH, STEPS
from structnet.routing.explanation import Choice, Explanation
from structnet.softmax_tree import SoftmaxTreeClassifier

NAMES = ("ape", "$b$", "cow", "dog", "eel", "fox", "_gnu")
SOFT = Explanation(
    (Choice(0, "left", 0.9), Choice(1, "right", 0.5)),
    0.45,
    4,
    (0.7, 0.0, 0.2, 0.05, 0.02, 0.03, 0.0),
    (0.5, 0.2, 0.1, 0.08, 0.05, 0.03, 0.04),
    NAMES,
)


def bars(ax: object) -> list[tuple[str, float]]:
    """The colour and the length of each bar."""
    return [(to_hex(bar.get_facecolor()).upper(), bar.get_width()) for bar in ax.patches]


def rows(ax: object) -> list[str]:
    return [label.get_text() for label in ax.get_yticklabels()]


def test_a_path_and_the_likeliest_classes() -> None:
    ax = plot_explanation(SOFT, ax=axes())
    assert rows(ax) == [
        "node 0: left",
        "node 1: right",
        "leaf 4",
        "ape",
        "$b$",
        "cow",
        "dog",
        "eel",
    ]
    assert not any(label.get_parse_math() for label in ax.get_yticklabels())
    path, classes = bars(ax)[:3], bars(ax)[3:]
    assert path == [(PATH.upper(), 0.9), (PATH.upper(), 0.5), (PATH.upper(), 0.45)]
    assert [length for color, length in classes if color == LEAF.upper()] == [
        0.7,
        0,
        0.2,
        0.05,
        0.02,
    ]
    assert [length for color, length in classes if color == ALL.upper()] == [
        0.5,
        0.2,
        0.1,
        0.08,
        0.05,
    ]
    assert ax.get_title() == "leaf 4 says ape: 70.0 %\nall leaves together say ape: 50.0 %"
    assert "45.0 %" in written(ax)


def test_of_leaves_that_are_classes_all_leaves_tell_the_probabilities() -> None:
    choice = Choice(0, "class $b$", 0.6)
    told = Explanation((choice,), 0.6, 2, (0.0, 1.0, 0.0), (0.3, 0.6, 0.1), ("ape", "$b$", "cow"))
    assert str(told).splitlines()[1:] == [
        "leaf 2, reached with 60.0 %",
        "of all leaves: class $b$, 60.0 %",
    ]
    ax = plot_explanation(told, ax=axes())
    assert bars(ax)[2:] == [(ALL.upper(), each) for each in (0.6, 0.3, 0.1)]
    assert ax.get_title() == "all leaves together say $b$: 60.0 %"
    assert ax.get_legend().get_texts()[1].get_text() == "a class, for all leaves"


def test_of_an_estimator_of_hard_paths() -> None:
    x = np.repeat([[-2.0], [-1.0], [1.0], [2.0]], 10, axis=0)
    model = SoftmaxTreeClassifier(depth=1, k=2, random_state=0).fit(x, np.repeat(list("abcd"), 10))
    ax = plot_explanation(model.explain(x[0]))
    [choice], leaf = model.explain(x[0]).choices, model.apply(x[:1])[0]
    assert rows(ax)[:3] == [
        f"node 0: {choice.side}\n{choice.reason}",
        f"leaf {leaf}",
        "a",
    ]
    assert [length for _, length in bars(ax)[:2]] == [1, 1]
    assert len(bars(ax)) == len(rows(ax))  # all leaves together say what this one says
    assert ax.get_title().startswith(f"leaf {leaf} says a: ") and "\n" not in ax.get_title()


def test_numbers_and_long_paths() -> None:
    steps = tuple(Choice(node, "left", 0.99) for node in range(100))
    ax = plot_explanation(Explanation(steps, 0.99**100, 100, (200.0, 1.5), (210.0, 1.0), None))
    assert rows(ax)[-2:] == ["… 76 more choices", "leaf 100"] and len(rows(ax)) == STEPS + 2
    assert ax.get_title() == "leaf 100 says 200, 1.5\nall leaves together say 210, 1"
    with pytest.raises(TypeError, match="drawn without options for trees; got max_nodes"):
        plot_explanation(SOFT, max_nodes=3)


def test_other_pictures_are_named() -> None:
    x, y = np.arange(20.0)[:, None], np.arange(20) % 2
    model = SoftmaxTreeClassifier(depth=0, k=2, start="centroids", leaf_penalty=1.0).fit(x, y)
    with pytest.raises(TypeError, match="got SoftmaxTreeClassifier, which its method plot draws"):
        plot_tree(model)
    with pytest.raises(TypeError, match="got SoftmaxTree, which plot_model_tree draws"):
        plot_tree(model.tree_)
    with pytest.raises(TypeError, match=r"list of trees; got int$"):
        plot_tree(3)


def test_the_legend_is_within_the_picture() -> None:
    ax = plot_explanation(SOFT)
    ax.figure.draw_without_rendering()
    assert_within([ax.get_legend().get_window_extent()], ax.figure.bbox)


def test_a_choice_has_its_main_reason() -> None:
    choices = (
        Choice(0, "left", 0.9, "age = 3 < 4"),
        Choice(1, "right", 0.5, "a = 1 (+2), b = 2 (-1)"),
    )
    ax = plot_explanation(Explanation(choices, 0.45, 4, SOFT.prediction, SOFT.mixture, NAMES))
    assert rows(ax)[:3] == ["node 0: left\nage = 3 < 4", "node 1: right\na = 1 (+2), …", "leaf 4"]
