"""A large tree on one page: a node a row, indented below its parent, in columns like a newspaper's.

Where nodes have one child each, they share a row. What is indented too far goes on in a part of its
own, and a number stands for it. All is linear in the nodes, and nothing recurses.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

# In points, where letters have 10: a row, an indentation, the gap between nodes on a row and
# between columns, and the longest row of several nodes.
ROW, INDENT, GAP, GUTTER, LONGEST = 14.5, 8.0, 6.0, 14.0, 230.0
DEEPEST = 18  # indentations, before a subtree goes on in a part of its own
SHALLOW = 3  # edges of a subtree that is indented further all the same
MAX_COLUMNS = 16


class Row(NamedTuple):
    """Nodes beside one another, each the only child of the one before.

    Attributes:
        nodes: their places among the drawn nodes; there are none where a subtree goes on elsewhere,
            and on the empty line between two parts.
        indent: indentations.
        above: the row that ends with the parent, -1 for a root.
        begins, goes_on: the number of the part that begins here, or where this goes on; 0 for none.
        width: the width of all, without the indentation.
    """

    nodes: list[int]
    indent: int
    above: int
    begins: int
    goes_on: int
    width: float


class Outline(NamedTuple):
    """The rows of a page, and where each stands.

    Attributes:
        rows: the rows in the order in which they are read.
        column, line: the column of each row and its line there, from 0.
        left: the x of the first row that is not indented in a column; others start further right.
        base: the indentation that each column leaves out.
        size: the width and the height of all.

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
        """Where a row begins."""
        column = self.column[row]
        return float(self.left[column] + INDENT * (self.rows[row].indent - self.base[column]))


def rows_of(parent: Sequence[int], width: Sequence[float], mark: float) -> list[Row]:
    """The rows of trees whose nodes are numbered breadth first.

    Args:
        parent: the parent of each node, -1 of a root.
        width: the width of each node.
        mark: the width of the number of a part.

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
    parts = deque((v, 0) for v, above in enumerate(parent) if above < 0)
    number = 0
    while parts:
        start, begins = parts.popleft()
        if rows:
            rows.append(Row([], 0, -1, 0, 0, 0.0))  # an empty line
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
    """The rows in as many columns as make the letters largest on so much room.

    Args:
        rows: the rows.
        width, height: the room in points.

    Returns:
        The outline, and its scale: 1 where letters have their usual size, less where all must be
        smaller to fit.
    """
    ends = np.array([INDENT * row.indent + row.width for row in rows])
    indents = np.array([row.indent for row in rows])
    best: tuple[Outline, float] | None = None
    for number in range(1, min(MAX_COLUMNS, len(rows)) + 1):
        outline = _columns(rows, ends, indents, number)
        scale = min(1.0, width / outline.size[0], height / outline.size[1])
        if best is None or scale > 1.02 * best[1]:  # few columns, unless it pays
            best = outline, scale
    assert best is not None  # there is a row
    return best


def _columns(rows: list[Row], ends: np.ndarray, indents: np.ndarray, number: int) -> Outline:
    lines = -(-len(rows) // number)
    column, line = np.divmod(np.arange(len(rows)), lines)
    line = line + (number > 1)  # above the second column and those after it stands a heading
    starts = np.arange(0, len(rows), lines)
    base = np.minimum.reduceat(indents, starts)
    # What is left out leaves one indentation for the line down from a parent further up.
    base = np.where(base > 0, base - 1, 0)
    wide = np.maximum.reduceat(ends, starts) - INDENT * base
    left = np.concatenate([[0], np.cumsum(wide + GUTTER)])
    size = float(left[-1] - GUTTER), ROW * float(line.max() + 1)
    return Outline(rows, column, line, left[:-1], base, size)


def rails(outline: Outline) -> np.ndarray:
    """The lines from parents down to their children, ``[n, 2, 2]``; y runs down.

    One line a parent and column, with a tick to each child.
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
                continue  # of an ancestor further up, whose next child is in another column
            top = middle(outline, above) + ROW / 2 if column == first_column else ROW
            bottom = middle(outline, end) if column == last_column else ROW * ends[column]
            lines.append([(x, top), (x, bottom)])
    return np.array(lines, float).reshape(-1, 2, 2)


def _rail(outline: Outline, row: int, column: int) -> float:
    indent = outline.rows[row].indent - outline.base[column]
    return float(outline.left[column] + INDENT * (indent + 0.4))


def middle(outline: Outline, row: int) -> float:
    """How far below the upper edge the middle of a row is."""
    return ROW * (float(outline.line[row]) + 0.5)


def headings(outline: Outline) -> list[list[int]]:
    """For each column but the first, the rows that lead to its first row, the root first.

    Columns that begin with a part of their own have none.
    """
    found = []
    for column in range(1, len(outline.left)):
        row = outline.rows[int(np.argmax(outline.column == column))]
        path = []
        while row.above >= 0:
            path.append(row.above)
            row = outline.rows[row.above]
        found.append(path[::-1])
    return found
