"""Rows and images for a run: what is held out, which columns are taken, how images are moved."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from neural_tree_runs import settings_of

from structnet.datasets.csv_file import TableError, read
from structnet.neural_tree import NeuralTree, NeuralTreeClassifier, presets
from structnet.recipes import rows as of_file
from structnet.recipes.neural_tree.data import load_data, shifted_and_mirrored


def test_validation_is_held_out_of_training_and_never_tested() -> None:
    data = load_data(settings_of(data="digits", train_size=100, test_size=50, seed=3))
    assert [len(part) for part in (data.train, data.validation, data.test)] == [90, 10, 50]
    rows = [{row.numpy().tobytes() for row in part.x} for part in (data.train, data.validation)]
    assert not rows[0] & rows[1]
    known = {row.tobytes() for row in data.arrays.x_train}
    assert rows[0] | rows[1] <= known


@pytest.mark.parametrize(
    ("classes", "expected"),
    [
        (("-1", "1"), [-1, 1]),
        (("0", "7"), [0, 7]),
        (("01", "7"), ["01", "7"]),
        (("1.5", "7"), ["1.5", "7"]),
        (("7", "9" * 30), ["7", "9" * 30]),
        (("cheap", "dear"), ["cheap", "dear"]),
    ],
)
def test_an_estimator_of_a_run_has_classes_as_a_fit_has(
    classes: tuple[str, ...], expected: list
) -> None:
    data = load_data(settings_of(data="digits", train_size=100, test_size=50, seed=3))
    named = replace(data, arrays=replace(data.arrays, classes=classes))
    root = SimpleNamespace(tree=NeuralTree(presets.table(10), data.train.x.shape[1:]))
    model = named.estimator(NeuralTreeClassifier, {}, 0, [root])
    assert model.classes_.tolist() == expected


@pytest.mark.parametrize(
    ("features", "header", "expected"),
    [
        (["b", "a"], "x,a,b", [2, 1]),
        (["a", "a"], "a,a", [0, 1]),
        (["a", "b"], "a,b,a", None),
        (["a", "a"], "a,b", None),
    ],
)
def test_the_columns_of_a_file_are_found_without_doubt(
    features: list[str], header: str, expected: list[int] | None, tmp_path: Path
) -> None:
    path = tmp_path / "new.csv"
    path.write_text(f"{header}\n{','.join('1' for _ in header.split(','))}\n")
    data = {"features": features, "shape": [2]}
    if expected is not None:
        assert of_file.columns(read(path), data) == expected
        return
    with pytest.raises(TableError, match=r"new\.csv: there are several columns 'a'"):
        of_file.columns(read(path), data)


def test_an_image_is_shifted_and_mirrored_whole() -> None:
    torch.manual_seed(0)
    image = torch.zeros(1, 2, 12, 12)
    image[0, :, 5, 6] = torch.tensor([1.0, 2.0])  # one point, in two channels
    found = shifted_and_mirrored(image.repeat(300, 1, 1, 1))
    assert found.shape == (300, 2, 12, 12)
    assert torch.equal(2 * found[:, 0], found[:, 1])
    places = {tuple(place) for place in found[:, 0].nonzero()[:, 1:].tolist()}
    assert (found[:, 0].sum((1, 2)) == 1).all()
    rows, columns = ({place[i] for place in places} for i in (0, 1))
    assert rows == set(range(1, 10))
    assert columns == set(range(1, 11))  # 6 and its mirror image 5, each moved by at most 4
