"""An M-ary tree with a label at each leaf, as arrays, and the labels' codes in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import networkx as nx
import numpy as np

from structnet.checks import check_integer
from structnet.label_tree._kernels import EMPTY, codes_of
from structnet.routing.topology import Topology
from structnet.trees.end_to_end import offsets_of


def least_nodes(num_labels: int, arity: int) -> int:
    """The number of inner nodes that this many labels need: ``ceil((K - 1) / (M - 1))``.

    Example:
        >>> least_nodes(256, 4), least_nodes(7, 3), least_nodes(1, 5)
        (85, 3, 0)
    """
    return -((1 - num_labels) // (arity - 1))


@dataclass(frozen=True)
class Numbering:
    """A tree of labels as the nodes of a model tree, parents before their children.

    Attributes:
        topology: the nodes.
        inner: number of each node among the inner nodes of the codes; -1 at a leaf.
        label: label of each node; -1 at an inner node.

    Shapes:
        inner, label ``[num_nodes of the topology]``.
    """

    topology: Topology
    inner: np.ndarray
    label: np.ndarray


class LabelCodes:
    """A tree whose leaves are labels: the code of a label is its list of (node, slot).

    Args:
        children: content of each slot of each inner node: the number of an inner node,
            ``nodes + label`` for a leaf, or -1 for nothing. Node 0 is the root.
        num_labels: number of labels; a tree with one label has no inner node.

    Attributes:
        offsets, nodes, slots: codes in CSR form; the node and the slot of label l at depth d are in
            row ``offsets[l] + d``.

    Shapes:
        children ``[nodes, arity]``, int32; offsets ``[labels + 1]``, int64; nodes, slots
        ``[rows]``, int32.

    Raises:
        ValueError: a label or a node is missing, or is in two places.

    Example:
        >>> codes = LabelCodes.from_nested([[0, 2], 1])
        >>> codes.code(2), codes.depth.tolist()
        ([(0, 0), (1, 1)], [2, 1, 2])
    """

    def __init__(self, children: np.ndarray, num_labels: int):
        check_integer("num_labels", num_labels, 1, owner="LabelCodes")
        children = np.ascontiguousarray(children, np.int32)
        if children.ndim != 2 or children.shape[1] < 2:
            raise ValueError(
                "children must be [nodes, arity] with an arity of 2 or more. Got "
                f"{list(children.shape)}."
            )
        if num_labels > 1 and not len(children):
            raise ValueError(f"{num_labels} labels need an inner node; got none")
        self.children, self.num_labels = children, num_labels
        self.offsets, self.nodes, self.slots, wrong = codes_of(children, num_labels)
        if wrong >= 0 or wrong < EMPTY:
            raise ValueError(self._complaint(int(wrong)))

    def _complaint(self, value: int) -> str:
        number, total = self.num_nodes, self.num_nodes + self.num_labels
        if not 0 < value < total:
            return f"children must be -1 or between 1 and {total - 1}. Got {value}."
        name = f"node {value}" if value < number else f"label {value - number}"
        times = int((self.children == value).sum())
        where = "is in no slot that the root leads to" if times <= 1 else f"is in {times} slots"
        return f"{name} {where}; expected every node and label in one slot"

    @classmethod
    def from_codes(cls, codes: Sequence[Sequence[Any]], arity: int | None = None) -> LabelCodes:
        """The tree of a list of codes, one for each label.

        Args:
            codes: slots on the way to each label, or pairs (node, slot) with any numbering of
                nodes.
            arity: number of slots of a node; by default as many as are needed.

        Raises:
            ValueError: a code begins with another one, or does not consist of slots.

        Example:
            >>> LabelCodes.from_codes([[0, 0], [1], [0, 1]]).children.tolist()
            [[1, 3], [2, 4]]
        """
        check_integer("arity", arity, 2, optional=True, owner="from_codes")
        paths = [[_slot(step) for step in code] for code in codes]
        steps = [step for path in paths for step in path]
        most = max(steps, default=1)
        if min(steps, default=0) < 0 or (arity is not None and most >= arity):
            raise ValueError(
                f"slots must be between 0 and {(arity or most + 1) - 1}. Got {min(steps)} to "
                f"{most}."
            )
        inner: dict[tuple[int, ...], int] = {(): 0} if steps else {}
        for path in paths:
            for depth in range(1, len(path)):
                inner.setdefault(tuple(path[:depth]), len(inner))
        children = np.full((len(inner), max(arity or 0, most + 1, 2)), EMPTY, np.int32)
        places = {**{p: v for p, v in inner.items() if p}}
        for label, path in enumerate(paths):
            if tuple(path) in places or (not path and len(paths) > 1):
                raise ValueError(f"the code of label {label} is the beginning of another one")
            places[tuple(path)] = len(inner) + label
        for way, value in places.items():
            if way:
                children[inner[way[:-1]], way[-1]] = value
        return cls(children, len(paths))

    @classmethod
    def from_nested(cls, nested: Any, arity: int | None = None) -> LabelCodes:
        """The tree of nested lists, as in JSON: a number is a label.

        Args:
            nested: list of lists and numbers, such as ``[[0, 2], 1]``.
            arity: number of slots of a node; by default as many as are needed.

        Raises:
            ValueError: a label is missing or occurs twice.
        """
        path_of: dict[int, list[int]] = {}
        stack: list[tuple[Any, list[int]]] = [(nested, [])]
        while stack:
            part, path = stack.pop()
            if isinstance(part, (list, tuple)):
                stack += [(each, [*path, slot]) for slot, each in enumerate(part)]
            elif part in path_of:
                raise ValueError(f"label {part} is in 2 places; expected one")
            else:
                path_of[part] = path
        if sorted(path_of) != list(range(len(path_of))):
            raise ValueError(
                f"labels must be the numbers 0 to {len(path_of) - 1}. Got {sorted(path_of)[:9]}."
            )
        return cls.from_codes([path_of[label] for label in range(len(path_of))], arity)

    @classmethod
    def from_networkx(cls, graph: nx.DiGraph, arity: int | None = None) -> LabelCodes:
        """The tree of a networkx graph with edges from parent to child and labelled leaves.

        Args:
            graph: tree; the order of a node's edges is that of its slots; a leaf has a field
                ``label``.
            arity: number of slots of a node; by default as many as are needed.

        Raises:
            ValueError: the graph is not a tree, or a leaf has no label.
        """
        if not (len(graph) and nx.is_arborescence(graph)):
            raise ValueError("the graph must be a tree with edges from parent to child")
        (root,) = (v for v, degree in graph.in_degree() if degree == 0)
        ways: dict[Any, list[int]] = {root: []}
        path_of: dict[int, list[int]] = {}
        for v in nx.dfs_preorder_nodes(graph, root):
            for slot, u in enumerate(graph.successors(v)):
                ways[u] = [*ways[v], slot]
            if not graph.out_degree(v):
                if "label" not in graph.nodes[v]:
                    raise ValueError(f"node {v!r} is a leaf without a field 'label'")
                path_of[graph.nodes[v]["label"]] = ways[v]
        if sorted(path_of) != list(range(len(path_of))):
            raise ValueError(f"the leaves' labels must be the numbers 0 to {len(path_of) - 1}")
        return cls.from_codes([path_of[label] for label in range(len(path_of))], arity)

    @property
    def arity(self) -> int:
        """The number of slots of a node."""
        return int(self.children.shape[1])

    @property
    def num_nodes(self) -> int:
        """The number of inner nodes."""
        return len(self.children)

    @cached_property
    def depth(self) -> np.ndarray:
        """The number of decisions on the way to each label, ``[labels]``."""
        return np.diff(self.offsets)

    @cached_property
    def labels(self) -> np.ndarray:
        """The label of each row of the codes, ``[rows]``."""
        return np.repeat(np.arange(self.num_labels), self.depth)

    @property
    def leaves(self) -> np.ndarray:
        """The place ``node * arity + slot`` of each label, ``[labels]``."""
        last = self.offsets[1:] - 1
        return self.nodes[last].astype(np.int64) * self.arity + self.slots[last]

    def code(self, label: int) -> list[tuple[int, int]]:
        """The (node, slot) pairs on the way to a label."""
        rows = slice(self.offsets[label], self.offsets[label + 1])
        return list(zip(self.nodes[rows].tolist(), self.slots[rows].tolist(), strict=True))

    def to_nested(self) -> Any:
        """Nested lists, from which :meth:`from_nested` makes the tree again.

        Example:
            >>> LabelCodes.from_nested([[0, 2], 1]).to_nested()
            [[0, 2], 1]
        """
        if not self.num_nodes:
            return 0
        lists: list[list] = [[] for _ in range(self.num_nodes)]
        for v, row in enumerate(self.children.tolist()):
            for u in row:
                if u != EMPTY:
                    lists[v].append(lists[u] if u < self.num_nodes else u - self.num_nodes)
        return lists[0]

    @cached_property
    def numbering(self) -> Numbering:
        """The same tree as the nodes of a model tree, level by level."""
        level = np.zeros(1, np.int64) if self.num_nodes else np.full(1, self.num_nodes)
        levels, counts = [], []
        while len(level):
            levels.append(level)
            inner = level < self.num_nodes
            table = np.full((len(level), self.arity), EMPTY)
            table[inner] = self.children[level[inner]]
            counts.append((table != EMPTY).sum(1))
            level = table[table != EMPTY]
        value = np.concatenate(levels)
        offsets = offsets_of(np.concatenate(counts))
        topology = Topology.from_arrays(offsets, np.arange(1, len(value)))
        is_leaf = value >= self.num_nodes
        return Numbering(
            topology,
            np.where(is_leaf, -1, value),
            np.where(is_leaf, value - self.num_nodes, -1),
        )

    @cached_property
    def ways(self) -> np.ndarray:
        """The slot that leads to each node of the numbering but the root, node by node counted.

        Shapes:
            ``[num_nodes of the topology - 1]``, of numbers ``node * arity + slot``.
        """
        inner, label = self.numbering.inner[1:], self.numbering.label[1:]
        content = self.children.ravel()
        slots = np.flatnonzero(content != EMPTY)
        way = np.zeros(self.num_nodes + self.num_labels, np.int64)
        way[content[slots]] = slots
        return way[np.where(inner < 0, self.num_nodes + label, inner)]


def _slot(step: Any) -> int:
    """The slot of a step on the way to a label: itself, or the second of a pair."""
    return int(step[1] if isinstance(step, Sequence) else step)


def share_moved(before: LabelCodes, after: LabelCodes) -> float:
    """The share of the labels whose codes have other slots."""
    moved = before.depth != after.depth
    rows = [codes.slots[~moved[codes.labels]] for codes in (before, after)]
    labels = after.labels[~moved[after.labels]]
    moved[labels[rows[0] != rows[1]]] = True
    return float(moved.mean())
