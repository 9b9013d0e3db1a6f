"""Images of 8-bit pixels, standardized."""

from __future__ import annotations

from typing import Any

import numpy as np

from structnet.datasets.arrays import Arrays
from structnet.estimators.scale import Standardizer

_CHUNK = 1000  # images counted at once, since counting copies each pixel into 8 bytes


def image_arrays(
    x_train: np.ndarray, y_train: np.ndarray, x_test: np.ndarray, y_test: np.ndarray, **rest: Any
) -> Arrays:
    """Images and their classes, each channel scaled by its pixels in the training images.

    Args:
        x_train, x_test: images, uint8.
        y_train, y_test: class numbers.
        rest: other attributes of :class:`Arrays`.

    Shapes:
        x ``[N, C, H, W]``, y ``[N]``.
    """
    scale = pixel_scale(x_train)
    return Arrays(
        scaled_pixels(x_train, scale),
        y_train.astype(np.int64),
        scaled_pixels(x_test, scale),
        y_test.astype(np.int64),
        task="classification",
        x_scale=scale,
        **rest,
    )


def pixel_scale(images: np.ndarray) -> Standardizer:
    """The scale that gives the pixels of each channel mean 0 and standard deviation 1.

    Args:
        images: images, uint8.

    Shapes:
        images ``[N, C, H, W]``; mean and sd ``[C, 1, 1]``.

    Example:
        >>> scale = pixel_scale(np.array([0, 0, 2, 2], np.uint8).reshape(1, 1, 2, 2))
        >>> scale.mean.item(), scale.sd.item()
        (1.0, 1.0)
    """
    values = np.arange(256.0)
    means, deviations = [], []
    for c in range(images.shape[1]):
        count = np.zeros(256)  # of each value: exact for any number of pixels
        for i in range(0, len(images), _CHUNK):
            count += np.bincount(images[i : i + _CHUNK, c].ravel(), minlength=256)
        share = count / count.sum()
        mean = share @ values
        means.append(mean)
        deviations.append(np.sqrt(share @ (values - mean) ** 2) or 1.0)
    return Standardizer(np.array(means).reshape(-1, 1, 1), np.array(deviations).reshape(-1, 1, 1))


def scaled_pixels(images: np.ndarray, scale: Standardizer) -> np.ndarray:
    """The scaled images in float32, without copies in float64.

    Shapes:
        images ``[N, C, H, W]``.
    """
    x = images.astype(np.float32)
    x -= scale.mean.astype(np.float32)
    x /= scale.sd.astype(np.float32)
    return x
