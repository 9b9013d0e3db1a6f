"""Rows and images of a run, and rows of a user's file that are like them, in the same units."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from structnet.datasets import Arrays, DownloadError, cache_dir, load
from structnet.datasets.catalogue import TABLES
from structnet.datasets.csv_file import Table, TableError, read
from structnet.datasets.table import class_numbers, target_column, with_targets
from structnet.datasets.table_columns import Column, Encoding
from structnet.estimators import Standardizer
from structnet.estimators.counts import scale_of_lists
from structnet.parse.packed import kind_of
from structnet.recipes.protocol import sizes_in_words, sizes_of
from structnet.recipes.recipe import is_file
from structnet.recipes.words import outputs
from structnet.routing import Reading, RoutedTree, Samples

SHOWN = 10  # classes named in an error


@dataclass(frozen=True)
class ArrayData:
    """The samples of a run, and the arrays from which they were made.

    Attributes:
        arrays: the data set.
        train, validation, test: samples; those for validation are held out of the training rows.
        places: places of the test samples among those of the data set, ``[test]``.
    """

    arrays: Arrays
    train: Samples
    validation: Samples
    test: Samples
    places: np.ndarray

    def reading(self, tree: RoutedTree) -> Reading:
        """A tree and the test samples, with the names and units of the file for people to read."""
        arrays, test = self.arrays, self.test
        if arrays.y_scale is not None:
            targets = arrays.y_scale.inverse(test.targets.double().numpy())
            test = replace(test, targets=torch.from_numpy(targets))
        means = None if arrays.y_scale is None else arrays.y_scale.inverse
        names = arrays.classes, arrays.features
        return Reading(tree, test, *names, self._units(), means, arrays.targets)

    def told(self, number: int) -> dict[str, Any]:
        """What :func:`.explain` tells a test sample with: names, units, and its values as read."""
        arrays, read = self.arrays, self.arrays.x_test_read
        original = None if read is None else read[self.places[number]]
        return {"feature_names": arrays.features, "units": self._units(), "original": original}

    def _units(self) -> Callable[[np.ndarray], np.ndarray] | None:
        """The function from inputs to the units of the file; None for images."""
        scale = self.arrays.x_scale
        return scale.inverse if scale is not None and scale.mean.ndim == 1 else None

    def describe(self) -> dict[str, Any]:
        """The description in ``config.json``, with all that a trained tree needs to predict."""
        arrays = self.arrays
        found = {
            "name": arrays.name,
            "split": arrays.split,
            **sizes_of(self),
            "shape": list(self.train.x.shape[1:]),
            "num_outputs": arrays.num_outputs,
        }
        for name in ("classes", "features", "targets"):
            words = getattr(arrays, name)
            found[name] = None if words is None else list(words)
        for name in ("x_scale", "y_scale"):
            found[name] = told_of(getattr(arrays, name))
        return found | ({} if arrays.encoding is None else {"encoding": arrays.encoding.to_list()})

    def in_words(self) -> str:
        """The number and the kind of the examples, and what a table's columns became, in words."""
        arrays = self.arrays
        predicted = outputs(arrays.num_outputs, arrays.classes is not None)
        return (
            f"{sizes_in_words(self)} ({arrays.split}); "
            f"inputs of {' x '.join(map(str, arrays.x_train.shape[1:]))}, {predicted}"
            + lines_on_table(arrays.notes, arrays.encoding)
        )


def lines_on_table(notes: Sequence[str], encoding: Encoding | None) -> str:
    """What is to be known of a table and its columns, each line behind a line break."""
    lines = [*notes, *(() if encoding is None else encoding.lines())]
    return "".join(f"\n{line}" for line in lines)


def load_arrays(data: str, folder: Path | None, **options: Any) -> Arrays:
    """A data set, or a user's file; options that are None have the data set's own values.

    Raises:
        DownloadError: the files of the data set are missing; the message says how to get them.
    """
    given = {name: value for name, value in options.items() if value is not None}
    try:
        return load(data, folder, **given)
    except DownloadError:
        places = " or ".join(str(place) for place in (folder, cache_dir()) if place is not None)
        raise DownloadError(
            f"the files of {data} are not in {places}; get them with: structnet data {data}"
        ) from None


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


# ---- the rows of a user's file


def read_table(name: str, data: Mapping[str, Any] | None = None) -> Table:
    """The table in a file: separated by tabs if its name ends in .tsv, otherwise as it looks.

    Args:
        name: path of the file, or rows that were typed or read from the standard input.
        data: description of the training data, as in ``config.json``, whose columns may have names;
            None if these are the training data.
    """
    typed = not is_file(name, TABLES)
    path, text = ("the input", name) if typed else (name, None)
    tabs = not typed and kind_of(Path(name)) == ".tsv"
    reading = partial(read, path, delimiter="\t" if tabs else None, text=text)
    if data is None:
        return reading()
    encoding = encoding_of(data)
    if not encoding.has_words:
        return reading(known=encoding.names)
    # Rows without a number look like names. A file has names if the run's file had them; typed rows
    # have them if none that the tree needs is lacking.
    if encoding.names is None:
        return reading(False)
    needed = {column.name for column in encoding.columns if column.inputs}
    return reading(not typed or needed <= set(reading(False).rows[0]))


def encoding_of(data: Mapping[str, Any]) -> Encoding:
    """The way in which the columns of a table become numbers.

    Args:
        data: description of the training data, as in ``config.json``; without an encoding, as for
            images and in older versions, all columns are numbers.
    """
    if data.get("encoding") is not None:
        return Encoding.from_list(data["encoding"])
    names = data["features"] or [None] * math.prod(data["shape"])
    return Encoding(tuple(Column(place, name) for place, name in enumerate(names, 1)))


def inputs(table: Table, data: Mapping[str, Any], target: int | None = None) -> Tensor:
    """The features of each row, scaled like those in training.

    Args:
        table: the file.
        data: description of the training data, as in ``config.json``.
        target: column to predict; None to leave one of its name out, if there is one.

    Shapes:
        ``[rows, *shape]``, float32.

    Raises:
        TableError: a column is missing, or a field among numbers is none.
    """
    encoding = encoding_of(data)
    if target is None:
        others = set(data["targets"] or ()) - set(encoding.names or ())
        target = next((i for i, name in enumerate(table.names or ()) if name in others), None)
    values = encoding(table, columns(table, data, target))
    values = values.reshape(-1, *data["shape"])
    return torch.from_numpy(scale_of(data["x_scale"])(values).astype(np.float32))


def labelled_rows(name: str, data: Mapping[str, Any], target: str | None) -> Samples:
    """The rows of a file with their targets; those without are left out, which is printed.

    Args:
        name: the file, which has the columns of the table that the tree was trained on.
        data: description of the training data, as in ``config.json``.
        target: column that the tree was trained to predict, as the user gave it.

    Raises:
        TableError: a column is missing, a field among numbers is none, no row has a target, or a
            class is unknown to the tree.
    """
    table, place = table_with_targets(name, data, target)
    x = inputs(table, data, place)
    if data["classes"] is not None:
        return Samples(x, torch.from_numpy(classes(table, place, data["classes"])))
    y = scale_of(data["y_scale"])(table.numbers([place])).astype(np.float32)
    return Samples(x, torch.from_numpy(y))


def table_with_targets(name: str, data: Mapping[str, Any], target: str | None) -> tuple[Table, int]:
    """The rows of a file that have a target, and its column; how many have none is printed.

    Args:
        name, data, target: arguments of :func:`labelled_rows`.

    Raises:
        TableError: there is no column to predict, or no row has a target.
    """
    table = read_table(name, data)
    place = target_place(table, target, data)
    found, left_out = with_targets(table, place)
    print(*[f"{line}, in {name}\n" for line in left_out], sep="", end="")
    return found, place


def columns(table: Table, data: Mapping[str, Any], target: int | None = None) -> list[int | None]:
    """The columns of the features in a file: by name, or else all columns but the target.

    One that becomes no numbers is None if the file does not have it.

    Raises:
        TableError: a column is missing, or several have the same name.
    """
    encoding = encoding_of(data)
    features, size = encoding.names, len(encoding.columns)
    places = [i for i in range(table.num_columns) if i != target]
    if not features or (table.names and table.names[0] not in features):
        places = table.features(target)
    names = tuple(table.names[i] for i in places) if table.names else None
    if names and features and names != features:
        for column in encoding.columns:
            name = column.name
            if column.inputs and name not in names:
                raise TableError(f"{table.path} has no column {name!r}, a feature of the tree")
            if column.inputs and (names.count(name) > 1 or features.count(name) > 1):
                raise TableError(
                    f"{table.path}: there are several columns {name!r}, here or among the features "
                    "of the tree; expected one, or the features alone, in the tree's order"
                )
        return [places[names.index(name)] if name in names else None for name in features]
    if len(places) != size:
        more = "" if target is None else " and the column to predict"
        raise TableError(
            f"{table.path} has {table.num_columns} columns; the tree takes {size} features{more}, "
            "in the order of its data"
        )
    return list(places)


def told_of(scale: Standardizer | None) -> dict[str, Any] | None:
    """The description of a scale; only one that bends columns or takes logarithms has ``bends``."""
    if scale is None:
        return None
    mean, sd, *bends = scale.to_lists()
    return {"mean": mean, "sd": sd} | ({"bends": bends} if bends else {})


def scale_of(described: Mapping[str, Any]) -> Standardizer:
    """The scale described in ``config.json``."""
    lists = [described["mean"], described["sd"], *described.get("bends", [])]
    scale = scale_of_lists(lists)
    assert scale is not None  # as there are lists
    return scale


def target_place(table: Table, target: str | None, data: Mapping[str, Any]) -> int:
    """The column to predict: by name, or else by its place in the file of the training.

    Raises:
        TableError: there is no such column, or several have the name.
    """
    if not (table.names and data["targets"]):
        return target_column(table, target)
    (name,) = data["targets"]
    if table.names.count(name) != 1:
        found = "several columns" if name in table.names else "no column"
        raise TableError(
            f"{table.path} has {found} {name!r}, which the tree predicts; expected one"
        )
    return table.names.index(name)


def classes(table: Table, column: int, names: Sequence[str]) -> np.ndarray:
    """The numbers of the classes in a column, ``[rows]``; a class unknown to the tree is an error.

    Raises:
        TableError: the tree does not know a class.
    """
    known = ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
    return class_numbers(table, column, names, "the tree has", f"; expected one of {known}")
