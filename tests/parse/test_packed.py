"""Compressed files of trees, which are read as if they were not compressed."""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from structnet.parse import (
    bracketed,
    bracketed_many,
    conllu_many,
    html_many,
    newick_many,
    read_lines,
    xml_many,
)
from structnet.text import read_sentences
from structnet.trees.tree import Tree

PACK: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".bz2": bz2.compress}
READERS: dict[str, tuple[Callable[[Path], Iterable], str]] = {
    "lines": (lambda path: read_lines(path, bracketed).values, "(a b)\n(a (c d))\n"),
    "brackets": (bracketed_many, "(a (c\n d))\n(a b)"),
    "conllu": (conllu_many, "1\tbirds\tbird\tNOUN\t_\t_\t0\troot\t_\t_\n\n"),
    "newick": (newick_many, "(A,B); (C,\n(D,E));"),
    "xml": (lambda path: xml_many(path, "s"), "<t><s>é</s><s><b/></s></t>"),
    "html": (lambda path: html_many(path, "p"), "<body><p>one<p>two</body>"),
    "sentences": (read_sentences, "the cat sat .\n\nit slept .\n"),
}


@pytest.mark.parametrize("ending", PACK)
@pytest.mark.parametrize("kind", READERS)
def test_a_packed_file_is_the_same(kind: str, ending: str, tmp_path: Path) -> None:
    read, text = READERS[kind]
    plain, packed = tmp_path / "own.txt", tmp_path / f"own.txt{ending}"
    plain.write_text(text, encoding="utf-8")
    packed.write_bytes(PACK[ending](text.encode()))
    expected = list(read(plain))
    assert len(expected) and list(read(packed)) == expected


@pytest.mark.parametrize("kind", READERS)
def test_a_damaged_file_is_named(kind: str, tmp_path: Path) -> None:
    read, text = READERS[kind]
    path = tmp_path / "own.txt.gz"
    path.write_bytes(gzip.compress(text.encode() * 100)[:-9])
    with pytest.raises(ValueError, match=r"own\.txt\.gz is damaged: "):
        list(read(path))


def test_a_packed_file_may_have_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "own.txt.gz"
    path.write_bytes(gzip.compress("(a é)\n(a b)\n".encode("utf-16")))
    found = read_lines(path, bracketed, encoding="utf-16").values
    assert found == [Tree("a", [Tree("é")]), Tree("a", [Tree("b")])]
