"""Draws a tree as SVG, which notebooks show automatically."""

from __future__ import annotations

import re
import warnings
from io import StringIO
from typing import Any
from xml.sax.saxutils import escape

from structnet.plot.tree import MAX_LABEL, Picture
from structnet.trees.tree import Tree

SHOWN = 100  # nodes; larger trees are shown from the root down to so many


def tree_svg(tree: Tree) -> str:
    """The picture of :func:`plot_tree` as SVG, drawn without pyplot and without a window.

    Texts are not outlines, but drawn with the viewer's fonts. A label that is cut appears in full
    under the mouse.

    Args:
        tree: tree to draw.

    Example:
        >>> svg = tree_svg(Tree("MAX", [Tree("2"), Tree("9")]))
        >>> svg[:4], ">MAX<" in svg
        ('<svg', True)
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    # Texts that are not outlines do not need the fonts of this machine, so do not warn about them.
    with warnings.catch_warnings(), rc_context({"svg.fonttype": "none", "svg.hashsalt": "tree"}):
        warnings.simplefilter("ignore", UserWarning)
        picture = Picture([tree], None, None, "auto", (SHOWN, None, MAX_LABEL))
        picture.labels.fonts = picture.labels.fonts._replace(missing=frozenset())
        figure: Any = picture.draw_new(Figure).figure
        file = StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None})
    svg = file.getvalue()
    svg = svg[svg.index("<svg") :].replace(
        "<svg ", '<svg style="max-width: 100%; height: auto" ', 1
    )
    return re.sub(r'<g id="node-(\d+)">', lambda match: match[0] + _title(picture, match[1]), svg)


def _title(picture: Picture, number: str) -> str:
    """The whole label as a title, if it is cut."""
    node = picture.rough.nodes[int(number)]
    full = picture.labels.full(node)
    return f"<title>{escape(full)}</title>" if full != picture.labels[node] else ""
