"""The data of a neural tree's run: a named data set or a table, split by the run's seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from structnet.estimators.checked import Checked
from structnet.estimators.held_out import hold_out
from structnet.neural_tree.member import telling
from structnet.recipes.arrays import ArrayData, drawn, load_arrays
from structnet.recipes.neural_tree.settings import NeuralTreeRunSettings
from structnet.recipes.words import counted, outputs
from structnet.routing import Samples

EDGE = 4  # pixels by which an augmented image may be shifted


def load_data(settings: NeuralTreeRunSettings, known: Mapping[str, Any] | None = None) -> ArrayData:
    """The data of a run, whose seed decides which training rows are held out for validation.

    Args:
        settings: settings of the run.
        known: description of the data of a run, which tells the columns; None to choose them.

    Raises:
        DownloadError: the files of the data set are missing.
        ValueError: a file does not have its format, or the settings do not fit the data.
    """
    rows = settings.rows
    folder = settings.place.data_dir
    arrays = load_arrays(settings.data, folder, task=rows.task, **rows.options())
    order = drawn(len(arrays.x_train), rows.train_size, settings.training.seed, "training examples")
    share: Any = rows.validation_fraction  # resolved: not None
    held_out = round(share * len(order))
    if len(order) < 2:
        raise ValueError(
            f"{arrays.name}: got {counted(len(order), 'training example')}; expected at least 2, "
            "one to learn from and one for validation"
        )
    if not 0 < held_out < len(order):
        raise ValueError(
            f"--validation-fraction {share} of {len(order)} training "
            f"examples is {held_out}; expected from 1 to {len(order) - 1}"
        )
    number, classes = len(order) - held_out, arrays.classes or ()
    if rows.learn_size is not None and rows.learn_size > number:
        raise ValueError(
            f"{number:,} training examples are left to learn from, besides {held_out:,} for "
            f"validation; --learn-size asks for {rows.learn_size:,}"
        )
    number = rows.learn_size or number
    if number < len(classes):
        raise ValueError(
            f"{arrays.name} has {outputs(len(classes), True)}; got {counted(number, 'example')} to "
            f"train on, besides {held_out:,} for validation; expected at least {len(classes):,}, "
            "as many as classes"
        )
    test = drawn(len(arrays.x_test), rows.test_size, 0, "test examples")
    labels = None if arrays.classes is None else arrays.y_train[order]
    learn, held = hold_out(len(order), share, settings.training.seed, labels)
    augment = shifted_and_mirrored if arrays.name == "cifar10" else None
    learned = Checked(arrays.x_train, arrays.y_train, None).take(order[learn][: rows.learn_size])
    columns, strength = None, None
    if known is not None:
        columns = np.array(known["columns"]) if "columns" in known else None
    elif rows.select_columns:
        columns, strength = telling(learned, settings.training.seed, standardize=False)

    def samples(x: Any, y: np.ndarray, places: np.ndarray) -> Samples:
        return Checked(x, y, None).take(places).of(columns).samples()

    return ArrayData(
        arrays,
        replace(learned.of(columns).samples(), augment=augment),
        samples(arrays.x_train, arrays.y_train, order[held]),
        samples(arrays.x_test, arrays.y_test, test),
        test,
        columns,
        strength,
    )


def shifted_and_mirrored(images: Tensor) -> Tensor:
    """Each image shifted at random by at most 4 pixels, padded with 0, and randomly mirrored.

    Shapes:
        ``[n, channels, height, width]`` -> the same.
    """
    n, _, height, width = images.shape
    padded = torch.nn.functional.pad(images, (EDGE,) * 4)
    top, left = (torch.randint(2 * EDGE + 1, (n, 1), device=images.device) for _ in range(2))
    rows, columns = (
        least + torch.arange(size, device=images.device)
        for least, size in ((top, height), (left, width))
    )
    mirrored = torch.rand(n, 1, device=images.device) < 0.5
    columns = torch.where(mirrored, columns.flip(1), columns)
    each = torch.arange(n, device=images.device)
    moved = padded[each[:, None, None], :, rows[:, :, None], columns[:, None]]
    return moved.movedim(-1, 1).contiguous()
