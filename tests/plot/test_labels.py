"""What is written on nodes, and with which fonts."""

from __future__ import annotations

import warnings

import pytest
from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties, findfont, fontManager
from matplotlib.ft2font import FT2Font
from matplotlib.text import Text
from matplotlib.textpath import TextPath
from pictures import grown, samples

from structnet.plot import plot_leaf_classes, plot_model_tree, plot_tree
from structnet.plot.fonts import BOX, CATCH_ALL, fonts_for
from structnet.plot.labels import Labels, text_width, visible
from structnet.plot.model_tree import captions
from structnet.trees.tree import Tree

NOWHERE = "\U0001e8a7"  # of Mende Kikakui, in none of matplotlib's own fonts


def letters_of(family: str) -> set[str]:
    return set(map(chr, FT2Font(findfont(FontProperties(family=[family]))).get_charmap()))


def texts_of(ax: Axes) -> list[str]:
    ax.figure.canvas.draw()  # which is where matplotlib warns of letters
    return [text.get_text() for text in ax.texts]


@pytest.mark.parametrize("form", ["levels", "outline"])
def test_empty_and_blank_labels_can_be_seen(form: str) -> None:
    tree = Tree("", [Tree(" "), Tree("a", token=""), Tree("\n")])
    joint = "\n" if form == "levels" else "  "
    assert texts_of(plot_tree(tree, form=form)) == ['""', '" "', f'a{joint}""', "⏎"]
    ax = plot_tree(tree, form=form, labels=lambda node: "")
    assert texts_of(ax) == ['""'] * 4


def test_signs_are_written_out() -> None:
    assert visible("$\\alpha$ \\n") == "$\\alpha$ \\n"
    assert visible("a\r\nb\rc\td\x00") == "a⏎b⏎c⇥d\\x00"
    assert visible("\ud800") == "\\ud800"  # half a letter, which no font can have


def test_labels_of_the_user_keep_their_lines() -> None:
    node = Tree("x")
    assert Labels([node], lambda _: "one\n\ntwo", 24)[node] == "one\n\ntwo"


def test_right_to_left_stays_as_it_is() -> None:
    assert texts_of(plot_tree(Tree("עברית", token="مرحبا"))) == ["עברית\nمرحبا"]


def test_letters_of_another_installed_font() -> None:
    """STIX, which comes with matplotlib, has letters that DejaVu lacks."""
    lacking = letters_of("STIXGeneral") - letters_of("sans-serif")
    letter = min(each for each in lacking if each.isprintable() and ord(each) < 0xE000)
    fonts = fonts_for([letter])
    assert len(fonts.families) == 2 and letter in letters_of(fonts.families[1])
    ax = plot_tree(Tree(letter))
    assert texts_of(ax) == [letter]  # and no warning, which would be an error
    assert ax.texts[0].get_fontfamily() == list(fonts.families)


def test_letters_of_no_font_warn_once() -> None:
    if any(NOWHERE in letters_of(each) for each in fonts_by_name()):
        pytest.skip("a font is installed that has every letter")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ax = plot_tree(Tree(NOWHERE * 3, [Tree(NOWHERE), Tree("a" + NOWHERE)]))
        assert texts_of(ax) == [BOX * 3, BOX, "a" + BOX]
    [warning] = caught
    assert str(warning.message).startswith(f"no installed font has the letters '{NOWHERE}', which")
    assert warning.filename == __file__


def fonts_by_name() -> set[str]:
    return {each.name for each in fontManager.ttflist if not each.name.startswith(CATCH_ALL)}


def test_a_width_is_that_of_the_drawn_letters() -> None:
    for line in ("left: low feature 12, …", "fjord", "WiMAX & $5", "l"):
        exact = TextPath((0, 0), line.replace("$", "S"), size=10).get_extents().width
        assert text_width(line, fonts_for([line])) == pytest.approx(exact, rel=0.01)
    assert text_width("  ", fonts_for(["  "])) == 0


@pytest.mark.parametrize("room", [30.0, 60.0, 100.0])
def test_few_of_all_ways_to_shorten_a_line_are_measured(room: float) -> None:
    line = "left: low " + "x" * 400 + f" of {room}, …"
    text_width.cache_clear()
    short = captions._shortened(line, room)
    assert text_width.cache_info().misses < 20  # of 230
    longer = captions.cut_end(line, len(short) + 2)
    scale = 1.05 * captions.SMALL / 10
    widths = [scale * text_width(each, fonts_for([each])) for each in (short, longer)]
    assert widths[0] <= room < widths[1] and short.endswith("…")


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_numbers_that_are_not_finite_are_written_as_they_are(value: str) -> None:
    assert captions.brief(float(value), 3) == captions._power(float(value), 2) == value


def test_letters_of_another_font_in_names_of_classes() -> None:
    lacking = letters_of("STIXGeneral") - letters_of("sans-serif")
    letter = min(each for each in lacking if each.isprintable() and ord(each) < 0xE000)
    families = list(fonts_for([letter]).families)
    tree, data = grown(2), samples()
    names = [letter, "b", "c"]
    pictures = (
        plot_model_tree(tree, data, class_names=names),
        plot_leaf_classes(tree, data, class_names=names),
    )
    for ax in pictures:
        drawn = [text for text in ax.figure.findobj(Text) if letter in text.get_text()]
        assert drawn and all(text.get_fontfamily() == families for text in drawn)
        ax.figure.draw_without_rendering()  # and no warning, which would be an error
