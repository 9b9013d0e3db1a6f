"""XML and HTML documents.

References:
    W3C, "Extensible Markup Language (XML) 1.0", fifth edition, 2008.
    WHATWG, "HTML Living Standard", section 13.1: void elements and optional tags.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NoReturn
from xml.parsers import expat

from structnet.parse.errors import ParseError
from structnet.parse.reading import Builder
from structnet.parse.tags import Token, tokens
from structnet.trees.tree import Tree

_TAG = re.compile(rb"""<(?:[^>"']+|"[^"]*"|'[^']*')*>""")
_ENTITY = re.compile(rb"&(?!#|(?:amp|lt|gt|quot|apos);)([^;]*);")
_VOID = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track"}
    | {"wbr"}
)
_BLOCKS = frozenset(
    {"address", "article", "aside", "blockquote", "details", "div", "dl", "fieldset", "figcaption"}
    | {"figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "main"}
    | {"menu", "nav", "ol", "p", "pre", "section", "table", "ul"}
)
_ROWS = frozenset({"tr", "tbody", "tfoot"})
# Elements whose end tag may be left out, and the start tags that then end them.
_ENDED_BY = {
    "p": _BLOCKS,
    "li": frozenset({"li"}),
    "dt": frozenset({"dt", "dd"}),
    "dd": frozenset({"dt", "dd"}),
    "option": frozenset({"option", "optgroup"}),
    "optgroup": frozenset({"optgroup"}),
    "td": _ROWS | {"td", "th"},
    "th": _ROWS | {"td", "th"},
    "tr": _ROWS,
    "thead": _ROWS - {"tr"},
    "tbody": _ROWS - {"tr"},
    "tfoot": _ROWS - {"tr"},
    "head": frozenset({"body"}),
    "body": frozenset(),
    "html": frozenset(),
}


def xml(text: str, *, attributes: bool = True) -> Tree:
    """The tree of an XML document.

    An element is a node labelled with its tag, as written; its attributes are its first children,
    ``@name`` over the value; then come its elements and its text in order. Text is stripped of
    blanks around it and dropped if nothing is left; comments and instructions are dropped.

    Args:
        text: the document.
        attributes: False drops the attributes.

    Raises:
        ParseError: the text is not well-formed; or it declares entities or attributes, which could
            make a small text expand into a huge one, or uses an entity that is not declared.

    Example:
        >>> xml("<note to='Ada'>Call <b>now</b>!</note>")
        <Tree (note (@to Ada) Call (b now) !)>
        >>> xml("<a><b></a>")
        Traceback (most recent call last):
            ...
        structnet.parse.errors.ParseError: line 1, column 9: mismatched tag; <b> is open
            <a><b></a>
                    ^
    """
    builder = _ElementBuilder(attributes)
    # A str needs no declared encoding: expat is handed UTF-8 whatever the document says.
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    parser.ordered_attributes = True

    def refuse(message: str) -> NoReturn:
        line, offset = parser.CurrentLineNumber, parser.CurrentColumnNumber
        raise ParseError.on_line(message, text, line, offset + 1)

    document = b""  # the text as expat counts its places, where a declaration may hide entities

    def declared(*_: object) -> None:
        nonlocal document
        document = text.encode()

    def start(tag: str, pairs: list[str]) -> None:
        if (
            document
        ):  # of an entity in an attribute that something absent may declare, expat is mute
            entity = _entity_within(document, parser.CurrentByteIndex)
            if entity is not None:
                refuse(f"entity {entity!r} is not declared")
        builder.start(tag, zip(pairs[::2], pairs[1::2], strict=True))

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda tag: builder.close()
    parser.CharacterDataHandler = builder.text
    parser.StartDoctypeDeclHandler = declared
    parser.AttlistDeclHandler = lambda tag, name, *_: refuse(
        f"attribute {name!r} of <{tag}> declared; none may be"
    )
    parser.EntityDeclHandler = lambda name, *_: refuse(f"entity {name!r} declared; none may be")
    parser.SkippedEntityHandler = lambda name, _: refuse(f"entity {name!r} is not declared")
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        open_tag = "" if builder.innermost is None else f"; <{builder.innermost}> is open"
        message = expat.ErrorString(error.code) + open_tag
        raise ParseError.on_line(message, text, error.lineno, error.offset + 1) from None
    except UnicodeEncodeError as error:
        raise ParseError.at(error.reason, text, error.start) from None
    return builder.roots[0]


def _entity_within(document: bytes, start: int) -> str | None:
    """An entity in the tag that starts there, but for the five that XML has."""
    tag = _TAG.match(document, start)
    found = None if tag is None else _ENTITY.search(tag.group())
    return None if found is None else found.group(1).decode()


def html(text: str, *, attributes: bool = True) -> Tree:
    """The tree of an HTML document, or of a fragment with one outermost element.

    Nodes are as for :func:`xml`, with tags and attribute names in lower case. Void elements
    (``<br>``) have no children; end tags that HTML lets one leave out (``</p>``, ``</li>``,
    ``</td>`` and their like) may be left out. An attribute without a value is a leaf.

    Args:
        text: the document.
        attributes: False drops the attributes.

    Raises:
        ParseError: an end tag that matches no open element, an element, a tag or a comment that
            is not closed, more than one outermost element, text outside of it, or none.

    Example:
        >>> html("<ul><li>one<li class=x>two<br></ul>")
        <Tree (ul (li one) (li (@class x) two br))>
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")  # as the standard says
    return _HTMLReader(text, attributes).tree()


class _ElementBuilder(Builder):
    def __init__(self, attributes: bool) -> None:
        super().__init__()
        self.attributes = attributes

    def start(self, tag: str, attributes: Iterable[tuple[str, str | None]]) -> None:
        self.open(tag)
        if not self.attributes:
            return
        for name, value in attributes:
            if value is None:
                self.leaf("@" + name)
            else:
                self.open("@" + name)
                self.leaf(value)
                self.close()

    def text(self, text: str) -> None:
        text = text.strip()
        if text:
            self.leaf(text)


class _HTMLReader:
    """The elements of a document, those closed of whose end tags HTML lets one leave out."""

    def __init__(self, text: str, attributes: bool) -> None:
        self.document = text
        self.builder = _ElementBuilder(attributes)
        self.unclosed: list[tuple[str, int]] = []  # tags and where they start
        self.pieces: list[str] = []  # text since the last tag; a comment may cut it

    def tree(self) -> Tree:
        for token in tokens(self.document):
            if token.kind == "text":
                self._read_text(token)
            elif token.kind == "start":
                self._open(token)
            else:
                self._end(token)
        self._text()
        while self.unclosed and self.unclosed[-1][0] in _ENDED_BY:
            self._close()
        if self.unclosed:
            tag, offset = self.unclosed[-1]
            raise ParseError.at(f"<{tag}> is not closed", self.document, offset)
        if not self.builder.roots:
            raise ParseError.at("no element", self.document, len(self.document.rstrip()))
        return self.builder.roots[0]

    def _open(self, token: Token) -> None:
        tag = token.content
        self._text()
        while self.unclosed and tag in _ENDED_BY.get(self.unclosed[-1][0], ()):
            self._close()
        if not self.unclosed and self.builder.roots:
            raise self._problem(f"<{tag}> is a second outermost element", token)
        self.builder.start(tag, token.attributes)
        self.unclosed.append((tag, token.offset))
        if tag in _VOID or token.closed:
            self._close()

    def _end(self, token: Token) -> None:
        tag = token.content
        self._text()
        if tag in _VOID:
            raise self._problem(f"</{tag}>: <{tag}> takes no end tag", token)
        while self.unclosed and self.unclosed[-1][0] != tag and self.unclosed[-1][0] in _ENDED_BY:
            self._close()
        if not self.unclosed:
            raise self._problem(f"</{tag}> closes nothing", token)
        opened, offset = self.unclosed[-1]
        if opened != tag:
            line = self.document.count("\n", 0, offset) + 1
            raise self._problem(f"</{tag}> closes <{opened}> of line {line}", token)
        self._close()

    def _read_text(self, token: Token) -> None:
        text = token.content
        if not self.unclosed and text.strip():
            start = self.document[token.offset :]
            offset = token.offset + len(start) - len(start.lstrip())
            message = "text outside of the outermost element"
            raise ParseError.at(message, self.document, offset)
        self.pieces.append(text)

    def _problem(self, message: str, token: Token) -> ParseError:
        return ParseError.at(message, self.document, token.offset)

    def _text(self) -> None:
        self.builder.text("".join(self.pieces))
        self.pieces.clear()

    def _close(self) -> None:
        self.unclosed.pop()
        self.builder.close()
