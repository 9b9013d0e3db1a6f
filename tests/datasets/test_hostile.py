"""Files that ask for more memory than they are worth: refused before any of it is taken."""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

from structnet.datasets import WrongFileError, cifar10, mnist


@pytest.mark.parametrize(
    "content",
    [
        b"\x80\x02Nr" + struct.pack("<I", 2**31 - 1) + b".",  # put at a place far away
        b"\x80\x05\x96" + struct.pack("<Q", 2**34) + b".",  # an array of bytes
        b"\x80\x05\x8e" + struct.pack("<Q", 2**34) + b".",
        b"\x80\x02}(U\x06labels](I99999999999\nU\x04data]u.",
    ],
)
def test_a_pickle_of_a_few_bytes_takes_a_few_bytes(content: bytes) -> None:
    with pytest.raises(WrongFileError, match="is not a batch of CIFAR-10"):
        cifar10.read_batch(content)


def test_an_archive_whose_header_is_longer_than_a_batch(tmp_path: Path) -> None:
    header = tarfile.TarInfo("pax")
    header.type, header.size = tarfile.XHDTYPE, 8 * 2**30 - 1
    with gzip.open(tmp_path / cifar10.ARCHIVE.name, "wb") as file:
        file.write(header.tobuf(tarfile.USTAR_FORMAT) + b"\0" * 1024)
    with pytest.raises(WrongFileError, match="a part of it is longer than 67,108,864 bytes"):
        cifar10.load(tmp_path)


def npz(path: Path, **contents: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for key, content in contents.items():
            archive.writestr(f"{key}.npy", content)
    return path


def npy(shape: tuple[int, ...], version: tuple[int, int] = (1, 0)) -> bytes:
    file = io.BytesIO()
    header = {"descr": "|u1", "fortran_order": False, "shape": shape}
    if version == (1, 0):
        np.lib.format.write_array_header_1_0(file, header)
    else:
        np.lib.format.write_array_header_2_0(file, header)
    return file.getvalue()


@pytest.mark.parametrize("version", [(1, 0), (2, 0)])
def test_an_npz_whose_header_asks_for_64_gigabytes(tmp_path: Path, version) -> None:
    contents = dict.fromkeys(mnist.KEYS, npy((2**36,), version))
    with pytest.raises(WrongFileError, match=r"x_train.npy holds 68,719,476,736 bytes"):
        mnist.read_npz(npz(tmp_path / "mnist.npz", **contents))


def test_an_npz_that_unpacks_to_more_than_it_says(tmp_path: Path) -> None:
    contents = dict.fromkeys(mnist.KEYS, npy((1,)) + bytes(mnist._MOST_BYTES))
    path = npz(tmp_path / "mnist.npz", **contents)
    assert path.stat().st_size < 2**21
    with pytest.raises(WrongFileError, match="bytes; expected 268,435,456 at most"):
        mnist.read_npz(path)
