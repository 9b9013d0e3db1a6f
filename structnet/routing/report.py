"""What a neural tree is and does, in tables, text and graphs: for people who look at one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import networkx as nx
import numpy as np
from torch import Tensor

from structnet.neural_tree.cost import count_parameters, node_cost, path_cost
from structnet.neural_tree.likelihood import Categorical, check_targets
from structnet.neural_tree.primitives import Shape
from structnet.neural_tree.tree import NeuralTree
from structnet.routing.batches import greedy_leaves
from structnet.routing.explanation import names_of, percent
from structnet.routing.samples import Samples, counted
from structnet.trees import networkx_graph


@dataclass(frozen=True)
class Row:
    """One node in a summary.

    Attributes:
        node, parent: their numbers; the root's parent is None.
        transformers: how many stand on the edge above the node.
        kind: "router" or "solver".
        parameters, flops: of the transformers and the router or solver; FLOPs for one sample.
        shape: of a sample after the transformers.
        visits: samples that come here on their greedy path, if samples were given: how many, or
            the sum of their weights.
    """

    node: int
    parent: int | None
    transformers: int
    kind: str
    parameters: int
    flops: int
    shape: Shape
    visits: float | None

    def cells(self) -> list[object]:
        """What a table says of the node."""
        node, parent = str(self.node), "-" if self.parent is None else str(self.parent)
        made_of = self.transformers, self.kind, list(self.shape)
        return [node, parent, *made_of, self.parameters, self.flops, self.visits]


@dataclass(frozen=True)
class Summary:
    """The size of a tree and what a prediction costs; ``str`` makes a table of it.

    Attributes:
        leaves: how many.
        depth: the edges from the root to the deepest leaf.
        parameters, flops: of all nodes, which all samples pass where leaves are mixed.
        path_parameters, path_flops: of one path, averaged over the leaves.
        visited_parameters, visited_flops: of one path, averaged over the samples that were given,
            each on its greedy path and counted by its weight; None without samples.
        rows: the nodes.
    """

    leaves: int
    depth: int
    parameters: int
    flops: int
    path_parameters: float
    path_flops: float
    visited_parameters: float | None
    visited_flops: float | None
    rows: tuple[Row, ...]

    def __str__(self) -> str:
        head = [
            ["", "all leaves", "one path", "one path, by visits"],
            ["parameters", self.parameters, self.path_parameters, self.visited_parameters],
            ["FLOPs a sample", self.flops, self.path_flops, self.visited_flops],
        ]
        if self.visited_flops is None:
            head = [row[:-1] for row in head]
        names = ["node", "parent", "transformers", "kind", "shape", "parameters", "FLOPs", "visits"]
        nodes = [row.cells() for row in self.rows]
        if self.visited_flops is None:
            names, nodes = names[:-1], [row[:-1] for row in nodes]
        leaves = "1 leaf" if self.leaves == 1 else f"{self.leaves:,} leaves"
        about = f"{leaves}, depth {self.depth}; 2 FLOPs a multiply-add"
        return "\n".join([about, "", *_table(head), "", *_table([names, *nodes])])


def summary(tree: NeuralTree, x: Tensor | Samples | None = None) -> Summary:
    """The size of a tree and what a prediction costs, in parameters and FLOPs.

    Args:
        tree: the tree.
        x: samples that say how often each leaf is reached.

    Shapes:
        x ``[n, *shape]``.

    Raises:
        ValueError: samples of another shape, or none.

    Example:
        >>> from structnet.neural_tree import presets
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
    nodes, leaves = node_cost(tree), tree.topology.leaves
    paths = [numbers[leaves] for numbers in path_cost(tree, nodes)]
    visits = None if x is None else _visits(tree, x)
    by_visits = [None, None]
    if visits is not None:
        by_visits = [float(np.average(each, weights=visits[leaves])) for each in paths]
    return Summary(
        len(leaves),
        int(tree.topology.depth.max()),
        count_parameters(tree),
        int(nodes.flops.sum()),
        *(float(each.mean()) for each in paths),
        *by_visits,
        tuple(
            Row(
                v,
                int(tree.topology.parent[v]) if v else None,
                len(node.transformers),
                _kind(tree, v),
                int(nodes.parameters[v]),
                int(nodes.flops[v]),
                node.shape,
                None if visits is None else visits[v].item(),
            )
            for v, node in enumerate(tree.nodes)
        ),
    )


def export_text(
    tree: NeuralTree, x: Samples | None = None, class_names: Sequence[str] | None = None
) -> str:
    """A tree as text, one line a node, as :func:`sklearn.tree.export_text` writes one.

    Args:
        tree: the tree.
        x: samples; each line then has the share of them that comes there on its greedy path, and
            their commonest class or the means of their targets, each counted by its weight.
        class_names: what the classes are called; their numbers by default.

    Raises:
        ValueError: samples of another shape, or none, or targets or names that are not the tree's.

    Example:
        >>> from structnet.neural_tree import presets
        >>> tree = NeuralTree(presets.mlp(num_outputs=3, width=8), shape=(4,))
        >>> left, right = tree.split(0)
        >>> tree.deepen(left)
        >>> print(export_text(tree))
        |--- node 0: 1 transformer, router
        |   |--- left, node 1: 1 transformer, solver
        |   |--- right, node 2: solver
    """
    names = names_of(tree, class_names)
    says = (lambda v: "") if x is None else _distribution(tree, x, names)
    lines, stack = [], [(0, "")]
    while stack:
        v, side = stack.pop()
        count = len(tree.nodes[v].transformers)
        made_of = f"{count} transformer{'s' * (count != 1)}, " * bool(count) + _kind(tree, v)
        indent = "|   " * int(tree.topology.depth[v])
        lines.append(f"{indent}|--- {side}node {v}: {made_of}{says(v)}")
        stack += [*zip(tree.topology.children[v], ("left, ", "right, "), strict=False)][::-1]
    return "\n".join(lines)


def to_networkx(tree: NeuralTree) -> nx.DiGraph:
    """The tree as a networkx graph, edges parent -> child.

    Nodes have what :func:`structnet.to_networkx` gives them, and ``kind`` ("router"
    or "solver"), ``shape`` (of a sample after the transformers), ``parameters`` and
    ``transformers`` (how many).

    Example:
        >>> from structnet.neural_tree import presets
        >>> tree = NeuralTree(presets.mlp(num_outputs=3, width=8), shape=(4,))
        >>> _ = tree.split(0)
        >>> to_networkx(tree).nodes(data="kind")
        NodeDataView({0: 'router', 1: 'solver', 2: 'solver'}, data='kind')
    """
    digraph = networkx_graph.to_networkx(tree.graph)
    for v, node in enumerate(tree.nodes):
        digraph.nodes[v].update(
            kind=_kind(tree, v),
            shape=node.shape,
            parameters=count_parameters(node),
            transformers=len(node.transformers),
        )
    return digraph


def _kind(tree: NeuralTree, node: int) -> str:
    return "solver" if tree.nodes[node].router is None else "router"


def _visits(tree: NeuralTree, x: Tensor | Samples) -> np.ndarray:
    """How many samples pass each node on their greedy paths."""
    x, counts = counted(x)
    return _sums(tree, greedy_leaves(tree, x), counts)


def _sums(tree: NeuralTree, leaves: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The sums of the samples' values over those that pass each node. ``[n, ...] -> [nodes, ...]``.

    Args:
        tree: the tree.
        leaves: where each sample's path ends.
        values: what to sum.
    """
    sums = np.zeros((tree.topology.num_nodes, *values.shape[1:]), values.dtype)
    np.add.at(sums, leaves, values)
    return tree.topology.sums_below(sums)


def _distribution(
    tree: NeuralTree, samples: Samples, names: tuple[str, ...] | None
) -> Callable[[int], str]:
    """What to say of the samples at a node."""
    columns, counts = _columns(tree, samples), samples.counts()
    leaves = greedy_leaves(tree, samples.x)
    visits = _sums(tree, leaves, counts)
    sums = _sums(tree, leaves, columns * counts[:, None])

    def says(v: int) -> str:
        share = f", {percent(visits[v] / visits[0])} of samples"
        if not visits[v]:
            return share
        if names is None:
            return share + ", mean " + ", ".join(f"{mean:.4g}" for mean in sums[v] / visits[v])
        best = int(sums[v].argmax())
        return f"{share}, {percent(sums[v, best] / visits[v])} of them class {names[best]}"

    return says


def _columns(tree: NeuralTree, samples: Samples) -> np.ndarray:
    """What to sum over samples: one column a class, or the targets' own. ``[n, columns]``."""
    targets = samples.targets.cpu()
    if isinstance(tree.likelihood, Categorical):
        check_targets(tree.likelihood, targets, tree.num_outputs)
        return np.eye(tree.num_outputs)[targets.numpy()]
    if targets.dim() != 2:
        got = f"{targets.dtype} {list(targets.shape)}".removeprefix("torch.")
        raise ValueError(f"targets must be numbers [{len(targets)}, columns]. Got {got}.")
    return targets.double().numpy()


def _table(rows: Sequence[Sequence[object]]) -> list[str]:
    """Lines of right-aligned columns; the first column of words is left-aligned."""
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    left = not rows[0][0]  # a column of names
    return [
        "  ".join(
            cell.ljust(width) if left and not i else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in cells
    ]


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if isinstance(value, int | float) else str(value)
