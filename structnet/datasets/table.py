"""The user's own tables: CSV files of features and a target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from shlex import quote

import numpy as np

from structnet.checks import check_one_of
from structnet.datasets import csv_file
from structnet.datasets.arrays import TASKS, Arrays, Task, set_aside
from structnet.datasets.column_kinds import check_written, style_in
from structnet.datasets.csv_file import Table, TableError
from structnet.datasets.table_columns import Encoding
from structnet.datasets.written_numbers import Style
from structnet.parse.packed import stem_of

MAX_CLASSES = 20  # different whole numbers at most that are taken for classes by default
NUMBERED = 20  # least number of rows whose different whole numbers are no coincidence


def load(
    path: str | Path,
    target: str | int | None = None,
    task: Task | None = None,
    *,
    header: bool | None = None,
    delimiter: str | None = None,
    without: Sequence[str | int] = (),
    test: str | Path | None = None,
    test_fraction: float = 0.2,
    seed: int = 0,
    bend: bool = False,
) -> Arrays:
    """Features and target from a CSV file, scaled by its training rows.

    Args:
        path: path of the file. Its columns become numbers as :mod:`.table_columns` says. A first
            column without a name holds labels of rows, and is no feature.
        target: name of the column to predict, or its number from 1; by default the last column.
            Rows that have nothing in it are left out, also those of the test file.
        task: "classification" or "regression"; by default classification if the target has text, or
            has whole numbers, at most 20 different ones that occur at least twice on average.
        header, delimiter: arguments of :func:`structnet.datasets.csv_file.read`.
        without: names of columns that are no features, or their numbers from 1.
        test: path of a file of test rows with the same columns; None to draw them from the rows.
        test_fraction, seed: share and seed of that draw, from each class or, for regression, from
            all rows. The only row of a class is for training.
        bend: True to bend columns with heavy tails too, as estimators of neural trees do.

    Shapes:
        x ``[N, d]``; y ``[N]`` classes or ``[N, 1]`` targets.

    Raises:
        TableError: a field among numbers is none, no row has a target, rows have different lengths,
            no column becomes numbers, all rows have the same class, classes are numbers that occur
            less than twice on average, the test file has other columns or classes, or text is among
            more than 20 different values of a target whose task is not given. The message names the
            line and the column.
        ValueError: there is no such column, there are too few rows to split, or another argument is
            wrong.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> rows = "height,width,species\\n" + "3.5,1,oak\\n4.5,2,elm\\n" * 10
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "trees.csv")
        ...     _ = path.write_text(rows)
        ...     data = load(path)
        >>> data.task, data.classes, data.x_train.shape, data.x_test.shape
        ('classification', ('elm', 'oak'), (16, 2), (4, 2))
    """
    table = csv_file.read(path, header, delimiter)
    column = target_column(table, target)
    table, left_out = with_targets(table, column)
    texts = table.texts(column)
    style = style_in(table, column, np.ones(len(texts), bool))
    task = task or _guess(table, column, texts, style)
    check_one_of("task", task, TASKS)
    other = None
    if test is not None:
        other, more = with_targets(_same_columns(table, test, delimiter), column)
        left_out += tuple(f"{line}, in {other.path}" for line in more)
    classes = class_names(texts) if task == "classification" else None
    if classes and 2 * len(classes) > len(texts) and all(map(csv_file.is_number, classes)):
        raise TableError(
            f"{path} has numbers to predict, {len(classes):,} different ones in {len(texts):,} "
            f"rows of {_title(table, column)}; expected classes, which occur twice on average"
        )
    if classes is None and style is not None:
        check_written(table, column, style)
    used = feature_columns(table, column, without)
    y, train = _targets(table, column, classes, style), np.arange(len(table.rows))
    if other is None:
        strata = y if classes else None
        name = "; ".join([str(table.path), *left_out])
        train, drawn, split = set_aside(name, len(y), test_fraction, seed, strata)
    encoding = Encoding.learned(table, used, train)
    x = encoding(table, used)
    telling = encoding.without_idle_dates(x[train], y[train])
    if telling is not encoding:
        encoding, x = telling, telling(table, used)
    if other is not None:
        split = f"{other.path} for testing"
        x_test, y_test = encoding(other, used), _targets(other, column, classes, style)
    else:
        x, x_test, y, y_test = x[train], x[drawn], y[train], y[drawn]
    if classes and len(classes) < 2:
        message = f"expected at least two classes in the column; every row has {texts[0]!r}"
        raise table.error(0, column, message)
    names = table.names
    return Arrays.scaled(
        (x, y),
        (x_test, y_test),
        classes,
        bend,
        name=stem_of(table.path),
        split=split,
        files=(table.path,) if other is None else (table.path, other.path),
        features=encoding.features,
        encoding=encoding,
        targets=names and (names[column],),
        written=None if classes else style,
        notes=(*notes_on(table, column, target, used), *left_out),
    )


def with_targets(table: Table, column: int) -> tuple[Table, tuple[str, ...]]:
    """The rows that have a target, and a line on how many have none, if any.

    Args:
        table: fields of the file.
        column: number of the column to predict, from 0.

    Raises:
        TableError: no row has a target.
    """
    complete, gaps = table.without_gaps(column)
    if not complete.rows:
        raise TableError(
            f"{table.path}: {_title(table, column)}, the column to predict, has no value in any row"
        )
    words = ", ".join(repr(field) for field in dict.fromkeys(gaps) if field)
    rows = f"{len(gaps):,} row{'s' * (len(gaps) > 1)} without a target"
    return complete, (f"left out: {rows}{f' ({words})' * bool(words)}",) if gaps else ()


def notes_on(
    table: Table, column: int, target: str | int | None, used: Sequence[int]
) -> Iterator[str]:
    """What a reader should know of a table's columns: which one is predicted, which may be ids.

    Columns like ids are named if there are others. They have different whole numbers that rise from
    row to row, or are at least half of those between the least and the largest.

    Args:
        table: fields of the file.
        column: number of the column to predict, from 0.
        target: the same as the user gave it; None if it is the last by default.
        used: numbers of the features' columns, from 0.
    """
    last = "" if target is not None else " (the last column; --target names another)"
    yield f"target: {_title(table, column)}{last}"
    like_ids = [each for each in used if _is_like_ids(table.parsed(each))]
    if like_ids and len(like_ids) < len(used):
        names = ", ".join(_title(table, each) for each in like_ids)
        flag = quote(",".join(map(table.known_as, like_ids)))
        out = f"--without {flag} leaves {'it' if len(like_ids) == 1 else 'them'} out"
        yield f"all values different, as of ids: {names} ({out})"


def _title(table: Table, column: int) -> str:
    """The name of a column in quotes, or its number from 1."""
    name = table.names and table.names[column]
    return repr(name) if name else f"column {column + 1}"


def _is_like_ids(values: np.ndarray) -> bool:
    """Whether numbers look like ids, see :func:`notes_on`; NaN is none. ``[rows]``."""
    if len(values) < NUMBERED or not np.array_equal(values, np.floor(values)):
        return False
    steps = np.diff(np.sort(values))
    dense = len(values) >= (values.max() - values.min() + 1) / 2
    return bool(steps.all() and (dense or (np.diff(values) > 0).all()))


def target_column(table: Table, target: str | int | None = None) -> int:
    """The number of the target's column, from 0.

    Args:
        table: table of at least two columns.
        target: name from the header, or number from 1, as an int or as text; None for the last.

    Raises:
        TableError: there is only one column.
        ValueError: there is no such column, or several have that name.
    """
    count = table.num_columns
    if count < 2:
        raise TableError(
            f"{table.path} has one column; a table needs a feature and a target, and a line of "
            "trees LABEL<TAB>TREE (is the delimiter right?)"
        )
    if target is None:
        return count - 1
    names = table.names or ()
    if isinstance(target, str) and target in names:
        if names.count(target) > 1:
            raise ValueError(
                f"{table.path} has {names.count(target)} columns {target!r}; give the number of one"
            )
        return names.index(target)
    text = str(target)
    if text.isascii() and text.isdigit() and 1 <= int(text) <= count:
        return int(text) - 1
    known = f" named {', '.join(map(repr, names))}" if names else ""
    raise ValueError(f"{table.path} has no column {target!r}; it has {count} columns{known}")


def _guess(table: Table, column: int, texts: Sequence[str], style: Style | None) -> Task:
    """The task that the fields of the target suggest."""
    values = table.parsed(column, style)
    numeric = (~np.isnan(values)).tolist()
    distinct = set(texts)
    if not all(numeric):
        if any(numeric) and len(distinct) > MAX_CLASSES:
            # One misprint in a column of measurements must not make 1,000 classes of it.
            row = numeric.index(False)
            raise table.error(
                row,
                column,
                f"expected a number, as in other rows; got {texts[row]!r} (give "
                "task='classification' if these are classes)",
            )
        return "classification"
    return "classification" if few_whole_numbers(values.tolist()) else "regression"


def few_whole_numbers(texts: Sequence[str | float]) -> bool:
    """True if numbers look like classes: whole, at most 20 different ones, repeated on average.

    Example:
        >>> few_whole_numbers(["1", "2", "1", "2.0"]), few_whole_numbers(["1", "2", "3"])
        (True, False)
    """
    values = {float(text) for text in texts}  # 1 and 1.0 are one value
    few = len(values) <= min(MAX_CLASSES, len(texts) // 2)
    return few and all(value.is_integer() for value in values)


def class_names(texts: Sequence[str]) -> tuple[str, ...]:
    """The names of the classes: numbers in ascending order, or text in alphabetical order."""
    distinct = set(texts)
    if all(map(csv_file.is_number, distinct)):
        return tuple(f"{value:.17g}" for value in sorted({float(text) for text in distinct}))
    return tuple(sorted(distinct))


def _targets(
    table: Table, column: int, classes: tuple[str, ...] | None, style: Style | None
) -> np.ndarray:
    if classes is None:
        return table.numbers([column], style)
    texts = table.texts(column)
    codes = class_numbers(texts, classes)
    if codes.min() < 0:
        row = int(codes.argmin())
        raise table.error(row, column, f"the training rows have no class {texts[row]!r}")
    return codes


def class_numbers(texts: Sequence[str], classes: Sequence[str]) -> np.ndarray:
    """The number of each class, -1 if it is not known; numbers are compared by value.

    Args:
        texts: classes.
        classes: names of the known classes.

    Shapes:
        ``[texts]``, int64.

    Example:
        >>> class_numbers(["7.0", "8", "x"], ["6", "7"]).tolist()
        [1, -1, -1]
    """
    numeric = all(map(csv_file.is_number, classes))
    places = {float(name) if numeric else name: i for i, name in enumerate(classes)}
    keys = (float(text) if numeric and csv_file.is_number(text) else text for text in texts)
    return np.array([places.get(key, -1) for key in keys], np.int64)


def feature_columns(table: Table, target: int, without: Sequence[str | int]) -> list[int]:
    """The numbers of the columns that are features, from 0.

    Args:
        table: fields of the file.
        target: number of the column to predict, from 0.
        without: names of columns that are no features, or their numbers from 1.

    Raises:
        ValueError: there is no such column, it is to be predicted, or none is left.
    """
    left_out = {target_column(table, each) for each in without}
    if target in left_out:
        name = table.names[target] if table.names else target + 1
        raise ValueError(f"{table.path}: column {name!r} is to be predicted and cannot be left out")
    used = [column for column in table.features(target) if column not in left_out]
    if not used:
        raise ValueError(f"{table.path}: all columns are left out; expected at least one feature")
    return used


def _same_columns(table: Table, path: str | Path, delimiter: str | None) -> Table:
    """The test rows of a file, whose columns and header must be those of the training rows."""
    other = csv_file.read(path, table.names is not None, delimiter)
    if other.num_columns != table.num_columns or other.names != table.names:
        raise TableError(
            f"{other.path}, line 1: the columns are not those of {table.path}; expected "
            f"{table.names or table.num_columns}, got {other.names or other.num_columns}"
        )
    return other
