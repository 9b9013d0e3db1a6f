"""Tables and trees in compressed files, which are read as if they were not compressed."""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from commands import SMALL, call, ran, refused

from structnet.datasets import load, read_trees
from structnet.datasets.tree_file_sources import is_tree_file

ROWS = [f"{i},{i % 3},{'oak' if i % 3 else 'elm'}" for i in range(40)]
TREES = [f"{'yes' if i % 2 else 'no'}\t(a (b x{i % 2}) y)" for i in range(40)]
PACK: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".bz2": bz2.compress}


@pytest.mark.parametrize("ending", PACK)
@pytest.mark.parametrize(("kind", "between"), [(".csv", ","), (".TSV", "\t")])
def test_tables(kind: str, between: str, ending: str, tmp_path: Path) -> None:
    text = "\n".join(["a,b,kind", *ROWS]).replace(",", between).encode()
    plain, packed = tmp_path / f"own.1{kind}", tmp_path / f"own.1{kind}{ending}"
    plain.write_bytes(text)
    packed.write_bytes(PACK[ending](text))
    told, found = load(str(plain)), load(str(packed))
    assert (found.name, found.features) == (told.name, told.features) == ("own.1", ("a", "b"))
    np.testing.assert_array_equal(found.x_train, told.x_train)


@pytest.mark.parametrize("name", ["own.tsv.gz", "own.txt.bz2"])
def test_trees(name: str, tmp_path: Path) -> None:
    text = "\n".join(TREES).encode()
    plain, packed = tmp_path / "own.tsv", tmp_path / name
    plain.write_bytes(text)
    packed.write_bytes(PACK[packed.suffix](text))
    assert is_tree_file(packed)
    told, found = read_trees(plain), read_trees(packed)
    assert (list(found.trees), found.targets) == (list(told.trees), told.targets)
    packed = tmp_path / "kinds" / "a" / "one.mrg.gz"
    packed.parent.mkdir(parents=True)
    packed.write_bytes(gzip.compress(b"(S (A a) (B b))"))
    assert [str(tree) for tree in read_trees(tmp_path / "kinds").trees] == ["(S (A a) (B b))"]


def test_the_command(tmp_path: Path) -> None:
    table, trees = tmp_path / "own.csv.gz", tmp_path / "own.tsv.gz"
    table.write_bytes(gzip.compress("\n".join(["a,b,kind", *ROWS]).encode()))
    trees.write_bytes(gzip.compress("\n".join(TREES).encode()))
    assert ran("data", table).json["train"] == 32
    ran("train", "neural-tree", "--data", table, *SMALL, "--out", tmp_path / "table")
    assert len(ran("predict", tmp_path / "table", table).json["answers"]) == 40
    assert "accuracy" in ran("evaluate", tmp_path / "table", "--data", table).json["test"]
    small = ["--hidden-size", "4", "--epochs", "1"]
    ran("train", "tree-lstm", "--data", trees, *small, "--out", tmp_path / "trees")
    assert len(ran("predict", tmp_path / "trees", trees).json["answers"]) == 40


CUT = gzip.compress(b"a,b\n1,2\n" * 99, mtime=0)[:-9]  # the same in all processes of the tests


@pytest.mark.parametrize("content", [b"no", b"\x1f\x8b", CUT])
@pytest.mark.parametrize("ending", PACK)
def test_damaged_files(content: bytes, ending: str, tmp_path: Path) -> None:
    for model, kind in (("neural-tree", ".csv"), ("tree-lstm", ".tsv")):
        file = tmp_path / f"own{kind}{ending}"
        file.write_bytes(content)
        assert f"{file} is damaged" in refused("train", model, "--data", file)
    assert "No such file" in call("data", tmp_path / f"none.csv{ending}").err
