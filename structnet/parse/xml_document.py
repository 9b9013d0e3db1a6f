"""XML documents.

Reference:
    W3C, "Extensible Markup Language (XML) 1.0", fifth edition, 2008.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from typing import NoReturn
from xml.parsers import expat

from structnet.parse.elements import Elements
from structnet.parse.errors import ParseError
from structnet.parse.lines import UTF_8, content_of, document_text, file_name
from structnet.parse.reading import Parsing, in_batches
from structnet.trees.tree import Tree

_TAG = re.compile(rb"""<(?:[^>"']+|"[^"]*"|'[^']*')*>""")
_ENTITY = re.compile(rb"&(?!#|(?:amp|lt|gt|quot|apos);)([^;]*);")
_DECLARED = re.compile(rb"""<\?xml[^>]*?\sencoding\s*=\s*["']([A-Za-z0-9._-]+)["']""")
_MOST_DECLARED = 1000  # attributes; expat goes through those of an element wherever it begins
_CHUNK = 2**16  # characters after which trees that are complete are handed out


def xml(
    text: str | bytes, *, attributes: bool = True, label: str | Sequence[str] | None = None
) -> Tree:
    """The tree of an XML document.

    An element is a node labelled with its tag, as written. Its attributes are its first children,
    ``@name`` above the value; its elements and its text follow in order. Text is stripped of
    whitespace around it and dropped if nothing is left; comments and instructions are dropped. An
    empty element is a leaf, as a text that reads as its tag is.

    Reading takes about 10 times the memory of the text, and 55 times that of the densest texts.

    Args:
        text: the document; bytes have the encoding that it declares, or UTF-8.
        attributes: False to drop the attributes.
        label: attribute that labels an element, and is then not a child; or several, of which the
            first that the element has is used. Elements without it are labelled with their tags,
            as are all by default.

    Raises:
        ParseError: the text is not well-formed, or its bytes do not have its encoding; or it
            declares entities, or attributes with a default value, which could make a small text
            expand into a huge one, or more than 1,000 attributes, or uses an entity that is not
            declared.

    Example:
        >>> xml("<note to='Ada'>Call <b>now</b>!</note>")
        <Tree (note (@to Ada) Call (b now) !)>
        >>> xml("<node cat='NP'><node pos='N'>cats</node></node>", label=("cat", "pos"))
        <Tree (NP (N cats))>
        >>> xml("<a><b></a>")
        Traceback (most recent call last):
            ...
        structnet.parse.errors.ParseError: line 1, column 9: mismatched tag; <b> is open
            <a><b></a>
                    ^
    """
    elements = Elements(attributes, label)
    with Parsing(text):
        for _ in _fed(document_text(text, _declared), elements):
            pass
    return elements.roots[0]


def xml_many(
    text: str | bytes | PathLike[str],
    elements: str | Iterable[str],
    *,
    attributes: bool = True,
    label: str | Sequence[str] | None = None,
) -> Iterator[Tree]:
    """Yields the trees of some elements of an XML document, each as read by :func:`xml`.

    Args:
        text: the document, or the ``Path`` of its file.
        elements: tag or tags of the elements that are trees. Such an element inside another is a
            part of its tree; everything outside of them is left out.
        attributes, label: arguments of :func:`xml`.

    Raises:
        ParseError: as for :func:`xml`, after the trees before the place of the error.
        ValueError: ``elements`` is not a tag or several.
        OSError: the file cannot be read.

    Example:
        >>> list(xml_many("<text><s>a<w>b</w></s> and <s>c</s></text>", elements="s"))
        [<Tree (s a (w b))>, <Tree (s c)>]
    """
    builder = Elements(attributes, label, elements)
    reading = _fed(document_text(content_of(text), _declared), builder)
    return in_batches(builder.trees(reading, file_name(text)), text)


def _fed(text: str, elements: Elements) -> Iterator[None]:
    """Hands a document to expat piece by piece."""
    parser = _parser(text, elements)
    at = 0
    try:
        for at in range(0, len(text), _CHUNK):
            parser.Parse(text[at : at + _CHUNK], False)
            yield
        parser.Parse("", True)
    except expat.ExpatError as error:
        tag = elements.innermost
        message = expat.ErrorString(error.code) + ("" if tag is None else f"; <{tag}> is open")
        raise ParseError.on_line(message, text, error.lineno, error.offset + 1) from None
    except UnicodeEncodeError as error:
        raise ParseError.at(error.reason, text, at + error.start) from None
    yield


def _parser(text: str, elements: Elements) -> expat.XMLParserType:
    # A str needs no declared encoding: expat is handed UTF-8 whatever the document says.
    parser = expat.ParserCreate(UTF_8)
    parser.buffer_text = True
    parser.ordered_attributes = True

    def refuse(message: str) -> NoReturn:
        line, offset = parser.CurrentLineNumber, parser.CurrentColumnNumber
        raise ParseError.on_line(message, text, line, offset + 1)

    declared_attributes = 0

    def attribute(tag: str, name: str, _: str, default: str | None, __: int) -> None:
        nonlocal declared_attributes
        declared_attributes += 1
        if default is not None:
            refuse(
                f"attribute {name!r} of <{tag}> declared with a value, {default[:20]!r}; expected "
                "#REQUIRED or #IMPLIED"
            )
        if declared_attributes > _MOST_DECLARED:
            refuse(f"more than {_MOST_DECLARED:,} attributes declared")

    document = b""  # the text as expat counts its places, where a declaration may hide entities

    def declared(*_: object) -> None:
        nonlocal document
        document = text.encode()

    def start(tag: str, pairs: list[str]) -> None:
        if document:  # of an entity in an attribute that may be declared elsewhere, expat is mute
            entity = _entity_within(document, parser.CurrentByteIndex)
            if entity is not None:
                refuse(f"entity {entity!r} is not declared")
        elements.start(tag, list(zip(pairs[::2], pairs[1::2], strict=True)) if pairs else ())

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda tag: elements.close()
    parser.CharacterDataHandler = elements.text
    parser.StartDoctypeDeclHandler = declared
    parser.AttlistDeclHandler = attribute
    parser.EntityDeclHandler = lambda name, *_: refuse(f"entity {name!r} declared; none may be")
    parser.SkippedEntityHandler = lambda name, _: refuse(f"entity {name!r} is not declared")
    return parser


def _entity_within(document: bytes, start: int) -> str | None:
    """The first entity in the tag that starts at an offset, except for the five of XML itself."""
    tag = _TAG.match(document, start)
    match = None if tag is None else _ENTITY.search(tag.group())
    return None if match is None else match.group(1).decode()


def _declared(document: bytes) -> str | None:
    match = _DECLARED.match(document)
    return None if match is None else match.group(1).decode()
