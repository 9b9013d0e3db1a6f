"""The rows of a user's file as a trained tree takes them, with or without what is to predict."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from structnet.cli.names import is_table
from structnet.cli.neural_tree.run import TreeRun
from structnet.datasets import Scale
from structnet.datasets.csv_file import Table, TableError, read
from structnet.datasets.table import class_numbers, target_column
from structnet.routing import Samples

SHOWN = 10  # classes that are named


def read_table(name: str) -> Table:
    """A file whose columns are separated by tabs if it is called so, by commas otherwise."""
    return read(name, None, "\t" if name.lower().endswith(".tsv") else ",")


def inputs(table: Table, data: Mapping[str, Any], target: int | None = None) -> Tensor:
    """The features of each row, scaled as those of the training.

    Args:
        table: the file.
        data: what the tree was trained on, as ``config.json`` describes it.
        target: the column that is to predict, if there is one.

    Shapes:
        ``[rows, *shape]``, float32.

    Raises:
        TableError: a column is missing, or a field is no number.
    """
    values = table.numbers(columns(table, data, target)).reshape(-1, *data["shape"])
    return torch.from_numpy(scale_of(data["x_scale"]).apply(values))


def labelled(name: str, run: TreeRun) -> Samples:
    """The rows of a file that has what a run's tree predicts, to compare with.

    Args:
        name: of the file; it has the columns of the table that the tree was trained on.
        run: of a tree for rows of a table.

    Raises:
        TableError: a column is missing, a field is no number, or a class is none of the tree's.
        ValueError: the tree was trained on another kind of data, or the file is no table.
    """
    settings, data = run.config["settings"], run.config["data"]
    if not is_table(settings["data"]):
        raise ValueError(
            f"--data is for runs on a table, FILE.csv; {run} was trained on {settings['data']} and "
            "is measured on its test data"
        )
    if not is_table(name):
        raise ValueError(f"--data must be FILE.csv or FILE.tsv for {run}; got {name!r}")
    table = read_table(name)
    target = _target(table, settings, data)
    x = inputs(table, data, target)
    if data["classes"] is not None:
        return Samples(x, torch.from_numpy(_classes(table, target, data["classes"])))
    y = scale_of(data["y_scale"]).apply(table.numbers([target]))
    return Samples(x, torch.from_numpy(y))


def columns(table: Table, data: Mapping[str, Any], target: int | None = None) -> list[int]:
    """The columns of a file that hold the features: those of their names, or all but the target."""
    features, size = data["features"], math.prod(data["shape"])
    places = [i for i in range(table.num_columns) if i != target]
    names = [table.names[i] for i in places] if table.names else None
    if names and features and names != list(features):
        for name in features:
            if name not in names:
                raise TableError(f"{table.path} has no column {name!r}, a feature of the tree")
        several = [n for n in features if names.count(n) > 1 or features.count(n) > 1]
        if several:
            raise TableError(
                f"{table.path}: there are several columns {several[0]!r}, here or among the "
                "features of the tree; expected one, or the features alone, in the tree's order"
            )
        return [places[names.index(name)] for name in features]
    if len(places) != size:
        more = "" if target is None else " and the column to predict"
        raise TableError(
            f"{table.path} has {table.num_columns} columns; the tree takes {size} features{more}, "
            "in the order of its data"
        )
    return places


def scale_of(described: Mapping[str, Any]) -> Scale:
    """A scale as ``config.json`` has it."""
    return Scale(**{name: np.array(values) for name, values in described.items()})


def _target(table: Table, settings: Mapping[str, Any], data: Mapping[str, Any]) -> int:
    """The column to predict: that of its name, or that of its place in the training's file."""
    if not (table.names and data["targets"]):
        return target_column(table, settings["target"])
    (name,) = data["targets"]
    if table.names.count(name) != 1:
        found = "several columns" if name in table.names else "no column"
        raise TableError(
            f"{table.path} has {found} {name!r}, which the tree predicts; expected one"
        )
    return table.names.index(name)


def _classes(table: Table, column: int, names: Sequence[str]) -> np.ndarray:
    known = ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
    return class_numbers(table, column, names, "the tree has", f"; expected one of {known}")
