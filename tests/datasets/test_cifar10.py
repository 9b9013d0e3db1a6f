"""CIFAR-10: archive and folder, and pickles that want to run something."""

from __future__ import annotations

import os
import pickle
import tarfile
import warnings
from pathlib import Path

import array_files as files
import numpy as np
import pytest

from structnet.datasets import DownloadError, WrongFileError, cifar10, load

SIZE = 4  # images a batch, in place of 10,000
PIXELS = np.random.default_rng(0).integers(256, size=(SIZE, 3072), dtype=np.uint8)
LABELS = [0, 9, 3, 3]


@pytest.fixture(autouse=True)
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Smaller batches, and an empty cache."""
    monkeypatch.setattr(cifar10, "BATCH_SIZE", SIZE)
    monkeypatch.setenv("STRUCTNET_DATA", str(tmp_path / "cache"))


@pytest.fixture
def batches() -> dict[str, bytes]:
    return files.cifar_batches(SIZE)


def unpack(folder: Path, batches: dict[str, bytes]) -> Path:
    folder.mkdir(parents=True)
    for name, content in batches.items():
        (folder / name).write_bytes(content)
    return folder


def test_the_small_batches_are_what_python_reads() -> None:
    """The writer of these tests is right: the usual reader makes the same arrays of its bytes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numpy has moved what the published files name
        usual = pickle.loads(files.batch(PIXELS, LABELS), encoding="latin-1")
    assert np.array_equal(usual["data"], PIXELS)
    assert usual["labels"] == LABELS
    images, labels = cifar10.read_batch(files.batch(PIXELS, LABELS))
    assert np.array_equal(images.reshape(SIZE, -1), PIXELS)
    assert (labels.tolist(), labels.dtype) == (LABELS, np.int64)


def test_a_row_holds_red_then_green_then_blue() -> None:
    row = np.repeat(np.array([10, 20, 30], np.uint8), 1024)[None]
    row[0, 1024 + 32 * 5 + 7] = 99  # green, line 5, column 7
    images, _ = cifar10.read_batch(files.batch(row, [1]))
    assert images[0, 1, 5, 7] == 99
    assert [np.median(channel) for channel in images[0]] == [10, 20, 30]


def test_archive_and_folder_hold_the_same(batches: dict[str, bytes], tmp_path: Path) -> None:
    (tmp_path / "a" / "cifar10").mkdir(parents=True)
    files.write_archive(tmp_path / "a" / "cifar10" / "cifar-10-python.tar.gz", batches)
    folder = unpack(tmp_path / "b" / "cifar-10-batches-py", batches)
    packed, unpacked, itself = (
        load("cifar10", place) for place in (tmp_path / "a", folder.parent, folder)
    )
    assert (packed.x_train.shape, packed.x_test.shape) == ((20, 3, 32, 32), (4, 3, 32, 32))
    for other in (unpacked, itself):
        assert np.array_equal(packed.x_train, other.x_train)
        assert np.array_equal(packed.y_test, other.y_test)
    assert packed.classes[3] == "cat"
    assert list(tmp_path.rglob("data_batch_1")) == [folder / "data_batch_1"]  # nothing unpacked


def test_channels_are_scaled_by_the_training_images(
    batches: dict[str, bytes], tmp_path: Path
) -> None:
    folder = unpack(tmp_path / "data", batches)
    before = load("cifar10", folder)
    np.testing.assert_allclose(before.x_train.mean((0, 2, 3)), 0, atol=1e-6)
    np.testing.assert_allclose(before.x_train.std((0, 2, 3)), 1, rtol=1e-6)
    (folder / "test_batch").write_bytes(files.batch(np.full_like(PIXELS, 255), LABELS))
    after = load("cifar10", folder)
    assert np.array_equal(before.x_train, after.x_train)
    assert np.array_equal(before.x_scale.mean, after.x_scale.mean)
    expected = (255 - after.x_scale.mean) / after.x_scale.sd
    np.testing.assert_allclose(
        after.x_test, np.broadcast_to(expected, after.x_test.shape), rtol=1e-5
    )


class Call:
    """Pickled, it calls something when it is read."""

    def __init__(self, function: object, *arguments: object):
        self.parts = (function, arguments)

    def __reduce__(self) -> tuple:
        return self.parts


@pytest.mark.parametrize(
    "wanted",
    [
        Call(os.mkdir, "ran"),
        Call(eval, "__import__('os').mkdir('ran')"),
        Call(getattr, "", "join"),
        {"data": Call(os.mkdir, "ran"), "labels": [0]},
        {"data": np.zeros((1, 3072), np.uint8), "labels": [0]},  # of a numpy of today
        Call(bytearray, 10),
        Path,
    ],
    ids=["mkdir", "eval", "getattr", "mkdir inside", "numpy", "bytearray", "class"],
)
@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_pickle_that_asks_for_more_is_refused(
    wanted: object, protocol: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(WrongFileError, match=r"asks for .*, which no batch needs"):
        cifar10.read_batch(pickle.dumps(wanted, protocol), "data_batch_1")
    assert not Path("ran").exists()


def test_the_test_of_refusal_would_have_run(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    pickle.loads(pickle.dumps(Call(os.mkdir, "ran")))
    assert Path("ran").exists()


GOOD = files.batch(PIXELS, LABELS)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not a batch of CIFAR-10: pickle exhausted"),
        (b"no pickle", "is not a batch"),
        (GOOD[:-1], "is not a batch"),
        (GOOD[:500], "is not a batch"),
        (pickle.dumps([1, 2]), "is not a batch"),
        (pickle.dumps({"data": 3}), "is not a batch of CIFAR-10: 'labels'"),
        (pickle.dumps({"data": b"abc", "labels": [1]}), "is not a batch"),
        (files.batch(PIXELS, [0, 1, 2]), "it has 4 images and 3 labels, 3 of them"),
        (files.batch(PIXELS, [0, 1, 2, 10]), "4 labels, 3 of them from 0 to 9; expected"),
        (files.batch(PIXELS, [0, 1, 2, -1]), "3 of them from 0 to 9"),
        (files.batch(PIXELS[:, :3000], LABELS), "cannot reshape"),
        (files.batch(PIXELS, LABELS, code="i1"), "array of another type than bytes"),
        (files.batch(PIXELS, LABELS, code="O8"), "array of another type than bytes"),
        (GOOD.replace(b"cnumpy\ndtype\n", b"cnumpy\nndarray\n"), "is not a batch"),
    ],
)
def test_what_is_no_batch(content: bytes, message: str) -> None:
    with pytest.raises(WrongFileError, match=message):
        cifar10.read_batch(content, "test_batch")


def test_what_is_no_archive(batches: dict[str, bytes], tmp_path: Path) -> None:
    path = tmp_path / "cifar-10-python.tar.gz"
    path.write_bytes(b"no archive")
    with pytest.raises(WrongFileError, match="cannot be read as the archive"):
        load("cifar10", tmp_path)
    content = batches.pop("data_batch_4")
    files.write_archive(path, batches)
    with pytest.raises(WrongFileError, match="data_batch_4"):
        load("cifar10", tmp_path)
    files.write_archive(path, batches | {"data_batch_4": content})
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(WrongFileError, match="cannot be read as the archive"):
        load("cifar10", tmp_path)


def test_a_link_in_the_archive_is_not_followed(batches: dict[str, bytes], tmp_path: Path) -> None:
    path = tmp_path / "cifar-10-python.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        link = tarfile.TarInfo(f"{cifar10.UNPACKED}/data_batch_1")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/hostname"
        archive.addfile(link)
    with pytest.raises(WrongFileError, match="data_batch_1 is not a file"):
        load("cifar10", tmp_path)


def test_what_is_missing_is_said(batches: dict[str, bytes], tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=r"neither cifar-10-python.tar.gz nor .* is in"):
        load("cifar10", tmp_path)
    folder = unpack(tmp_path / "data", batches)
    (folder / "data_batch_3").unlink()
    with pytest.raises(WrongFileError, match="has no data_batch_3"):
        load("cifar10", folder)
    (folder / "data_batch_3").write_bytes(files.batch(PIXELS[:3], LABELS[:3]))
    with pytest.raises(WrongFileError, match=r"data_batch_3 in .* has 3 images, not 4"):
        load("cifar10", folder)
