"""Folders of trees with files that hold none."""

from __future__ import annotations

from pathlib import Path

import pytest

from structnet.datasets import TreeFileError, read_trees, summarize_trees
from structnet.datasets.tree_file_formats import Place


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
    assert data.unreadable == [(Place("b/__init__.py"), "is empty; expected a tree")]
    assert data.places == [Place(name) for name in ["a/one.py", "b/two.py"]]


def test_pictures_are_xml(tmp_path: Path) -> None:
    for name in ("round/a.svg", "square/b.svg"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text('<svg><path d="m 1 1"/></svg>', encoding="utf-8")
    data = read_trees(tmp_path)
    assert (data.format, list(map(str, data.trees))) == ("xml", ["(svg (path (@d m 1 1)))"] * 2)


def page(folder: Path, name: str, text: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")


def test_a_format_that_is_said_is_that_of_files_with_its_ending(tmp_path: Path) -> None:
    for name in "ab":
        page(tmp_path, f"{name}/page.html", f"<p>{name}</p>")
        page(tmp_path, f"{name}/style.css", "p {margin: 0}")
        page(tmp_path, f"{name}/other.html", "<b/>")
        page(tmp_path, f"{name}/data.json", "[1]")
    guessed, said = read_trees(tmp_path), read_trees(tmp_path, "html")
    assert said.places == guessed.places and len(said) == 4
    assert any("4 other files are left out" in guess for guess in said.guesses)
    asked = read_trees(tmp_path / "a", "html", targets_needed=False)
    assert asked.places == [Place(name) for name in ["other.html", "page.html"]]


def test_a_format_without_endings_is_that_of_any_file(tmp_path: Path) -> None:
    for name in ("a/one.mrg", "b/two.mrg", "b/LICENSE"):
        page(tmp_path, name, "(S (NP-SBJ it))")
    assert read_trees(tmp_path, "penn").places == [
        Place(name) for name in ["a/one.mrg", "b/two.mrg"]
    ]
    for name in ("a/one.mrg", "b/two.mrg"):
        (tmp_path / name).rename((tmp_path / name).with_suffix(""))
    assert read_trees(tmp_path, "penn").places == [
        Place(name) for name in ["a/one", "b/LICENSE", "b/two"]
    ]


def test_lines_with_targets_of_their_own_are_no_folder(tmp_path: Path) -> None:
    for name in "ab":
        page(tmp_path, f"{name}/lines.jsonl", '{"tree": "(A B)", "label": "x"}')
    for format_ in (None, "jsonl"):
        with pytest.raises(
            TreeFileError, match=r"targets of its own; expected that file, .*a/line"
        ):
            read_trees(tmp_path, format_)


@pytest.mark.parametrize("task", ["regression", "nodes"])
def test_of_folders_that_are_no_such_targets_all_trees_are_asked_about(
    tmp_path: Path, task: str
) -> None:
    for name in ("some/one.mrg", "others/two.mrg", "three.mrg"):
        page(tmp_path, name, "(S it)")
    found = read_trees(tmp_path, "bracketed", None, task, targets_needed=False)
    assert (len(found), found.targets, found.unreadable) == (3, None, [])
    with pytest.raises(TreeFileError, match="expected a"):
        read_trees(tmp_path, "bracketed", None, task)


@pytest.mark.parametrize(
    ("task", "classes", "truths", "kind"),
    [
        ("regression", None, [None, 7.0, None], "numbers"),
        ("classification", ["some", "8"], [None, None, "some"], "classes"),
    ],
)
def test_each_folder_by_itself_is_a_target_or_none(
    tmp_path: Path, task: str, classes: list[str] | None, truths: list, kind: str
) -> None:
    for name in ("some/one.mrg", "7/two.mrg", "a.mrg"):
        page(tmp_path, name, "(S it)")
    found = read_trees(tmp_path, "bracketed", None, task, targets_needed=False, classes=classes)
    told = dict(zip((place.file for place in found.places), found.targets, strict=True))
    assert [told[name] for name in ("a.mrg", "7/two.mrg", "some/one.mrg")] == truths
    assert (found.task, found.unreadable) == (task, [])
    assert found.each_target == [each for each in truths if each is not None]
    (guess,) = (each for each in found.guesses if each.startswith("truth"))
    other = "some" if task == "regression" else "7"
    assert f"that are {kind}; 2 of 3 trees are in no such folder ({other}) and" in guess


def test_lines_of_which_some_have_no_target_keep_those_of_the_others(tmp_path: Path) -> None:
    (tmp_path / "own.tsv").write_text("1.5\t(S it)\n\t(S is)\n1.5\t(S it)\n\t(S it)\n")
    found = read_trees(tmp_path / "own.tsv", None, None, "regression", targets_needed=False)
    assert found.targets == [1.5, None, 1.5, None]
    told = summarize_trees(found)
    assert (told["copies"], told["copies_with_other_target"]) == (2, 0)
