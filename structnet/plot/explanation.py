"""Draws explanations: a tree coloured by the effect of each node on a prediction, or a path."""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import TYPE_CHECKING, Protocol

from structnet.plot.page import fit_title
from structnet.plot.palette import shaded
from structnet.plot.sample_path import draw_path
from structnet.plot.style import as_written
from structnet.plot.tree import plot_tree
from structnet.routing.explanation import Explanation
from structnet.routing.words import in_digits
from structnet.trees.label_words import Text, own_nodes
from structnet.trees.tree import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FOR, AGAINST = "#FC8C3D", "#6BADD6"  # distinct with any kind of colour vision
WORD = 0.1  # least effect of a word that is drawn below its text, relative to the largest effect


class Explained(Protocol):
    """A tree with the effect of each node on a prediction, as estimators of trees explain it."""

    @property
    def tree(self) -> Tree:
        """The tree, in which each node is a different object."""
        ...

    @property
    def heading(self) -> str:
        """A short description of what is explained."""
        ...

    def values(self) -> dict[int, float]:
        """The effect of each node, by its ``id``."""
        ...

    # What is explained for a node has its number, ``node``, in preorder without words.


def plot_explanation(
    explained: Explained | Explanation | Sequence[Explained],
    *,
    ax: Axes | None = None,
    **options: object,
) -> Axes:
    """Draws an explanation: the effects of a tree's parts, or the path of a row of a table.

    A tree has each node coloured by the effect of hiding its subtree. Orange nodes support the
    answer: without their subtree the score falls. Blue ones oppose it: without them it rises.
    Stronger colours mean larger effects. The root stays white, as hiding it would leave nothing. Of
    a text's words, only those with an effect that can be seen are drawn. Where the class of a node
    is explained, that node has a thick edge; of it and those above it the label alone is hidden.

    A row or an image, which a model tree sends along a path, has a bar for each choice on that path
    and for each of its likeliest classes.

    Args:
        explained: explanation from an estimator's ``explain``; for a sample of several trees one
            for each, which are drawn side by side.
        ax: axes to draw on; by default new ones.
        options: other arguments of :func:`structnet.plot.plot_tree` than ``colors`` and
            ``marked``, for trees.

    Raises:
        TypeError: there are options for a path, or there is no explanation.

    Example:
        >>> from types import SimpleNamespace
        >>> from matplotlib.figure import Figure
        >>> tree = Tree("f", [Tree("x"), Tree("y")])
        >>> values = dict(zip(map(id, tree.preorder()), [2.0, 1.5, -0.1]))
        >>> told = SimpleNamespace(tree=tree, heading="spam: 2.1", values=lambda: values)
        >>> print(plot_explanation(told, ax=Figure().add_subplot()).get_title())
        spam: 2.1
        without an orange part it falls, by up to 1.5
        without a blue one it rises, by up to 0.1
    """
    if isinstance(explained, Explanation):
        if options:
            raise TypeError(f"a path is drawn without options for trees; got {', '.join(options)}")
        return draw_path(explained, ax)
    each = explained if isinstance(explained, Sequence) else [explained]
    wrong = [type(of).__name__ for of in each if not hasattr(of, "heading")]
    if wrong or not each:
        got = wrong[0] if wrong else "an empty list"
        raise TypeError(f"expected what the method explain of an estimator returns; got {got}")
    explanations = [(of.tree, of.values()) for of in each]
    places = [getattr(of, "node", None) for of in each]
    below = [
        value
        for (tree, of), place in zip(explanations, places, strict=True)
        for key, value in of.items()
        if place is not None or key != id(tree)
    ]
    falls, rises = max(below, default=0.0), -min(below, default=0.0)
    most = max(falls, rises)
    drawn = [_with_words_that_matter(tree, of, WORD * most) for tree, of in explanations]
    both = list(zip(drawn, places, strict=True))
    roots = {id(tree) for (tree, _), place in both if place is None}
    marked = [own_nodes(tree)[place] for (tree, _), place in both if place is not None]
    values = {key: value for _, of in drawn for key, value in of.items()}

    def color(node: Tree) -> str | None:
        value = values.get(id(node), 0.0)  # stand-ins for collapsed nodes have none
        if id(node) in roots or not most:
            return "#FFFFFF"
        return shaded(FOR if value > 0 else AGAINST, min(abs(value) / most, 1.0))

    trees = [tree for tree, _ in drawn]
    shown = trees if len(trees) > 1 else trees[0]
    given = ax is not None
    ax = plot_tree(shown, ax=ax, colors=color, marked=marked, **options)  # type: ignore[arg-type]  # as given
    title = each[0].heading
    if below and not most:
        title += "\nno part matters: it stays the same without each"
    if falls > 0:
        title += f"\nwithout an orange part it falls, by up to {in_digits(falls, 3)}"
    if rises > 0:
        title += f"\nwithout a blue one it rises, by up to {in_digits(rises, 3)}"
    as_written(ax.set_title(title, fontsize=11))
    if not given:
        fit_title(ax)
    return ax


def _with_words_that_matter(
    tree: Tree, values: dict[int, float], least: float
) -> tuple[Tree, dict[int, float]]:
    """The tree without words of small effect below its texts, and the effect of each node left."""
    kept: dict[int, float] = {}

    def built(node: Tree, below: list[Tree]) -> Tree:
        if isinstance(node, Text):
            below = [word for word in below if least and abs(kept[id(word)]) >= least]
        same = len(below) == len(node.children) and all(map(is_, below, node.children))
        made = node if same else type(node)(node.label, below, node.token)
        kept[id(made)] = values.get(id(node), 0.0)
        return made

    return tree.fold(built), kept
