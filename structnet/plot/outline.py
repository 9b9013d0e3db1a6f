"""Lays out a large tree on one page: a row for each node, indented below its parent, in columns.

A chain of nodes with one child each shares a row. A subtree that would be indented too far
continues in a part of its own, and is replaced by the number of that part. The time is linear in
the number of nodes, and nothing recurses.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

# In points, for letters of 10 points: height of a row, width of an indentation, gaps between nodes
# in a row and between columns, and the longest row of several nodes.
ROW, INDENT, GAP, GUTTER, LONGEST = 14.5, 8.0, 6.0, 14.0, 230.0
DEEPEST = 18  # indentations from which a subtree continues in a part of its own
SHALLOW = 3  # height of subtrees that are indented further nevertheless
MAX_COLUMNS = 16
NUMBERED = 30.0  # points: least width of a column of several trees, for the number of a tree


class Row(NamedTuple):
    """Nodes beside each other, each of which is the only child of the one before.

    Attributes:
        nodes: places among the drawn nodes; empty for a subtree that continues in another part, and
            for the empty line between two parts.
        indent: number of indentations.
        above: row that ends with the parent; -1 for a root.
        begins, goes_on: number of the part that begins here, and of the part in which the subtree
            continues; 0 for none.
        width: width of the row in points, without the indentation.
    """

    nodes: list[int]
    indent: int
    above: int
    begins: int
    goes_on: int
    width: float


class Outline(NamedTuple):
    """The rows of a page and their places, in points.

    Attributes:
        rows: rows in reading order.
        column, line: column of each row, and its line in the column, from 0.
        left: left edge of each column.
        base: number of indentations that are left out in each column.
        size: width and height of the whole outline.

    Shapes:
        column, line ``[rows]``; left, base ``[columns]``.
    """

    rows: list[Row]
    column: np.ndarray
    line: np.ndarray
    left: np.ndarray
    base: np.ndarray
    size: tuple[float, float]

    def x(self, row: int) -> float:
        """The left end of a row."""
        column = self.column[row]
        return float(self.left[column] + INDENT * (self.rows[row].indent - self.base[column]))


def rows_of(parent: Sequence[int], width: Sequence[float], mark: float) -> list[Row]:
    """The rows of trees whose nodes are numbered breadth first.

    Args:
        parent: parent of each node; -1 for a root.
        width: width of each node in points.
        mark: width of the number of a part.

    Example:
        >>> rows = rows_of([-1, 0, 0, 1, 2, 2], [20] * 6, mark=10)
        >>> [(row.nodes, row.indent, row.above) for row in rows]
        [([0], 0, -1), ([1, 3], 1, 0), ([2], 1, 0), ([4], 2, 2), ([5], 2, 2)]
    """
    children: list[list[int]] = [[] for _ in parent]
    for v, above in enumerate(parent):
        if above >= 0:
            children[above].append(v)
    height = [0] * len(parent)
    for v in range(len(parent) - 1, 0, -1):
        if parent[v] >= 0:
            height[parent[v]] = max(height[parent[v]], height[v] + 1)
    rows: list[Row] = []
    roots = deque(v for v, above in enumerate(parent) if above < 0)
    parts: deque[tuple[int, int]] = deque()
    number = 0
    while parts or roots:
        start, begins = parts.popleft() if parts else (roots.popleft(), 0)
        if begins:
            rows.append(Row([], 0, -1, 0, 0, 0.0))  # an empty line between parts
        stack = [(start, -1, 0)]
        while stack:
            v, above, indent = stack.pop()
            if indent >= DEEPEST and height[v] > SHALLOW:
                number += 1
                parts.append((v, number))
                rows.append(Row([], indent, above, 0, number, mark))
                continue
            nodes, wide = [v], width[v] + (mark + GAP if begins else 0)
            while len(children[v]) == 1 and wide + GAP + width[children[v][0]] <= LONGEST:
                [v] = children[v]
                nodes.append(v)
                wide += GAP + width[v]
            stack += [(child, len(rows), indent + 1) for child in reversed(children[v])]
            rows.append(Row(nodes, indent, above, begins, 0, wide))
            begins = 0
    return rows


def in_columns(rows: list[Row], width: float, height: float) -> tuple[Outline, float]:
    """Arranges rows in the number of columns with which the letters can be largest.

    Each tree begins a column.

    Args:
        rows: rows to arrange.
        width, height: size of the page in points.

    Returns:
        The outline and its scale: 1 for letters of the normal size, less if they must be smaller.
    """
    ends = np.array([INDENT * row.indent + row.width for row in rows])
    indents = np.array([row.indent for row in rows])
    best: tuple[Outline, float] | None = None
    firsts = first_rows(rows)
    for number in range(len(firsts), max(min(MAX_COLUMNS, len(rows)), len(firsts)) + 1):
        outline = _columns(rows, firsts, ends, indents, number)
        scale = min(1.0, width / outline.size[0], height / outline.size[1])
        if best is None or scale > 1.02 * best[1]:  # more columns only if they gain 2 %
            best = outline, scale
    assert best is not None  # since there is a row
    return best


def first_rows(rows: list[Row]) -> list[int]:
    """The first row of each tree."""
    return [i for i, row in enumerate(rows) if row.nodes and row.above < 0 and not row.begins]


def _columns(
    rows: list[Row], firsts: list[int], ends: np.ndarray, indents: np.ndarray, number: int
) -> Outline:
    sizes = np.diff([*firsts, len(rows)])
    lines = -(-len(rows) // number)
    while (-(-sizes // lines)).sum() > number:
        lines += 1
    pairs = zip(firsts, sizes, strict=True)
    starts = np.concatenate([np.arange(first, first + size, lines) for first, size in pairs])
    column = np.searchsorted(starts, np.arange(len(rows)), side="right") - 1
    # The first line is for the headings of columns.
    line = np.arange(len(rows)) - starts[column] + (number > 1)
    base = np.minimum.reduceat(indents, starts)
    # One indentation is kept, for the line down from a parent in an earlier column.
    base = np.where(base > 0, base - 1, 0)
    wide = np.maximum.reduceat(ends, starts) - INDENT * base
    if len(firsts) > 1:
        wide = np.maximum(wide, NUMBERED)
    left = np.concatenate([[0], np.cumsum(wide + GUTTER)])
    size = float(left[-1] - GUTTER), ROW * float(line.max() + 1)
    return Outline(rows, column, line, left[:-1], base, size)


def rails(outline: Outline) -> np.ndarray:
    """The lines from parents to their children, ``[n, 2, 2]``; y points down.

    A parent has one vertical line in each column, with a tick to each child.
    """
    lines: list[list[tuple[float, float]]] = []
    last: dict[int, int] = {}
    for number, row in enumerate(outline.rows):
        if row.above >= 0:
            last[row.above] = number
            x, y = _rail(outline, row.above, int(outline.column[number])), middle(outline, number)
            lines.append([(x, y), (outline.x(number), y)])
    ends = [float(outline.line[outline.column == c].max() + 1) for c in range(len(outline.left))]
    for above, end in last.items():
        first_column, last_column = int(outline.column[above]), int(outline.column[end])
        for column in range(first_column, last_column + 1):
            x = _rail(outline, above, column)
            if x < outline.left[column]:
                continue  # left of the column: its next child is in a later one
            top = middle(outline, above) + ROW / 2 if column == first_column else ROW
            bottom = middle(outline, end) if column == last_column else ROW * ends[column]
            lines.append([(x, top), (x, bottom)])
    return np.array(lines, float).reshape(-1, 2, 2)


def _rail(outline: Outline, row: int, column: int) -> float:
    indent = outline.rows[row].indent - outline.base[column]
    return float(outline.left[column] + INDENT * (indent + 0.4))


def middle(outline: Outline, row: int) -> float:
    """The distance from the upper edge down to the middle of a row, in points."""
    return ROW * (float(outline.line[row]) + 0.5)


def headings(outline: Outline) -> list[list[int]]:
    """For each column but the first, the rows above its first row, from the root down.

    The list is empty for a column that begins with a new part.
    """
    paths = []
    for column in range(1, len(outline.left)):
        row = outline.rows[int(np.argmax(outline.column == column))]
        path = []
        while row.above >= 0:
            path.append(row.above)
            row = outline.rows[row.above]
        paths.append(path[::-1])
    return paths
