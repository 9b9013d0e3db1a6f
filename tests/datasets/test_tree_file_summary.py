"""What is told of a file of trees."""

from __future__ import annotations

from pathlib import Path

import pytest

from structnet.datasets import read_trees, summarize_trees


def summary(path: Path, text: str, **options: str) -> dict:
    path.write_text(text)
    return summarize_trees(read_trees(path, **options))


def test_everything_is_counted(tmp_path: Path) -> None:
    rows = [
        "even\t[MAX 2 4 ]",
        "odd\t[MIN 3 [MAX 7 9 8 ] ]",
        "odd\t[MAX 2 4 ]",
        "even\t[MAX 2 4 ]",
        "odd\t[MAX",
    ]
    found = summary(tmp_path / "own.tsv", "\n".join(rows))
    assert found == {
        "examples": 4,
        "trees": 4,
        "nodes": 15,
        "size": {"least": 3, "median": 3, "most": 6},
        "height": {"least": 1, "median": 1, "most": 2},
        "arity": {"least": 2, "median": 2, "most": 3},
        "inner_labels": {"different": 2, "most": {"MAX": 4, "MIN": 1}},
        "leaf_labels": {"different": 6, "most": {"2": 3, "4": 3, "3": 1, "7": 1, "8": 1, "9": 1}},
        "tokens": {"different": 0, "most": {}},
        "copies": 2,
        "copies_with_other_target": 1,
        "classes": {"even": 2, "odd": 2},
        "unreadable": 1,
        "unreadable_first": [{"line": 5, "fault": "column 1: 1 unclosed '['"}],
    }


def test_numbers_to_predict(tmp_path: Path) -> None:
    rows = "".join(f"{value}\t[MAX {value} 1 ]\t[MIN {value} 2 ]\n" for value in (1, 3, 5))
    found = summary(tmp_path / "own.tsv", rows, task="regression")
    deviation = found["target"].pop("deviation")
    assert found["target"] == {"least": 1, "median": 3, "most": 5, "mean": 3}
    assert deviation == pytest.approx((8 / 3) ** 0.5)
    assert (found["examples"], found["trees"], found["copies"]) == (3, 6, 0)


def test_labels_of_nodes(tmp_path: Path) -> None:
    found = summary(tmp_path / "sst.txt", "(3 (2 It) (4 works))\n" * 2, target="node-labels")
    assert found["classes"] == {"2": 2, "3": 2, "4": 2}
    assert found["inner_labels"] == {"different": 1, "most": {"*": 6}}
    assert (found["copies"], found["copies_with_other_target"]) == (1, 0)
