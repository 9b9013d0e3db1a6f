"""The error every parser raises: its text to the letter, and its place."""

from __future__ import annotations

import pickle
import re

import pytest

from structnet import parse
from structnet.parse import ParseError
from structnet.parse.tags import SOUP

ROW = "{}\t{}\t_\t_\t_\t_\t{}\t{}\t_\t_".format
CYCLE = "\n".join([ROW(1, "a", 0, "root"), ROW(2, "b", 3, "x"), ROW(3, "c", 2, "x")])


def message(parser, text):
    with pytest.raises(ParseError) as raised:
        parser(text)
    return str(raised.value)


@pytest.mark.parametrize(
    "parser, text, line, column, expected",
    [
        (parse.listops, "[MAX 1\n [MIN 2 x ] ]", 2, 9, "unknown token 'x'; expected a digit"),
        (parse.listops, "[MAX 1 [MIN 2", 1, 8, "2 unclosed '['"),
        (parse.listops, "[MAX 2 [MIN 4 7 ]", 1, 1, "1 unclosed '['"),
        (parse.listops, "[MAX 1 ] ]", 1, 10, "unopened ']'"),
        (parse.listops, "[MAX 1 [MIN ] ]", 1, 13, "operator 'MIN' has no operands"),
        (parse.listops, "[ MAX 1 ]", 1, 1, "an operator's name must follow '[' directly"),
        (parse.listops, "[MAX 10 ]", 1, 6, "unknown token '10'"),
        (parse.listops, "[MAX 1 ] 3", 1, 10, "text after the end of the expression"),
        (parse.listops, "[MAX 1 ] ( )", 1, 10, "text after the end of the expression"),
        (parse.listops, "( [MAX 1 ]", 1, 1, "1 unclosed '('"),
        (parse.listops, "[MAX 1 ] )", 1, 10, "unopened ')'"),
        (parse.listops, "", 1, 1, "no expression"),
        (parse.listops, "\n  ", 1, 1, "no expression"),
        (parse.logic, "( a and b )", 1, 11, "expected '( not X )' or '( X ( and Y ) )'"),
        (parse.logic, "( a ( xor b ) )", 1, 13, "got '( xor b )'"),
        (parse.logic, "( a ( and ( b", 1, 11, "3 unclosed '('"),
        (parse.logic, "( not a ) )", 1, 11, "unopened ')'"),
        (parse.logic, "a b", 1, 3, "text after the end of the sentence"),
        (parse.logic, "( and b )", 1, 1, "operator 'and' lacks an operand"),
        (parse.logic, "or", 1, 1, "operator 'or' lacks an operand"),
        (parse.logic, "( not 7 )", 1, 7, "unknown token '7'"),
        (parse.logic, " ", 1, 1, "no sentence"),
        (parse.bracketed, "(S\n  (NP a)\n  (VP (V b)", 3, 3, "2 unclosed '(' in the tree that st"),
        (parse.bracketed, "(S (NP a)))", 1, 11, "unopened ')'"),
        (parse.bracketed, "(S ())", 1, 5, "an empty bracket"),
        (parse.bracketed, "((A,B),(C,D))", 1, 6, "a comma beside a bracket"),
        (parse.bracketed, "(a\n,(b,c))", 2, 1, "newick reads Newick"),
        (parse.as_tree, "(f (x), y)", 1, 6, "a comma beside a bracket"),
        (parse.as_tree, "('a', ('b', 'c'))", 1, 1, "and nested tuples"),
        (parse.bracketed, "(S a) (S b)", 1, 7, "text after the end of the tree"),
        (parse.bracketed, "(S a) b", 1, 7, "'b' stands outside of brackets"),
        (parse.bracketed, "( (S a)\n( (S b))", 2, 1, "a bracket without a label in the tree that"),
        (parse.bracketed, "", 1, 1, "no tree"),
        (parse.newick, "(A,\n (B,C);", 1, 1, "1 unclosed '('"),
        (parse.newick, "(A,(B", 1, 4, "2 unclosed '('"),
        (parse.newick, "(A,B)", 1, 6, "no ';' behind the tree"),
        (parse.newick, "(A,B)); ", 1, 6, "')' stands outside of parentheses"),
        (parse.newick, "A,B;", 1, 2, "',' stands outside of parentheses"),
        (parse.newick, "(A,B);(C,D);", 1, 7, "text after the end of the tree"),
        (parse.newick, "(A:long,B);", 1, 4, "expected the length of a branch; got 'long'"),
        (parse.newick, "(A:,B);", 1, 4, "expected the length of a branch; got ','"),
        (parse.newick, "(Homo sapiens,B);", 1, 7, "got 'sapiens' (a name with blanks is quoted)"),
        (parse.newick, "(A,B)(C,D);", 1, 6, "expected ',', ')' or ';' behind a node; got '('"),
        (parse.newick, "(A,'B);", 1, 4, '"\'" without its other end'),
        (parse.newick, "(A,B[x);", 1, 5, "'[' without its other end"),
        (parse.newick, " ; ", 1, 2, "no tree before ';'"),
        (parse.newick, " [empty] ", 1, 1, "no tree"),
        (parse.conllu, "# text\n" + ROW(1, "a", 1, "x"), 2, 13, "no root"),
        (parse.conllu, ROW(1, "a", 0, "x") + "\n" + ROW(2, "b", 0, "x"), 2, 13, "a second root; "),
        (parse.conllu, ROW(1, "a", 2, "x"), 1, 13, "head 2 in a sentence of 1 words"),
        (parse.conllu, ROW(1, "a", "_", "x"), 1, 13, "the head must be a number; got '_'"),
        (parse.conllu, ROW(2, "a", 0, "x"), 1, 1, "word number '2'; expected 1"),
        (parse.conllu, "1\ta\t0", 1, 1, "3 columns separated by tabs; expected 10"),
        (parse.conllu, CYCLE, 2, 13, "a cycle of heads: 2 -> 3 -> 2"),
        (parse.conllu, ROW(1, "a", 0, "x") + "\n\n" + ROW(1, "b", 0, "x"), 3, 1, "a second sent"),
        (parse.conllu, "# nothing", 1, 1, "no sentence"),
        (parse.json, '{"a": 01}', 1, 7, "expected a value; got '0'"),
        (parse.json, "[1,\n 2,]", 2, 4, "expected a value; got ']'"),
        (parse.json, "[1 2]", 1, 4, "expected ',' or ']'; got '2'"),
        (parse.json, "{a: 1}", 1, 2, "expected a key in double quotes; got 'a'"),
        (parse.json, '{"a" 1}', 1, 6, "expected ':'; got '1'"),
        (parse.json, '["a', 1, 2, "unterminated string"),
        (parse.json, '["a\\x"]', 1, 4, "invalid \\escape"),
        (parse.json, '[{"a": [', 1, 8, "2 unclosed '['"),
        (parse.json, "1 2", 1, 3, "text after the end of the document"),
        (parse.json, "", 1, 1, "no document"),
        (parse.xml, "<é>\n üü<b></é>", 2, 9, "mismatched tag; <b> is open"),
        (parse.xml, "<a>&x;</a>", 1, 4, "undefined entity"),
        (
            parse.xml,
            '<!DOCTYPE a [<!ENTITY x "y">]><a/>',
            1,
            25,
            "entity 'x' declared; none may be",
        ),
        (parse.xml, '<!DOCTYPE a SYSTEM "d"><a>&x;</a>', 1, 27, "entity 'x' is not declared"),
        (parse.xml, "<a/>b", 1, 5, "junk after document element"),
        (parse.html, "<b><i></b></i>", 1, 7, "</b> closes <i> of line 1" + SOUP),
        (parse.html, "<b>\r\n <i>", 2, 2, "<i> is not closed" + SOUP),
        (parse.html, "</b>", 1, 1, "</b> closes nothing" + SOUP),
        (parse.html, "<b>x</br></b>", 1, 5, "</br>: <br> takes no end tag" + SOUP),
        (parse.html, "<p>a</p>\n <p>b</p>", 2, 2, "<p> is a second outermost element" + SOUP),
        (parse.html, "<p>a</p>\n  b", 2, 3, "text outside of the outermost element" + SOUP),
        (parse.html, "<!-- a -->", 1, 11, "no element"),
        (parse.python, "a = 1\nb = (2,\n", 2, 5, "'(' was never closed"),
        (parse.python, "é = 1 +", 1, 8, "invalid syntax"),
        (parse.python, "a = '\0'", 1, 6, "a null character"),
    ],
)
def test_place_message_and_caret(parser, text, line, column, expected):
    shown = message(parser, text)
    first, *rest = shown.split("\n")
    assert first.startswith(f"line {line}, column {column}: ")
    assert expected in first
    if rest:
        source, caret = rest
        printable = re.sub("[\t\0]", " ", re.split("\r?\n", text)[line - 1])
        assert source[4:] == printable.rstrip()
        assert caret == " " * (4 + column - 1) + "^"


def test_whole_text_of_an_error():
    assert message(parse.listops, "[MAX 1\n 2 [MIN 4 7 ]\n [MED 3 [SM 5") == (
        "line 3, column 9: 3 unclosed '['\n     [MED 3 [SM 5\n            ^"
    )


def test_a_long_line_is_shown_around_the_place():
    text = "[MAX " + "1 " * 500 + "x " + "2 " * 500 + "]"
    _, source, caret = message(parse.listops, text).split("\n")
    assert source[4:7] == source[-3:] == "..."
    assert len(source) <= 4 + 3 + 80 + 3
    assert source[caret.index("^")] == "x"


def test_a_place_near_either_end_of_a_long_line():
    for text in ("[MAX x" + " 1" * 500 + " ]", "[MAX" + " 1" * 500 + " x ]"):
        _, source, caret = message(parse.listops, text).split("\n")
        assert source[caret.index("^")] == "x"
        assert source.count("...") == 1


def test_wide_and_combining_characters_before_the_caret():
    # Two cells each for the ideographs, none for the accent that follows the e.
    _, source, caret = str(ParseError("odd", 1, 5, "日本e\u0301?")).split("\n")
    assert source == "    日本e\u0301?"
    assert caret == "    " + " " * 5 + "^"


def test_attributes_survive_pickling():
    error = ParseError("odd", 3, 2, "a?", "file.txt")
    copy = pickle.loads(pickle.dumps(error))
    assert vars(copy) == vars(error)
    assert str(copy) == str(error) == "file.txt, line 3, column 2: odd\n    a?\n     ^"
