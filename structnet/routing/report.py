"""Describes a model tree in tables and text: its nodes, its size, its cost, its samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from structnet.routing.arrivals import Arrivals
from structnet.routing.asking import CLASSES, class_lines, questions
from structnet.routing.explanation import names_of
from structnet.routing.protocol import RoutedTree
from structnet.routing.reading import Reading
from structnet.routing.rules import rule_lines
from structnet.routing.samples import Samples, counted
from structnet.routing.sides import digits_of
from structnet.routing.visits import passing, reach
from structnet.routing.words import aligned, decided_words, in_digits_each, leaf_words, percent


@dataclass(frozen=True)
class Row:
    """One node in a summary.

    Attributes:
        node, parent: numbers of the node and of its parent; None for the root's parent.
        transformers: number of transformers on the edge above the node.
        kind: kind of the node, such as "router" or "solver".
        parameters, flops: parameters, and FLOPs for one sample, of the node and the edge above it.
        shape: shape of a sample at the node; None if samples are not transformed.
        visits: number of samples whose greedy path has the node, or the sum of their weights; None
            without samples.
    """

    node: int
    parent: int | None
    transformers: int
    kind: str
    parameters: int
    flops: int
    shape: tuple[int, ...] | None
    visits: float | None

    def cells(self) -> list[object]:
        """The fields of the node's row in a table."""
        node, parent = str(self.node), "-" if self.parent is None else str(self.parent)
        shape = None if self.shape is None else list(self.shape)
        made_of = self.transformers, self.kind, shape
        return [node, parent, *made_of, self.parameters, self.flops, self.visits]


@dataclass(frozen=True)
class Summary:
    """The size of a tree and the cost of a prediction; ``str`` makes a table of it.

    Without samples the table leaves out nodes that cost nothing, such as labels.

    Attributes:
        leaves: number of leaves.
        depth: number of edges from the root to the deepest leaf.
        parameters, flops: parameters, and FLOPs for one sample, of all nodes: the cost of the
            prediction of all leaves together.
        path_parameters, path_flops: the same for one path, averaged over the leaves.
        visited_parameters, visited_flops: the same for the greedy path of a sample, averaged over
            the samples by weight; None without samples.
        decided: mean probability of the branches on these greedy paths, 1 if every router is
            certain; None without samples or routers.
        rows: rows of the nodes.
        note: further sentence of the family; empty for none.
    """

    leaves: int
    depth: int
    parameters: int
    flops: int
    path_parameters: float
    path_flops: float
    visited_parameters: float | None
    visited_flops: float | None
    decided: float | None
    rows: tuple[Row, ...]
    note: str = ""

    def __str__(self) -> str:
        head: list[list[object]] = [
            ["", "all leaves", "one path", "one path, by visits"],
            ["parameters", self.parameters, self.path_parameters, self.visited_parameters],
            ["FLOPs a sample", self.flops, self.path_flops, self.visited_flops],
        ]
        if self.visited_flops is None:
            head = [row[:-1] for row in head]
        names = ["node", "parent", "transformers", "kind", "shape", "parameters", "FLOPs", "visits"]
        # A label tree has a leaf that costs nothing for each of ten thousand labels.
        listed = [row for row in self.rows if row.parameters or row.flops or row.visits is not None]
        listed = listed or list(self.rows[:1])
        columns: Iterable[tuple] = zip(names, *(row.cells() for row in listed), strict=True)
        # Leave out columns that are empty for all nodes, as in families without transformers.
        optional = ("transformers", "shape", "visits")
        shown = [column for column in columns if column[0] not in optional or any(column[1:])]
        size = f"{leaf_words(self.leaves)}, depth {self.depth}"
        facts = size, "2 FLOPs a multiply-add", decided_words(self.decided)
        about = "; ".join(filter(None, facts))
        rest = len(self.rows) - len(listed)
        more = [f"and {rest:,} without parameters"] if rest else []
        about = "\n".join(filter(None, (about, self.note)))
        return "\n".join(
            [about, "", *_table(head), "", *_table([*zip(*shown, strict=True)]), *more]
        )

    __repr__ = __str__  # what a notebook shows


def summary(tree: RoutedTree, x: Any | Samples | None = None) -> Summary:
    """The size of a tree and the cost of a prediction, in parameters and FLOPs.

    Args:
        tree: model tree.
        x: inputs or samples, to average over the paths that they take; None for no such average.

    Shapes:
        x ``[n, *shape]``.

    Raises:
        ValueError: there are no samples, or they have another shape.

    Example:
        >>> from structnet.neural_tree import NeuralTree, presets
        >>> tree = NeuralTree(presets.mlp(num_outputs=3, width=8), shape=(4,))
        >>> _ = tree.split(0)
        >>> print(summary(tree))
        2 leaves, depth 1; 2 FLOPs a multiply-add
        <BLANKLINE>
                        all leaves  one path
        parameters             103        76
        FLOPs a sample         176       128
        <BLANKLINE>
        node  parent  transformers    kind  shape  parameters  FLOPs
           0       -             1  router    [8]          49     80
           1       0             0  solver    [8]          27     48
           2       0             0  solver    [8]          27     48
    """
    topology, leaves = tree.topology, tree.topology.leaves
    facts = [tree.facts(v) for v in range(topology.num_nodes)]
    flops = [tree.flops(v) for v in range(topology.num_nodes)]
    costs = np.array([each.parameters for each in facts]), np.array(flops)
    paths = [topology.sums_above(each)[leaves] for each in costs]
    visits: np.ndarray | None = None
    decided: float | None = None
    by_visits: list[float] | list[None] = [None, None]
    if x is not None:
        came, decided = passing(tree, x)
        visits = came.astype(counted(x)[1].dtype)  # without weights, counts are whole numbers
        # The cost of a path is weighted by the samples that end there.
        by_visits = [float(np.average(each, weights=visits[leaves])) for each in paths]
    return Summary(
        len(leaves),
        int(topology.depth.max()),
        int(costs[0].sum()),
        int(costs[1].sum()),
        float(paths[0].mean()),
        float(paths[1].mean()),
        by_visits[0],
        by_visits[1],
        decided,
        tuple(
            Row(
                v,
                int(topology.parent[v]) if v else None,
                node.transformers,
                node.kind,
                node.parameters,
                flops[v],
                node.shape,
                None if visits is None else visits[v].item(),
            )
            for v, node in enumerate(facts)
        ),
    )


def text_of(reading: Reading) -> str:
    """The text of :func:`export_text` for a tree, with its names and units."""
    columns: dict[str, Any] = {"feature_names": reading.feature_names, "units": reading.units}
    columns["target_units"] = reading.target_units
    samples = reading.arrivals if reading.samples is None else reading.samples
    return export_text(reading.tree, samples, reading.class_names, **columns)


def export_text(
    tree: RoutedTree,
    x: Samples | Arrivals | None = None,
    class_names: Sequence[str] | None = None,
    max_depth: int | None = None,
    *,
    feature_names: Sequence[str] | None = None,
    units: Callable[[np.ndarray], np.ndarray] | None = None,
    target_units: Callable[[np.ndarray], np.ndarray] | None = None,
) -> str:
    """A tree as text with one line for each node, like :func:`sklearn.tree.export_text`.

    A leaf of at most five of the classes names them, if the tree has a method
    ``classes_at(leaf)``, which returns their numbers. Below a node that decides or predicts by a
    sum over columns and their steps are the largest of these, with what each adds: a step where its
    rule holds, a column between two of its values (:func:`.rules.rule_lines`). Of a tree that is a
    single softmax, the columns that speak most for each class follow (:func:`.class_lines`).

    Args:
        tree: model tree.
        x: samples. Each line then has the share of them whose greedy path has the node, with their
            most frequent class or the means of their targets, by weight; and, for routers that are
            not certain, the mean probability of the branch that they take. Or :class:`.Arrivals`,
            counts of the samples that the tree was trained on; None says nothing of samples.
        class_names: names of the classes; by default their numbers.
        max_depth: depth of the last nodes written, whose leaves below are counted; None for all
            nodes. The text of a very deep tree grows with the square of its depth.
        feature_names: names of the columns of a table, for what routers ask.
        units: function from inputs of the tree to the user's units, ``[n, columns]`` -> the same.
        target_units: function from the predicted means to the user's units, likewise.

    Raises:
        TypeError: x has inputs without targets.
        ValueError: there are no samples, they have another shape, or targets or names do not fit
            the tree.

    Example:
        >>> from structnet.neural_tree import NeuralTree, presets
        >>> tree = NeuralTree(presets.mlp(num_outputs=3, width=8), shape=(4,))
        >>> left, right = tree.split(0)
        >>> tree.deepen(left)
        >>> print(export_text(tree))
        |--- node 0: 1 transformer, router
        |   |--- left, node 1: 1 transformer, solver
        |   |--- right, node 2: solver
    """
    names, topology = names_of(tree, class_names), tree.topology
    by_node = questions(tree, feature_names, units)
    says = (lambda v: "") if x is None else _distribution(tree, x, names, target_units)
    classes = _classes(tree, names) if class_names is not None else (lambda v: "")
    leaves = topology.sums_below((~topology.inner).astype(np.int64))
    last = topology.num_nodes if max_depth is None else max_depth
    lines, stack = [], [(0, "")]
    while stack:  # the first branch is on top
        v, branch = stack.pop()
        indent = "|   " * int(topology.depth[v])
        question = f" ({by_node[v]})" if by_node.get(v) else ""
        lines.append(
            f"{indent}|--- {branch}node {v}: {tree.facts(v).words}{classes(v)}{question}{says(v)}"
        )
        described = feature_names, units, names, target_units
        told = rule_lines(tree, v, *described)
        told += class_lines(tree, feature_names, units, names) if v == 0 else []
        lines += [f"{indent}|       {line}" for line in told]
        if topology.depth[v] == last and topology.inner[v]:
            lines.append(f"{indent}|   |--- … {leaf_words(leaves[v])}")
            continue
        names_here = [f"{name}, " for name in tree.branch_names(v)]
        stack += [*zip(topology.children_of(v), names_here, strict=True)][::-1]
    return "\n".join(lines)


def _distribution(
    tree: RoutedTree,
    samples: Samples | Arrivals,
    names: tuple[str, ...] | None,
    units: Callable[[np.ndarray], np.ndarray] | None,
) -> Callable[[int], str]:
    """A function that describes the samples at a node."""
    if isinstance(samples, Arrivals):
        came, what = samples, "training samples"
        decided = np.full(len(came.share), np.nan)  # unknown
    else:
        reached, targets = reach(tree, samples, "greedy"), samples.targets
        if names is None and targets.dim() != 2:
            got = f"{targets.dtype} {list(targets.shape)}".removeprefix("torch.")
            raise ValueError(f"targets must be numbers [{len(targets)}, columns]. Got {got}.")
        came, what, decided = Arrivals.of(reached), "samples", reached.decided

    def says(v: int) -> str:
        share = f", {percent(came.share[v], 1)} of {what}"
        if decided[v] < 1:  # not for hard choices, which are certain
            share = f", decided {percent(decided[v], 1)}{share}"
        if not came.share[v]:
            return share
        if names is None:
            assert came.mean is not None  # as for every tree that predicts numbers
            digits = digits_of(came.mean.shape[1], units)
            return share + ", mean " + ", ".join(in_digits_each(came.mean[v], digits))
        assert came.best is not None and came.of_best is not None  # as it predicts classes
        return f"{share}, {percent(came.of_best[v], 1)} of them class {names[came.best[v]]}"

    return says


def _classes(tree: RoutedTree, names: tuple[str, ...] | None) -> Callable[[int], str]:
    """A function that names the classes of a leaf which has only a few of all classes."""
    classes_at = getattr(tree, "classes_at", None)

    def named(v: int) -> str:
        if classes_at is None or names is None or tree.topology.inner[v]:
            return ""
        here = classes_at(v)
        if len(here) > CLASSES or 1 < len(here) == len(names):  # all classes tell nothing
            return ""
        if [names[k] for k in here] == [*map(str, here)]:
            return ""
        return f" ({', '.join(names[k] for k in here)})"

    return named


def _table(rows: Sequence[Sequence[object]]) -> list[str]:
    return aligned([[_cell(value) for value in row] for row in rows], names=not rows[0][0])


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if isinstance(value, int | float) else str(value)
