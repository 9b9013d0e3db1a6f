"""The data of a run: arrays as they are loaded, and samples to train, choose and test by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from structnet.cli.names import is_table
from structnet.cli.words import counted, outputs
from structnet.datasets import Arrays, DownloadError, cache_dir, load
from structnet.routing import Samples

EDGE = 4  # pixels by which an augmented image may be shifted


@dataclass(frozen=True)
class Data:
    """The samples of a run, and the arrays that they were made of.

    Attributes:
        arrays: the data set.
        train, validation, test: its samples; validation is held out of the training rows.
    """

    arrays: Arrays
    train: Samples
    validation: Samples
    test: Samples

    @property
    def test_in_units(self) -> Samples:
        """The test samples with targets in the units of the file: to be told, not compared."""
        scale = self.arrays.y_scale
        if scale is None:
            return self.test
        return replace(self.test, targets=torch.from_numpy(scale.undo(self.test.targets.numpy())))

    def describe(self) -> dict[str, Any]:
        """What ``config.json`` says of them, all that a trained tree needs to be asked."""
        arrays = self.arrays
        scales = {"x_scale": arrays.x_scale, "y_scale": arrays.y_scale}
        return {
            "name": arrays.name,
            "split": arrays.split,
            "train": len(self.train),
            "validation": len(self.validation),
            "test": len(self.test),
            "shape": list(self.train.x.shape[1:]),
            "num_outputs": arrays.num_outputs,
            "classes": _list(arrays.classes),
            "features": _list(arrays.features),
            "targets": _list(arrays.targets),
            **{
                name: scale and {"mean": scale.mean.tolist(), "sd": scale.sd.tolist()}
                for name, scale in scales.items()
            },
        }


def _list(names: tuple[str, ...] | None) -> list[str] | None:
    return None if names is None else list(names)


def load_data(settings: Mapping[str, Any]) -> Data:
    """The data of a run; its seed says which training rows are held out for validation.

    Raises:
        DownloadError: the files of the data set are not at hand.
        ValueError: a file is not what it should be, or the settings do not go with the data.
    """
    arrays = _arrays(settings)
    order = _drawn(len(arrays.x_train), settings["train_size"], settings["seed"], "training")
    held_out = round(settings["validation_fraction"] * len(order))
    if not 0 < held_out < len(order):
        raise ValueError(
            f"--validation-fraction {settings['validation_fraction']} of {len(order)} training "
            f"examples is {held_out}; expected at least 1, and 1 less than all"
        )
    test = _drawn(len(arrays.x_test), settings["test_size"], 0, "test")
    augment = shifted_and_mirrored if arrays.name == "cifar10" else None
    return Data(
        arrays,
        _samples(arrays.x_train, arrays.y_train, order[held_out:], augment),
        _samples(arrays.x_train, arrays.y_train, order[:held_out]),
        _samples(arrays.x_test, arrays.y_test, test),
    )


def check_enough(data: Data) -> None:
    """Raise ValueError if there are fewer samples to train on than classes."""
    arrays, number = data.arrays, len(data.train)
    if arrays.classes is not None and number < len(arrays.classes):
        raise ValueError(
            f"{arrays.name} has {outputs(arrays.num_outputs, True)}; got "
            f"{counted(number, 'example')} to train on, besides {len(data.validation):,} for "
            f"validation; expected at least {len(arrays.classes):,}, one of each class"
        )


def _arrays(settings: Mapping[str, Any]) -> Arrays:
    data, folder = settings["data"], settings["data_dir"]
    flags = {"target": settings["target"], "task": settings["problem"]}
    options = {name: value for name, value in flags.items() if value is not None}
    if is_table(data):  # its path is whole
        return load(data, **options)
    try:
        return load(data, folder)
    except DownloadError:
        places = " or ".join(str(place) for place in (folder, cache_dir()) if place is not None)
        raise DownloadError(
            f"the files of {data} are not in {places}; get them with: structnet data {data}"
        ) from None


def _drawn(available: int, size: int | None, seed: int, what: str) -> np.ndarray:
    """So many places in random order; all of them for None."""
    if size is not None and size > available:
        raise ValueError(f"there are {available:,} {what} examples; {size:,} were asked for")
    return np.random.default_rng(seed).permutation(available)[:size]


def _samples(x: np.ndarray, y: np.ndarray, places: np.ndarray, augment: Any = None) -> Samples:
    return Samples(torch.from_numpy(x[places]), torch.from_numpy(y[places]), augment=augment)


def shifted_and_mirrored(images: Tensor) -> Tensor:
    """Each image shifted at random by at most 4 pixels, zeros at its edge, and perhaps mirrored.

    Shapes:
        ``[n, channels, height, width]`` -> the same.
    """
    n, channels, height, width = images.shape
    padded = pad(images, (EDGE,) * 4)
    top, left = (torch.randint(2 * EDGE + 1, (n, 1), device=images.device) for _ in range(2))
    rows = top + torch.arange(height, device=images.device)
    columns = left + torch.arange(width, device=images.device)
    mirrored = torch.rand(n, 1, device=images.device) < 0.5
    columns = torch.where(mirrored, columns.flip(1), columns)
    i, c = (torch.arange(size, device=images.device) for size in (n, channels))
    return padded[
        i[:, None, None, None],
        c[None, :, None, None],
        rows[:, None, :, None],
        columns[:, None, None],
    ]
