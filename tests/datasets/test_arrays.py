"""Arrays of images and rows: their scales, splits and parts, digits, and data sets by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from array_files import same

from structnet.datasets import Arrays, digits, load
from structnet.datasets.pixels import pixel_scale, scaled_pixels
from structnet.estimators import Standardizer

pytestmark = pytest.mark.usefixtures("cache")


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
    with pytest.raises(ValueError, match="Got 'ranking'"):
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
