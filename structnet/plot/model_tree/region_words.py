"""What is written in the regions of a partition: each leaf's number, prediction and size."""

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

FONT, LETTER, LINE = 8.0, 4.8, 14.0  # points: the letters, and the room that each takes
# How far to each side of its middle a text's region must reach, in texts: more than a number has
# room only where it leaves the neighbours theirs.
DEEP, DEEPER = 0.3, 0.5


def write_leaves(ax: Axes, sides: Sequence[np.ndarray], regions: np.ndarray, told: Reading) -> None:
    """Each leaf's words deep inside its region, as many as have room; the largest first.

    Args:
        sides: coordinates of the grid, x and y.
        regions: leaf of each point of the grid.
        told: tree, its samples and names.

    Shapes:
        sides ``[resolution]`` each; regions ``[resolution, resolution]``.
    """
    texts = _texts(told)
    leaves, area = np.unique(regions, return_counts=True)
    taken: list[np.ndarray] = []  # left, low, right and high ends, in points
    for leaf in leaves[np.argsort(-area, kind="stable")].tolist():
        for text in texts[leaf]:
            least = DEEP if text == texts[leaf][-1] else DEEPER
            found = _place(room_of(ax), regions == leaf, text, taken, least)
            if found is None:
                continue
            (row, column), box = found
            taken.append(box)
            ground: dict[str, Any] = {"facecolor": "white", "alpha": 0.75, "linewidth": 0}
            ground["boxstyle"] = "round,pad=0.15"
            style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": FONT}
            written = ax.text(sides[0][column], sides[1][row], text, bbox=ground, zorder=4, **style)
            as_written(written)
            break


def _place(
    size: np.ndarray, region: np.ndarray, text: str, taken: Sequence[np.ndarray], least: float
) -> tuple[tuple[int, int], np.ndarray] | None:
    """Where in a region a text has room, as a row and a column of the grid, and its box there."""
    from scipy.ndimage import distance_transform_edt

    lines = text.splitlines()
    box = np.array([LETTER * max(map(len, lines)), LINE * len(lines)])
    # The grid in boxes, so that they are 1 wide and 1 high: [x] and [y].
    x, y = (np.linspace(0, length, len(region)) for length in size / box)
    free = _inside(y, y[-1])[:, None] & _inside(x, x[-1])
    for left, low, right, high in taken:
        apart = (x * box[0] + box[0] / 2 <= left) | (x * box[0] - box[0] / 2 >= right)
        free &= ((y * box[1] + box[1] / 2 <= low) | (y * box[1] - box[1] / 2 >= high))[
            :, None
        ] | apart
    # The distance to the region's border.
    depth = distance_transform_edt(np.pad(region, 1), sampling=(y[1], x[1]))
    depth = np.where(free, depth[1:-1, 1:-1], 0)
    if depth.max() < least:
        return None
    deep = np.argwhere(depth >= 0.98 * depth.max())
    row, column = deep[len(deep) // 2].tolist()  # of a long region, the middle
    middle = np.array([x[column], y[row]]) * box
    return (row, column), np.concatenate([middle - box / 2, middle + box / 2])


def _inside(places: np.ndarray, length: float) -> np.ndarray:
    """Where something that is 1 long has its middle when it ends within so much room."""
    return (places >= 0.5) & (places <= length - 0.5)


def _texts(told: Reading) -> dict[int, list[str]]:
    """What to write in each leaf's region, the longest first."""
    share, said = (
        shares(told.tree, told.samples),
        leaf_words(told, leaf_predictions(told.tree, told.samples)),
    )
    return {
        leaf: [
            f"leaf {leaf}{words}\n{share_text(share[leaf])} of samples",
            f"leaf {leaf}{words}",
            f"leaf {leaf}",
        ]
        for leaf in told.tree.topology.leaves.tolist()
        for words in [f": {said[leaf]}" if said.get(leaf) else ""]
    }
