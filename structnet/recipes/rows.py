"""Rows of a user's file that are like those of a run, in the same units, for all families.

Each function takes the description of the run's data, as in ``config.json``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_matrix

from structnet.datasets.catalogue import SPARSE, TABLES
from structnet.datasets.csv_file import Table, TableError, read
from structnet.datasets.svmlight_file import read as read_sparse
from structnet.datasets.table import class_numbers, target_column, with_targets
from structnet.datasets.table_columns import Column, Encoding, style_from
from structnet.estimators.counts import scale_of_lists
from structnet.estimators.inputs import in_single
from structnet.parse.packed import kind_of
from structnet.recipes.recipe import SHORT, is_file, one_file
from structnet.recipes.run_settings import RowsRunSettings
from structnet.recipes.words import counted
from structnet.routing import Samples

SHOWN = 10  # classes named in a line


def examples_in(file: str, settings: RowsRunSettings, data: Mapping[str, Any]) -> Samples:
    """The rows of a file of the kind that a run learned from, with their targets.

    Rows without a target are left out, and those of a class that the run did not learn, whose
    number is -1, count as missed; both are printed.

    Args:
        file: path of the file.
        settings: settings of the run.
        data: description of its data.

    Raises:
        TableError: a column is missing, a field among numbers is none, no row has a target, or no
            class is known.
        ValueError: the file is of another kind, or the run did not learn from a file.
    """
    kinds = {"FILE.csv": TABLES, "FILE.svm": SPARSE}
    kind = next((kind for kind, ends in kinds.items() if is_file(settings.data, ends)), None)
    if kind is None:
        raise ValueError(
            f"--data is for runs on a file; this one was trained on {settings.data} and is "
            "measured on its test data"
        )
    if not is_file(file, kinds[kind]):
        raise ValueError(f"--data must be {kind}, like {settings.data}; got {file!r}")
    if kind == "FILE.svm":
        x, labels = _sparse(file, settings, data)
        return Samples(x, _targets(file, [f"{label:.17g}" for label in labels], data))
    table = read_table(file, data)
    column = target_place(table, settings.rows.target, data)
    table, left_out = with_targets(table, column)
    print(*[f"{line}, in {file}\n" for line in left_out], sep="", end="")
    x = inputs(table, data, column)
    if data["classes"] is not None:
        return Samples(x, _targets(file, table.texts(column), data))
    y = _scaled(table.numbers([column], style_from(data.get("written"))), data["y_scale"])
    return Samples(x, torch.from_numpy(y))


def rows_in(texts: Sequence[str], settings: RowsRunSettings, data: Mapping[str, Any]) -> Any:
    """The rows of a file to predict for, or typed ones; None for numbers of examples.

    Args:
        texts: words of the command.
        settings: settings of the run.
        data: description of its data.

    Shapes:
        dense ``[rows, *shape]``, or sparse ``[rows, columns]``, float32.

    Raises:
        TableError: a column is missing, or a field among numbers is none.
        ValueError: there is more than one file, or it is of another kind.
    """
    file = one_file(texts, TABLES + SPARSE)
    if file is None:
        return None
    sparse = is_file(settings.data, SPARSE)
    if is_file(file, SPARSE) != sparse:
        raise ValueError(
            f"expected {'FILE.svm' if sparse else 'FILE.csv'}, as the run was trained on "
            f"{settings.data}; got {SHORT.repr(file)}"
        )
    if sparse:
        return _sparse(file, settings, data)[0]
    return inputs(read_table(file, data), data)


def _sparse(
    file: str, settings: RowsRunSettings, data: Mapping[str, Any]
) -> tuple[csr_matrix, np.ndarray]:
    """Sparse rows, scaled, and their labels; columns that the run does not know are left out."""
    # The file that the run learned from also tells where columns are numbered from.
    ((x, labels),) = read_sparse([Path(file)], Path(settings.data))
    (width,) = data["shape"]
    if unknown := len(np.unique(x.indices[x.indices >= width])):
        print(f"{file}: {counted(unknown, 'column')} that the tree does not know are left out")
    x.resize((x.shape[0], width))
    return _scaled(x, data["x_scale"]), labels


def _scaled(values: Any, lists: list[list] | None) -> Any:
    """Inputs or targets as the run takes them, float32. ``[rows, *shape] -> [rows, *shape]``."""
    scale = scale_of_lists(lists)
    return in_single(values if scale is None else scale(values))


def _targets(file: str, texts: Sequence[str], data: Mapping[str, Any]) -> torch.Tensor:
    """The numbers of the classes, -1 for those that the run did not learn, ``[rows]``."""
    targets = class_numbers(texts, data["classes"])
    unknown = targets < 0
    names = list(dict.fromkeys(np.array(texts, object)[unknown]))
    if unknown.all():
        raise TableError(
            f"{file}: the tree has no class {_listed(names)}; expected one of "
            f"{_listed(data['classes'])}"
        )
    if names:
        number, of = counted(int(unknown.sum()), "row"), _listed(names)
        print(f"{file}: {number} of classes that the tree does not know ({of}) count as missed")
    return torch.from_numpy(targets)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + ", ..." * (len(names) > SHOWN)


# ---- tables


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
    needed = {column.name for column in _needed(data)}
    return reading(not typed or needed <= set(reading(False).rows[0]))


def encoding_of(data: Mapping[str, Any]) -> Encoding:
    """The way in which the columns of a table become numbers.

    Args:
        data: description of the training data, as in ``config.json``; without an encoding, as for
            images, all columns are numbers.
    """
    if "encoding" in data:
        return Encoding.from_list(data["encoding"])
    names = data["features"] or [None] * math.prod(data["shape"])
    return Encoding(tuple(Column(place, name) for place, name in enumerate(names, 1)))


def inputs(table: Table, data: Mapping[str, Any], target: int | None = None) -> np.ndarray:
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
    if "columns" in data:
        values = values[:, data["columns"]]
    values = values.reshape(-1, *data["shape"])
    return _scaled(values, data["x_scale"])


def columns(table: Table, data: Mapping[str, Any], target: int | None = None) -> list[int | None]:
    """The columns of the features in a file: by name, or else all columns but the target.

    One of which the tree reads no number is None.

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
        for column in _needed(data):
            name = column.name
            if name not in names:
                raise TableError(
                    f"{table.path} has no column {name!r}, a feature of the tree; expected "
                    f"{_needed_names(data)}; got {SHORT.repr(_listed(names))}"
                )
            if names.count(name) > 1 or features.count(name) > 1:
                raise TableError(
                    f"{table.path}: there are several columns {name!r}, here or among the features "
                    "of the tree; expected one, or the features alone, in the tree's order"
                )
        places = [places[names.index(name)] if name in names else -1 for name in features]
    elif len(places) != size:
        more = "" if target is None else " and the column to predict"
        expected = f"{counted(size, 'feature')}{more}, in the order of its data"
        if features:
            first = table.names or table.rows[0]
            expected += f": {_listed(features)}; or a first row with the names "
            expected += f"{_needed_names(data)}; got {SHORT.repr(_listed(first))}"
        raise TableError(f"{table.path} has {table.num_columns} columns; the tree takes {expected}")
    needed = {column.place for column in _needed(data)}  # what is not read may be anything
    pairs = zip(encoding.columns, places, strict=True)
    return [place if column.place in needed else None for column, place in pairs]


def _needed(data: Mapping[str, Any]) -> list[Column]:
    """The columns that rows must have, of which the tree reads some number."""
    of_each = [column for column in encoding_of(data).columns for _ in column.inputs]
    read = [of_each[i] for i in data["columns"]] if "columns" in data else of_each
    return list({column.place: column for column in read}.values())


def _needed_names(data: Mapping[str, Any]) -> str:
    return _listed([str(column.name) for column in _needed(data)])


def target_place(table: Table, target: str | None, data: Mapping[str, Any]) -> int:
    """The column to predict: by name, or else by its place in the file of the training.

    Raises:
        TableError: there is no such column, or several have the name.
    """
    if not (table.names and data["targets"]):
        return target_column(table, target)
    (name,) = data["targets"]
    if table.names.count(name) != 1:
        number = "several columns" if name in table.names else "no column"
        raise TableError(
            f"{table.path} has {number} {name!r}, which the tree predicts; expected one"
        )
    return table.names.index(name)
