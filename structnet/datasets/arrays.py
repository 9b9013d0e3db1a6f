"""What a data set of images or of table rows is once it is loaded: plain numpy arrays."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from structnet.estimators.scale import moments

Task = Literal["classification", "regression"]


@dataclass(frozen=True, eq=False)
class Scale:
    """A shift and a stretch for each column: ``scaled = (value - mean) / sd``.

    Attributes:
        mean, sd: float64, in the units of the file; both fit one row, or one image.

    Example:
        >>> scale = Scale.of(np.array([[1.0, 5.0], [3.0, 5.0]]))
        >>> scale.apply(np.array([[5.0, 6.0]]))
        array([[3., 1.]], dtype=float32)
        >>> scale.undo([[3.0, 1.0]])
        array([[5., 6.]])
    """

    mean: np.ndarray
    sd: np.ndarray

    @classmethod
    def of(cls, rows: np.ndarray) -> Scale:
        """The scale that gives each column mean 0 and standard deviation 1.

        A column of one value has no deviation; it is only shifted.

        Shapes:
            rows ``[N, d]``; mean and sd ``[d]``.

        Raises:
            ValueError: there are no rows.
        """
        if len(rows) == 0:
            raise ValueError("no rows to find a scale from")
        mean, sd = moments(rows)
        sd[(rows == rows[0]).all(0) | (sd == 0)] = 1.0
        return cls(mean, sd)

    def apply(self, values: np.ndarray) -> np.ndarray:
        """Values in the units of the file, scaled; float32."""
        return ((values - self.mean) / self.sd).astype(np.float32)

    def undo(self, scaled: np.ndarray) -> np.ndarray:
        """Scaled values in the units of the file; float64."""
        return np.asarray(scaled) * self.sd + self.mean


@dataclass(frozen=True, eq=False)
class Arrays:
    """Inputs and targets, for training and for testing.

    Attributes:
        x_train, x_test: float32, scaled by what the training inputs alone say.
        y_train, y_test: int64 class numbers, or float32 targets, likewise scaled.
        classes: the names of the classes; None for regression.
        name: the data set's name.
        task: ``"classification"`` or ``"regression"``.
        split: the rule that told training and test examples apart, in words.
        x_scale: the scale of the inputs.
        y_scale: the scale of the targets: ``y_scale.undo`` gives predictions in the original units,
            and an error times ``y_scale.sd`` is in them. None for classes.
        files: the files that were read.
        features, targets: names of the columns, if they have any.

    Shapes:
        x ``[N, C, H, W]`` images or ``[N, d]`` features; y ``[N]`` classes or ``[N, m]`` targets.

    Raises:
        ValueError: there are not as many targets as inputs, no training or no test examples, or the
            task is neither of the two.
    """

    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray
    classes: tuple[str, ...] | None
    name: str
    task: Task
    split: str
    x_scale: Scale
    y_scale: Scale | None = None
    files: tuple[Path, ...] = ()
    features: tuple[str, ...] | None = None
    targets: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.task not in ("classification", "regression"):
            raise ValueError(f"task must be 'classification' or 'regression'; got {self.task!r}")
        for part, x, y in (
            ("training", self.x_train, self.y_train),
            ("test", self.x_test, self.y_test),
        ):
            if len(x) != len(y) or not len(x):
                raise ValueError(f"{self.name} has {len(x)} {part} inputs and {len(y)} targets")

    @property
    def num_outputs(self) -> int:
        """The number of classes, or of target columns."""
        return self.y_train.shape[1] if self.classes is None else len(self.classes)
