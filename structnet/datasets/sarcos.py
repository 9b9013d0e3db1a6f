"""SARCOS: the inverse dynamics of a robot arm, 21 inputs and 7 joint torques.

The inputs are 7 joint positions, 7 velocities and 7 accelerations. Most rows of the published test
file are reported to be in the training file as well; a test error on them partly measures memory.
:func:`load` counts them, and leaves them out of training with ``drop_shared=True``.

Reference:
    Vijayakumar and Schaal, "Locally Weighted Projection Regression", ICML 2000; files of Rasmussen
    and Williams, "Gaussian Processes for Machine Learning", 2006.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from structnet.datasets.arrays import Arrays
from structnet.datasets.source import Source, WrongFileError, fetch, find, sources, verify
from structnet.estimators.held_out import hold_out

NUM_INPUTS, NUM_TARGETS = 21, 7

SOURCES = TRAIN, TEST = sources("sarcos")
FEATURES = tuple(
    f"{what} {i}" for what in ("position", "velocity", "acceleration") for i in range(1, 8)
)
TARGETS = tuple(f"torque {i}" for i in range(1, 8))


def load(
    data_dir: str | Path | None = None,
    download: bool = False,
    drop_shared: bool = False,
    test_fraction: float = 0.2,
    seed: int = 0,
) -> Arrays:
    """The movements of the arm, split as published; or only the test file, split at random.

    Inputs and torques are scaled by the mean and standard deviation of each column of the training
    rows.

    Args:
        data_dir: folder to search first, and in it ``sarcos``, for ``sarcos_inv.mat`` and
            ``sarcos_inv_test.mat``; the cache is searched next.
        download: True to download files that are not found. If it is False and the training file is
            not found, the rows of the test file are split.
        drop_shared: True to leave out of training the rows that are in the test file too.
        test_fraction, seed: share and seed of the test rows, if only the test file is found.

    Shapes:
        x ``[N, 21]``, y ``[N, 7]``.

    Raises:
        DownloadError: the test file is not found, or a download failed.
        WrongFileError: a file is not the published one.
        ValueError: the share is not between 0 and 1.
    """
    train_path = find(TRAIN, data_dir) or (fetch(TRAIN, data_dir) if download else None)
    test_path = find(TEST, data_dir) or fetch(TEST, data_dir, download)
    test = _published(TEST, test_path)
    if train_path is not None:
        train, split = _without_shared(_published(TRAIN, train_path), test, drop_shared)
    else:
        chosen, held_out = hold_out(len(test), test_fraction, seed)
        train, test = test[chosen], test[held_out]
        split = (
            f"{test_fraction:.0%} of the test file for testing, the rest to train on, seed {seed}"
        )
    return Arrays.scaled(
        _halves(train),
        _halves(test),
        None,
        name="sarcos",
        split=split,
        files=tuple(path for path in (train_path, test_path) if path),
        features=FEATURES,
        targets=TARGETS,
    )


def _published(source: Source, path: Path) -> np.ndarray:
    # Verified before it is read, as a damaged file may crash scipy's reader and Python with it.
    verify(source, path)
    return read(path)


def read(path: str | Path) -> np.ndarray:
    """The rows in one of the files: 21 inputs and 7 torques each.

    Args:
        path: path of a MATLAB file with one array, which has the name of the file. It must be
            trusted, as a damaged file may crash Python.

    Shapes:
        ``[N, 28]``, float64.

    Raises:
        FileNotFoundError: there is no such file.
        WrongFileError: the file cannot be read, or holds something else.
    """
    import scipy.io

    key, columns = Path(path).stem, NUM_INPUTS + NUM_TARGETS
    try:
        rows = scipy.io.loadmat(path, variable_names=[key]).get(key)
    except FileNotFoundError:
        raise
    except Exception as error:  # scipy raises many kinds for a damaged file
        raise WrongFileError(f"{path} is not a readable MATLAB file: {error}") from error
    if rows is None:
        raise WrongFileError(f"{path} has no array {key!r}; expected one of that name")
    if rows.dtype.kind != "f" or rows.ndim != 2 or rows.shape[1] != columns:
        raise WrongFileError(
            f"{path} holds {rows.dtype} {rows.shape}, not rows of {columns} floats"
        )
    if not np.isfinite(rows).all():
        row, column = np.argwhere(~np.isfinite(rows))[0] + 1
        raise WrongFileError(
            f"{path} has no finite number in row {row}, column {column} (counted from 1)"
        )
    return rows.astype(np.float64)


def _without_shared(
    train: np.ndarray, test: np.ndarray, drop_shared: bool
) -> tuple[np.ndarray, str]:
    """The training rows, and the split in words, with the number of rows in both files."""
    known = {row.tobytes() for row in test}  # rows are compared bit by bit
    is_shared = np.fromiter((row.tobytes() in known for row in train), bool, len(train))
    trained = {row.tobytes() for row in train[is_shared]}
    count = sum(row.tobytes() in trained for row in test)
    if drop_shared:
        return train[~is_shared], f"as published, without {is_shared.sum():,} shared training rows"
    return train, f"as published; {count:,} of {len(test):,} test rows are training rows too"


def _halves(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and targets."""
    return rows[:, :NUM_INPUTS], rows[:, NUM_INPUTS:]
