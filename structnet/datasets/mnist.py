"""MNIST: 70,000 handwritten digits of 28 x 28 pixels.

They are read from ``mnist.npz`` (arrays ``x_train``, ``y_train``, ``x_test``, ``y_test``) or from
the four published IDX files, compressed or not. Files found on this machine are checked by types,
shapes and labels, since correct copies differ in their bytes; downloads are checked by their hash.

Reference:
    LeCun, Bottou, Bengio and Haffner, "Gradient-Based Learning Applied to Document Recognition",
    Proceedings of the IEEE 1998.
"""

from __future__ import annotations

import gzip
import math
import zipfile
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np

from structnet.datasets.arrays import Arrays
from structnet.datasets.pixels import image_arrays
from structnet.datasets.source import WrongFileError, absent, fetch, places, sources

PUBLISHED_TRAIN, PUBLISHED_TEST = 60_000, 10_000
CLASSES = tuple("0123456789")
NPZ = "mnist.npz"
KEYS = ("x_train", "y_train", "x_test", "y_test")
_MOST_BYTES = 1 << 28  # in one array; the largest of MNIST has 47 million

SOURCES = sources("mnist")


class Images(NamedTuple):
    """Images as in the files, uint8, and the digits that they show.

    Shapes:
        x ``[N, 28, 28]``, y ``[N]``.
    """

    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray


def load(data_dir: str | Path | None = None, download: bool = False) -> Arrays:
    """The digits, split as published.

    The pixels are scaled by the mean and standard deviation of all training pixels, 33.3 and 78.6
    out of 255.

    Args:
        data_dir: folder to search first, and in it ``mnist``; the cache is searched next. In a
            folder that has both, ``mnist.npz`` is read.
        download: True to download the IDX files if nothing is found.

    Shapes:
        x ``[N, 1, 28, 28]``, y ``[N]``.

    Raises:
        DownloadError: the files are not found, or a download failed.
        WrongFileError: a file does not have the expected content.
    """
    paths = _paths(data_dir, download)
    images = read_npz(paths[0]) if len(paths) == 1 else Images(*map(read_idx, paths))
    _check(images, paths)
    x_train, y_train, x_test, y_test = images
    about = {"classes": CLASSES, "name": "mnist", "split": "as published", "files": tuple(paths)}
    return image_arrays(x_train[:, None], y_train, x_test[:, None], y_test, **about)


def read_npz(path: str | Path) -> Images:
    """The arrays in a file ``mnist.npz``.

    Raises:
        WrongFileError: the file cannot be read, or an array is missing or far too large.
    """
    try:
        with Path(path).open("rb") as file, np.load(file) as arrays:
            missing = [key for key in KEYS if key not in arrays]
            if missing:
                raise WrongFileError(
                    f"{path} has no array {missing[0]!r}; expected {', '.join(KEYS)}"
                )
            for key in KEYS:
                _check_size(arrays.zip, f"{key}.npy")
            return Images(*(arrays[key] for key in KEYS))
    except WrongFileError:
        raise
    except (ValueError, EOFError, AttributeError, TypeError, zipfile.BadZipFile, zlib.error) as e:
        # An .npy file can be loaded too, but gives an array, which is not a context manager.
        raise WrongFileError(f"{path} is not a readable .npz file: {e}") from e


def _check_size(archive: zipfile.ZipFile, name: str) -> None:
    """Refuses an array far larger than those of MNIST, before memory is taken for it."""
    length = archive.getinfo(name).file_size
    with archive.open(name) as file:
        version = np.lib.format.read_magic(file)
        headers = np.lib.format.read_array_header_1_0, np.lib.format.read_array_header_2_0
        shape, _, kind = headers[version[0] > 1](file)
    size = math.prod(shape) * kind.itemsize
    if max(size, length) > _MOST_BYTES:
        raise ValueError(
            f"{name} holds {max(size, length):,} bytes; expected {_MOST_BYTES:,} at most"
        )


def read_idx(path: str | Path) -> np.ndarray:
    """The array in an IDX file of bytes, compressed by gzip or not.

    The file begins with two zero bytes, the type (8: unsigned bytes), the number of dimensions, and
    their sizes as big-endian 4-byte numbers.

    Shapes:
        output: ``[...]``, uint8, with the dimensions given in the file.

    Raises:
        WrongFileError: the file is not of that format, or is longer or shorter than its dimensions
            say.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "labels")
        ...     _ = path.write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 2, 1]))
        ...     read_idx(path)
        array([7, 2, 1], dtype=uint8)
    """
    with Path(path).open("rb") as file:
        is_compressed = file.read(2) == b"\x1f\x8b"
    try:
        with (gzip.open if is_compressed else open)(path, "rb") as file:
            magic = file.read(4)
            if magic[:3] != b"\0\0\x08" or len(magic) != 4:
                raise WrongFileError(
                    f"{path} begins with {magic.hex(' ') or 'nothing'}; an IDX file of bytes "
                    "begins with 00 00 08"
                )
            header = file.read(4 * magic[3])
            if len(header) != 4 * magic[3]:
                raise WrongFileError(f"{path} ends within its header")
            shape = [int(size) for size in np.frombuffer(header, ">u4")]
            size = math.prod(shape)
            if max(shape, default=0) > _MOST_BYTES:  # also beside a size of 0, as numpy refuses it
                raise WrongFileError(
                    f"{path} should hold {shape}; a side is {_MOST_BYTES:,} at most"
                )
            # Damaged dimensions could ask for more memory than there is.
            content = file.read(min(size, _MOST_BYTES) + 1)
    except WrongFileError:
        raise
    except (EOFError, gzip.BadGzipFile, zlib.error, ValueError) as error:
        raise WrongFileError(f"{path} is damaged: {error}") from error
    if len(content) != size:
        got = "more" if len(content) > size else f"{len(content):,}"
        raise WrongFileError(f"{path} should hold {size:,} bytes, {shape}; it holds {got}")
    return np.frombuffer(content, np.uint8).reshape(shape)


def _paths(data_dir: str | Path | None, download: bool) -> list[Path]:
    """``mnist.npz``, or the four IDX files in the order of KEYS."""
    partly = ""
    for place in places("mnist", data_dir):
        if (place / NPZ).is_file():
            return [place / NPZ]
        path_of = {source.name: _idx_file(place, source.name) for source in SOURCES}
        if all(path_of.values()):
            return [path for path in path_of.values() if path]
        if any(path_of.values()) and not partly:
            lacking = ", ".join(name for name, path in path_of.items() if not path)
            partly = f" ({place} lacks {lacking})"
    if download:
        return [fetch(source, data_dir) for source in SOURCES]
    where = f"{data_dir or places('mnist')[-1]}{partly}"
    address = SOURCES[0].url.rpartition("/")[0]
    raise absent(f"neither {NPZ} nor the four IDX files are in {where}; put them there", address)


def _idx_file(place: Path, name: str) -> Path | None:
    paths = (place / name, place / name.removesuffix(".gz"))
    return next((path for path in paths if path.is_file()), None)


def _check(images: Images, paths: list[Path]) -> None:
    """Checks that types, shapes and labels are those of MNIST."""
    path_of = dict(zip(KEYS, paths if len(paths) == 4 else paths * 4, strict=True))
    for key, size in zip(KEYS, (PUBLISHED_TRAIN,) * 2 + (PUBLISHED_TEST,) * 2, strict=True):
        array = getattr(images, key)
        expected = (size, 28, 28) if key.startswith("x") else (size,)
        good_type = array.dtype == np.uint8 if key.startswith("x") else array.dtype.kind in "iu"
        if array.shape != expected or not good_type:
            wanted = "uint8" if key.startswith("x") else "whole numbers"
            raise WrongFileError(
                f"{path_of[key]} holds {array.dtype} {array.shape} as {key}; MNIST has "
                f"{wanted} {expected}"
            )
        if key.startswith("y") and not ((array >= 0) & (array <= 9)).all():
            raise WrongFileError(f"{path_of[key]} holds labels other than 0 to 9")
