"""``reproduce softmax-tree --table defaults``: who is compared, on which rows."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from commands import ran, refused
from sklearn.tree import DecisionTreeClassifier

from structnet.recipes.softmax_tree.defaults import (
    NAMES,
    SOURCES,
    Settings,
    figures_of,
    file_size,
    members,
)
from structnet.recipes.softmax_tree.paper import Choice
from structnet.recipes.softmax_tree.settings import Rows
from structnet.softmax_tree import SoftmaxTreeClassifier

X = np.repeat([[-2.0], [-1.0], [1.0], [2.0]], 10, axis=0)
Y = np.repeat([0, 1, 2, 3], 10)


def test_every_model_learns_from_the_same_rows() -> None:
    found = members(Choice(), 3)
    assert [each.key for each in found] == [(data, name) for data in SOURCES for name in NAMES]
    assert len({each.folder for each in found}) == len(found)
    brown = [each.settings for each in found if each.key[0] == "brown"]
    sizes = {(s.train_size, s.test_size, s.num_classes, s.seed) for s in brown}
    assert sizes == {(20_000, 5_000, 200, 3)}
    fewer = members(Choice("uneven", rows=Rows(train_size=100)), 0)
    given = Settings("uneven", "softmax tree", 100, 5_000, None)
    assert fewer[0].settings == given and len(fewer) == len(NAMES)


def test_what_a_model_costs(tmp_path: Path) -> None:
    model = SoftmaxTreeClassifier(depth=1, k=2, random_state=0).fit(X, Y)
    model.save(tmp_path / "tree")
    assert file_size(model) == (tmp_path / "tree").stat().st_size
    other = DecisionTreeClassifier(max_depth=1).fit(X, Y)
    assert file_size(other) == len(pickle.dumps(other))
    found = figures_of(other, X, Y)
    assert found["error"] == 0.5 and min(found.values()) > 0


def test_a_small_table(tmp_path: Path) -> None:
    few = ["--data", "uneven", "--num-classes", "3", "--train-size", "90", "--test-size", "30"]
    done = ran("reproduce", "softmax-tree", "--table", "defaults", *few, "--out", tmp_path)
    rows = done.json["rows"]
    assert list(rows) == [f"uneven: {name}" for name in NAMES]
    assert all(0 <= row["error"]["ours"] <= 1 for row in rows.values())
    text = (tmp_path / "defaults-uneven.md").read_text()
    assert "paper | here" not in text and "uneven 90 rows, 3 classes, tested on 30" in text


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (["--depth", "3"], "default settings; leave out --depth, --k, --penalty, "),
        (["--penalty", "2"], "default settings; leave out --depth, --k, --penalty, "),
        (["--data", "clusters"], "--data must be one of digits, mnist, uneven, brown"),
    ],
)
def test_what_the_table_refuses(flags: list[str], expected: str) -> None:
    assert expected in refused("reproduce", "softmax-tree", "--table", "defaults", *flags)
