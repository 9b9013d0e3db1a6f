"""JSON, XML, HTML and Python source: corners of the formats and texts made to do harm."""

from __future__ import annotations

import pytest

from structnet import parse
from structnet.parse import ParseError
from structnet.trees.tree import Tree


def test_json_keeps_scalars_as_written_and_repeated_keys():
    text = ' {"a": [1.50, -2e3, true, null, "x\\u00e9\\n"], "a": {}, "": []} '
    a = Tree("array", map(Tree, ["1.50", "-2e3", "true", "null", "xé\n"]))
    expected = [Tree("a", [a]), Tree("a", [Tree("object")]), Tree("", [Tree("array")])]
    assert parse.json(text) == Tree("object", expected)


def test_json_values():
    assert str(parse.json({"a": (1, 2.5, True, None)})) == "(object (a (array 1 2.5 true null)))"
    shared = [1]
    assert str(parse.json([shared, shared])) == "(array (array 1) (array 1))"


def test_json_values_that_json_does_not_have():
    with pytest.raises(TypeError, match="JSON has no value of type set"):
        parse.json([{1}])
    with pytest.raises(TypeError, match="a key of a JSON object must be a str; got 1"):
        parse.json({1: 2})
    endless: dict = {}
    endless["a"] = [endless]
    with pytest.raises(ValueError, match="a dict contains itself"):
        parse.json(endless)


def test_xml_text_sections_and_namespaces():
    text = """<?xml version="1.0" encoding="latin-1"?>
    <x:a xmlns:x="u"> one <!-- no --> two <![CDATA[<three>]]> <?skip me?> <b/> é &amp; &#233; </x:a>
    """
    tree = parse.xml(text.strip(), attributes=False)
    assert tree.label == "x:a"
    assert [child.label for child in tree.children] == ["one  two <three>", "b", "é & é"]


BOMB = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 20))


@pytest.mark.parametrize(
    "text",
    [
        f'<!DOCTYPE a [<!ENTITY e0 "ha">{BOMB}]><a>&e19;</a>',
        '<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/hostname">]><a>&e;</a>',
        '<!DOCTYPE a [<!ENTITY % e SYSTEM "file:///etc/hostname"> %e;]><a/>',
    ],
    ids=["bomb", "external", "parameter"],
)
def test_xml_declares_no_entities(text):
    with pytest.raises(ParseError, match=r"entity 'e0?' declared; none may be"):
        parse.xml(text)


def test_html_void_elements_and_optional_end_tags():
    text = """<!DOCTYPE html><html lang=en><head><title>A &lt; B</title><meta charset="utf-8">
    <body><p>one<p>two <BR>three<div hidden><table><tr><td>1<th>2<tr><td>3</table></div>
    <script>if (a < b) { "</p>" }</script>"""
    assert str(parse.html(text)) == (
        "(html (@lang en) (head (title A < B) (meta (@charset utf-8))) (body (p one) "
        "(p two br three) (div @hidden (table (tr (td 1) (th 2)) (tr (td 3)))) (script if (a < b) "
        '{ "</p>" })))'
    )


def test_html_nested_lists_and_self_closing_elements():
    text = "<ul><li>a<ul><li>b</ul><li>c<svg/><dl><dt>t<dd>d</dl></ul>"
    assert str(parse.html(text)) == "(ul (li a (ul (li b))) (li c svg (dl (dt t) (dd d))))"


def test_python_fields_and_contexts():
    source = "if a:\n    b\nelse:\n    c = None"
    tree = parse.python(source, fields=True, contexts=False)
    assert str(tree) == (
        "(Module (body (If (test (Name (id a))) (body (Expr (value (Name (id b))))) "
        "(orelse (Assign (targets (Name (id c))) (value (Constant (value None))))))))"
    )
    assert str(parse.python("a")) == "(Module (Expr (Name a Load)))"
    assert str(parse.python("")) == "Module"


def test_python_tells_strings_from_names_and_numbers_from_booleans():
    labels = [str(s.children[0]) for s in parse.python("x\n'x'\n1\nTrue\n1.0").children]
    assert labels == [
        "(Name x Load)",
        "(Constant 'x')",
        "(Constant 1)",
        "(Constant True)",
        "(Constant 1.0)",
    ]


def test_python_warnings_of_the_source_are_not_ours():
    assert parse.python(r"'\d'; 1 is 1").size > 3


@pytest.mark.parametrize("source", ["a = " + "(" * 10**5, "-" * 10**5 + "1"])
def test_python_deeper_than_its_parser_goes(source):
    with pytest.raises(ParseError, match="nest"):
        parse.python(source)
