"""Folders of trees with files that hold none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from structnet.datasets import TreeFileError, read_trees, summarize_trees
from structnet.datasets.tree_file import read_text
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


def documents(folder: Path, label: str = "label", below: str = "") -> list[str]:
    """Files with an object in each, whose kind is both in it and in its target."""
    kinds = ["a", "b", "b", "a"]
    for i, kind in enumerate(kinds):
        page(folder, f"{below}{i}.json", json.dumps({"kind": kind, label: kind.upper(), "n": [i]}))
    return kinds


@pytest.mark.parametrize("said", [None, "label"])
@pytest.mark.parametrize("format_", [None, "json"])
def test_documents_with_their_labels(tmp_path: Path, format_: str | None, said: str | None) -> None:
    kinds = documents(tmp_path)
    page(tmp_path, "notes.txt", "no tree")
    data = read_trees(tmp_path, format_, said)
    assert (data.targets, data.target) == ([kind.upper() for kind in kinds], "label")
    assert list(map(str, data.trees)) == [
        f"(object (kind {kind}) (n (array {i})))" for i, kind in enumerate(kinds)
    ]
    assert data.places == [Place(f"{i}.json") for i in range(4)]
    # A file alone, and without its label, is read in the same way.
    told = {"format": "json", "target": "label", "targets_needed": False}
    page(tmp_path, "alone/one.json", '{"kind": "a", "n": [0]}')
    for file in ("0.json", "alone/one.json"):
        assert read_trees(tmp_path / file, **told).trees == data.trees[:1]
    assert read_trees(tmp_path / "alone", **told).trees == data.trees[:1]
    typed = [(tmp_path / "0.json").read_text(), '{"n": [0], "kind": "a"}']
    assert read_text(typed[0], "json", "label").trees == data.trees[:1]
    assert read_text(typed[0], "json", "label").targets == ["A"]
    assert str(read_text(typed[1], "json", "label").trees[0]).startswith("(object (n (array")


def test_documents_with_a_tree_beside_the_label(tmp_path: Path) -> None:
    for i in range(3):
        page(tmp_path, f"{i}.json", json.dumps({"tree": {"x": i}, "score": 1.5 * i}))
    data = read_trees(tmp_path)
    assert (data.target, data.targets, data.task) == ("score", [0.0, 1.5, 3.0], "regression")
    assert str(data.trees[1]) == "(object (x 1))"


def test_folders_of_documents_are_classes_unless_a_field_is_named(tmp_path: Path) -> None:
    documents(tmp_path, "mark", "one/")
    documents(tmp_path, "mark", "two/")
    assert read_trees(tmp_path).targets == ["one"] * 4 + ["two"] * 4
    data = read_trees(tmp_path, target="mark")
    assert data.targets == ["A", "B", "B", "A"] * 2 and data.places[4] == Place("two/0.json")


def test_documents_without_the_label_and_files_that_are_none(tmp_path: Path) -> None:
    documents(tmp_path, "mark")
    with pytest.raises(TreeFileError, match=r"a folder for each class.* JSON objects with a field"):
        read_trees(tmp_path)
    with pytest.raises(TreeFileError, match=r"no file has the field 'makr'.* kind, mark, n$"):
        read_trees(tmp_path, target="makr")
    page(tmp_path, "list.json", "[1]")
    page(tmp_path, "torn.json", '{"kind": ')
    page(tmp_path, "void.json", "")
    faults = dict(read_trees(tmp_path, target="mark").unreadable)
    assert faults[Place("list.json")] == "expected a JSON object; got [1]"
    for name in ("torn.json", "void.json"):
        assert faults[Place(name)].startswith("not JSON: ")


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
