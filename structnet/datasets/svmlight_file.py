"""Reads sparse rows in the format of svmlight and libsvm; errors name the line.

A line has a label, which is a number, and the columns that are not 0: ``7 3:0.5 17:1``. A comment
begins with ``#``. Columns ascend; they count from 1 or, if there is a column 0, from 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix

from structnet.checks import check_one_of
from structnet.datasets.arrays import TASKS, Arrays, Task, set_aside
from structnet.datasets.csv_file import TableError, number
from structnet.parse.packed import opening, stem_of


def load(
    path: str | Path,
    task: Task | None = None,
    *,
    test: str | Path | None = None,
    test_fraction: float = 0.2,
    seed: int = 0,
    bend: bool = False,
) -> Arrays:
    """Sparse rows and their labels, scaled so that the entries other than 0 have mean square 1.

    Columns of far larger numbers have a scale of their own.

    Args:
        path: path of the file; .gz and .bz2 files are decompressed.
        task: "classification" or "regression"; by default classification if all labels are whole
            numbers.
        test: path of a file of test rows; None to draw them from the rows.
        test_fraction, seed: share and seed of that draw, from each class or, for regression, from
            all rows. The only row of a class is for training.
        bend: True to take logarithms of counts first, as estimators of softmax trees do.

    Shapes:
        x ``[N, d]``, CSR, float32; y ``[N]`` classes or ``[N, 1]`` targets.

    Raises:
        TableError: a line does not have the format, a file has no rows, all rows have the same
            class, or the test file has a class that the training rows do not have.
        ValueError: another argument is wrong, or there are too few rows to split.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "trees.svm")
        ...     _ = path.write_text("5 1:3.5 4:1\\n7 2:4.5\\n" * 10)
        ...     data = load(path)
        >>> data.classes, data.x_train.shape, data.x_test.shape
        (('5', '7'), (16, 4), (4, 4))
    """
    files = [Path(each) for each in (path, test) if each is not None]
    parts = read(files)
    x, labels = parts[0]
    if task is None:
        task = "classification" if (labels % 1 == 0).all() else "regression"
    check_one_of("task", task, TASKS)
    known, y = np.unique(labels, return_inverse=True)
    if task == "classification" and len(known) < 2:
        raise TableError(f"{path}: expected at least two classes; every row has {known[0]:g}")
    targets = y if task == "classification" else labels[:, None]
    if test is not None:
        x_test, other = parts[1]
        y_test = _places(other, known, files[1]) if task == "classification" else other[:, None]
        split = f"{test} for testing"
    else:
        strata = y if task == "classification" else None
        train, drawn, split = set_aside(path, len(y), test_fraction, seed, strata)
        x, x_test, targets, y_test = x[train], x[drawn], targets[train], targets[drawn]
    names = tuple(f"{value:.17g}" for value in known)
    return Arrays.scaled(
        (x, targets),
        (x_test, y_test),
        names if task == "classification" else None,
        bend,
        name=stem_of(files[0]),
        split=split,
        files=tuple(files),
    )


def read(files: Sequence[Path], beside: Path | None = None) -> list[tuple[csr_matrix, np.ndarray]]:
    """The rows of several files with the same columns.

    Columns are numbered from 1, or from 0 if any of the files has a column 0.

    Args:
        files: paths of the files.
        beside: path of another file with the same columns, such as the training file, which decides
            with them whether columns count from 0; its rows are not returned. May be missing.

    Shapes:
        for each file, values ``[n, columns]``, CSR, and labels ``[n]``, both float64.

    Raises:
        TableError: a line does not have the format, or a file has no rows.
    """
    from sklearn.datasets import load_svmlight_files

    every = [*files, *([beside] if beside is not None and beside.exists() else [])]
    try:
        arrays = load_svmlight_files([str(file) for file in every], dtype=np.float64)
        arrays = arrays[: 2 * len(files)]
    except ValueError as error:
        for file in every:
            _check_lines(file)
        raise TableError(f"{files[0]}: {error}") from None
    for file, x, labels in zip(files, arrays[::2], arrays[1::2], strict=True):
        if not len(labels):
            raise TableError(f"{file} is empty; expected lines of a label and COLUMN:VALUE")
        if not (np.isfinite(x.data).all() and np.isfinite(labels).all()):
            _check_lines(file)
    return list(zip(arrays[::2], arrays[1::2], strict=True))


def _check_lines(file: Path) -> None:
    """Raises TableError for the first line that does not have the format."""
    with opening(file) as lines:
        for place, line in enumerate(lines, 1):
            words = line.decode(errors="replace").partition("#")[0].split()
            try:
                _check_words(words)
            except ValueError as error:
                raise TableError(f"{file}, line {place}: {error}") from None


def _check_words(words: Sequence[str]) -> None:
    """Raises ValueError if words are not a label and ascending columns with their values."""
    before = -1
    for label in words[:1]:
        number(label)
    for word in words[1:]:
        column, colon, value = word.partition(":")
        if column == "qid":
            continue
        if not (colon and column.isascii() and column.isdigit()):
            raise ValueError(f"expected COLUMN:VALUE; got {word!r}")
        number(value)
        if int(column) <= before:
            raise ValueError(f"expected columns that ascend; got {column} after {before}")
        before = int(column)


def _places(labels: np.ndarray, known: np.ndarray, file: Path) -> np.ndarray:
    """The places of test labels among the known ones."""
    unknown = np.setdiff1d(labels, known)
    if len(unknown):
        raise TableError(f"{file}: the training rows have no class {unknown[0]:g}")
    return np.searchsorted(known, labels)
