"""Files of one tree a line: a bad line is named and costs no other."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from structnet import parse
from structnet.parse import ParseError, bracketed, bracketed_many, listops, logic, read_lines
from structnet.trees.tree import Tree


def example(line):
    """A line of a ListOps file: value, tab, expression."""
    value, expression = line.split("\t")
    return int(value), listops(expression)


def pair(line):
    relation, left, right = line.split("\t")
    return relation, logic(left), logic(right)


def test_a_good_file(tmp_path):
    path = tmp_path / "trees.tsv"
    path.write_bytes("\ufeff2\t[MAX 1 2 ]\r\n\n7\t7\n".encode())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = read_lines(path, example, errors="skip")
    assert result.values == [(2, listops("[MAX 1 2 ]")), (7, Tree("7"))]
    assert result.skipped == []
    assert read_lines(str(path), example).values == result.values


def test_a_bad_line_is_named_with_its_file(tmp_path):
    path = tmp_path / "trees.tsv"
    path.write_text("2\t[MAX 1 2 ]\n\n5\t[MAX 1 [MIN 2 x ] ]\n", encoding="utf-8")
    with pytest.raises(ParseError) as raised:
        read_lines(path, example)
    error = raised.value
    assert (error.file, error.line, error.column) == (str(path), 3, 17)
    assert str(error).split("\n") == [
        f"{path}, line 3, column 17: unknown token 'x'; expected a digit 0-9, '[NAME' or ']'",
        "    5 [MAX 1 [MIN 2 x ] ]",
        "    " + " " * 16 + "^",
    ]


def test_the_column_is_right_in_the_second_of_two_like_fields():
    with pytest.raises(ParseError) as raised:
        read_lines(["#\t( not a )\tnot"], pair)
    assert (raised.value.line, raised.value.column) == (1, 13)


def test_skipping_keeps_all_other_lines_and_counts():
    count = 100_000
    lines = ["[MAX 1 2 ]\n"] * count
    for number in (3, 50_000, count):
        lines[number - 1] = "[MAX 1 2\n"
    with pytest.warns(UserWarning) as caught:
        result = read_lines(lines, listops, errors="skip")
    assert len(result.values) == count - 3
    assert result.skipped == [(n, "column 1: 1 unclosed '['") for n in (3, 50_000, count)]
    assert [str(warning.message) for warning in caught] == [
        "input: 3 of 100000 lines did not parse and were skipped; "
        "the first is line 3, column 1: 1 unclosed '['"
    ]
    assert caught[0].filename == __file__


def test_bytes_that_are_no_text_spoil_their_line_only(tmp_path):
    path = tmp_path / "trees.txt"
    path.write_bytes(b"1\n\xff\n2\n")
    with pytest.warns(UserWarning, match=r"1 of 3 lines .* line 2, column 1: 'utf-8' codec"):
        result = read_lines(path, listops, errors="skip")
    assert result.values == [Tree("1"), Tree("2")]


def test_any_value_error_is_a_bad_line_but_nothing_else_is():
    with pytest.raises(ParseError, match="line 2, column 1: invalid literal for int") as raised:
        read_lines(["1\t1", "one\t1"], example)
    assert isinstance(raised.value.__cause__, ValueError)
    with pytest.raises(ZeroDivisionError):
        read_lines(["1"], lambda line: 1 / 0, errors="skip")


TREEBANK = """
( (S
    (NP-SBJ (PRP They) )
    (VP (VBD said) )
    (. .) ))
( (NP (NN no)) )
( (S
    (NP-SBJ (PRP We) )
    (VP (VBP hear) ) ) )
"""


def test_trees_that_span_lines_are_not_read_as_fragments(tmp_path):
    path = tmp_path / "wsj.mrg"
    path.write_text(TREEBANK, encoding="utf-8")
    assert len(list(bracketed_many(path))) == 3
    with pytest.raises(
        ParseError, match=r"line 2, column 1: 2 trees span lines, and .* bracketed_m"
    ):
        read_lines(path, bracketed, errors="skip")
    with pytest.raises(ParseError, match=r"2 unclosed '\('; if trees span lines, bracketed_many"):
        read_lines(path, bracketed)


def test_a_damaged_file_of_one_tree_a_line_is_no_treebank():
    lines = ["(S (A a) (B b))"] * 100
    for number in (10, 30, 70):
        lines[number] = "(S (A a) (B b)"
        lines[number + 5] = "(S (A a)))"
    with pytest.warns(UserWarning, match="6 of 100 lines did not parse"):
        assert len(read_lines(lines, bracketed, errors="skip").values) == 94


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_another_encoding(encoding, tmp_path):
    path = tmp_path / "trees.txt"
    path.write_bytes("(N Köter)\r\n(N Hund)\n".encode(encoding))
    expected = [Tree("N", [Tree("Köter")]), Tree("N", [Tree("Hund")])]
    assert read_lines(path, bracketed, encoding=encoding).values == expected
    assert list(bracketed_many(path, encoding=encoding)) == expected
    assert list(bracketed_many(path.read_bytes(), encoding=encoding)) == expected
    with pytest.raises(LookupError, match="unknown encoding: klingon"):
        read_lines(path, bracketed, encoding="klingon")


def test_the_garbage_collector_is_left_as_it_was():
    for enabled in (True, False):
        (gc.enable if enabled else gc.disable)()
        try:
            read_lines(["1"], listops)
            with pytest.raises(ParseError):
                read_lines(["?"], listops)
            assert gc.isenabled() == enabled
        finally:
            gc.enable()


def test_arguments_that_are_wrong(tmp_path):
    with pytest.raises(ValueError, match=r"'errors' .* \['raise', 'skip'\]\. Got 'ignore'"):
        read_lines(["1"], listops, errors="ignore")
    with pytest.raises(FileNotFoundError):
        read_lines(tmp_path / "none.txt", listops)


@pytest.mark.parametrize(
    "read",
    [
        parse.bracketed_many,
        parse.conllu_many,
        parse.newick_many,
        lambda text: parse.xml_many(text, "s"),
        lambda text: parse.html_many(text, "p"),
    ],
)
def test_the_name_of_a_file_is_not_its_text(read: Callable, tmp_path: Path) -> None:
    name = str(tmp_path / "own.txt")
    for text in (name, "own.txt" * 100_000, "own\0txt"):
        with pytest.raises(ParseError, match=r"^line 1, column \d+: (?!.*to read this file)"):
            list(read(text))
    Path(name).write_text("")
    with pytest.raises(ParseError, match=r"; to read this file, give Path\('.*own\.txt'\)\n"):
        list(read(name))


@pytest.mark.parametrize("kind", ["xml", "json", "html", "newick", "bracketed", "conllu"])
def test_the_name_of_a_file_is_not_the_text_of_one_tree(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    read, texts = getattr(parse, kind), {"xml": "<a/>", "json": "{}", "html": "<p>a</p>"}
    for text in ("own.txt", "own.txt" * 20_000, "own\0txt"):
        with pytest.raises(ParseError) as none:
            read(text)
        assert "to read this file" not in str(none.value)
    Path("own.txt").write_text(texts.get(kind, ""))
    with pytest.raises(ParseError, match=r"line 1, .*; to read this file, give Path\('own.txt'\)"):
        read("own.txt")
    if kind in texts:
        assert read(Path("own.txt").read_bytes()).size > 0


def test_a_path_is_no_text_of_one_tree() -> None:
    for read in (parse.xml, parse.html, parse.python, parse.json):
        with pytest.raises(TypeError, match=r"(Posix|Windows)Path; give its read_bytes"):
            read(Path("own"))
    with pytest.raises(TypeError, match=r"a tree must be .*; got (Posix|Windows)Path"):
        parse.as_tree(Path("own"))
