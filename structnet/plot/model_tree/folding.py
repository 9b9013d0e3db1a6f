"""Chooses the nodes of a model tree to draw, and the marks that stand for others."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structnet.checks import check_integer, check_number
from structnet.routing.topology import Topology
from structnet.routing.words import leaf_words, percent
from structnet.trees.tree import Tree


class Mark(NamedTuple):
    """Stands for folded branches of a node.

    Attributes:
        leaves: number of leaves of the branches.
        share: share of the samples that reaches them; None without samples.
    """

    leaves: int
    share: float | None

    def words(self) -> str:
        """The text that is drawn for the mark, in up to two lines.

        Example:
            >>> Mark(12, 0.004).words(), Mark(1, None).words()
            ('… 12 leaves\\n0.4 %', '… 1 leaf')
        """
        leaves = f"… {leaf_words(self.leaves)}"
        return leaves if self.share is None else f"{leaves}\n{small_share(self.share)}"


def small_share(share: float) -> str:
    """A share in percent, with a decimal if it is small.

    Example:
        >>> [small_share(share) for share in (0.126, 0.004, 0.0001, 0)]
        ['13 %', '0.4 %', '<0.1 %', '0 %']
    """
    if 0 < share < 0.0005:
        return "<0.1 %"
    return percent(share, 1 if 0 < share < 0.0995 else 0)


def folded(
    topology: Topology,
    shares: np.ndarray | None = None,
    min_share: float = 0.0,
    max_depth: int | None = None,
    widest: int | None = None,
) -> Tree:
    """The nodes to draw, as a tree whose labels are the numbers of nodes, or marks.

    The children of a node that are too deep, reached by too small a share of the samples, or too
    many, become one mark: in the place of the first of them, or, of too many, after the others.

    Args:
        topology: shape of the model tree.
        shares: share of the samples at each node; None without samples.
        min_share: least share of a node that is drawn.
        max_depth: depth of the deepest nodes that are drawn; None for all.
        widest: largest number of a node's children that are drawn, those with most samples; None
            for all.

    Shapes:
        shares ``[num_nodes]``.

    Raises:
        ValueError: a limit is out of range, or ``min_share`` is given without samples.

    Example:
        >>> topology = Topology([(1, 2), (), (3, 4), (), ()])
        >>> drawn = folded(topology, np.array([1.0, 0.9, 0.1, 0.06, 0.04]), min_share=0.2)
        >>> [node.label for node in drawn.children]
        [1, Mark(leaves=2, share=0.1)]
        >>> wide = Topology([(1, 2, 3, 4), (), (), (), ()])
        >>> drawn = folded(wide, np.array([1.0, 0.1, 0.5, 0.1, 0.3]), widest=2)
        >>> [node.label for node in drawn.children]
        [2, 4, Mark(leaves=2, share=0.2)]
    """
    check_integer("max_depth", max_depth, 0, optional=True)
    check_number("min_share", min_share, 0, 1)
    if shares is None and min_share:
        raise ValueError(f"min_share is a share of samples, but there are none. Got {min_share}.")
    leaves = topology.sums_below((~topology.inner).astype(np.int64))
    shown = topology.depth <= (topology.depth.max() if max_depth is None else max_depth)
    if shares is not None:
        shown &= shares >= min_share
    shown[0] = True
    below: dict[int, list[int | Mark]] = {0: []}
    for v in np.flatnonzero(shown).tolist():  # parents first
        if v not in below:
            continue  # below a mark
        children = topology.children_of(v)
        hidden = [u for u in children if not shown[u]]
        drawn = [u for u in children if shown[u]]
        many = widest is not None and len(drawn) > widest
        if many:
            order = drawn if shares is None else sorted(drawn, key=lambda u: -shares[u])
            drawn = sorted(order[:widest])
            hidden = sorted({*children} - {*drawn})
        share = None if shares is None else float(shares[hidden].sum())
        mark = Mark(int(leaves[hidden].sum()), share)
        if many:
            below[v] = [*drawn, mark]
        else:
            others = {*hidden[1:]}
            below[v] = [mark if u in hidden[:1] else u for u in children if u not in others]
        below |= {u: [] for u in drawn}
    built: dict[int, Tree] = {}
    for v, nodes in reversed(below.items()):
        built[v] = Tree(v, [Tree(u) if isinstance(u, Mark) else built.pop(u) for u in nodes])
    return built[0]
