"""Colours for any number of classes.

Reference:
    Paul Tol, "Colour Schemes", SRON technical note 09-002, 2021: the scheme "muted".
"""

from __future__ import annotations

from colorsys import hsv_to_rgb

import numpy as np

MUTED = (
    "#332288", "#88CCEE", "#44AA99", "#117733", "#999933",
    "#DDCC77", "#CC6677", "#882255", "#AA4499", "#777777",
)  # fmt: skip
GOLDEN = 0.618034  # step around the colour wheel that keeps successive hues far apart


def class_colors(number: int) -> list[str]:
    """A colour for each class: different ones for a few hundred, with neighbours of unlike hues.

    Example:
        >>> class_colors(2), len(set(class_colors(100)))
        (['#332288', '#88CCEE'], 100)
    """
    return list(MUTED[:number]) if number <= len(MUTED) else _around(number)


def shaded(color: str, strength: float) -> str:
    """A colour mixed with white: strength 0 is white, 1 the colour itself.

    Example:
        >>> shaded("#332288", 0.0), shaded("#332288", 0.5), shaded("#332288", 1.0)
        ('#FFFFFF', '#9990C4', '#332288')
    """
    parts = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(255 - strength * (255 - part)):02X}" for part in parts)


def confidence(share: np.ndarray, classes: int) -> np.ndarray:
    """The share of the most frequent class, rescaled: 0 if all classes are equal, 1 if it is alone.

    Shapes:
        ``[...] -> [...]``.

    Example:
        >>> confidence(np.array([0.5, 0.75, 1.0]), 2).tolist()
        [0.0, 0.5, 1.0]
    """
    return np.clip((share - 1 / classes) / max(1 - 1 / classes, 1e-9), 0, 1)


def _around(number: int) -> list[str]:
    """Colours from all around the colour wheel, with three levels of saturation and brightness."""
    wheel = [
        hsv_to_rgb(GOLDEN * i % 1, (0.75, 0.5, 0.95)[i % 3], (0.8, 0.9, 0.6)[i % 3])
        for i in range(number)
    ]
    return ["#{:02X}{:02X}{:02X}".format(*(round(255 * part) for part in rgb)) for rgb in wheel]
