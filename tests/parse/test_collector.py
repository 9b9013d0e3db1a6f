"""Long texts are read without garbage collections, which would find nothing, again and again."""

from __future__ import annotations

import gc
import warnings

import pytest

from structnet import parse
from structnet.parse import ParseError

N = 20_000  # nodes, of several objects each: the collector would run dozens of times
ROW = "{}\tw{}\t_\t_\t_\t_\t{}\tx\t_\t_\n".format

LONG = {
    "listops": (parse.listops, "[MAX " + "[MIN 1 2 ] " * N + "]"),
    "logic": (parse.logic, "( a ( and " * N + "a" + " ) )" * N),
    "bracketed": (parse.bracketed, "(S " + "".join(f"(A a{i}) " for i in range(N)) + ")"),
    "conllu": (parse.conllu, "".join(ROW(i, i, i // 2) for i in range(1, N))),
    "newick": (parse.newick, "(" + "(a,b:1)," * N + ");"),
    "json": (parse.json, "[" + "[1, [2]]," * N + "0]"),
    "json value": (parse.json, [[1, [2]]] * 3 + [[i, [2]] for i in range(N)]),
    "xml": (parse.xml, "<a>" + "<b><c/></b>" * N + "</a>"),
    "html": (parse.html, "<a>" + "<b><i></i></b>" * N + "</a>"),
}
MANY = {
    "bracketed_many": (parse.bracketed_many, "".join(f"(A a{i})\n" for i in range(N))),
    "conllu_many": (parse.conllu_many, "".join(ROW(1, i, 0) + "\n" for i in range(N))),
    "newick_many": (parse.newick_many, "".join(f"(a,b:{i});\n" for i in range(N))),
    "xml_many": (lambda text: parse.xml_many(text, "b"), LONG["xml"][1]),
    "html_many": (lambda text: parse.html_many(text, "b"), LONG["html"][1]),
}


@pytest.fixture
def collections():
    """The collections so far."""
    seen: list[str] = []

    def count(phase, _):
        seen.append(phase)

    gc.callbacks.append(count)
    yield seen
    gc.callbacks.remove(count)


@pytest.mark.parametrize("name", LONG)
def test_one_long_text(name, collections):
    parser, text = LONG[name]
    del collections[:]
    assert parser(text).size >= N - 1
    assert len(collections) <= 4  # of two phases each: the collector starts again at the end
    assert gc.isenabled()


@pytest.mark.parametrize("name", MANY)
def test_many_trees_are_made_ahead_of_their_use(name, collections):
    many, text = MANY[name]
    del collections[:]
    count = sum(gc.isenabled() for _ in many(text))  # the collector runs where trees are used
    assert count == N
    assert len(collections) < 2 * N / 500  # a collection has two phases


@pytest.mark.parametrize("name", MANY)
def test_trees_before_an_error_are_handed_out(name):
    many, text = MANY[name]
    trees = many(text.removesuffix("</a>") + "<x y ( )")
    read = 0
    with pytest.raises(ParseError):
        for _ in trees:
            read += 1
    assert read == N


@pytest.mark.parametrize("name", MANY)
def test_a_text_of_one_tree_and_none(name):
    many, _ = MANY[name]
    one = {"bracketed_many": "(A a)", "newick_many": "(A,B);", "conllu_many": ROW(1, 1, 0)}.get(
        name, "<b></b>"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(list(many(one))) == 1
