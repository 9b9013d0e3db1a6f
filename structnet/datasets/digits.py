"""Handwritten digits of 8 x 8 pixels, which come with scikit-learn: nothing to download.

They are the test part of "Optical Recognition of Handwritten Digits" from the UCI repository, with
pixels from 0 to 16.

Reference:
    Alpaydin and Kaynak, "Cascading Classifiers", Kybernetika 1998.
"""

from __future__ import annotations

import numpy as np

from structnet.datasets.arrays import Arrays, set_aside
from structnet.datasets.pixels import image_arrays

SIZE = 1797
CLASSES = tuple("0123456789")


def load(test_fraction: float = 0.2, seed: int = 0) -> Arrays:
    """The digits, split at random; a share of each class is set aside for testing.

    The pixels are scaled by the mean and standard deviation of all training pixels.

    Args:
        test_fraction: share of each class to test on.
        seed: seed of the split.

    Shapes:
        x ``[N, 1, 8, 8]``, y ``[N]``.

    Raises:
        ValueError: the share is not between 0 and 1.

    Example:
        >>> data = load()
        >>> data.x_train.shape, data.x_test.shape, data.num_outputs
        ((1438, 1, 8, 8), (359, 1, 8, 8), 10)
    """
    from sklearn.datasets import load_digits

    bunch = load_digits()
    assert bunch.images.shape == (SIZE, 8, 8) and set(bunch.target) == set(range(10))
    images, labels = bunch.images.astype(np.uint8)[:, None], bunch.target
    train, test, split = set_aside("digits", SIZE, test_fraction, seed, labels)
    parts = (images[train], labels[train], images[test], labels[test])
    return image_arrays(*parts, classes=CLASSES, name="digits", split=split)
