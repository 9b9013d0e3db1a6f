"""Writes the number, prediction and size of each leaf into its region of a partition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from structnet.plot.model_tree.captions import share_text
from structnet.plot.page import room_of
from structnet.plot.style import as_written
from structnet.routing.leaves import leaf_predictions, leaf_words
from structnet.routing.reading import Reading
from structnet.routing.visits import shares

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FONT, LETTER, LINE = 8.0, 4.8, 14.0  # points: size of letters, width of one, height of a line
# Least distance from the middle of a text to the border of its region, relative to the text's size:
# for a number alone, and for longer texts, which must leave room for the neighbours'.
DEEP, DEEPER = 0.3, 0.5


def write_leaves(
    ax: Axes, sides: Sequence[np.ndarray], regions: np.ndarray, reading: Reading
) -> None:
    """Writes the longest text that fits deep inside each leaf's region; largest regions first.

    Args:
        ax: axes to draw on.
        sides: coordinates of the grid, x and y.
        regions: leaf of each point of the grid.
        reading: tree with its samples and names.

    Shapes:
        sides ``[resolution]`` each; regions ``[resolution, resolution]``.
    """
    texts, room = _texts(reading), room_of(ax)
    leaves, area = np.unique(regions, return_counts=True)
    taken: list[np.ndarray] = []  # left, bottom, right and top of each text, in points
    for leaf in leaves[np.argsort(-area, kind="stable")].tolist():
        for text in texts[leaf]:
            least = DEEP if text == texts[leaf][-1] else DEEPER
            spot = _place(room, regions == leaf, text, taken, least)
            if spot is None:
                continue
            (row, column), box = spot
            taken.append(box)
            ground: dict[str, Any] = {"facecolor": "white", "alpha": 0.75, "linewidth": 0}
            ground["boxstyle"] = "round,pad=0.15"
            style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": FONT}
            style["color"] = "black"
            written = ax.text(sides[0][column], sides[1][row], text, bbox=ground, zorder=4, **style)
            as_written(written)
            break


def _place(
    size: np.ndarray, region: np.ndarray, text: str, taken: Sequence[np.ndarray], least: float
) -> tuple[tuple[int, int], np.ndarray] | None:
    """The row and the column of the grid where a text fits in a region, and its box; or None."""
    from scipy.ndimage import distance_transform_edt

    lines = text.splitlines()
    box = np.array([LETTER * max(map(len, lines)), LINE * len(lines)])
    # The coordinates of the grid in units of the box's width and height, [x] and [y].
    x, y = (np.linspace(0, length, len(region)) for length in size / box)
    step, room, at = (y[1], x[1]), (y[-1], x[-1]), around(region)
    (y, x), region = (each[part] for each, part in zip((y, x), at, strict=True)), region[at]
    free = _inside(y, room[0])[:, None] & _inside(x, room[1])
    for left, low, right, high in taken:
        apart = (x * box[0] + box[0] / 2 <= left) | (x * box[0] - box[0] / 2 >= right)
        free &= ((y * box[1] + box[1] / 2 <= low) | (y * box[1] - box[1] / 2 >= high))[
            :, None
        ] | apart
    if not free.any():
        return None
    # Distances to the border of the region.
    depth = distance_transform_edt(np.pad(region, 1), sampling=step)
    depth = np.where(free, depth[1:-1, 1:-1], 0)
    if depth.max() < least:
        return None
    deep = np.argwhere(depth >= 0.98 * depth.max())
    row, column = deep[len(deep) // 2].tolist()  # the middle of a long region
    middle = np.array([x[column], y[row]]) * box
    place = row + at[0].start, column + at[1].start
    return place, np.concatenate([middle - box / 2, middle + box / 2])


def around(region: np.ndarray, beyond: int = 0) -> tuple[slice, slice]:
    """The rows and the columns of a grid that a region takes, and some beyond them.

    Shapes:
        region ``[rows, columns]``, bool.

    Example:
        >>> around(np.eye(5, 6, k=3, dtype=bool)), around(np.eye(5, 6, k=3, dtype=bool), beyond=1)
        ((slice(0, 3, None), slice(3, 6, None)), (slice(0, 4, None), slice(2, 7, None)))
    """
    rows, columns = (np.flatnonzero(region.any(axis=axis)).tolist() for axis in (1, 0))
    y, x = (slice(max(each[0] - beyond, 0), each[-1] + 1 + beyond) for each in (rows, columns))
    return y, x


def _inside(places: np.ndarray, length: float) -> np.ndarray:
    """True for each place where something of length 1 can have its middle within a length."""
    return (places >= 0.5) & (places <= length - 0.5)


def _texts(reading: Reading) -> dict[int, list[str]]:
    """The texts for each leaf's region, longest first."""
    share, predictions = (
        shares(reading.tree, reading.samples),
        leaf_words(reading, leaf_predictions(reading.tree, reading.samples)),
    )
    return {
        leaf: [
            f"leaf {leaf}{words}\n{share_text(share[leaf])} of samples",
            f"leaf {leaf}{words}",
            f"leaf {leaf}",
        ]
        for leaf in reading.tree.topology.leaves.tolist()
        for words in [f": {predictions[leaf]}" if predictions.get(leaf) else ""]
    }
