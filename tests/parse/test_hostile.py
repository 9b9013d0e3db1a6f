"""Texts and objects that are made to harm, or that a reader could take for something else."""

from __future__ import annotations

from contextlib import suppress

import networkx as nx
import pytest

from structnet import parse
from structnet.errors import GraphError, NotATreeError
from structnet.parse import ParseError
from structnet.parse.tags import tokens
from structnet.trees import Tree, from_networkx

MANY = "9" * 5000


@pytest.mark.parametrize("value", ['"much"', '#FIXED "much"'])
def test_xml_declares_no_values_of_attributes(value):
    text = f"<!DOCTYPE a [<!ATTLIST b c CDATA {value}>]><a><b/></a>"
    words = "attribute 'c' of <b> declared with a value, 'much'; expected #REQUIRED or #IMPLIED"
    with pytest.raises(ParseError, match=words):
        parse.xml(text)


def test_xml_declares_attributes_without_values():
    declared = "<!ELEMENT a ANY><!ATTLIST a b CDATA #REQUIRED c (x|y) #IMPLIED>"
    text = f"<!DOCTYPE a [{declared}]>" + '<a b="1"/>'
    assert str(parse.xml(text)) == "(a (@b 1))"
    with pytest.raises(ParseError, match="entity 'who' is not declared"):
        parse.xml(f"<!DOCTYPE a SYSTEM 'absent.dtd' [{declared}]><a b='&who;'/>")
    many = "".join(f"b{i} ID #IMPLIED " for i in range(200_000))  # each is compared with all before
    with pytest.raises(ParseError, match="more than 1,000 attributes declared"):
        parse.xml(f"<!DOCTYPE a [<!ATTLIST a {many}>]><a/>")


def test_xml_entities_that_nobody_declares_are_refused_in_attributes_too():
    head = '<!DOCTYPE a SYSTEM "absent.dtd">'
    with pytest.raises(ParseError, match="entity 'who' is not declared"):
        parse.xml(f'{head}<a>é<b c="it is &who;"/></a>')
    tree = parse.xml(f"{head}<a b='&lt;&#233;&gt;' c=\"> &quot;\"/>")
    assert str(tree) == '(a (@b <é>) (@c > "))'


@pytest.mark.parametrize(
    "piece",
    ["a<b ", "<b c='", '<b c="', "<!--", "<!", "<?", "</", "</b ", "<b/", "&#", "<", "<script>"],
)
def test_html_of_nothing_but_beginnings_comes_to_an_end(piece):
    # Of each, 200,000 characters and more: looking for the end again and again would take hours.
    with suppress(ParseError):
        parse.html("<p>" + piece * 100_000 + "</i>")


@pytest.mark.parametrize(
    "text, words",
    [
        ("<p>a<b c", "line 1, column 5: the tag <b> is not closed by '>'"),
        ("<p>\n<b c='x>", "line 2, column 6: the value of 'c' is not closed by '"),
        ("<p><!-- a", "column 4: a comment is not closed by '-->'"),
        ("<!doctype", "a declaration is not closed by '>'"),
        (f"<p>a &#{MANY};</p>", "column 6: a character reference that is none"),
    ],
)
def test_html_says_what_is_not_closed(text, words):
    with pytest.raises(ParseError, match=words):
        parse.html(text)


def test_html_as_the_standard_reads_it():
    text = "<A B = 'x>' c=1/2 d/e f=g/>1 < 2 <i/>&amp;</A >"
    start, one, two, i, more, end = list(tokens(text))
    assert start.attributes == (("b", "x>"), ("c", "1/2"), ("d", None), ("e", None), ("f", "g/"))
    assert (start.content, start.closed, i.closed, end.kind) == ("a", False, True, "end")
    assert [each.content for each in (one, two, i, more)] == ["1 ", "< 2 ", "i", "&"]
    assert (
        str(parse.html("<a><!--> x <!-- y --!> z <!-- --><?php ?><!x></ 1>b</a>")) == "(a x  z b)"
    )
    assert str(parse.html("<title>&lt;b></title>")) == "(title <b>)"
    assert str(parse.html("<script src=a>x<b></script>")) == "(script (@src a) x<b>)"
    text = "<html><head><script src=a /><title/></head><body>x</body></html>"
    assert str(parse.html(text)) == "(html (head (script (@src a)) title) (body x))"
    assert str(parse.html("<div><iframe src=x /><p>y</p></div>")) == "(div (iframe (@src x)) (p y))"
    assert str(parse.html("<STYLE>a</b>&lt;</Style  >")) == "(style a</b>&lt;)"


def test_numbers_of_thousands_of_digits():
    row = "1\tYes\t_\t_\t_\t_\t{}\troot\t_\t_".format
    with pytest.raises(ParseError, match="head 9999999999999999999 in a sentence of 1 words"):
        parse.conllu(row(MANY))
    label = parse.python("x = 0x" + "f" * 5000).children[0].children[1].children[0].label
    assert label == "0x" + "f" * 5000
    with pytest.raises(ValueError, match="a number of a JSON value cannot be written"):
        parse.json([int("f" * 5000, 16)])
    assert parse.json(f"[{MANY}]").children[0].label == MANY  # a text's is never made a number


@pytest.mark.parametrize(
    "encoding, message",
    [
        ("rot13", "'rot13' is no encoding of texts"),
        ("idna", "line 1, column 1: the bytes are not of the encoding 'idna'"),
        ("undefined", "the bytes are not of the encoding 'undefined'"),
        ("utf-7", "line 2, column 1: 'utf7' codec can't decode byte 0xff"),
    ],
)
def test_encodings_of_other_kinds(encoding, message):
    with pytest.raises(ParseError, match=message):
        parse.python(f"# coding: {encoding}\n".encode() + b"\xff..\n")
    with pytest.raises(ParseError):
        parse.xml(f"<?xml version='1.0' encoding='{encoding}'?>\n".encode() + b"\xff..\n")


def test_an_error_that_quotes_the_end_of_a_line_is_one_line():
    with pytest.raises(ParseError, match="codec") as raised:
        parse.python(b"# coding: punycode\nx = 'a.b'\n-\n")
    assert "\n" not in raised.value.message


def test_shared_objects_are_read_once():
    value: list = []
    for _ in range(60):
        value = [value, value]
    tree = parse.json(value)
    assert (tree.size, tree.height) == (2**61 - 1, 60)
    assert tree.children[0] is tree.children[1]


def test_notations_without_tokens_drop_none():
    for write, tree in (
        (parse.to_listops, Tree("MAX", [Tree("1")], token="x")),
        (parse.to_logic, Tree("not", [Tree("a", token="x")])),
    ):
        with pytest.raises(ValueError, match="no place for the token 'x' of"):
            write(tree)


def test_places_that_cannot_be_compared():
    graph = nx.DiGraph()
    graph.add_edge("f", "a", pos=0)
    graph.add_edge("f", "b", pos="1")
    with pytest.raises(NotATreeError, match="children of node 'f' cannot be put in order"):
        parse.networkx_tree(graph)


@pytest.mark.parametrize(
    "name, value", [("pos", 0.7), ("pos", "0"), ("type", True), ("token", 1.0)]
)
def test_networkx_numbers_are_ints(name, value):
    graph = nx.DiGraph()
    graph.add_node("f", **({"type": 0, "token": -1} | ({name: value} if name != "pos" else {})))
    graph.add_node("x", type=-1, token=3)
    graph.add_edge("f", "x", pos=value if name == "pos" else 0)
    with pytest.raises(GraphError, match=f"has '{name}' {value!r}; expected an int"):
        from_networkx(graph)
