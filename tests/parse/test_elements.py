"""XML and HTML: which elements are trees, what labels them, encodings, and tag soup."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structnet import parse
from structnet.parse import ParseError, tags
from structnet.parse.tags import tokens

CORPUS = """<?xml version="1.0"?>
<text id="t">head
  <s id="1"><w pos="DT">the</w> <w pos="NN">cat</w></s> between
  <p><s><w>sleeps</w><s>inner</s></s></p>
</text>"""


# ---------------------------------------------------------------------------------- elements


def test_elements_that_are_trees():
    trees = parse.xml_many(CORPUS, elements="s", attributes=False)
    assert list(map(str, trees)) == ["(s (w the) (w cat))", "(s (w sleeps) (s inner))"]
    words = [tree[-1].label for tree in parse.xml_many(CORPUS, elements=["w", "x"])]
    assert words == ["the", "cat", "sleeps"]
    assert list(parse.xml_many(CORPUS, elements="y")) == []
    assert list(parse.xml_many(CORPUS, elements="text")) == [parse.xml(CORPUS)]


def test_html_elements_that_are_trees():
    text = "<html><body>x<ul><li>a<ul><li>b</ul><li class=k>c</ul></body></html>"
    trees = parse.html_many(text, elements="li")
    assert list(map(str, trees)) == ["(li a (ul (li b)))", "(li (@class k) c)"]
    assert list(map(str, parse.html_many(text, elements=("ul", "li")))) == [
        "(ul (li a (ul (li b))) (li (@class k) c))"
    ]
    assert list(map(str, parse.html_many(text, elements="li", attributes=False)))[1] == "(li c)"
    assert list(map(str, parse.html_many(text, elements="li", label="class")))[1] == "(k c)"


@pytest.mark.parametrize("many", [parse.xml_many, parse.html_many])
def test_trees_before_an_error_are_given(many, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("<a><s>1</s><s>2</s><b></a>", encoding="utf-8")
    trees = many(path, elements="s")
    assert [str(next(trees)), str(next(trees))] == ["(s 1)", "(s 2)"]
    with pytest.raises(ParseError, match=r"a\.txt, line 1, column 2\d: .*<b>"):
        next(trees)


@pytest.mark.parametrize("elements", ["", [], [3]])
def test_elements_that_are_no_tags(elements):
    for many in (parse.xml_many, parse.html_many):
        with pytest.raises(ValueError, match="elements must be a tag or several; got"):
            many("<a/>", elements=elements)


def test_texts_longer_than_any_buffer_are_one_leaf():
    for length in (8_000, 9_000, 70_000, 200_000):
        text = "x" * length
        assert parse.xml(f"<a>{text}&amp;</a>")[0].label == text + "&"
        (tree,) = parse.xml_many(f"<a><s>{text}<!-- -->y</s></a>", "s")
        assert tree[0].label == text + "y"


# ---------------------------------------------------------------------------------- labels


@pytest.mark.parametrize("read", [parse.xml, parse.html])
def test_attributes_that_label(read):
    text = '<node cat="np" id="0"><node pos="det">the</node><node>cat</node></node>'
    assert str(read(text, label="cat")) == "(np (@id 0) (node (@pos det) the) (node cat))"
    assert str(read(text, label=["cat", "pos"], attributes=False)) == "(np (det the) (node cat))"
    assert str(read(text, label="id")[0]) == "(@cat np)"


def test_an_attribute_without_a_value_labels_nothing():
    assert str(parse.html("<a b>x</a>", label="b")) == "(a @b x)"


# ---------------------------------------------------------------------------------- bytes


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1", "cp1252", "utf-32"]
)
def test_xml_bytes_are_of_the_encoding_they_declare(encoding):
    declared = encoding.removesuffix("-sig")
    text = f'<?xml version="1.0" encoding="{declared}"?><a b="ü">Köter</a>'
    assert str(parse.xml(text.encode(encoding))) == "(a (@b ü) Köter)"
    assert [str(tree) for tree in parse.xml_many(text.encode(encoding), "a")] == [
        "(a (@b ü) Köter)"
    ]


def test_bytes_without_a_declaration_are_utf_8(tmp_path):
    assert str(parse.xml("<a>é</a>".encode())) == "(a é)"
    assert str(parse.html("<a>é</a>".encode())) == "(a é)"
    with pytest.raises(ParseError, match="line 1, column 4: 'utf-8' codec can't decode byte 0xe9"):
        parse.xml("<a>é</a>".encode("latin-1"))
    with pytest.raises(ParseError, match="Python knows no encoding 'klingon'"):
        parse.xml(b'<?xml version="1.0" encoding="klingon"?><a/>')
    path = tmp_path / "a.html"
    path.write_bytes("<p>é</p>".encode("latin-1"))
    assert [str(tree) for tree in parse.html_many(path, "p", encoding="latin-1")] == ["(p é)"]


@pytest.mark.parametrize(
    ("meta", "encoding"),
    [
        ("<meta charset=utf-8>", "utf-8"),
        ('<META name=a><Meta Charset = "ISO-8859-15" >', "iso-8859-15"),
        ("<meta http-equiv=Content-Type content='text/html; charset=cp1251'>", "cp1251"),
        ("<meta charset=latin1>", "cp1252"),
        ("<meta charset=utf-16>", "utf-8"),
        ("<!-- <meta charset=cp1251> --><meta charset='cp1252'/>", "cp1252"),
        ("<title>charset=cp1251</title>", "utf-8"),
        ("<!--" + " " * 1024 + "--><meta charset=cp1251>", "utf-8"),
        ("<meta charset=cp1251>", "utf-8-sig"),
        ("", "utf-16"),
    ],
)
def test_html_bytes_are_of_the_encoding_they_declare(meta, encoding, tmp_path):
    word = "слово" if encoding in ("cp1251", "utf-16") else "€ wörd"
    data = f"<html><head>{meta}<p>{word}</p></html>".encode(encoding)
    (tree,) = parse.html_many(data, "p")
    assert str(tree) == f"(p {word})"
    assert str(parse.html(data, attributes=False)[-1, -1]) == f"(p {word})"
    path = tmp_path / "a.html"
    path.write_bytes(data)
    assert list(parse.html_many(path, "p")) == [tree]


def test_html_bytes_of_the_encoding_that_is_said():
    data = "<p><meta charset=cp1251>é</p>".encode("latin-1")
    assert parse.html(data, encoding="latin-1")[-1].label == "é"
    with pytest.raises(ParseError, match=r"can't decode byte 0xe9.*; encoding= names another"):
        parse.html("<p>é</p>".encode("latin-1"))
    with pytest.raises(LookupError, match="unknown encoding: klingon"):
        parse.html(data, encoding="klingon")
    with pytest.raises(ParseError, match="Python knows no encoding 'klingon'"):
        parse.html(data.replace(b"cp1251", b"klingon"))
    with pytest.raises(ParseError, match="line 1, column 25: 'utf-8' codec can't decode"):
        parse.html(data, encoding="utf-8")


# ---------------------------------------------------------------------------------- tag soup


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<p>a</p> b <p>c", "(#fragment (p a) b (p c))"),
        ("<b><i>a</b>b</i>c", "(#fragment (b (i a)) bc)"),
        ("<div><span>a</div>", "(div (span a))"),
        ("</i><div></b>a</br></div></div>", "(div a)"),
        ("<ul><li>a<b>b<li>c</ul>", "(ul (li a (b b (li c))))"),
        ("<p>a<b", "(p a)"),
        ("<p>a<!-- b", "(p a)"),
        ("<p>a<i class='", "(p a)"),
        ("just text", "(#fragment just text)"),
        ("<p>a</p>", "(p a)"),
    ],
)
def test_lenient(text, expected):
    assert str(parse.html(text, lenient=True)) == expected
    if text != "<p>a</p>":
        with pytest.raises(ParseError, match="; lenient=True reads tag soup"):
            parse.html(text)


def test_lenient_agrees_with_strict_where_that_reads():
    text = "<html lang=en><head><title>A &lt; B</title><body><p>one<p>two <BR>three</html>"
    assert parse.html(text, lenient=True) == parse.html(text)
    soup = "</a><p>one<x></p><p>two"
    assert [str(tree) for tree in parse.html_many(soup, "p", lenient=True)] == [
        "(p one x)",
        "(p two)",
    ]
    with pytest.raises(ParseError, match="no element"):
        parse.html(" <!-- --> ", lenient=True)


@pytest.mark.parametrize("piece", ["<b>", "</b>", "<b></i>", "<b><i></b>", "<p>", "x</p>"])
def test_lenient_is_linear(piece):
    # 100,000 of each: a search for every end tag's start would take hours.
    tree = parse.html("<div>" + piece * 100_000 + "</q>", lenient=True)
    assert tree.label == "div"


# ---------------------------------------------------------------------------------- the standard


def test_references_in_attributes():
    text = '<a href="?a=1&copy=2&lt=3&notit;&amp;&copy &copy;&#65&#x42;&COPY">&copy=</a>'
    (start, inside, _) = tokens(text)
    assert start.attributes == (("href", "?a=1&copy=2&lt=3&notit;&© ©AB©"),)
    assert inside.content == "©="
    (start, _) = tokens("<a b=&lt;&amp c='&ampx &unknown; & &;'></a>")
    assert start.attributes == (("b", "<&"), ("c", "&ampx &unknown; & &;"))


PIECES = [
    *("<", ">", "/", "=", " ", "\n", '"', "'", "a", "B", "b2", "&", "amp", ";"),
    *("<!--", "-->", "é"),
]


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join), st.booleans())
def test_what_is_plain_is_read_as_the_rest_is(text, lenient):
    def read():
        try:
            return list(tokens(text, lenient))
        except ParseError as error:
            return str(error)

    fast = read()
    with pytest.MonkeyPatch.context() as patch:
        for name in ("_PLAIN", "_PLAIN_ATTRIBUTE"):
            patch.setattr(tags, name, re.compile("(?!)"))
        assert read() == fast


def test_of_two_attributes_of_one_name_the_first_counts():
    assert str(parse.html("<a b=1 c=2 B=3></a>")) == "(a (@b 1) (@c 2))"


def test_more_end_tags_that_may_be_left_out():
    ruby = "<ruby>a<rt>b<rp>)<rt>c</ruby>"
    assert str(parse.html(ruby)) == "(ruby a (rt b) (rp )) (rt c))"
    table = "<table><caption>t<colgroup><col><col><thead><tr><th>a<tbody><tr><td>1</table>"
    assert str(parse.html(table)) == (
        "(table (caption t) (colgroup col col) (thead (tr (th a))) (tbody (tr (td 1))))"
    )
