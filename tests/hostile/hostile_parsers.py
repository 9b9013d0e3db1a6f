"""The parsers that are tried, each with valid texts, and what its trees must be."""

from __future__ import annotations

import json as standard_json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from random import Random
from typing import Any

from hostile_texts import Options, Target, Text

from structnet import parse
from structnet.parse import ParseError
from structnet.trees import Tree

_ROW = "{}\t{}\tl\tNOUN\t_\t_\t{}\t{}\t_\t_\n".format


# ---- what the trees of a text must be


def _listops(text: Text, trees: list[Tree], options: Options) -> None:
    for binary in (False, True):
        assert parse.listops(parse.to_listops(trees[0], binary=binary)) == trees[0]


def _logic(text: Text, trees: list[Tree], options: Options) -> None:
    assert parse.logic(parse.to_logic(trees[0])) == trees[0]


def _bracketed(text: Text, trees: list[Tree], options: Options) -> None:
    for tree in trees:
        # Only an outermost bracket may lack its label; one that is left of traces is no text.
        if tree.label and tree.children:
            assert parse.bracketed(parse.to_bracketed(tree)) == tree
    if not options.get("encoding"):
        how = {key: value for key, value in options.items() if key != "encoding"}
        assert list(parse.bracketed_many(text, **how)) == trees
        if "errors" not in options:
            assert list(parse.bracketed_many(text, **how, errors="skip")) == trees


def _newick(text: Text, trees: list[Tree], options: Options) -> None:
    for tree in trees:
        assert parse.newick(parse.to_newick(tree)) == tree
    assert list(parse.newick_many(text, **options)) == trees


def _conllu(text: Text, trees: list[Tree], options: Options) -> None:
    assert list(parse.conllu_many(text, **options)) == trees
    skipping = options | {"roots": "skip", "errors": "skip"}
    with suppress(ParseError):
        assert len(list(parse.conllu_many(text, **skipping))) <= len(trees)


def _json(text: Text, trees: list[Tree], options: Options) -> None:
    """As the standard library reads it, whose reader recurses."""

    class Pairs(list):
        pass

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    kept = {"parse_int": _Number, "parse_float": _Number, "parse_constant": refuse}
    shown = text.decode() if isinstance(text, bytes) else text
    with suppress(RecursionError):
        value = standard_json.loads(shown.removeprefix("\ufeff"), object_pairs_hook=Pairs, **kept)

        def tree(value: Any) -> Tree:
            if isinstance(value, Pairs):
                return Tree("object", [Tree(key, [tree(below)]) for key, below in value])
            if isinstance(value, list):
                return Tree("array", [tree(below) for below in value])
            return Tree(str(value) if isinstance(value, str) else standard_json.dumps(value))

        assert tree(value) == trees[0]


class _Number(str):
    """A number as it is written."""


def _outermost(many: Callable[..., Iterator[Tree]]) -> Callable:
    def compare(text: Text, trees: list[Tree], options: Options) -> None:
        tag = trees[0].label
        if tag != "#fragment" and "label" not in options:
            assert list(many(text, tag, **options)) == trees

    return compare


def _html(text: Text, trees: list[Tree], options: Options) -> None:
    _outermost(parse.html_many)(text, trees, options)
    if not options["lenient"]:
        assert [parse.html(text, **options | {"lenient": True})] == trees


# ---- the parsers


def _one(parser: Callable[..., Tree]) -> Callable[..., list[Tree]]:
    return lambda text, **options: [parser(text, **options)]


def _all(parser: Callable[..., Iterator[Tree]]) -> Callable[..., list[Tree]]:
    return lambda text, **options: list(parser(text, **options))


def _draw(**choices: Sequence) -> Callable[[Random], Options]:
    """Draws each option; None leaves it out."""

    def options(rng: Random) -> Options:
        drawn = {name: rng.choice(values) for name, values in choices.items()}
        return {name: value for name, value in drawn.items() if value is not None}

    return options


_TREEBANK = (
    "( (S (NP-SBJ (PRP It)) (VP (VBZ works))) )",
    "(3 (2 It) (3 works))\n(2 (2 So) (2 (2 does) (2 this)))",
    "(VP (VB go) (NP-TMP (-NONE- *T*-1)))",
    "(S\n  (NP a)\n  (VP (V b) (NP=2 c)))\n",
)
_BRACKET_PIECES = ("(", ")", "((", "))", " ", "\n", "NP", "-NONE-", "-", "=", "(X a)", "\r\n")
_BRACKET_OPTIONS = {
    "unwrap": (None, True, False),
    "remove_traces": (None, True),
    "strip_functions": (None, True),
}
_SENTENCES = (
    _ROW(1, "Dogs", 2, "nsubj") + _ROW(2, "bark", 0, "root") + _ROW(3, ".", 2, "punct"),
    "# text\n" + _ROW(1, "a", 0, "x") + "1-2\tw" + "\t_" * 8 + "\n1.1\tw" + "\t_" * 8 + "\n",
    _ROW(1, "Yes", 0, "root") + "\n\n" + _ROW(1, "No", 0, "root"),
    "Dogs NNS 2\nbark VBP 0\n",
    "Dogs\tNNS\t2\tnsubj\nbark\tVBP\t0\troot\n",
    "1\ta\t_\tN\tN\t_\t0\troot\n",
)
_SENTENCE_PIECES = (
    *("\t", "\n", "\n\n", "#", "1", "2", "0", "-1", "3", "_", "1-2", "1.1", "9" * 30, "\r\n"),
    *("²", "٣", _ROW(1, "a", 0, "x"), _ROW(2, "b", 1, "x"), _ROW(2, "b", 3, "x")),
)
_SENTENCE_OPTIONS = {
    "format": (None, None, "conllu", "conllx", "dp"),
    "roots": (None, "raise", "join"),
    "sides": (None, True),
    "label": (None, "deprel", "form"),
    "token": (None, "form", "deprel"),
}
# Some of them decode no text, say no place of an error, or warn.
_ENCODINGS = ("rot13", "idna", "punycode", "utf-7", "unicode_escape", "undefined", "cp037", "no")
_XML = (
    "<note to='Ada'>Call <b>now</b>!</note>",
    "<a><b x='1' y=\"2\"/><!-- c --><![CDATA[ & ]]><?p i?>é&lt;&#233;</a>",
    "<?xml version='1.0' encoding='utf-8'?>\n<!DOCTYPE a [<!ELEMENT a ANY>]>\n<a>t</a>",
    "<?xml version='1.0' encoding='latin-1'?><s><w>a</w><s>b</s> c</s>",
    '<!DOCTYPE a SYSTEM "x.dtd"><a b="&amp;">&#x41;</a>',
    *(f"<?xml version='1.0' encoding='{name}'?><s>a</s>" for name in _ENCODINGS),
)
_XML_PIECES = (
    *("<", ">", "/>", "</", "<a>", "</a>", "<b x='", "'", '"', "&", ";", "&amp;", "&#", "&#x0;"),
    *("&who;", "<!--", "-->", "<![CDATA[", "]]>", "<?", "?>", "<!DOCTYPE a [", "]>", "<!ENTITY e "),
    *("<!ATTLIST a b CDATA 'c'>", "xmlns:x='y'", "x:", "encoding='ascii'", "SYSTEM 'x'", "%p;"),
    *("encoding='utf-16'", "\r", "@"),
    *("<s>", "</s>", "standalone='yes'"),
)
_HTML = (
    "<ul><li>one<li class=x>two<br></ul>",
    "<!DOCTYPE html><html><head><title>a &lt; b</title></head><body><p>x<p>y</body></html>",
    "<table><tr><td>1<td>2<tr><th id='a' id=b>3</table>",
    "<div a=1 b='2' c=\"3\" d>t<!-- c --><script>if (a < b) {}</script></div>",
    "<b><i>one</b></i> two<p>",
    "<select><option>a<option selected>b</select>",
    "<!-- <meta charset=x> --><html><meta http-equiv=a content='b; charset=cp1251'>ü</html>",
    *(f"<html><meta charset='{name}'><p>a</html>" for name in _ENCODINGS),
)
_HTML_PIECES = (
    *("<", ">", "/>", "</", "<p>", "</p>", "<a", "='", "'", '"', "=", "&", "&amp", "&#", "&#x"),
    *("&#38;", "&notit;", "&copy=1", "<!--", "-->", "--!>", "<!-->", "<![", "<!", "<?", "<br/>"),
    *("<script>", "</script", "<title>", "<textarea>", "<td>", "<tr>", "</table>", "<body>", "\r"),
    *("\f", "/", "<li>", "</ul>", "<hr>", "</br>", "<div>", "&#1114112;", "&#xd800;", "İ", "K"),
)
_PYTHON = (
    "x = 1 + y\n",
    "def f(a, /, b=2, *c, d: int = 3, **e) -> None:\n    '''doc'''\n    return lambda: (yield)\n",
    "for i in [j for j in range(3) if j]:\n    print(f'{i!r:>{w}}')\nelse:\n    pass\n",
    "class A(B, metaclass=C):\n    x: int\n    @d\n    async def g(self): await h()\n",
    "try:\n    raise E from None\nexcept* (A, B) as e:\n    del e\nfinally:\n    global z\n",
    "match a:\n    case {'k': [1, *_], **r} if r: ...\n    case P(x=1) | None: 0x1f\n",
    *(f"# coding: {name}\nx = 'a.b'\n" for name in _ENCODINGS),
    "# -*- coding: latin-1 -*-\nb'\\x00' ... 1j 1e400 \"\\N{BULLET}\"\n",
)
_PYTHON_PIECES = (
    *("(", ")", "[", "]", "{", "}", ":", ",", "=", ":=", "\n", "    ", "\t", "\r", "\f", "\\\n"),
    *("'", '"', "'''", "f'{", "}'", "f'", "b'", "\\x", "\\N{", "if ", "else", "lambda ", "not "),
    *("0x", "1_0", "1e999", "9" * 5000, "*", "**", "@", "->", "async ", "await ", "# coding: x\n"),
    *("# coding: utf-16\n", "\\u1", "print x", "-", "((((", "[[[[", "é", "²"),
)

TARGETS = {
    target.name: target
    for target in (
        Target(
            "listops",
            _one(parse.listops),
            ("[MAX 2 9 [MIN 4 7 ] 0 ]", "( ( ( [MAX 1 ) 2 ) ] )", "7", "[SM 1 [MED 2 3 4 ]\n]"),
            (
                *("[", "]", "(", ")", " ", "\n", "[MAX", "[MAX ", " ]", "1", "10", "²", "\r"),
                "[MIN 2 ]",
            ),
            compare=_listops,
        ),
        Target(
            "logic",
            _one(parse.logic),
            ("( a ( and b ) )", "( ( not a ) ( or ( b ( and c ) ) ) )", "a", "( not ( not x ) )"),
            ("(", ")", " ", "\n", "a", "and", "or", "not", "( not ", "( and b )", "7", "²", "zß"),
            compare=_logic,
        ),
        Target(
            "bracketed",
            _one(parse.bracketed),
            _TREEBANK,
            _BRACKET_PIECES,
            _draw(**_BRACKET_OPTIONS),
            _bracketed,
        ),
        Target(
            "bracketed_many",
            _all(parse.bracketed_many),
            _TREEBANK,
            _BRACKET_PIECES,
            _draw(
                **_BRACKET_OPTIONS,
                errors=(None, "skip"),
                encoding=(None, None, "utf-16", "latin-1", "utf-8-sig"),
            ),
            _bracketed,
        ),
        *(
            Target(
                name,
                read,
                ("((a:1,'b ''c':-2e-3)0.9:.5,(d,)[x;]e);", "(,,(,));\n a:1;", "(A,B)C; (\n(D),E);"),
                (
                    "(",
                    ")",
                    ",",
                    ":",
                    ";",
                    "'",
                    "''",
                    "[",
                    "]",
                    "a",
                    "1",
                    "-1e5",
                    "nan",
                    " ",
                    "\n",
                    "²",
                ),
                _draw(names=(None, False), lengths=(None, False)),
                _newick,
            )
            for name, read in (
                ("newick", _one(parse.newick)),
                ("newick_many", _all(parse.newick_many)),
            )
        ),
        Target(
            "conllu",
            _one(parse.conllu),
            _SENTENCES,
            _SENTENCE_PIECES,
            _draw(**_SENTENCE_OPTIONS),
            _conllu,
        ),
        Target(
            "conllu_many",
            _all(parse.conllu_many),
            _SENTENCES,
            _SENTENCE_PIECES,
            _draw(
                **_SENTENCE_OPTIONS,
                errors=(None, "skip"),
                encoding=(None, None, "utf-16", "latin-1"),
            ),
        ),
        Target(
            "json",
            _one(parse.json),
            (
                '{"name": "structnet", "tags": ["tree", 2, -0.5e+3]}',
                '[true, false, null, "\\u00e9\\n\\\\", {}, [], {"a": {"b": [1]}}]',
                '"text"',
                " 17 ",
            ),
            (
                *("{", "}", "[", "]", ",", ":", '"', '"a"', "1", "-", ".", "e", "E+", "0", "\\"),
                *("\\u12", "\\ud800", "\\udc00", "true", "nul", "NaN", "Infinity", "-1", " ", "\n"),
                *('{"a":', "[[", "]]", "9" * 5000, "\t", "\f", "/", '\\"', "٣"),
            ),
            compare=_json,
        ),
        Target(
            "xml",
            _one(parse.xml),
            _XML,
            _XML_PIECES,
            _draw(attributes=(None, False), label=(None, None, "x", ("to", "y"))),
            _outermost(parse.xml_many),
        ),
        Target(
            "xml_many",
            _all(parse.xml_many),
            _XML,
            _XML_PIECES,
            _draw(elements=("s", "a", ("w", "b")), attributes=(None, False)),
        ),
        Target(
            "html",
            _one(parse.html),
            _HTML,
            _HTML_PIECES,
            _draw(lenient=(True, False), attributes=(None, False), label=(None, None, "class")),
            _html,
        ),
        Target(
            "html_many",
            _all(parse.html_many),
            _HTML,
            _HTML_PIECES,
            _draw(
                elements=("p", "li", ("td", "b")),
                lenient=(True, False),
                encoding=(None, None, "latin-1", "utf-16"),
            ),
        ),
        Target(
            "python",
            _one(parse.python),
            _PYTHON,
            _PYTHON_PIECES,
            _draw(fields=(None, True), contexts=(None, False)),
        ),
    )
}
