"""What each text format's parser makes of its options and of the corners of its format."""

from __future__ import annotations

import pytest

from structnet import parse
from structnet.parse import ParseError
from structnet.trees.tree import Tree

PTB = """
( (S
    (NP-SBJ-1 (PRP They) )
    (VP (VBD said)
      (SBAR (-NONE- 0)
        (S (-NONE- *T*-2) ))
      (NP=2 (-LRB- -LRB-) (CD 1\\/2) (-RRB- -RRB-) ))
    (. .) ))
"""


def test_listops_reads_both_notations_and_tight_brackets():
    expected = Tree("MAX", [Tree("2"), Tree("SM", [Tree("4"), Tree("7")])])
    for text in (
        "[MAX 2 [SM 4 7 ] ]",
        "[MAX 2[SM 4 7]]",
        "( ( ( [MAX 2 ) ( ( ( [SM 4 ) 7 ) ] ) ) ] )",
    ):
        assert parse.listops(text) == expected
    assert parse.listops(" 7\n") == Tree("7")
    assert parse.listops("[FIRST 1 2 ]").label == "FIRST"


def test_listops_stores_a_digit_once():
    tree = parse.listops("[MAX 2 [MIN 2 2 ] ]")
    assert len({id(leaf) for leaf in tree.leaves()}) == 1


def test_logic_keeps_the_order_of_children_and_long_names():
    tree = parse.logic("( ( not rain ) ( or ( b ( and a ) ) ) )")
    assert str(tree) == "(or (not rain) (and b a))"


@pytest.mark.parametrize(
    "options, expected",
    [
        (
            {},
            "(S (NP-SBJ-1 (PRP They)) (VP (VBD said) (SBAR (-NONE- 0) (S (-NONE- *T*-2))) "
            "(NP=2 (-LRB- -LRB-) (CD 1\\/2) (-RRB- -RRB-))) (. .))",
        ),
        (
            {"remove_traces": True},
            "(S (NP-SBJ-1 (PRP They)) (VP (VBD said) "
            "(NP=2 (-LRB- -LRB-) (CD 1\\/2) (-RRB- -RRB-))) (. .))",
        ),
        (
            {"strip_functions": True},
            "(S (NP (PRP They)) (VP (VBD said) (SBAR (-NONE- 0) (S (-NONE- *T*-2))) "
            "(NP (-LRB- -LRB-) (CD 1\\/2) (-RRB- -RRB-))) (. .))",
        ),
    ],
)
def test_bracketed_options(options, expected):
    assert str(parse.bracketed(PTB, **options)) == expected
    assert [str(tree) for tree in parse.bracketed_many(PTB * 2, **options)] == [expected] * 2


def test_a_leaf_may_have_brackets_of_its_own():
    assert parse.bracketed("(a (b) (c d (e)))") == parse.bracketed("(a b (c d e))")
    assert parse.bracketed("(a)") == parse.bracketed("((a))") == parse.as_tree(" (a) ") == Tree("a")
    assert parse.bracketed("(A-X (B-X))", strip_functions=True) == parse.bracketed("(A B-X)")
    assert parse.bracketed("(a (-NONE-) (b) (c (-NONE-)))", remove_traces=True) == Tree(
        "a", [Tree("b")]
    )


def test_categories():
    text = "(NP-SBJ=1-3 (= =) (-LRB- -LRB-) (ADVP|PRT (PRP$ x-y)))"
    expected = "(NP (= =) (-LRB- -LRB-) (ADVP|PRT (PRP$ x-y)))"
    assert str(parse.bracketed(text, strip_functions=True)) == expected


def test_bracketed_unwraps_only_an_outer_bracket_of_one_child():
    assert str(parse.bracketed("( (S a) )")) == "(S a)"
    assert parse.bracketed("( (S a) )", unwrap=False).label == ""
    assert len(parse.bracketed("( (S a) (. .) )").children) == 2
    assert str(parse.bracketed("(ROOT (S a) )")) == "(ROOT (S a))"


def test_bracketed_reads_sentiment_trees():
    tree = parse.bracketed("(3 (2 (2 The) (2 film)) (4 shines))")
    assert (tree.label, tree.size, [leaf.label for leaf in tree.leaves()]) == (
        "3",
        8,
        ["The", "film", "shines"],
    )


def test_bracketed_of_nothing_but_traces():
    text = "(NP (NN a))\n( (S (-NONE- *)) )"
    with pytest.raises(ParseError, match="line 2, column 1: nothing is left of this tree"):
        list(parse.bracketed_many(text, remove_traces=True))


def test_bracketed_many_streams():
    def lines():
        yield "(S (A a)\n"
        yield "(B b)) (S\n"
        raise AssertionError("read further than the first tree")

    assert str(next(parse.bracketed_many(lines()))) == "(S (A a) (B b))"


def test_bracketed_many_of_nothing():
    assert list(parse.bracketed_many("\n \n")) == []
    assert list(parse.conllu_many("\n# a comment\n")) == []


def test_conllu_columns():
    text = (
        "1\tDogs\tdog\tNOUN\tNNS\t_\t2\tnsubj\t_\t_\n2\tbark\tbark\tVERB\tVBP\t_\t0\troot\t_\t_\n"
    )
    assert str(parse.conllu(text)) == "(root/bark nsubj/Dogs)"
    assert str(parse.conllu(text, label="upos", token="lemma")) == "(VERB/bark NOUN/dog)"
    with pytest.raises(ValueError, match=r"label must be a column of \('id', .*; got 'pos'"):
        parse.conllu(text, label="pos")
    with pytest.raises(ValueError, match="token must be a column"):
        parse.conllu_many(text, token="word")


def test_conllu_shows_a_long_cycle_in_short():
    row = "{}\tw\t_\t_\t_\t_\t{}\tx\t_\t_".format
    heads = [0, *range(3, 101), 2]
    text = "\n".join(row(number, head) for number, head in enumerate(heads, start=1))
    with pytest.raises(ParseError, match=r"2 -> 3 -> .* -> 9 -> \.\.\. -> 2\n"):
        parse.conllu(text)


TEXTS = {
    parse.listops: "[MAX 1 2 ]",
    parse.logic: "( not é )",
    parse.bracketed: "(N (X é))",
    parse.json: '{"é": [1]}',
    parse.html: "<p>é</p>",
    parse.xml: "<p>é</p>",
    parse.python: "é = 1",
}


@pytest.mark.parametrize("parser", TEXTS, ids=lambda parser: parser.__name__)
def test_bytes_are_utf_8(parser):
    text = TEXTS[parser]
    tree = parser(text)
    assert parser(text.encode()) == parser(text.encode("utf-8-sig")) == tree
    with pytest.raises(ParseError):
        parser(text.encode() + b"\xff")
    with pytest.raises(TypeError):
        parser(None if parser is not parse.json else {1})


def test_python_bytes_are_of_the_encoding_they_declare():
    source = "# -*- coding: latin-1 -*-\né = 'ü'\n"
    assert parse.python(source.encode("latin-1")) == parse.python("é = 'ü'")
    with pytest.raises(ParseError, match="line 1, column 1: unknown encoding: klingon"):
        parse.python(b"# -*- coding: klingon -*-\n")


@pytest.mark.parametrize(
    "inverse, tree, problem",
    [
        (parse.to_listops, Tree("MAX", [Tree("10")]), "must be a digit '0' to '9'; got '10'"),
        (
            parse.to_listops,
            Tree("A B", [Tree("1")]),
            "a name without blanks or brackets; got 'A B'",
        ),
        (parse.to_logic, Tree("xor", [Tree("a"), Tree("b")]), "got 'xor' with 2"),
        (parse.to_logic, Tree("not", [Tree("a"), Tree("b")]), "got 'not' with 2"),
        (parse.to_logic, Tree("and"), "got 'and' with 0"),
        (parse.to_logic, Tree("a b"), "a variable must be a name; got 'a b'"),
        (parse.to_bracketed, Tree("NP", [Tree("a b")]), "without blanks or brackets; got 'a b'"),
        (parse.to_bracketed, Tree("", [Tree("a")]), "without blanks or brackets; got ''"),
        (parse.to_bracketed, Tree("NP", [Tree("(")]), r"without blanks or brackets; got '\('"),
        (parse.to_bracketed, Tree("x", [Tree("a")], "tok"), "no place for the token 'tok' of 'x'"),
    ],
)
def test_a_tree_that_a_format_cannot_write(inverse, tree, problem):
    with pytest.raises(ValueError, match=problem):
        inverse(tree)
