"""What a data set of images or of table rows is once it is loaded: plain numpy arrays."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from scipy.sparse import csr_matrix

from structnet.checks import check_one_of
from structnet.estimators.held_out import hold_out
from structnet.estimators.scale import Standardizer

Task = Literal["classification", "regression"]
TASKS = get_args(Task)


@dataclass(frozen=True, eq=False)
class Arrays:
    """Inputs and targets, for training and for testing.

    Attributes:
        x_train, x_test: float32, scaled by what the training inputs alone say; those of a file of
            sparse rows are CSR, whose entries share a scale.
        y_train, y_test: int64 class numbers, or float32 targets, likewise scaled.
        classes: the names of the classes; None for regression.
        name: the data set's name.
        task: ``"classification"`` or ``"regression"``.
        split: the rule that told training and test examples apart, in words.
        x_scale: the scaler of the inputs; None leaves them as they are.
        y_scale: the scaler of the targets: ``y_scale.inverse`` gives predictions in the original
            units, and an error times ``y_scale.sd`` is in them. None for classes.
        files: the files that were read.
        features, targets: names of the columns, if they have any.

    Shapes:
        x ``[N, C, H, W]`` images or ``[N, d]`` features; y ``[N]`` classes or ``[N, m]`` targets.

    Raises:
        ValueError: there are not as many targets as inputs, no training or no test examples, or the
            task is neither of the two.
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

    def __post_init__(self) -> None:
        check_one_of("task", self.task, TASKS)
        for part, x, y in (
            ("training", self.x_train, self.y_train),
            ("test", self.x_test, self.y_test),
        ):
            size = x.shape[0]
            if size != len(y) or not size:
                raise ValueError(f"{self.name} has {size} {part} inputs and {len(y)} targets")

    @classmethod
    def scaled(
        cls,
        train: tuple[Any, np.ndarray],
        test: tuple[Any, np.ndarray],
        classes: tuple[str, ...] | None,
        **about: Any,
    ) -> Arrays:
        """Inputs and targets as they were read, scaled by those to train on.

        Args:
            train, test: inputs and targets; sparse inputs stay sparse.
            classes: names of the classes, whose numbers stay as they are; None for regression.
            about: further arguments: ``name``, ``split``, ``files``, ``features``, ``targets``.

        Shapes:
            inputs ``[N, d]``, targets ``[N]`` or ``[N, m]``.
        """
        (x, y), (x_test, y_test) = train, test
        x_scale = Standardizer.of_rows(x)
        y_scale = Standardizer.fitted(y) if classes is None else None
        return cls(
            _scaled(x, x_scale),
            _scaled(y, y_scale),
            _scaled(x_test, x_scale),
            _scaled(y_test, y_scale),
            classes=classes,
            task="regression" if classes is None else "classification",
            x_scale=x_scale,
            y_scale=y_scale,
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
    """The rows to train on and those to test on, where nobody says which; and how, in words.

    Args:
        name: the data set, for the error.
        size: number of rows.
        share, seed: part of the rows to test on, and seed of the draw.
        labels: classes of the rows, of each of which that part is drawn.

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
