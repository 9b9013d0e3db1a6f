"""Folders of trees with files that hold none."""

from __future__ import annotations

from pathlib import Path

import pytest

from structnet.datasets import TreeFileError, read_trees


def test_a_folder_of_files_of_no_format(tmp_path: Path) -> None:
    for name in ("a/one.toml", "a/two.toml", "b/three.toml", "b/LICENSE"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x = 1\n", encoding="utf-8")
    with pytest.raises(TreeFileError, match=r"\.xml.* Got 4 files, most with .* \.toml, none$"):
        read_trees(tmp_path)


def test_an_empty_file_among_others_is_left_out(tmp_path: Path) -> None:
    for name, text in (("a/one.py", "x = 1"), ("b/two.py", "f(x)"), ("b/__init__.py", "")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    data = read_trees(tmp_path)
    assert len(data) == 2
    assert data.unreadable == [("b/__init__.py", "is empty; expected a tree")]
    assert data.places == ["a/one.py", "b/two.py"]


def test_pictures_are_xml(tmp_path: Path) -> None:
    for name in ("round/a.svg", "square/b.svg"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text('<svg><path d="m 1 1"/></svg>', encoding="utf-8")
    data = read_trees(tmp_path)
    assert (data.format, list(map(str, data.trees))) == ("xml", ["(svg (path (@d m 1 1)))"] * 2)
