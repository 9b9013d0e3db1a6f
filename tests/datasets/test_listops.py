"""ListOps: what the generator promises, and the published files where they are at hand."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from structnet import parse
from structnet.datasets import listops
from structnet.datasets.source import DownloadError, Source
from structnet.parse import ParseError
from structnet.trees.tree import Tree

pytestmark = pytest.mark.usefixtures("cache")
SAMPLES = Path(__file__).parents[2] / "data" / "samples"


def value(tree: Tree) -> int:
    """The slow way, as the paper defines it."""
    if not tree.children:
        return int(tree.label)
    operands = [value(child) for child in tree.children]
    functions = {"MAX": max, "MIN": min, "MED": np.median, "SM": lambda x: sum(x) % 10}
    return int(functions[tree.label](operands))


def test_values() -> None:
    trees = listops.generate(2000, seed=5)
    assert [listops.evaluate_expression(tree) for tree in trees] == [value(tree) for tree in trees]


@pytest.mark.parametrize("text, expected", [("[MED 2 3 ]", 2), ("[SM 9 9 9 ]", 7), ("4", 4)])
def test_values_by_hand(text: str, expected: int) -> None:
    assert listops.evaluate_expression(parse.listops(text)) == expected


def test_value_of_a_long_chain() -> None:
    tree = Tree("3")
    for _ in range(100_000):
        tree = Tree("SM", [tree, Tree("1")])
    assert listops.evaluate_expression(tree) == 3


@pytest.mark.parametrize("tree", [Tree("FOO", [Tree("1")]), Tree("10"), Tree("MAX", [Tree("x")])])
def test_unknown_labels_have_no_value(tree: Tree) -> None:
    with pytest.raises(ValueError, match=r"FOO|'10'|'x'"):
        listops.evaluate_expression(tree)


def test_generated_trees_follow_the_grammar() -> None:
    trees = listops.generate(3000, seed=1, max_depth=6)
    assert len(set(trees)) == 3000
    assert max(tree.height for tree in trees) == 5  # six levels
    inner = [node for tree in trees for node in tree.preorder() if node.children]
    assert {node.label for node in inner} == set(listops.OPERATORS)
    assert {len(node.children) for node in inner} == set(listops.ARITIES)
    assert {leaf.label for tree in trees for leaf in tree.leaves()} == set("0123456789")


def test_generated_sizes() -> None:
    """100,000 distinct trees are as large as the published ones; their number decides that."""
    drawn = listops._distinct(100_000, np.random.SeedSequence(0), max_depth=20)
    operators = np.array([sum(code >= 10 for code in nodes) for nodes in drawn])
    tokens = np.array([len(nodes) for nodes in drawn]) + operators  # each has a closing bracket
    assert abs(tokens.mean() - 42.8) < 1.0
    assert np.median(tokens) == 16
    assert abs((tokens <= 7).mean() - 0.225) < 0.005


def test_same_seed_same_trees() -> None:
    assert listops.generate(200, seed=3) == listops.generate(200, seed=3)
    assert listops.generate(200, seed=3) != listops.generate(200, seed=4)


@pytest.mark.parametrize("args", [(0,), (5, 0, 0), (11, 0, 1), (444_411, 0, 2)])
def test_impossible_numbers_of_trees(args: tuple) -> None:
    with pytest.raises(ValueError, match=r"\[1, inf\)|fewer than"):
        listops.generate(*args)


def test_all_trees_of_one_level() -> None:
    assert {tree.label for tree in listops.generate(10, max_depth=1)} == set("0123456789")


def test_load_generates() -> None:
    data = listops.load(num_train=900, num_test=100, seed=2)
    assert (len(data.train_trees), len(data.test_trees)) == (900, 100)
    assert not set(data.train_trees) & set(data.test_trees)
    assert data.test_labels == [value(tree) for tree in data.test_trees]
    assert data.origin == "generated"


@pytest.fixture
def published(tmp_path: Path, monkeypatch) -> Path:
    """Two small files in the place of the published ones."""
    for name, labels in (("TRAIN", "12345"), ("TEST", "678")):
        path = tmp_path / getattr(listops, name).name
        path.write_text("".join(f"{label}\t( [MAX {label} ) ]\n" for label in labels))
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        monkeypatch.setattr(
            listops, name, Source(path.name, "demo", "https://example.org", "MIT", sha256=digest)
        )
        monkeypatch.setattr(listops, f"PUBLISHED_{name}", len(labels))
    return tmp_path


def test_load_prefers_the_published_files(published: Path) -> None:
    data = listops.load(published, num_train=4, num_test=3)
    assert data.train_labels == [1, 2, 3, 4] and data.test_labels == [6, 7, 8]
    assert str(data.test_trees[0]) == "(MAX 6)"
    assert data.origin == "published"
    assert listops.load(published, 4, 3, max_depth=3).origin == "generated"


def test_load_asks_for_too_many(published: Path) -> None:
    with pytest.raises(ValueError, match=r"test_d20s.tsv holds 3 trees; 4 were requested"):
        listops.load(published, num_train=4, num_test=4)


def test_load_finds_only_one_file(published: Path) -> None:
    (published / listops.TEST.name).unlink()
    with pytest.raises(DownloadError, match="test_d20s"):
        listops.load(published, num_train=4, num_test=3)


def test_listops_files_round_trip(tmp_path: Path) -> None:
    trees = listops.generate(300, seed=6)
    labels = [value(tree) for tree in trees]
    listops.write_tsv(tmp_path / "trees.tsv", trees, labels)
    assert listops.read_tsv(tmp_path / "trees.tsv") == (trees, labels)


def test_bad_listops_lines(tmp_path: Path) -> None:
    path = tmp_path / "trees.tsv"
    path.write_text("1\t[MAX 1 ]\n2\t[MAX 1 ]\nx\t1\n3\t[MAX\n4\t[MIN 4 ]\n")
    with pytest.raises(ParseError, match="line 3"):
        listops.read_tsv(path)


def test_listops_sample() -> None:
    trees, labels = listops.read_tsv(SAMPLES / "listops_sample.tsv")
    assert [listops.evaluate_expression(tree) for tree in trees] == labels
    assert len(set(trees)) == len(labels) == 200


def test_published_listops_values(at_hand: Path) -> None:
    trees, labels = listops.read_tsv(at_hand / "listops" / "test_d20a.tsv")
    assert [listops.evaluate_expression(tree) for tree in trees] == labels
    assert (len(trees), sum(tree.size for tree in trees)) == (10_000, 345_228)
