"""Rows and images of a run, and the scales that its rows have."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from sklearn.base import BaseEstimator

from structnet.datasets import Arrays, DownloadError, cache_dir, load
from structnet.datasets.catalogue import SPARSE, TABLES
from structnet.datasets.csv_file import is_number
from structnet.estimators.scale import Standardizer
from structnet.recipes.protocol import sizes_in_words, sizes_of
from structnet.recipes.recipe import is_file
from structnet.recipes.run_settings import RowsRunSettings
from structnet.recipes.words import outputs
from structnet.routing import Samples
from structnet.routing.arrivals import arrivals_of
from structnet.routing.samples import stacked

E = TypeVar("E", bound=BaseEstimator)
SHOWN = 10  # columns named in a line
WHOLE = re.compile(r"0|-?[1-9]\d{0,17}", re.ASCII)  # a whole number as Python writes it, int64


@dataclass(frozen=True)
class ArrayData:
    """The samples of a run, and the arrays from which they were made.

    Attributes:
        arrays: the data set.
        train, validation, test: samples; those for validation are held out of the training rows.
        places: places of the test samples among those of the data set, ``[test]``.
        columns: columns of the data set that the samples have, ``[kept]``, ascending; None for all.
        strength: strength of the penalty that was chosen with the columns; None if there is none.
    """

    arrays: Arrays
    train: Samples
    validation: Samples
    test: Samples
    places: np.ndarray
    columns: np.ndarray | None = None
    strength: float | None = None

    @property
    def x_scale(self) -> Standardizer | None:
        """The scaler of the samples' inputs; None if they are not scaled."""
        scale = self.arrays.x_scale
        return scale if scale is None or self.columns is None else scale.taking(self.columns)

    def everything(self) -> Samples:
        """The samples for training, followed by those that were held out of the training rows."""
        train, others = self.train, self.validation
        if not len(others):
            return train
        targets = torch.cat([train.targets, others.targets])
        return Samples(stacked(train.x, others.x), targets, augment=train.augment)

    def as_read(self, number: int) -> Any:
        """A test sample as it was read, before it was scaled; None if that is not known."""
        read = self.arrays.x_test_read
        if read is None:
            return None
        row = read[self.places[number]]
        return row if self.columns is None else row[self.columns]

    def estimator(
        self, kind: type[E], parameters: Mapping[str, Any], seed: int, members: Sequence[Any]
    ) -> E:
        """An estimator as if fitted to the rows as they were read, in a data frame if named.

        So it also knows how many of the training rows come to each node of its first tree.

        Args:
            kind: class of the estimator.
            parameters: values of its parameters, among others.
            seed: seed of the run.
            members: trained trees, each the ``tree`` of a member.
        """
        arrays, model = self.arrays, kind()
        shape = arrays.x_train.shape[1:]
        known = {"random_state": seed, "standardize": arrays.x_scale is not None, **parameters}
        model.set_params(**{name: known[name] for name in model.get_params() if name in known})
        fitted: Any = model
        fitted.members_ = list(members)
        fitted.n_features_in_, fitted.sample_shape_, fitted.seed_ = shape[0], shape, seed
        if arrays.features is not None:
            fitted.feature_names_in_ = np.array(arrays.features, dtype=object)
        seen = self.everything()
        y = seen.targets.numpy()
        if arrays.classes is None:
            fitted.target_shape_ = () if arrays.num_outputs == 1 else (arrays.num_outputs,)
            if arrays.num_outputs > 1:
                fitted.target_names_ = arrays.targets
            y = y if arrays.y_scale is None else arrays.y_scale.inverse(y.astype(np.float64))
        else:
            names = np.array(arrays.classes)
            numbers = all(map(WHOLE.fullmatch, arrays.classes))
            fitted.classes_ = names.astype(np.int64) if numbers else names  # as fit keeps them
        fitted.arrivals_ = arrivals_of(members[0].tree, seen.x, y)._asdict()
        return model

    def describe(self) -> dict[str, Any]:
        """The description in ``config.json``, with all that a trained tree needs to predict."""
        arrays = self.arrays
        description = {
            "name": arrays.name,
            "split": arrays.split,
            **sizes_of(self),
            "shape": list(self.train.x.shape[1:]),
            "num_outputs": arrays.num_outputs,
        }
        for name, words in (
            ("classes", arrays.classes),
            ("features", self._features()),
            ("targets", arrays.targets),
        ):
            description[name] = None if words is None else list(words)
        for name, scale in (("x_scale", self.x_scale), ("y_scale", arrays.y_scale)):
            description[name] = scale and scale.to_lists()
        if self.columns is not None:
            description["columns"] = self.columns.tolist()
        if arrays.encoding is not None:
            description["encoding"] = arrays.encoding.to_list()
        if arrays.written is not None:
            description["written"] = list(arrays.written)
        return description

    def in_words(self) -> str:
        """The number and the kind of the examples, and what a table's columns became, in words."""
        words = kind_in_words(sizes_in_words(self), self.arrays)
        if self.columns is None:
            return words
        some, number = [*map(str, self._features() or self.columns + 1)], len(self.columns)
        more = f" and {number - SHOWN:,} more" * (number > SHOWN)
        every = f"{self.arrays.x_train.shape[1]:,} columns"
        return (
            f"{words}\nof these {every}, the tree reads {number:,}: "
            f"{', '.join(some[:SHOWN])}{more}; the others only add noise"
        )

    def _features(self) -> Sequence[str] | None:
        """The names of the columns that the samples have; None if they have none."""
        names = self.arrays.features
        return names if names is None or self.columns is None else [names[i] for i in self.columns]


def kind_in_words(sizes: str, arrays: Arrays) -> str:
    """The kind of the examples behind their numbers; what is to be known of a table on own lines.

    Args:
        sizes: the numbers of examples, in words.
        arrays: the data set.
    """
    shape = " x ".join(map(str, arrays.x_train.shape[1:]))
    predicted = outputs(arrays.num_outputs, arrays.classes is not None)
    table = [*arrays.notes, *(() if arrays.encoding is None else arrays.encoding.lines())]
    return "\n".join([f"{sizes} ({arrays.split}); inputs of {shape}, {predicted}", *table])


def load_arrays(data: str, folder: Path | None, **options: Any) -> Arrays:
    """A data set, or a user's file; options that are None have the data set's own values.

    Raises:
        DownloadError: the files of the data set are missing; the message says how to get them.
    """
    options_given = {name: value for name, value in options.items() if value is not None}
    try:
        return load(data, folder, **options_given)
    except DownloadError:
        places = " or ".join(str(place) for place in (folder, cache_dir()) if place is not None)
        raise DownloadError(
            f"the files of {data} are not in {places}; get them with: structnet data {data}"
        ) from None


def load_classes(settings: RowsRunSettings) -> Arrays:
    """The data set, or the user's file, of a model that predicts classes; a file's may be numbers.

    Raises:
        DownloadError: the files of the data set are missing.
        ValueError: the file has numbers to predict.
    """
    data, folder = settings.data, settings.place.data_dir
    if not is_file(data, TABLES + SPARSE):
        return load_arrays(data, folder)
    arrays = load_arrays(data, folder, task="classification", **settings.rows.options())
    names = arrays.classes or ()
    if all(map(is_number, names)) and any(not float(name).is_integer() for name in names):
        other = " (--target names another column)" if is_file(data, TABLES) else ""
        raise ValueError(f"{data} has numbers to predict; expected classes{other}")
    return arrays


def drawn(available: int, size: int | None, seed: int, what: str) -> np.ndarray:
    """The places of ``size`` examples drawn at random, ``[size]``; of all examples for None.

    Args:
        available: number of examples.
        size: number of those to draw.
        seed: seed of the choice.
        what: name of the examples in the error, in the plural.

    Raises:
        ValueError: there are fewer examples.
    """
    check_size(available, size, what)
    return np.random.default_rng(seed).permutation(available)[:size]


def check_size(available: int, size: int | None, what: str) -> None:
    """Refuses a size larger than the number of examples.

    Args:
        available: number of examples.
        size: number of those that are wanted; None for all.
        what: name of the examples in the error, in the plural.

    Raises:
        ValueError: there are fewer examples.
    """
    if size is not None and size > available:
        raise ValueError(f"there are only {available:,} {what}; got a size of {size:,}")
