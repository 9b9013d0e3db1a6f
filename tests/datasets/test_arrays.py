"""Arrays of images and rows: their scales, splits and parts, digits, and data sets by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from array_files import same
from hypothesis import given
from hypothesis import strategies as st

from structnet.datasets import (
    Arrays,
    Scale,
    digits,
    hold_out,
    load,
)
from structnet.datasets.pixels import pixel_scale, scaled_pixels

pytestmark = pytest.mark.usefixtures("cache")


# Scales and splits


def test_a_scale_gives_mean_0_and_deviation_1_and_goes_back() -> None:
    rows = np.random.default_rng(0).normal([1e6, -3, 0.1], [5, 1e-3, 2], size=(500, 3))
    scale = Scale.of(rows)
    scaled = scale.apply(rows)
    assert scaled.dtype == np.float32
    np.testing.assert_allclose(scaled.mean(0, dtype=float), 0, atol=1e-6)
    np.testing.assert_allclose(scaled.std(0, dtype=float), 1, rtol=1e-6)
    np.testing.assert_allclose(scale.undo(scaled), rows, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(scale.sd, rows.std(0), rtol=1e-9)


@pytest.mark.parametrize("value", [0.0, 0.1, -7.3, 1e300, 5e-324])
def test_a_column_of_one_value_is_only_shifted(value: float) -> None:
    scale = Scale.of(np.full((7, 1), value))
    assert scale.sd == 1
    assert abs(scale.apply(np.full((1, 1), value)).item()) <= 1e-15 * abs(value)


@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_very_large_and_very_small_numbers_have_a_scale(size: float) -> None:
    scaled = Scale.of(np.array([[size], [3 * size]])).apply(np.array([[size], [3 * size]]))
    np.testing.assert_allclose(scaled, [[-1], [1]], rtol=1e-6)


def test_a_scale_needs_rows() -> None:
    with pytest.raises(ValueError, match="no rows"):
        Scale.of(np.zeros((0, 3)))


@given(st.lists(st.integers(0, 4), min_size=2, max_size=60), st.floats(0.05, 0.9), st.integers(0))
def test_every_row_is_for_training_or_for_testing(
    groups: list[int], share: float, seed: int
) -> None:
    groups = np.array(groups)
    sizes = np.bincount(groups)
    if sizes.max() < 2:
        with pytest.raises(ValueError, match="too few rows"):
            hold_out(groups, share, seed)
        return
    train, test = hold_out(groups, share, seed)
    assert sorted([*train, *test]) == list(range(len(groups)))
    assert len(test)
    assert set(groups[train]) == set(groups)  # no class is for testing only
    expected = np.minimum(np.rint(share * sizes), np.maximum(sizes - 1, 0))
    if expected.any():
        assert np.bincount(groups[test], minlength=len(sizes)).tolist() == expected.tolist()


def test_the_seed_decides_the_split() -> None:
    groups = np.zeros(100, int)
    assert np.array_equal(hold_out(groups, seed=3)[1], hold_out(groups, seed=3)[1])
    assert not np.array_equal(hold_out(groups, seed=3)[1], hold_out(groups, seed=4)[1])


@pytest.mark.parametrize("share", [0, 1, -0.1, 20])
def test_a_share_is_between_0_and_1(share: float) -> None:
    with pytest.raises(ValueError, match=r"between 0 and 1\. Got"):
        hold_out(np.zeros(10), share)


def test_pixels_are_counted_over_all_images() -> None:
    images = np.random.default_rng(0).integers(256, size=(2300, 3, 2, 2), dtype=np.uint8)
    images[:, 1] //= 2
    scale = pixel_scale(images)
    np.testing.assert_allclose(scale.mean.ravel(), images.mean((0, 2, 3)), rtol=1e-12)
    np.testing.assert_allclose(scale.sd.ravel(), images.std((0, 2, 3)), rtol=1e-12)
    np.testing.assert_allclose(scaled_pixels(images, scale), scale.apply(images), atol=1e-6)
    assert pixel_scale(np.full((2, 1, 2, 2), 9, np.uint8)).sd.item() == 1


def arrays(**changes: object) -> Arrays:
    x, y = np.zeros((2, 3), np.float32), np.zeros(2, np.int64)
    fields = {"x_train": x, "y_train": y, "x_test": x, "y_test": y, "classes": ("a", "b")}
    fields |= {"name": "demo", "task": "classification", "split": "none", "x_scale": Scale.of(x)}
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
    restored = np.rint(data.x_scale.undo(data.x_test))[:, 0].astype(int)
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
