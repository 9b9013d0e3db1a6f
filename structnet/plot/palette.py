"""Colours of classes and of regions, for any number of them.

Reference:
    Paul Tol, "Colour Schemes", SRON technical note 09-002, 2021: the schemes "muted" and "pale".
"""

from __future__ import annotations

from colorsys import hsv_to_rgb

import numpy as np

MUTED = (
    "#332288", "#88CCEE", "#44AA99", "#117733", "#999933",
    "#DDCC77", "#CC6677", "#882255", "#AA4499", "#777777",
)  # fmt: skip
PALE = ("#BBCCEE", "#FFCCCC", "#CCDDAA", "#EEEEBB", "#CCEEFF", "#DDDDDD")


def class_colors(number: int) -> list[str]:
    """A colour for each class; beyond ten, around the wheel, and neighbours are alike.

    Example:
        >>> class_colors(2), len(set(class_colors(100)))
        (['#332288', '#88CCEE'], 100)
    """
    if number <= len(MUTED):
        return list(MUTED[:number])
    wheel = 255 * np.array([hsv_to_rgb(i / number, 0.65, 0.8) for i in range(number)])
    return ["#{:02X}{:02X}{:02X}".format(*color) for color in wheel.round().astype(int)]
