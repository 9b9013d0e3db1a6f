"""Trees that somebody typed: several texts, of which one may be bad, and documents of JSON."""

from __future__ import annotations

import pytest
from tree_files import conllu

from structnet import parse
from structnet.datasets import TreeFileError
from structnet.datasets.tree_file import read_text


def test_what_cannot_be_read_of_several_texts_costs_no_other() -> None:
    data = read_text(["(a b", "(S (NP it) (VP works))", "c)", "(d", "(e f)"], "bracketed")
    assert [str(tree) for tree in data.trees] == ["(S (NP it) (VP works))", "(e f)"]
    assert [place.line for place, _ in data.unreadable] == [1, 3, 4]
    objects = read_text(['{"a": 1}', "[2]"], "json")
    assert [str(tree) for tree in objects.trees] == ["(object (a 1))", "(array 2)"]
    with pytest.raises(TreeFileError, match="3 of 3 trees cannot be read"):
        read_text(["(a b", "c)", "(d"], "bracketed")


@pytest.mark.parametrize(
    ("texts", "format_", "good", "bad"),
    [
        (["good\t(a b)", "bad\t(c"], "bracketed", ["(a b)"], [2]),
        (["bad\t(c", "good\t(a b)"], "bracketed", ["(a b)"], [1]),
        (["(a b)", " "], "bracketed", ["(a b)"], [2]),
        (["(a b)", "(a b)\t(c d)"], "bracketed", ["(a b)"], [2]),
        (['{"a": ', "[2]", '{"tree": '], "json", ["(array 2)"], [1, 3]),
    ],
)
def test_one_bad_text_of_several(
    texts: list[str], format_: str, good: list[str], bad: list[int]
) -> None:
    data = read_text(texts, format_)
    assert [str(tree) for tree in data.trees] == good
    assert [place.line for place, _ in data.unreadable] == bad


def test_sentences_that_are_typed_need_no_comment() -> None:
    texts = [conllu("good", "Dogs"), conllu("good", "Cats").replace("mood", "genre")]
    data = read_text(texts, "conllu", "mood", "classification")
    assert (len(data), data.targets, data.unreadable) == (2, ["good", None], [])


@pytest.mark.parametrize("texts", ["", [], [" "], ["", ""]])
def test_an_empty_input(texts: str | list[str]) -> None:
    with pytest.raises(TreeFileError, match="the input is empty"):
        read_text(texts, "bracketed")


def test_typed_json_is_read_as_it_is_written() -> None:
    texts = ["1.50", "[1.50]", '{"a": 1, "a": 2}', '["x\u2028y"]', "\n[1,\n2]"]
    assert read_text(texts, "json").trees == [parse.json(text) for text in texts]
    assert read_text("1.50", "json").trees == [parse.json("1.50")]
    with pytest.raises(TreeFileError):
        read_text("NaN", "json")
    rows = '{"tree": [1],\n "label": "x"}', '{"tree": [1]}\n{"tree": [2]}'
    assert [len(read_text(each, "json")) for each in rows] == [1, 2]
