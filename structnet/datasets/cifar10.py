"""CIFAR-10: 60,000 colour photographs of 32 x 32 pixels in ten classes.

The published files are pickles, and reading a pickle can run any code. :func:`read_batch` runs
none: it replaces the three names that these files need by harmless stand-ins, and refuses all
others.

Reference:
    Krizhevsky, "Learning Multiple Layers of Features from Tiny Images", University of Toronto 2009.
"""

from __future__ import annotations

import gzip
import io
import pickle
import pickletools
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from structnet.datasets.arrays import Arrays
from structnet.datasets.pixels import image_arrays
from structnet.datasets.source import WrongFileError, absent, fetch, places, sources

BATCH_SIZE = 10_000  # images in each file
BATCHES = (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch")
CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
UNPACKED = "cifar-10-batches-py"
SOURCES = (ARCHIVE,) = sources("cifar10")
_MOST_BYTES = 1 << 26  # in one batch; the published ones have 31 million


def load(data_dir: str | Path | None = None, download: bool = False) -> Arrays:
    """The photographs, split as published: 50,000 to train on and 10,000 to test.

    Each of the channels red, green and blue is scaled by the mean and standard deviation of its
    pixels in the training images.

    Args:
        data_dir: folder to search first, and in it ``cifar10``, for ``cifar-10-python.tar.gz`` or
            the folder unpacked from it, ``cifar-10-batches-py``; or the unpacked folder itself. The
            cache is searched next.
        download: True to download the archive if nothing is found.

    Shapes:
        x ``[N, 3, 32, 32]``, y ``[N]``.

    Raises:
        DownloadError: the files are not found, or the download failed.
        WrongFileError: a file does not have the expected content.
    """
    path = _path(data_dir, download)
    batches = [read_batch(content, name) for name, content in _contents(path)]
    for name, (pixels, _) in zip(BATCHES, batches, strict=True):
        if len(pixels) != BATCH_SIZE:
            raise WrongFileError(f"{name} in {path} has {len(pixels):,} images, not {BATCH_SIZE:,}")
    x_train, y_train = map(np.concatenate, zip(*batches[:-1], strict=True))
    about: dict[str, Any] = {"name": "cifar10", "split": "as published"}
    about |= {"classes": CLASSES, "files": (path,)}
    return image_arrays(x_train, y_train, *batches[-1], **about)


def read_batch(content: bytes, name: str = "the batch") -> tuple[np.ndarray, np.ndarray]:
    """The images and labels of one of the published files, read without running any code in it.

    Args:
        content: bytes of the file, a pickle.
        name: name of the file in errors.

    Shapes:
        images ``[N, 3, 32, 32]``, uint8; labels ``[N]``, int64.

    Raises:
        WrongFileError: the pickle uses a name that those files do not need, or does not hold images
            and as many labels from 0 to 9.
    """
    try:
        _check_lengths(content)
        batch = _Unpickler(io.BytesIO(content), encoding="latin-1").load()
        # A bool is an int to Python, and an array would compare element by element.
        labels = [label for label in batch["labels"] if type(label) is int and 0 <= label <= 9]
        pixels = batch["data"].pixels.reshape(-1, 3, 32, 32)  # the rows hold red, green, blue
        if not len(pixels) == len(labels) == len(batch["labels"]):
            raise ValueError(
                f"it has {len(pixels)} images and {len(batch['labels'])} labels, {len(labels)} of "
                "them from 0 to 9; expected a label from 0 to 9 for each image"
            )
    except Exception as error:  # a pickle can be wrong in any way
        raise WrongFileError(f"{name} is not a batch of CIFAR-10: {error}") from error
    return pixels, np.array(labels, np.int64)


def _check_lengths(content: bytes) -> None:
    """Refuses a pickle that declares a size beyond the file's, before memory is taken for it."""
    for _, argument, _ in pickletools.genops(content):
        if isinstance(argument, int) and argument > len(content):
            raise ValueError(
                f"it has the number {argument:,}; expected at most its length, {len(content):,}"
            )


class _Array:
    """Stands in for ``numpy._reconstruct(ndarray, ...)``; accepts only arrays of bytes."""

    def __init__(self, *_: Any) -> None:
        self.pixels = np.zeros(0, np.uint8)

    def __setstate__(self, state: Any) -> None:
        _, shape, kind, in_columns, content = state
        if not isinstance(kind, _Kind) or kind.code not in ("u1", "|u1") or in_columns:
            raise ValueError("it holds an array of another type than bytes, or one by columns")
        if isinstance(content, str):  # as Python 2 pickled bytes
            content = content.encode("latin-1")
        self.pixels = np.frombuffer(content, np.uint8).reshape(shape)


class _Kind:
    """Stands in for ``numpy.dtype``."""

    def __init__(self, code: str, *_: Any) -> None:
        self.code = code

    def __setstate__(self, state: Any) -> None:
        """Ignores byte order and alignment, which single bytes do not have."""


_STAND_INS = {
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy", "ndarray"): None,  # only passed on to _Array
    ("numpy", "dtype"): _Kind,
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _STAND_INS:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which no batch needs")
        return _STAND_INS[module, name]


def _path(data_dir: str | Path | None, download: bool) -> Path:
    """The archive, or the unpacked folder."""
    for place in places("cifar10", data_dir):
        for unpacked in (place, place / UNPACKED):
            if (unpacked / BATCHES[0]).is_file():
                return unpacked
        if (place / ARCHIVE.name).is_file():
            return place / ARCHIVE.name
    if download:
        return fetch(ARCHIVE, data_dir)
    where = data_dir or places("cifar10")[-1]
    raise absent(f"neither {ARCHIVE.name} nor {UNPACKED} is in {where}; put one there", ARCHIVE.url)


def _contents(path: Path) -> Iterator[tuple[str, bytes]]:
    """The files of the archive or folder, in the order of BATCHES."""
    if path.is_dir():
        for name in BATCHES:
            if not (path / name).is_file():
                raise WrongFileError(f"{path} has no {name}")
            yield name, (path / name).read_bytes()
        return
    try:
        # Read in place, without unpacking: nothing is written to the disk.
        with gzip.open(path) as file, tarfile.open(fileobj=_Bounded(file)) as archive:
            for name in BATCHES:
                yield name, _member(archive, name)
    except (tarfile.TarError, EOFError, KeyError, gzip.BadGzipFile, zlib.error) as error:
        raise WrongFileError(
            f"{path} cannot be read as the archive of CIFAR-10: {error}"
        ) from error


class _Bounded(io.BufferedReader):
    """An archive from which no read is longer than a batch, whatever its headers say."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or not 0 <= size <= _MOST_BYTES:
            raise tarfile.ReadError(f"a part of it is longer than {_MOST_BYTES:,} bytes")
        return super().read(size)


def _member(archive: tarfile.TarFile, name: str) -> bytes:
    member = archive.getmember(f"{UNPACKED}/{name}")
    file = archive.extractfile(member) if member.isfile() else None
    if file is None or member.size > _MOST_BYTES:
        raise tarfile.TarError(f"{member.name} is not a file of at most {_MOST_BYTES:,} bytes")
    return file.read()
