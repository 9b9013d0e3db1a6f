"""Data sets of arrays: their formats, their scales, and files that are not what they should be."""

from __future__ import annotations

import gzip
import io
import urllib.request
from pathlib import Path

import array_files as files
import numpy as np
import pytest

from structnet.datasets import (
    Arrays,
    DownloadError,
    WrongFileError,
    digits,
    load,
    mnist,
    sarcos,
)
from structnet.datasets.pixels import pixel_scale, scaled_pixels
from structnet.estimators import Standardizer

pytestmark = pytest.mark.usefixtures("cache")


@pytest.fixture
def small_mnist(monkeypatch: pytest.MonkeyPatch) -> dict[str, np.ndarray]:
    """Arrays of a smaller MNIST, whose sizes are taken for the published ones."""
    monkeypatch.setattr(mnist, "PUBLISHED_TRAIN", files.NUM_TRAIN)
    monkeypatch.setattr(mnist, "PUBLISHED_TEST", files.NUM_TEST)
    return files.mnist_arrays()


@pytest.fixture
def small_sarcos(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sarcos, "PUBLISHED_TRAIN", 40)
    monkeypatch.setattr(sarcos, "PUBLISHED_TEST", 10)


def same(one: Arrays, other: Arrays) -> bool:
    parts = ("x_train", "y_train", "x_test", "y_test")
    return all(np.array_equal(getattr(one, part), getattr(other, part)) for part in parts)


# Scales


def test_pixels_are_counted_over_all_images() -> None:
    images = np.random.default_rng(0).integers(256, size=(2300, 3, 2, 2), dtype=np.uint8)
    images[:, 1] //= 2
    scale = pixel_scale(images)
    np.testing.assert_allclose(scale.mean.ravel(), images.mean((0, 2, 3)), rtol=1e-12)
    np.testing.assert_allclose(scale.sd.ravel(), images.std((0, 2, 3)), rtol=1e-12)
    np.testing.assert_allclose(scaled_pixels(images, scale), scale(images), atol=1e-6)
    assert pixel_scale(np.full((2, 1, 2, 2), 9, np.uint8)).sd.item() == 1


def arrays(**changes: object) -> Arrays:
    x, y = np.zeros((2, 3), np.float32), np.zeros(2, np.int64)
    fields = {"x_train": x, "y_train": y, "x_test": x, "y_test": y, "classes": ("a", "b")}
    fields |= {
        "name": "demo",
        "task": "classification",
        "split": "none",
        "x_scale": Standardizer.fitted(x),
    }
    return Arrays(**(fields | changes))


def test_arrays_fit_together() -> None:
    assert arrays().num_outputs == 2
    targets = np.zeros((2, 5), np.float32)
    assert arrays(y_train=targets, y_test=targets, classes=None).num_outputs == 5
    with pytest.raises(ValueError, match="demo has 2 test inputs and 3 targets"):
        arrays(y_test=np.zeros(3))
    with pytest.raises(ValueError, match="0 training inputs"):
        arrays(x_train=np.zeros((0, 3)), y_train=np.zeros(0))
    with pytest.raises(ValueError, match="got 'ranking'"):
        arrays(task="ranking")


# Digits


def test_digits() -> None:
    from sklearn.datasets import load_digits

    data = load("digits")
    assert (data.x_train.shape, data.x_test.shape) == ((1438, 1, 8, 8), (359, 1, 8, 8))
    assert (data.x_train.dtype, data.y_train.dtype) == (np.float32, np.int64)
    assert (data.classes, data.task) == (tuple("0123456789"), "classification")
    published = load_digits()
    share = np.bincount(data.y_test) / np.bincount(published.target)
    np.testing.assert_allclose(share, 0.2, atol=0.005)
    # Each image still shows its own digit.
    digit_of = {
        image.astype(int).tobytes(): digit
        for image, digit in zip(published.images, published.target, strict=True)
    }
    restored = np.rint(data.x_scale.inverse(data.x_test))[:, 0].astype(int)
    assert [digit_of[image.tobytes()] for image in restored] == data.y_test.tolist()
    # The training pixels are at mean 0 and deviation 1, so nothing else was in the scale.
    assert abs(data.x_train.mean(dtype=float)) < 1e-6
    assert abs(data.x_train.std(dtype=float) - 1) < 1e-6
    assert same(data, digits.load())
    assert not same(data, digits.load(seed=1))


# MNIST


def test_npz_and_idx_files_hold_the_same_digits(
    small_mnist: dict[str, np.ndarray], tmp_path: Path
) -> None:
    for name in ("npz", "gz/mnist", "raw"):
        (tmp_path / name).mkdir(parents=True)
    np.savez(tmp_path / "npz" / "mnist.npz", **small_mnist)
    files.write_idx(tmp_path / "gz" / "mnist", small_mnist, compressed=True)
    files.write_idx(tmp_path / "raw", small_mnist, compressed=False)
    npz, compressed, raw = (load("mnist", tmp_path / name) for name in ("npz", "gz", "raw"))
    assert same(npz, compressed) and same(npz, raw)
    assert [len(data.files) for data in (npz, compressed, raw)] == [1, 4, 4]
    assert npz.x_train.shape == (files.NUM_TRAIN, 1, 28, 28)
    assert npz.y_test.tolist() == small_mnist["y_test"].tolist()
    x = small_mnist["x_train"]
    expected = (small_mnist["x_test"] - x.mean()) / x.std()
    np.testing.assert_allclose(npz.x_test[:, 0], expected, atol=1e-5)
    assert (npz.x_train.dtype, npz.y_train.dtype) == (np.float32, np.int64)


def test_test_images_have_no_part_in_the_scale(
    small_mnist: dict[str, np.ndarray], tmp_path: Path
) -> None:
    np.savez(tmp_path / "mnist.npz", **small_mnist)
    before = load("mnist", tmp_path)
    small_mnist["x_test"][:] = 255
    np.savez(tmp_path / "mnist.npz", **small_mnist)
    after = load("mnist", tmp_path)
    assert np.array_equal(before.x_train, after.x_train)
    assert (before.x_scale.mean, before.x_scale.sd) == (after.x_scale.mean, after.x_scale.sd)
    assert not np.array_equal(before.x_test, after.x_test)


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
        (b"\0\0\x08\x03" + b"\xff" * 12, "it holds 0"),  # 10^28 bytes
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


# SARCOS


def test_sarcos_as_published(small_sarcos: None, tmp_path: Path) -> None:
    train, test = files.sarcos_rows(40), files.sarcos_rows(10, seed=1)
    files.write_sarcos(tmp_path / "sarcos", sarcos_inv=train, sarcos_inv_test=test)
    data = load("sarcos", tmp_path)
    shapes = [x.shape for x in (data.x_train, data.y_train, data.x_test, data.y_test)]
    assert shapes == [(40, 21), (40, 7), (10, 21), (10, 7)]
    assert (data.task, data.classes, data.num_outputs) == ("regression", None, 7)
    assert (len(data.features), len(data.targets)) == (21, 7)
    assert data.split == "as published; 0 of 10 test rows are training rows too"
    # Both are scaled by the training rows alone, and come back in their units.
    np.testing.assert_allclose(data.x_scale.mean, train[:, :21].mean(0))
    np.testing.assert_allclose(data.y_scale.sd, train[:, 21:].std(0))
    np.testing.assert_allclose(data.x_scale.inverse(data.x_test), test[:, :21], atol=1e-5)
    np.testing.assert_allclose(data.y_scale.inverse(data.y_test), test[:, 21:], atol=1e-5)
    assert data.y_train.dtype == np.float32


def test_rows_in_both_sarcos_files(small_sarcos: None, tmp_path: Path) -> None:
    train, test = files.sarcos_rows(40), files.sarcos_rows(10, seed=1)
    test[:4] = train[[0, 8, 8, 30]]
    files.write_sarcos(tmp_path, sarcos_inv=train, sarcos_inv_test=test)
    assert load("sarcos", tmp_path).split.startswith("as published; 4 of 10 test rows are")
    data = load("sarcos", tmp_path, drop_shared=True)
    assert (len(data.x_train), len(data.x_test)) == (37, 10)
    assert data.split == "as published, without 3 shared training rows"
    left = np.delete(train, [0, 8, 30], axis=0)
    np.testing.assert_allclose(data.x_scale.mean, left[:, :21].mean(0))


def test_the_sarcos_test_file_alone_is_split(small_sarcos: None, tmp_path: Path) -> None:
    rows = files.sarcos_rows(10)
    files.write_sarcos(tmp_path, sarcos_inv_test=rows)
    data = load("sarcos", tmp_path)
    assert (len(data.x_train), len(data.x_test)) == (8, 2)
    assert data.split == "20% of the test file for testing, the rest to train on, seed 0"
    x = np.concatenate([data.x_train, data.x_test])
    np.testing.assert_allclose(
        np.sort(data.x_scale.inverse(x), axis=0), np.sort(rows[:, :21], axis=0), atol=1e-5
    )
    np.testing.assert_allclose(data.y_train.mean(0), 0, atol=1e-6)
    assert same(data, load("sarcos", tmp_path))
    assert not same(data, load("sarcos", tmp_path, seed=5))
    assert len(load("sarcos", tmp_path, test_share=0.5).x_test) == 5


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.zeros((9, 28)), "has 9 rows; the published file has 10"),
        (np.zeros((10, 27)), r"holds float64 \(10, 27\), not rows of 28 floats"),
        (np.zeros((10, 28), np.int32), r"holds int32 \(10, 28\)"),
        (np.where(np.eye(10, 28, 3), np.nan, 0), "no finite number in row 1, column 4"),
    ],
)
def test_sarcos_rows_of_another_form(
    small_sarcos: None, tmp_path: Path, rows: np.ndarray, message: str
) -> None:
    files.write_sarcos(tmp_path, sarcos_inv_test=rows)
    with pytest.raises(WrongFileError, match=message):
        load("sarcos", tmp_path)


def test_sarcos_files_that_are_none(small_sarcos: None, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=r"sarcos_inv_test\.mat is not in"):
        load("sarcos", tmp_path)
    with pytest.raises(DownloadError, match=r"cannot download sarcos_inv\.mat"):
        load("sarcos", tmp_path, download=True)
    (tmp_path / "sarcos_inv_test.mat").write_bytes(b"no MATLAB file")
    with pytest.raises(WrongFileError, match="not a readable MATLAB file"):
        load("sarcos", tmp_path)
    files.write_sarcos(tmp_path, other=files.sarcos_rows(10))
    (tmp_path / "other.mat").rename(tmp_path / "sarcos_inv_test.mat")
    with pytest.raises(WrongFileError, match="has no array 'sarcos_inv_test'"):
        load("sarcos", tmp_path)


def test_the_real_sarcos(real_data: Path) -> None:
    if not (real_data / "sarcos").is_dir():
        pytest.skip("SARCOS is not at hand")
    data = load("sarcos", real_data)
    if len(data.files) == 1:
        assert (len(data.x_train), len(data.x_test)) == (3559, 890)
    else:
        assert (len(data.x_train), len(data.x_test)) == (44_484, 4449)
    np.testing.assert_allclose(data.y_train.std(0), 1, rtol=1e-4)


# By name


def test_a_name_that_is_no_data_set(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no data set 'minst'; there are digits, mnist, cifar10"):
        load("minst", tmp_path)
    with pytest.raises(TypeError, match="colour"):
        load("digits", colour=True)


def test_tables_by_their_path(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("x\ty\n" + "1\t0.5\n2\t1.5\n3\t2.5\n")
    data = load("a.tsv", tmp_path)
    assert (data.name, data.task, data.features) == ("a", "regression", ("x",))
    assert same(data, load(str(tmp_path / "a.tsv")))
