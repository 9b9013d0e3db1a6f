"""The data of a softmax tree's run: dense or sparse rows, and their classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy.sparse import issparse

from structnet.datasets import Arrays, clusters, next_word
from structnet.estimators.held_out import parted
from structnet.recipes.arrays import ArrayData, drawn, load_classes
from structnet.recipes.softmax_tree.settings import GENERATED, TEXTS, SoftmaxTreeRunSettings
from structnet.routing import Samples


def load_data(settings: SoftmaxTreeRunSettings) -> ArrayData:
    """The data of a run, with some training rows held out for a tree that grows.

    Raises:
        DownloadError: the files of the data set are missing.
        ValueError: a file does not have its format, or the settings do not fit the data.
    """
    arrays, rows = _arrays(settings), settings.rows
    seed = settings.training.seed
    order = drawn(len(arrays.y_train), rows.train_size, seed, "training examples")
    learn, held = order, order[:0]
    if settings.growth_told is not None:
        labels = arrays.y_train[order]
        places, aside = parted(len(order), rows.validation_fraction, seed, labels)
        learn, held = order[places], order[:0] if aside is None else order[aside]
    test = drawn(len(arrays.y_test), rows.test_size, 0, "test examples")
    train, test_arrays = (arrays.x_train, arrays.y_train), (arrays.x_test, arrays.y_test)
    learnt, held_out = _samples(*train, learn), _samples(*train, held)
    return ArrayData(arrays, learnt, held_out, _samples(*test_arrays, test), test)


def _arrays(settings: SoftmaxTreeRunSettings) -> Arrays:
    data, rows, folder = settings.data, settings.rows, settings.place.data_dir
    if data in GENERATED:
        sizes = {
            "num_train": rows.train_size,
            "num_test": rows.test_size,
            "num_classes": rows.num_classes,
        }
        given = {name: value for name, value in sizes.items() if value is not None}
        return clusters.generate(uneven=data == "uneven", seed=settings.training.seed, **given)
    if data in TEXTS:
        return next_word.load(data, folder, num_classes=rows.num_classes or 1000)
    return load_classes(settings)


def _samples(x: Any, y: np.ndarray, places: np.ndarray) -> Samples:
    x = x[places]
    flat = x if issparse(x) else x.reshape(len(x), int(np.prod(x.shape[1:])))
    return Samples(flat, torch.from_numpy(y[places]))
