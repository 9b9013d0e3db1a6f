"""A loaded data set of images or of table rows: plain numpy arrays."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from scipy.sparse import csr_matrix

from structnet.checks import check_one_of
from structnet.datasets.table_columns import Encoding
from structnet.datasets.written_numbers import Style
from structnet.estimators.counts import learned_scale
from structnet.estimators.held_out import hold_out
from structnet.estimators.scale import Standardizer

Task = Literal["classification", "regression"]
TASKS = get_args(Task)


@dataclass(frozen=True, eq=False)
class Arrays:
    """Inputs and targets, for training and for testing.

    Attributes:
        x_train, x_test: inputs, float32, scaled by the training inputs alone; sparse rows are CSR
            and share one scale, except for columns of far larger numbers.
        y_train, y_test: int64 class numbers, or float32 targets, scaled by the training targets.
        classes: names of the classes; None for regression.
        name: name of the data set.
        task: ``"classification"`` or ``"regression"``.
        split: description of how training and test examples were separated.
        x_scale: scaler of the inputs; None if they are not scaled.
        y_scale: scaler of the targets: ``y_scale.inverse`` converts predictions to the original
            units, as does multiplying an error by ``y_scale.sd``. None for classes.
        files: the files that were read.
        features, targets: names of the columns; None if they have none.
        encoding: way in which the columns of a table became numbers; None for other data.
        x_test_read: test inputs as they were read, before they were scaled; None if they are not.
        notes: lines on how a table was read.
        written: style of the numbers in the column to predict; None if they are plain.

    Shapes:
        x ``[N, C, H, W]`` images or ``[N, d]`` features; y ``[N]`` classes or ``[N, m]`` targets.

    Raises:
        ValueError: the numbers of inputs and targets differ, there are no training or no test
            examples, or the task is unknown.
    """

    x_train: np.ndarray | csr_matrix
    y_train: np.ndarray
    x_test: np.ndarray | csr_matrix
    y_test: np.ndarray
    classes: tuple[str, ...] | None
    name: str
    task: Task
    split: str
    x_scale: Standardizer | None
    y_scale: Standardizer | None = None
    files: tuple[Path, ...] = ()
    features: tuple[str, ...] | None = None
    targets: tuple[str, ...] | None = None
    encoding: Encoding | None = None
    x_test_read: np.ndarray | csr_matrix | None = None
    notes: tuple[str, ...] = ()
    written: Style | None = None

    def __post_init__(self) -> None:
        check_one_of("task", self.task, TASKS)
        for part, x, y in (
            ("training", self.x_train, self.y_train),
            ("test", self.x_test, self.y_test),
        ):
            size = x.shape[0]
            if size != len(y) or not size:
                raise ValueError(
                    f"{self.name} has {size} {part} inputs and {len(y)} targets; expected equally "
                    "many, at least 1"
                )

    @classmethod
    def scaled(
        cls,
        train: tuple[Any, np.ndarray],
        test: tuple[Any, np.ndarray],
        classes: tuple[str, ...] | None,
        bend: bool = False,
        **about: Any,
    ) -> Arrays:
        """Scales inputs and targets as they were read, by those of the training examples.

        Args:
            train, test: inputs and targets; sparse inputs stay sparse.
            classes: names of the classes, whose numbers are not scaled; None for regression.
            bend: True to bend columns with heavy tails, and take logarithms of sparse counts, see
                :func:`.learned_scale`.
            about: other attributes: ``name``, ``split``, ``files``, ``features``, ``targets``,
                ``encoding``, ``notes``, ``written``.

        Shapes:
            inputs ``[N, d]``, targets ``[N]`` or ``[N, m]``.
        """
        (x, y), (x_test, y_test) = train, test
        y_scale = Standardizer.fitted(y) if classes is None else None
        y = _scaled(y, y_scale)
        x_scale = learned_scale(x, y) if bend else Standardizer.of_rows(x)
        return cls(
            _scaled(x, x_scale),
            y,
            _scaled(x_test, x_scale),
            _scaled(y_test, y_scale),
            classes=classes,
            task="regression" if classes is None else "classification",
            x_scale=x_scale,
            y_scale=y_scale,
            x_test_read=x_test,
            **about,
        )

    @property
    def num_outputs(self) -> int:
        """The number of classes, or of target columns."""
        return self.y_train.shape[1] if self.classes is None else len(self.classes)


def _scaled(values: Any, scale: Standardizer | None) -> Any:
    return values if scale is None else scale(values).astype(np.float32, copy=False)


def set_aside(
    name: object, size: int, share: float, seed: int, labels: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, str]:
    """Splits rows at random; returns the training rows, the test rows, and the split in words.

    Args:
        name: name of the data set, for the error.
        size: number of rows.
        share, seed: share of the rows to test on, and seed of the draw.
        labels: classes of the rows; the share is then taken of each class, and at least one row of
            each stays to train on.

    Shapes:
        labels ``[size]``; both results ascending places, int64.

    Raises:
        ValueError: the share is not between 0 and 1, or there are too few rows.
    """
    try:
        train, test = hold_out(size, share, seed, labels, each_class=labels is not None)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    whole = "the rows" if labels is None else "every class"
    return train, test, f"{share:.0%} of {whole} for testing, seed {seed}"
