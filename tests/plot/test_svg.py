"""Trees in notebooks."""

from __future__ import annotations

import xml.etree.ElementTree as xml

import matplotlib.pyplot as plt
import pytest
from fresh_python import python
from random_trees import chain

from structnet.plot.svg import SHOWN, tree_svg
from structnet.trees.tree import Tree

NAMES = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return [text.text for text in xml.fromstring(svg).iter(NAMES + "text")]


def test_a_tree_shows_itself() -> None:
    tree = Tree("MAX", [Tree("2"), Tree("<&>"), Tree("日本"), Tree("$x$"), Tree("")])
    assert texts(tree._repr_svg_()) == ["MAX", "2", "<&>", "日本", "$x$", '""']
    assert not plt.get_fignums()
    assert tree._repr_svg_() == tree._repr_svg_()


def test_what_is_cut_has_its_whole_label() -> None:
    svg = tree_svg(Tree("r", [Tree("a < " * 20), Tree("short")]))
    assert [each.text for each in xml.fromstring(svg).iter(NAMES + "title")] == ["a < " * 20]


@pytest.mark.parametrize("tree", [chain(100_000), Tree("r", [Tree("x")] * 5000)])
def test_of_a_large_tree_the_top(tree: Tree) -> None:
    found = texts(tree._repr_svg_())
    left_out = next(text for text in found if text.endswith("more"))
    assert f"{tree.size - SHOWN:,}" in left_out
    assert len(found) < 2 * SHOWN


def test_no_window_and_no_backend() -> None:
    code = (
        "import sys, matplotlib; from structnet import Tree\n"
        "before = dict(matplotlib.rcParams); svg = Tree('a', [Tree('b')])._repr_svg_()\n"
        "assert svg.startswith('<svg') and dict(matplotlib.rcParams) == before\n"
        "sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    done = python("-c", code)
    assert done.returncode == 0, done.stderr
