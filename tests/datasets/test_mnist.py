"""MNIST: both of its formats, and files that are not what they should be."""

from __future__ import annotations

import gzip
import io
import urllib.request
from pathlib import Path

import array_files as files
import numpy as np
import pytest

from structnet.datasets import DownloadError, WrongFileError, load, mnist

pytestmark = pytest.mark.usefixtures("cache")


@pytest.fixture
def small_mnist(monkeypatch: pytest.MonkeyPatch) -> dict[str, np.ndarray]:
    """Arrays of a smaller MNIST, whose sizes are taken for the published ones."""
    monkeypatch.setattr(mnist, "PUBLISHED_TRAIN", files.NUM_TRAIN)
    monkeypatch.setattr(mnist, "PUBLISHED_TEST", files.NUM_TEST)
    return files.mnist_arrays()


def test_npz_and_idx_files_hold_the_same_digits(
    small_mnist: dict[str, np.ndarray], tmp_path: Path
) -> None:
    for name in ("npz", "gz/mnist", "raw"):
        (tmp_path / name).mkdir(parents=True)
    np.savez(tmp_path / "npz" / "mnist.npz", **small_mnist)
    files.write_idx(tmp_path / "gz" / "mnist", small_mnist, compressed=True)
    files.write_idx(tmp_path / "raw", small_mnist, compressed=False)
    npz, compressed, raw = (load("mnist", tmp_path / name) for name in ("npz", "gz", "raw"))
    assert files.same(npz, compressed) and files.same(npz, raw)
    assert [len(data.files) for data in (npz, compressed, raw)] == [1, 4, 4]
    assert npz.x_train.shape == (files.NUM_TRAIN, 1, 28, 28)
    assert npz.y_test.tolist() == small_mnist["y_test"].tolist()
    x = small_mnist["x_train"]
    expected = (small_mnist["x_test"] - x.mean()) / x.std()
    np.testing.assert_allclose(npz.x_test[:, 0], expected, atol=1e-5)
    assert (npz.x_train.dtype, npz.y_train.dtype) == (np.float32, np.int64)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("x_train", np.zeros((30, 28, 27), np.uint8), r"\(30, 28, 27\) as x_train; MNIST has uint"),
        ("x_train", np.zeros((29, 28, 28), np.uint8), r"\(29, 28, 28\) as x_train"),
        ("x_test", np.zeros((20, 28, 28)), r"float64 \(20, 28, 28\) as x_test"),
        ("y_train", np.zeros(30), r"float64 \(30,\) as y_train; MNIST has whole numbers"),
        ("y_test", np.full(20, 10), "labels other than 0 to 9"),
        ("y_test", np.full(20, -1), "labels other than 0 to 9"),
        ("y_test", None, "has no array 'y_test'"),
        ("y_test", np.array([None] * 20), "not a readable .npz file"),
    ],
)
def test_an_npz_of_other_arrays(
    small_mnist: dict[str, np.ndarray], tmp_path: Path, key: str, value: object, message: str
) -> None:
    small_mnist[key] = value
    chosen = {name: array for name, array in small_mnist.items() if array is not None}
    np.savez(tmp_path / "mnist.npz", **chosen)
    with pytest.raises(WrongFileError, match=message):
        load("mnist", tmp_path)


@pytest.mark.parametrize("content", [b"", b"no zip file", b"PK\x03\x04 and no more"])
def test_an_npz_that_is_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "mnist.npz").write_bytes(content)
    with pytest.raises(WrongFileError, match=r"mnist\.npz is not a readable \.npz file"):
        load("mnist", tmp_path)


def test_an_npz_that_is_an_npy(tmp_path: Path) -> None:
    with (tmp_path / "mnist.npz").open("wb") as file:
        np.save(file, np.zeros(3))
    with pytest.raises(WrongFileError, match="not a readable"):
        load("mnist", tmp_path)


LABELS = files.idx(np.arange(5, dtype=np.uint8))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "begins with nothing; an IDX file of bytes begins with 00 00 08"),
        (b"\0\0\x0d\x01" + LABELS[4:], "begins with 00 00 0d 01"),
        (LABELS[:6], "ends within its header"),
        (LABELS[:4], "ends within its header"),
        (LABELS[:-1], "should hold 5 bytes, .5.; it holds 4"),
        (LABELS + b"\0", "it holds more"),
        (b"\0\0\x08\x03" + b"\xff" * 12, "a side is 268,435,456 at most"),
        (b"\0\0\x08\x04" + bytes(4) + b"\xff" * 12, "a side is 268,435,456 at most"),  # 0 x much
        (gzip.compress(LABELS, mtime=0)[:-4], "is damaged"),
        (gzip.compress(LABELS, mtime=0)[:-8] + b"\0" * 8, "is damaged"),
        (b"\x1f\x8b no gzip", "is damaged"),
    ],
)
def test_an_idx_file_that_is_none(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "labels").write_bytes(content)
    with pytest.raises(WrongFileError, match=message):
        mnist.read_idx(tmp_path / "labels")


def test_images_in_place_of_labels(small_mnist: dict[str, np.ndarray], tmp_path: Path) -> None:
    files.write_idx(tmp_path, small_mnist, compressed=True)
    name = f"{files.IDX_NAMES[0]}.gz"
    (tmp_path / f"{files.IDX_NAMES[1]}.gz").write_bytes((tmp_path / name).read_bytes())
    with pytest.raises(WrongFileError, match=r"train-labels.*\(30, 28, 28\) as y_train"):
        load("mnist", tmp_path)


def test_what_is_missing_is_said(
    small_mnist: dict[str, np.ndarray], tmp_path: Path, cache: Path
) -> None:
    with pytest.raises(DownloadError, match=f"neither mnist.npz nor.*are in {cache}/mnist; put"):
        load("mnist")
    files.write_idx(tmp_path, small_mnist, compressed=False)
    (tmp_path / files.IDX_NAMES[2]).unlink()
    with pytest.raises(DownloadError, match=r"lacks t10k-images-idx3-ubyte\.gz"):
        load("mnist", tmp_path)
    with pytest.raises(DownloadError, match="cannot download train-images"):
        load("mnist", download=True)


def test_downloads_are_checked_by_their_hash(cache: Path, monkeypatch) -> None:
    monkeypatch.setattr(urllib.request, "urlopen", lambda url, timeout: io.BytesIO(b"no digits"))
    with pytest.raises(
        WrongFileError, match=r"has 9 bytes; train-images-idx3-ubyte\.gz has 9,912,4"
    ):
        load("mnist", download=True)
    assert list((cache / "mnist").iterdir()) == []


def test_the_real_mnist(real_data: Path) -> None:
    if not (real_data / "mnist").is_dir():
        pytest.skip("MNIST is not at hand")
    data = load("mnist", real_data)
    assert (data.x_train.shape, data.x_test.shape) == ((60_000, 1, 28, 28), (10_000, 1, 28, 28))
    assert np.bincount(data.y_train).tolist() == [
        5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949
    ]  # fmt: skip
    np.testing.assert_allclose(data.x_scale.mean.item() / 255, 0.1307, atol=5e-5)
    np.testing.assert_allclose(data.x_scale.sd.item() / 255, 0.3081, atol=5e-5)
