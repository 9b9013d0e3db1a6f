"""Bars of a table: their lengths, the dots of seeds, and scales for figures far apart."""

from __future__ import annotations

import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from structnet.plot import Bar, plot_bars

BOTH = ["the paper", "measured here"]
ERRORS = {"tree": Bar(1.5, [1.0, 3.0]), "forest": Bar(None, [2.0]), "paper": Bar(4.0)}


def test_bars_are_as_long_as_their_figures() -> None:
    [ax] = plot_bars({"error, all leaves": ERRORS}, "Errors")
    assert [label.get_text() for label in ax.get_yticklabels()] == ["paper", "forest", "tree"]
    lengths = sorted(patch.get_width() for patch in ax.patches)
    assert lengths == [1.5, 2.0, 2.0, 4.0]  # two means of our figures are 2
    dots = [tuple(line.get_xdata()) for line in ax.lines]
    assert sorted(dots) == [(1.0, 3.0), (2.0,)]
    assert ax.get_xlabel() == "error,\nall leaves"
    assert ax.get_xscale() == "linear"
    assert [text.get_text() for text in ax.figure.legends[0].get_texts()] == BOTH


@pytest.mark.parametrize(
    ("bars", "names"),
    [
        ({"tree": Bar(1.0), "forest": Bar(2.0, [])}, BOTH[:1]),
        ({"tree": Bar(1.0), "forest": Bar(None, [2.0])}, BOTH),
    ],
)
def test_the_legend_has_what_is_drawn(bars: dict, names: list) -> None:
    [ax] = plot_bars({"error": bars})
    legend = ax.figure.legends[0]
    assert [text.get_text() for text in legend.get_texts()] == names
    shown = {patch.get_facecolor() for patch in ax.patches}
    assert {patch.get_facecolor() for patch in legend.get_patches()} == shown


@pytest.mark.parametrize(("reference", "places"), [(None, [0]), (2.0, [-0.2, 0.2])])
def test_a_bar_alone_stands_beside_its_name(reference: float | None, places: list) -> None:
    [ax] = plot_bars({"rank": {"tree": Bar(reference, [1.0, 3.0])}})
    middles = sorted(bar.get_y() + bar.get_height() / 2 for bar in ax.patches)
    assert middles == pytest.approx(places)
    assert list(ax.lines[0].get_ydata()) == pytest.approx([places[0]] * 2)


def test_figures_far_apart_have_a_logarithmic_scale() -> None:
    sizes = {"tree": Bar(10.0, [12.0]), "forest": Bar(40_000.0), "paper": Bar(None)}
    axes = plot_bars({"error": ERRORS, "size": sizes})
    assert [ax.get_xscale() for ax in axes] == ["linear", "log"]
    [ax] = plot_bars({"size": sizes | {"none": Bar(0.0)}})
    assert ax.get_xscale() == "linear"  # as a logarithm has no place for 0


def test_bars_are_drawn_on_the_axes_they_are_given() -> None:
    given = list(Figure().subplots(1, 1, squeeze=False)[0])
    assert plot_bars({"error": ERRORS}, ax=given) == given
    assert len(given[0].patches) == 4
    with pytest.raises(ValueError, match="longer"):
        plot_bars({"error": ERRORS, "size": ERRORS}, ax=given)


def test_figures_below_zero_have_bars() -> None:
    [ax] = plot_bars({"gain": {"$a$ or $b$": Bar(-1.5, [2.0]), "b": Bar(100.0, [-1.0])}}, "US$ $")
    assert ax.get_xscale() == "linear"
    assert sorted(patch.get_width() for patch in ax.patches) == [-1.5, -1.0, 2.0, 100.0]
    names = {text for text in ax.figure.findobj(Text) if "$" in text.get_text()}
    drawn = {text for text in names if text not in {tick.label2 for tick in ax.yaxis.majorTicks}}
    assert len(drawn) == 2 and not any(text.get_parse_math() for text in drawn)


def test_many_quantities_take_several_lines() -> None:
    axes = plot_bars({f"error {i}": ERRORS for i in range(10)})
    figure = axes[0].figure
    assert len(axes) == len(figure.axes) == 10
    figure.draw_without_rendering()
    boxes = [ax.get_window_extent() for ax in axes]
    assert len({round(box.x0) for box in boxes}) == 4 and len({round(box.y0) for box in boxes}) == 3
    named = [ax for ax in axes if any(t.get_visible() for t in ax.get_yticklabels())]
    assert {round(ax.get_window_extent().x0) for ax in named} == {round(boxes[0].x0)}
    assert [ax.get_xlabel() for ax in axes] == [f"error {i}" for i in range(10)]


def test_bars_of_one_meaning_need_no_legend() -> None:
    [ax] = plot_bars({"error": {"tree": Bar(None, [1.0]), "forest": Bar(None, [2.0])}})
    assert ax.figure.legends == []
