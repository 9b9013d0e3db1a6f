"""The data of a softmax tree's run: dense or sparse rows, and their classes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_matrix, issparse

from structnet.datasets import Arrays, clusters, next_word
from structnet.datasets import svmlight_file as sparse_rows
from structnet.datasets.catalogue import SPARSE, TABLES
from structnet.estimators.checked import NAMED
from structnet.estimators.held_out import parted
from structnet.estimators.inputs import in_single
from structnet.recipes.arrays import ArrayData, drawn, labelled_rows, load_arrays, scale_of
from structnet.recipes.recipe import is_file
from structnet.recipes.softmax_tree.settings import GENERATED, TEXTS, SoftmaxTreeRunSettings
from structnet.routing import Samples


def load_data(settings: SoftmaxTreeRunSettings) -> ArrayData:
    """The data of a run, with some training rows held out for a tree that grows.

    Raises:
        DownloadError: the files of the data set are missing.
        ValueError: a file does not have its format, or the settings do not fit the data.
    """
    arrays, told = _arrays(settings), settings.rows
    if arrays.classes is None:
        raise ValueError(
            f"{settings.data} has numbers to predict; a softmax tree predicts classes (of a file, "
            "--target names another column)"
        )
    seed = settings.training.seed
    order = drawn(len(arrays.y_train), told.train_size, seed, "training examples")
    learn, held = order, order[:0]
    if settings.growth_told is not None:
        labels = arrays.y_train[order]
        places, aside = parted(len(order), told.validation_fraction, seed, labels)
        learn, held = order[places], order[:0] if aside is None else order[aside]
    test = drawn(len(arrays.y_test), told.test_size, 0, "test examples")
    train, test_arrays = (arrays.x_train, arrays.y_train), (arrays.x_test, arrays.y_test)
    learnt, held_out = _samples(*train, learn), _samples(*train, held)
    return ArrayData(arrays, learnt, held_out, _samples(*test_arrays, test), test)


def rows_of_file(file: str, settings: SoftmaxTreeRunSettings, data: dict[str, Any]) -> Samples:
    """The rows of a user's file of the same kind as a tree's training data.

    Args:
        file: path of the file.
        settings: settings of the tree's run.
        data: description of the training data, as in ``config.json``.

    Raises:
        ValueError: the file is of another kind, or has other columns or classes.
    """
    if is_file(file, TABLES):
        samples = labelled_rows(file, data, settings.rows.target)
        return Samples(samples.x.numpy().reshape(len(samples), -1), samples.targets)
    x, labels = sparse_of_file(file, settings, data)
    known = {float(name): place for place, name in enumerate(data["classes"])}
    unknown = sorted(set(labels) - known.keys())
    if unknown:
        names = ", ".join(f"{label:g}" for label in unknown[:NAMED]) + ", ..." * (
            len(unknown) > NAMED
        )
        raise ValueError(f"{file} has classes that the tree does not know: {names}")
    return Samples(x, torch.tensor([known[label] for label in labels]))


def sparse_of_file(
    file: str, settings: SoftmaxTreeRunSettings, data: dict[str, Any]
) -> tuple[csr_matrix, np.ndarray]:
    """The sparse rows of a user's file, scaled, with their labels, which may be of any class.

    Args:
        file, settings, data: arguments of :func:`rows_of_file`.

    Shapes:
        rows ``[n, D]``, with as many columns as the training data; labels ``[n]``.

    Raises:
        ValueError: the tree was trained on a table, or the file has other columns.
    """
    if not is_file(settings.data, SPARSE):
        trained = f"the tree was trained on {settings.data}"
        raise ValueError(f"expected FILE.csv, as {trained}; got {file!r}")
    (x, labels), width = sparse_rows.read([Path(file)], Path(settings.data))[0], data["shape"][0]
    if x.shape[1] > width:
        raise ValueError(f"{file} has {x.shape[1]} columns; the tree was trained on {width}")
    x.resize((x.shape[0], width))
    scale = data["x_scale"]  # None if the run learned from unscaled numbers
    return in_single(x if scale is None else scale_of(scale)(x)), labels


def _arrays(settings: SoftmaxTreeRunSettings) -> Arrays:
    data, told, folder = settings.data, settings.rows, settings.place.data_dir
    if data in GENERATED:
        sizes = {
            "num_train": told.train_size,
            "num_test": told.test_size,
            "num_classes": told.num_classes,
        }
        given = {name: value for name, value in sizes.items() if value is not None}
        return clusters.generate(uneven=data == "uneven", seed=settings.training.seed, **given)
    if data in TEXTS:
        return next_word.load(data, folder, num_classes=told.num_classes or 1000)
    task = "classification" if is_file(data, SPARSE) else None
    return load_arrays(data, folder, task=task, **told.options())


def _samples(x: Any, y: np.ndarray, places: np.ndarray) -> Samples:
    x = x[places]
    flat = x if issparse(x) else x.reshape(len(x), int(np.prod(x.shape[1:])))
    return Samples(flat, torch.from_numpy(y[places]))
