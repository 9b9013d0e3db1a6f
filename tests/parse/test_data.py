"""The published files, where they are at hand: every line parses, and prints back."""

from __future__ import annotations

import pytest

from structnet import parse


def existing(path):
    if not path.exists():
        pytest.skip(f"no {path.name}")
    return path


def test_listops_lines_print_back(real_data):
    path = existing(real_data / "listops" / "test_d20a.tsv")
    for line in path.read_text().splitlines():
        text = line.split("\t")[1]
        assert parse.to_listops(parse.listops(text), binary=True) == text


def test_lrt_lines_print_back(real_data):
    files = sorted(existing(real_data / "lrt").iterdir())
    assert len(files) == 26
    for path in files:
        lines = path.read_text(encoding="utf-8").splitlines()
        # Every tenth line of the larger files keeps this test short.
        for line in lines[:: 10 if len(lines) > 1000 else 1]:
            for text in line.split("\t")[1:]:
                assert parse.to_logic(parse.logic(text)) == text


def test_treebank_sample(real_data):
    with existing(real_data / "treebank" / "wsj_sample.mrg").open(encoding="utf-8") as file:
        trees = list(parse.bracketed_many(file))
    assert len(trees) == 3914
    assert sum(tree.size for tree in trees) == 280_036
    for tree in trees[::40]:
        assert parse.bracketed(parse.to_bracketed(tree)) == tree


def test_treebank_sample_without_traces_and_functions(real_data):
    text = existing(real_data / "treebank" / "wsj_sample.mrg").read_text(encoding="utf-8")
    sentences = text[: len(text) // 10].rpartition("\n( ")[0]
    options = {"remove_traces": True, "strip_functions": True}
    trees = list(parse.bracketed_many(sentences, **options))
    inner = {n.label for tree in trees for n in tree.preorder() if n.height > 1}
    assert {"S", "NP", "VP"} <= inner
    assert all(label.isalpha() for label in inner - {"ADVP|PRT"})
    assert not any(n.label == "-NONE-" for tree in trees for n in tree.preorder())
