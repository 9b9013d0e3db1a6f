"""A tree as SVG, which notebooks show by themselves."""

from __future__ import annotations

import re
import warnings
from io import StringIO
from typing import Any
from xml.sax.saxutils import escape

from structnet.plot.tree import MAX_LABEL, Picture
from structnet.trees.tree import Tree

SHOWN = 100  # nodes; of larger trees a notebook shows the top


def tree_svg(tree: Tree, max_nodes: int = SHOWN) -> str:
    """The picture of :func:`plot_tree` as SVG, without pyplot and without a window.

    Texts are texts, in the fonts of whoever looks at them; where a label is cut, the whole of it
    appears below the mouse.

    Args:
        tree: the tree.
        max_nodes: the most nodes.

    Raises:
        ValueError: ``max_nodes`` is no int from 1 on.

    Example:
        >>> svg = tree_svg(Tree("MAX", [Tree("2"), Tree("9")]))
        >>> svg[:4], ">MAX<" in svg
        ('<svg', True)
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    # Texts that are not outlines need none of the fonts here.
    with warnings.catch_warnings(), rc_context({"svg.fonttype": "none", "svg.hashsalt": "tree"}):
        warnings.simplefilter("ignore", UserWarning)
        picture = Picture([tree], None, None, "auto", (max_nodes, None, MAX_LABEL))
        picture.labels.fonts = picture.labels.fonts._replace(missing=frozenset())
        figure: Any = picture.draw_new(Figure).figure
        file = StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None})
    svg = file.getvalue()
    svg = svg[svg.index("<svg") :].replace(
        "<svg ", '<svg style="max-width: 100%; height: auto" ', 1
    )
    return re.sub(r'<g id="node-(\d+)">', lambda found: found[0] + _title(picture, found[1]), svg)


def _title(picture: Picture, number: str) -> str:
    """The whole label, where it is cut."""
    node = picture.rough.nodes[int(number)]
    full = picture.labels.full(node)
    return f"<title>{escape(full)}</title>" if full != picture.labels[node] else ""
