"""HTML documents.

Reference:
    WHATWG, "HTML Living Standard", section 13.1: void elements and optional tags; 13.2.3.2: the
    encoding that a document declares.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from os import PathLike

from structnet.parse.elements import Elements
from structnet.parse.errors import ParseError
from structnet.parse.lines import content_of, document_text, file_name, text_of
from structnet.parse.reading import Parsing, in_batches
from structnet.parse.tags import SOUP, Token, tokens
from structnet.trees.tree import Tree

FRAGMENT = "#fragment"  # the label of the node over several outermost elements
_VOID = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track"}
    | {"wbr"}
)
_BLOCKS = frozenset(
    {"address", "article", "aside", "blockquote", "details", "div", "dl", "fieldset", "figcaption"}
    | {"figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "main"}
    | {"menu", "nav", "ol", "p", "pre", "section", "table", "ul"}
)
_HEAD = 1024  # bytes in which the standard looks for an encoding
_COMMENT = re.compile(b"<!--.*?-->", re.DOTALL)
_META = re.compile(rb"""<meta\s[^>]*?charset\s*=\s*["']?([A-Za-z0-9._:-]+)""", re.IGNORECASE)
_LATIN_1 = ("iso-8859-1", "latin1", "l1", "ascii", "us-ascii")
_ROWS = frozenset({"tr", "tbody", "tfoot"})
_RUBY = frozenset({"rt", "rp"})
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
    "caption": _ROWS | {"colgroup", "col", "thead", "td", "th"},
    "colgroup": _ROWS | {"colgroup", "thead", "td", "th", "caption"},
    "rt": _RUBY,
    "rp": _RUBY,
    "head": frozenset({"body"}),
    "body": frozenset(),
    "html": frozenset(),
}


def html(
    text: str | bytes,
    *,
    attributes: bool = True,
    label: str | Sequence[str] | None = None,
    lenient: bool = False,
    encoding: str | None = None,
) -> Tree:
    """The tree of an HTML document, or of a fragment with one outermost element.

    Nodes are as for :func:`xml`, with tags and attribute names in lower case. Void elements
    (``<br>``) have no children; end tags that are optional in HTML (such as ``</p>``, ``</li>`` and
    ``</td>``) may be left out. An attribute without a value is a leaf; if an attribute is repeated,
    its first value is used.

    Reading takes about 12 times the memory of the text, and 100 times that of the densest texts.

    Args:
        text: the document, as str or bytes.
        attributes: False to drop the attributes.
        label: attribute that labels elements, as for :func:`xml`.
        lenient: True to read tag soup. An end tag then closes the innermost open element of its
            name and all inside; an end tag that closes nothing is dropped; elements that are open
            at the end are closed; a tag or comment that never ends is dropped; several outermost
            elements, or texts beside them, are put under a node ``#fragment``.
        encoding: encoding of bytes; None for that of their byte order mark, the one that a
            ``<meta>`` in the first 1,024 bytes declares, or UTF-8.

    Raises:
        ParseError: there is no element, or bytes do not have their encoding; or, unless
            ``lenient``, an end tag matches no open element, an element, a tag or a comment is not
            closed, there is more than one outermost element, or text outside of it.
        LookupError: Python does not know the encoding.

    Example:
        >>> html("<ul><li>one<li class=x>two<br></ul>")
        <Tree (ul (li one) (li (@class x) two br))>
        >>> html("<b><i>one</b></i> two<p>", lenient=True)
        <Tree (#fragment (b (i one)) two p)>
    """
    reader = _Reader(_decoded(text, encoding), Elements(attributes, label), lenient)
    with Parsing(text):
        for _ in reader.read():
            pass
    roots = reader.elements.roots
    if not roots:
        document = reader.document
        raise ParseError.at("no element", document, len(document.rstrip()))
    return roots[0] if len(roots) == reader.seen == 1 else Tree(FRAGMENT, roots)


def html_many(
    text: str | bytes | PathLike[str],
    elements: str | Iterable[str],
    *,
    attributes: bool = True,
    label: str | Sequence[str] | None = None,
    lenient: bool = False,
    encoding: str | None = None,
) -> Iterator[Tree]:
    """Yields the trees of some elements of an HTML document, each as read by :func:`html`.

    Args:
        text: the document, or the ``Path`` of its file.
        elements: tag or tags, in lower case, of the elements that are trees. Such an element inside
            another is a part of its tree; everything outside of them is left out.
        attributes, label, lenient, encoding: arguments of :func:`html`.

    Raises:
        ParseError: as for :func:`html`, after the trees before the place of the error.
        ValueError: ``elements`` is not a tag or several.
        LookupError: Python does not know the encoding.
        OSError: the file cannot be read.

    Example:
        >>> list(html_many("<body><p>one<p>two<div></div></body>", elements="p"))
        [<Tree (p one)>, <Tree (p two)>]
    """
    builder = Elements(attributes, label, elements)
    reader = _Reader(_decoded(content_of(text), encoding), builder, lenient)
    return in_batches(builder.trees(reader.read(), file_name(text)), text)


def _decoded(text: str | bytes, encoding: str | None) -> str:
    if encoding is not None:
        return text_of(text, encoding)
    try:
        return document_text(text, _declared)
    except ParseError as error:
        raise error.but(message=f"{error.message}; encoding= names another encoding") from None


def _declared(document: bytes) -> str | None:
    """The encoding that a ``<meta>`` declares."""
    match = _META.search(_COMMENT.sub(b"", document[:_HEAD]))
    if match is None:
        return None
    name = match.group(1).decode().lower()
    # What declares itself in ASCII is not UTF-16; and of Latin-1 the standard makes its superset.
    return None if name.startswith("utf-16") else "cp1252" if name in _LATIN_1 else name


class _Reader:
    """Reads the elements of a document; closes those whose end tags HTML allows to be left out."""

    def __init__(self, text: str, elements: Elements, lenient: bool) -> None:
        self.document = text.replace("\r\n", "\n").replace("\r", "\n")  # as the standard says
        self.elements = elements
        self.lenient = lenient
        self.unclosed: list[tuple[str, int]] = []  # tags and where they start
        self.counts: Counter[str] = Counter()  # of the unclosed tags, where tag soup is read
        self.seen = 0  # outermost ones

    def read(self) -> Iterator[None]:
        """Reads the document; yields whenever trees may be complete."""
        roots = self.elements.roots
        for token in tokens(self.document, self.lenient):
            if token.kind == "text":
                self._read_text(token)
                continue
            if token.kind == "start":
                self._open(token)
            else:
                self._end(token)
            if roots:
                yield
        self.elements.end_text()
        while self.unclosed and (self.lenient or self.unclosed[-1][0] in _ENDED_BY):
            self._close()
        if self.unclosed:
            tag, offset = self.unclosed[-1]
            raise self._problem(f"<{tag}> is not closed", offset)
        yield

    def _open(self, token: Token) -> None:
        tag = token.content
        while self.unclosed and tag in _ENDED_BY.get(self.unclosed[-1][0], ()):
            self._close()
        if not self.unclosed:
            if self.seen and not self.lenient:
                raise self._problem(f"<{tag}> is a second outermost element", token.offset)
            self.seen += 1
        self.elements.start(tag, token.attributes)
        self.unclosed.append((tag, token.offset))
        if self.lenient:
            self.counts[tag] += 1
        if tag in _VOID or token.closed:
            self._close()

    def _end(self, token: Token) -> None:
        tag = token.content
        if self.lenient:
            while self.counts[tag] and self._close() != tag:
                pass
            return
        if tag in _VOID:
            raise self._problem(f"</{tag}>: <{tag}> takes no end tag", token.offset)
        while self.unclosed and self.unclosed[-1][0] != tag and self.unclosed[-1][0] in _ENDED_BY:
            self._close()
        if not self.unclosed:
            raise self._problem(f"</{tag}> closes nothing", token.offset)
        opened, offset = self.unclosed[-1]
        if opened != tag:
            line = self.document.count("\n", 0, offset) + 1
            raise self._problem(f"</{tag}> closes <{opened}> of line {line}", token.offset)
        self._close()

    def _read_text(self, token: Token) -> None:
        text = token.content
        if not self.unclosed and not self.lenient and text.strip():
            start = self.document[token.offset :]
            offset = token.offset + len(start) - len(start.lstrip())
            raise self._problem("text outside of the outermost element", offset)
        self.elements.text(text)

    def _problem(self, message: str, offset: int) -> ParseError:
        return ParseError.at(message + SOUP, self.document, offset)

    def _close(self) -> str:
        tag, _ = self.unclosed.pop()
        if self.lenient:
            self.counts[tag] -= 1
        self.elements.close()
        return tag
