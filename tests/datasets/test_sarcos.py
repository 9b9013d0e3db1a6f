"""SARCOS: rows in both files, the split of one, and files that are not what they should be."""

from __future__ import annotations

from pathlib import Path

import array_files as files
import numpy as np
import pytest

from structnet.datasets import DownloadError, WrongFileError, load, sarcos

pytestmark = pytest.mark.usefixtures("cache")


@pytest.fixture
def small_sarcos(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sarcos, "verify", lambda source, path: None)


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
    assert files.same(data, load("sarcos", tmp_path))
    assert not files.same(data, load("sarcos", tmp_path, seed=5))
    assert len(load("sarcos", tmp_path, test_fraction=0.5).x_test) == 5


@pytest.mark.parametrize(
    ("rows", "message"),
    [
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


def test_a_file_that_is_not_the_published_one_is_not_read(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(sarcos, "read", None)  # of a damaged file, reading may end the interpreter
    files.write_sarcos(tmp_path, sarcos_inv_test=files.sarcos_rows(10))
    with pytest.raises(WrongFileError, match=r"has [\d,]+ bytes; sarcos_inv_test\.mat has 9"):
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
