"""XML and HTML documents.

References:
    W3C, "Extensible Markup Language (XML) 1.0", fifth edition, 2008.
    WHATWG, "HTML Living Standard", section 13.1: void elements and optional tags.
"""

from __future__ import annotations

from collections.abc import Iterable
from html.parser import HTMLParser
from typing import NoReturn
from xml.parsers import expat

from structnet.parse.errors import ParseError
from structnet.parse.reading import Builder
from structnet.trees.tree import Tree

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
        ParseError: the text is not well-formed; or it declares entities, which could make a small
            text expand into a huge one, or uses one that is not declared.

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

    def start(tag: str, pairs: list[str]) -> None:
        builder.start(tag, zip(pairs[::2], pairs[1::2], strict=True))

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda tag: builder.close()
    parser.CharacterDataHandler = builder.text
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


def html(text: str, *, attributes: bool = True) -> Tree:
    """The tree of an HTML document, or of a fragment with one outermost element.

    Nodes are as for :func:`xml`, with tags and attribute names in lower case. Void elements
    (``<br>``) have no children; end tags that HTML lets one leave out (``</p>``, ``</li>``,
    ``</td>`` and their like) may be left out. An attribute without a value is a leaf.

    Args:
        text: the document.
        attributes: False drops the attributes.

    Raises:
        ParseError: an end tag that matches no open element, an element that is not closed, more
            than one outermost element, text outside of it, or none.

    Example:
        >>> html("<ul><li>one<li class=x>two<br></ul>")
        <Tree (ul (li one) (li (@class x) two br))>
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")  # as the standard says
    reader = _HTMLReader(text, attributes)
    try:
        reader.feed(text)
        reader.close()
    except AssertionError as error:  # how html.parser says that a declaration is malformed
        raise reader.problem(str(error)) from None
    return reader.tree()


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


class _HTMLReader(HTMLParser):
    def __init__(self, text: str, attributes: bool) -> None:
        super().__init__(convert_charrefs=True)
        self.document = text
        self.builder = _ElementBuilder(attributes)
        self.unclosed: list[tuple[str, tuple[int, int]]] = []  # tags and where they start
        self.pieces: list[str] = []  # text since the last tag; a comment may cut it

    def tree(self) -> Tree:
        self._text()
        while self.unclosed and self.unclosed[-1][0] in _ENDED_BY:
            self._close()
        if self.unclosed:
            tag, (line, offset) = self.unclosed[-1]
            raise ParseError.on_line(f"<{tag}> is not closed", self.document, line, offset + 1)
        if not self.builder.roots:
            raise ParseError.at("no element", self.document, len(self.document.rstrip()))
        return self.builder.roots[0]

    def problem(self, message: str) -> ParseError:
        line, offset = self.getpos()
        return ParseError.on_line(message, self.document, line, offset + 1)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._text()
        while self.unclosed and tag in _ENDED_BY.get(self.unclosed[-1][0], ()):
            self._close()
        if not self.unclosed and self.builder.roots:
            raise self.problem(f"<{tag}> is a second outermost element")
        self.builder.start(tag, attrs)
        self.unclosed.append((tag, self.getpos()))
        if tag in _VOID:
            self._close()

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self._close()

    def handle_endtag(self, tag: str) -> None:
        self._text()
        if tag in _VOID:
            raise self.problem(f"</{tag}>: <{tag}> takes no end tag")
        while self.unclosed and self.unclosed[-1][0] != tag and self.unclosed[-1][0] in _ENDED_BY:
            self._close()
        if not self.unclosed:
            raise self.problem(f"</{tag}> closes nothing")
        opened, (line, _) = self.unclosed[-1]
        if opened != tag:
            raise self.problem(f"</{tag}> closes <{opened}> of line {line}")
        self._close()

    def handle_data(self, data: str) -> None:
        if not self.unclosed and data.strip():
            raise self._text_outside(data)
        self.pieces.append(data)

    def _text_outside(self, data: str) -> ParseError:
        line, offset = self.getpos()
        blanks = data[: len(data) - len(data.lstrip())]
        line += blanks.count("\n")
        offset = len(blanks) - blanks.rfind("\n") - 1 + ("\n" not in blanks) * offset
        message = "text outside of the outermost element"
        return ParseError.on_line(message, self.document, line, offset + 1)

    def _text(self) -> None:
        self.builder.text("".join(self.pieces))
        self.pieces.clear()

    def _close(self) -> None:
        self.unclosed.pop()
        self.builder.close()
