"""Small files in the formats of MNIST, CIFAR-10 and SARCOS, written byte by byte or by scipy."""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
from pathlib import Path

import numpy as np
import scipy.io

from structnet.datasets import Arrays, cifar10

NUM_TRAIN, NUM_TEST = 30, 20  # in place of 60,000 and 10,000
IDX_NAMES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)


def mnist_arrays() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {
        "x_train": rng.integers(256, size=(NUM_TRAIN, 28, 28), dtype=np.uint8),
        "y_train": rng.integers(10, size=NUM_TRAIN, dtype=np.uint8),
        "x_test": rng.integers(256, size=(NUM_TEST, 28, 28), dtype=np.uint8),
        "y_test": rng.integers(10, size=NUM_TEST, dtype=np.uint8),
    }


def idx(array: np.ndarray) -> bytes:
    header = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    return header + array.tobytes()


def write_idx(folder: Path, arrays: dict[str, np.ndarray], compressed: bool) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in zip(IDX_NAMES, arrays.values(), strict=True):
        content = idx(array)
        if compressed:
            (folder / f"{name}.gz").write_bytes(gzip.compress(content))
        else:
            (folder / name).write_bytes(content)


def _text(text: str) -> bytes:
    return b"U" + bytes([len(text)]) + text.encode("ascii")  # a short string of Python 2


def _array(pixels: np.ndarray, code: str) -> bytes:
    rows, columns = pixels.shape
    content = pixels.tobytes()
    return b"".join(
        [
            b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nK\0\x85U\x01btR",
            b"(K\x01J" + struct.pack("<i", rows) + b"J" + struct.pack("<i", columns) + b"\x86",
            b"cnumpy\ndtype\n(" + _text(code) + b"K\0K\x01tR",
            b"(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb",
            b"\x89T" + struct.pack("<i", len(content)) + content + b"tb",
        ]
    )


def batch(pixels: np.ndarray, labels: list[int], code: str = "u1") -> bytes:
    """A batch of CIFAR-10 as Python 2 pickled it: short and long byte strings, protocol 2."""
    numbers = b"".join(b"J" + struct.pack("<i", label) for label in labels)
    entries = _text("batch_label") + _text("training batch 1 of 5")
    entries += _text("labels") + b"](" + numbers + b"e"
    return b"\x80\x02}(" + entries + _text("data") + _array(pixels, code) + b"u."


def cifar_batches(size: int) -> dict[str, bytes]:
    rng = np.random.default_rng(0)
    return {
        name: batch(
            rng.integers(256, size=(size, 3072), dtype=np.uint8), rng.integers(10, size=size)
        )
        for name in cifar10.BATCHES
    }


def write_archive(path: Path, files: dict[str, bytes]) -> None:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(f"{cifar10.UNPACKED}/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


def sarcos_rows(number: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(3.0, 2.0, size=(number, 28))


def write_sarcos(folder: Path, **arrays: np.ndarray) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for key, rows in arrays.items():
        scipy.io.savemat(folder / f"{key}.mat", {key: rows})


def same(one: Arrays, other: Arrays) -> bool:
    """Do both hold the same examples?"""
    parts = ("x_train", "y_train", "x_test", "y_test")
    return all(np.array_equal(getattr(one, part), getattr(other, part)) for part in parts)
