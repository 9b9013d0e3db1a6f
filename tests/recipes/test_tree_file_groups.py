"""Trees that belong together: none of a file or of an author on two sides of a split."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import call, ran
from tree_files import SMALL, TREES

from structnet.datasets import TreeFileError, read_trees
from structnet.recipes.tree_file.data import TreeFileData, load_data
from structnet.recipes.tree_file.settings import Source, TreeFileSettings


def folder(path: Path, files: int, each: int = 4) -> Path:
    """Two classes of so many files of trees."""
    for i in range(files * each):
        for kind, tree in (("yes", TREES[i % 20]), ("no", TREES[20 + i % 20])):
            (path / kind).mkdir(parents=True, exist_ok=True)
            with (path / kind / f"{i % files}.mrg").open("a") as file:
                file.write(f"{tree}\n")
    return path


def table(path: Path) -> Path:
    rows = ["label\tauthor\ttree"]
    rows += [f"{tree[1]}\tby {i % 8}\t{tree}" for i, tree in enumerate(TREES)]
    path.write_text("\n".join(rows))
    return path


def loaded(path: Path, said: list[str], **source: str) -> TreeFileData:
    return load_data(TreeFileSettings(str(path), Source(**source)), said.append)


def sides(data: TreeFileData) -> list[set[str]]:
    return [
        {place.group or place.file for place in part.places}
        for part in (data.train, data.validation, data.test)
    ]


def test_files_of_a_folder_are_held_out_whole(tmp_path: Path) -> None:
    data = loaded(folder(tmp_path, 8), said := [])
    assert sum(map(len, sides(data))) == 16 == len(set.union(*sides(data)))
    assert {len(set(part.targets or ())) for part in (data.train, data.test)} == {2}
    assert "held out: whole groups; no file is both in what is drawn and in the rest" in said
    assert data.describe()["group"] == "file"


@pytest.mark.parametrize(("files", "each"), [(4, 10), (40, 1)])
def test_few_files_or_files_of_one_tree_are_no_groups(
    tmp_path: Path, files: int, each: int
) -> None:
    data = loaded(folder(tmp_path, files, each), said := [])
    assert not any("held out" in line for line in said)
    assert "group" not in data.describe()
    if files == 4:
        assert sides(data)[0] == set.union(*sides(data))


def test_single_trees_are_drawn_where_whole_files_cannot_be(tmp_path: Path) -> None:
    for name in ("no", "yes"):
        for i in range(5):
            file = tmp_path / name / f"{i}.mrg"
            file.parent.mkdir(exist_ok=True)
            file.write_text("(S (A x))\n" * (2 if i else 200))
    data = loaded(tmp_path, said := [])
    assert data.group is None and "group" not in data.describe()
    assert any("single trees are held out, though files have several" in line for line in said)


def test_a_column_says_what_belongs_together(tmp_path: Path) -> None:
    data = loaded(table(tmp_path / "own.tsv"), said := [], group="author")
    assert data.train.target == "label"  # and the author could not be it
    assert sum(map(len, sides(data))) == 8 == len(set.union(*sides(data)))
    assert "held out: whole groups; no author is both in what is drawn and in the rest" in said
    rows = [{"label": "a", "tree": TREES[0], "of": 1}, {"label": "b", "tree": TREES[1]}]
    (tmp_path / "own.jsonl").write_text("\n".join(map(json.dumps, rows * 2)))
    found = read_trees(tmp_path / "own.jsonl", group="of")
    assert found.groups == ["1", "1"]
    assert [fault for _, fault in found.unreadable] == ["it has no of"] * 2


def test_a_folder_of_phylogenies_with_the_ending_of_treebanks(tmp_path: Path) -> None:
    for i in range(12):
        file = tmp_path / ("yes" if i % 2 else "no") / f"{i}.trees"
        file.parent.mkdir(exist_ok=True)
        trees = "tree t = (A,B);\ntree u = (A,(B,C));" if i % 2 else "tree t = ((A,B),C);"
        file.write_text(f"\n#NEXUS\nbegin trees;\n{trees}\nend;\n")
    data = loaded(tmp_path, said := [])
    assert data.train.format == "newick" and len(set.union(*sides(data))) == 12
    assert "guessed format: newick, by the endings" in said
    assert sum(map(len, (data.train, data.validation, data.test))) == 18


def test_what_has_no_such_groups_is_refused(tmp_path: Path) -> None:
    path = table(tmp_path / "own.tsv")
    with pytest.raises(TreeFileError, match="has no column 'book'; its columns are label, author"):
        read_trees(path, group="book")
    (tmp_path / "own.mrg").write_text("\n".join(TREES))
    with pytest.raises(TreeFileError, match=r"has no columns.* --group author"):
        read_trees(tmp_path / "own.mrg", target="root-label", group="author")
    with pytest.raises(TreeFileError, match="is a folder, whose files are the groups"):
        read_trees(folder(tmp_path / "data", 2), group="author")
    path.write_text(path.read_text().replace("by 1", "by 0"))
    text = path.read_text()
    for i in range(8):
        text = text.replace(f"by {i}", "one")
    path.write_text(text)
    with pytest.raises(TreeFileError, match="no whole group can be held out"):
        loaded(path, [], group="author")


def test_a_run_of_groups_is_measured_again(tmp_path: Path) -> None:
    run = tmp_path / "run"
    data = ("--data", table(tmp_path / "own.tsv"), "--group", "author")
    trained = ran("train", "tree-lstm", *data, *SMALL, "--out", run)
    assert "held out: whole groups; no author is" in trained.out
    again = call("evaluate", run).json
    assert again["test"] == trained.json["test"]
    assert again["sizes"]["test"] == trained.json["sizes"]["test"] in (5, 10)
    asked = call("evaluate", run, "--data", tmp_path / "own.tsv").json
    assert asked["sizes"] == {"test": 40}
