"""Files of sparse rows: what is read, what is guessed, and errors that name the line."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import issparse

from structnet.datasets import TableError, load, svmlight_file
from structnet.datasets.svmlight_file import read

TREES = "5 1:3.5 4:1  # an oak\n\n7 qid:3 2:4.5\n" * 10


@pytest.fixture
def write(tmp_path: Path):
    def write(text: str, name: str = "trees.svm") -> Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def test_rows_by_class(write) -> None:
    data = load(str(write(TREES)))
    assert (data.name, data.task, data.classes) == ("trees", "classification", ("5", "7"))
    assert issparse(data.x_train) and data.x_train.format == "csr"
    assert (data.x_train.dtype, data.y_train.dtype) == (np.float32, np.int64)
    assert np.bincount(data.y_train).tolist() == [8, 8]
    rows = {0: [3.5, 0, 0, 1], 1: [0, 4.5, 0, 0]}
    for x, y in ((data.x_train, data.y_train), (data.x_test, data.y_test)):
        found = data.x_scale.inverse(x.toarray())
        np.testing.assert_allclose(found, [rows[label] for label in y.tolist()], rtol=1e-6)
    assert np.square(data.x_train.data).mean() == pytest.approx(1)


def test_packed_files_are_the_same(write, tmp_path: Path) -> None:
    plain = load(str(write(TREES)))
    for name, opener in (("trees.svm.gz", gzip.open), ("trees.libsvm.bz2", bz2.open)):
        with opener(tmp_path / name, "wt") as file:
            file.write(TREES)
        packed = load(name, tmp_path)
        assert (packed.x_train != plain.x_train).nnz == 0 and packed.name == "trees"


def test_a_test_file_has_the_same_columns(write) -> None:
    # Only the test file has a column 0: both count from 0.
    data = load(str(write("1 1:1\n2 2:1\n")), test=write("2 0:1 6:2\n", "trees.t"))
    assert data.x_train.toarray().tolist() == [[0, 1, 0, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0, 0]]
    assert data.x_scale.sd == 1
    assert data.x_test.toarray().tolist() == [[1, 0, 0, 0, 0, 0, 2]]
    assert (data.y_train.tolist(), data.y_test.tolist()) == ([0, 1], [1])


def test_numbers_to_predict(write) -> None:
    path = write("".join(f"{i / 2} 1:{i}\n" for i in range(20)))
    data = load(str(path))
    assert (data.task, data.classes, data.y_train.shape) == ("regression", None, (16, 1))
    restored = data.y_scale.inverse(data.y_train)
    inputs = data.x_scale.inverse(data.x_train.toarray())
    np.testing.assert_allclose(restored, inputs / 2, atol=1e-5)
    assert load(str(write("1 1:1\n1.5 1:2\n" * 5)), task="classification").num_outputs == 2


def test_the_only_row_of_a_class_is_learnt_from(write) -> None:
    data = load(str(write("".join(f"{min(i, 5)} 1:{i}\n" for i in range(30)))))
    assert set(range(5)) <= set(data.y_train.tolist()) and set(data.y_test.tolist()) == {5}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("5 1:x", "line 3: expected a number; got 'x'"),
        ("oak 1:1", "line 3: expected a number; got 'oak'"),
        ("5,6 1:1", "line 3: expected a number; got '5,6'"),
        ("5 1:nan", r"line 3: the value is missing \('nan'\)"),
        ("inf 1:1", "line 3: expected a finite number; got 'inf'"),
        ("5 3:1 2:1", "line 3: expected columns that ascend; got 2 after 3"),
        ("5 3:1 3:1", "line 3: expected columns that ascend; got 3 after 3"),
        ("5 1,1", "line 3: expected COLUMN:VALUE; got '1,1'"),
        ("5 -1:1", "line 3: expected COLUMN:VALUE; got '-1:1'"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_bad_lines_have_their_number(line: str, message: str, packed: bool, tmp_path: Path) -> None:
    path = tmp_path / f"trees.svm{'.gz' * packed}"
    with (gzip.open if packed else open)(path, "wt") as file:
        file.write(f"5 1:1\n# a comment\n{line}\n6 1:1\n")
    with pytest.raises(TableError, match=f"{path.name}, {message}$"):
        svmlight_file.load(path)


def test_files_that_teach_nothing(write) -> None:
    with pytest.raises(TableError, match="is empty"):
        svmlight_file.load(write("# nothing\n"))
    with pytest.raises(TableError, match="at least two classes; every row has 5"):
        svmlight_file.load(write("5 1:1\n5\n"))
    with pytest.raises(ValueError, match=r"\.svm: too few samples to hold some out: 2, each of"):
        svmlight_file.load(write("5 1:1\n6 1:1\n"))
    with pytest.raises(TableError, match=r"other\.svm: the training rows have no class 9"):
        svmlight_file.load(write(TREES), test=write("9 1:1\n", "other.svm"))
    with pytest.raises(ValueError, match=r"there is no data set 'a\.arff'.* or FILE\.svm"):
        load("a.arff")


def test_columns_are_numbered_as_in_the_file_beside(tmp_path: Path) -> None:
    learnt, new = tmp_path / "learnt.svm", tmp_path / "new.svm"
    learnt.write_text("1 0:5 2:1\n")
    new.write_text("1 1:7\n")
    ((alone, _),) = read([new])
    ((x, _),) = read([new], learnt)
    assert (alone.indices.tolist(), x.indices.tolist()) == ([0], [1])
    assert read([new], tmp_path / "gone.svm")[0][0].indices.tolist() == [0]
