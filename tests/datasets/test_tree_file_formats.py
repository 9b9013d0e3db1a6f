"""Formats of trees in files that are not brackets."""

from __future__ import annotations

from pathlib import Path

import pytest

from structnet import Tree, parse
from structnet.datasets import TreeFileError, read_trees
from structnet.datasets.tree_file_formats import Place
from structnet.datasets.tree_file_sources import is_tree_file


def test_phylogenies(tmp_path: Path) -> None:
    first, second = "((A:0.1,B:0.2):1,C:3);", "(A:1,(B:2,'c;d':3)[;]);"
    own, many = tmp_path / "own.tsv", tmp_path / "posterior.nwk"
    own.write_text(f"2.5\t{first}\n1.5\t{second}\n")
    rows = read_trees(own)
    assert (rows.format, rows.targets, rows.task) == ("newick", [2.5, 1.5], "regression")
    assert rows.trees == [parse.newick(first), parse.newick(second)]
    many.write_text("\n((A:0.1,B:0.2):1,\nC:3);\n(A,(B);\n" + second + "\n(D,E)\n")
    trees = read_trees(many, targets_needed=False)
    assert trees.trees == rows.trees
    assert trees.unreadable == [
        (Place(line=4), "column 1: 1 unclosed '('"),
        (Place(line=6), "column 6: no ';' behind the tree"),
    ]
    many.write_text("[one;]\n(A,B);[lnL=-3] (C,D);\n\n('a;\nb',C);\n[end]\n")
    trees = read_trees(many, targets_needed=False)
    assert trees.trees == list(parse.newick_many(many)) and len(trees) == 3
    assert not trees.unreadable
    for name in ("fast", "slow"):
        folder = tmp_path / "kinds" / name
        folder.mkdir(parents=True)
        (folder / "a.tre").write_text(second)
    assert read_trees(tmp_path / "kinds").targets == ["fast", "slow"]


def test_trees_of_nexus_whatever_the_ending(tmp_path: Path) -> None:
    text = (
        "#NEXUS\nbegin trees;\n translate a one, b two;\n tree t = (a:1,b:2);\n tree u = (a;\nend;"
    )
    for name, by in (
        ("own.nex", "ending"),
        ("own.trees", "first lines"),
        ("own.txt", "first lines"),
    ):
        (tmp_path / name).write_text(text)
        found = read_trees(tmp_path / name, targets_needed=False)
        assert found.trees == [parse.newick("(one:1,two:2);")]
        assert found.unreadable == [(Place(line=5), "column 1: 1 unclosed '('")]
        assert found.guesses == (f"format: newick, by the {by}",)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
@pytest.mark.parametrize("name", ["own.tsv", "own.txt"])
def test_a_byte_order_mark_tells_the_encoding(tmp_path: Path, name: str, encoding: str) -> None:
    path = tmp_path / name
    path.write_text("kühl\t(S (N É))\r\nheiß\t(S b)\r\n", encoding=encoding, newline="")
    assert is_tree_file(path)
    found = read_trees(path)
    assert found.targets == ["kühl", "heiß"] and found.trees[0] == Tree(
        "S", [Tree("N", [Tree("É")])]
    )


def test_a_row_with_the_name_of_the_target_is_a_header(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("day,mood\nit is,2\n")
    with pytest.raises(TreeFileError, match=r"line 2: 'it is' is not a tree .* label-tree, on"):
        read_trees(tmp_path / "own.csv", target="mood")
