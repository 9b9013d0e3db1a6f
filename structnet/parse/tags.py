"""The tags and texts of an HTML document, in one pass that reads each character once.

A tag, a value or a comment that is not closed is an error at once, and ends the document: to search
for its end again from later places would take quadratic time.

Reference:
    WHATWG, "HTML Living Standard", section 13.2.5: tokenization.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html import unescape
from html.entities import html5
from typing import NamedTuple

from structnet.parse.errors import ParseError

_NAME = re.compile(r"[^ \t\n\f/>]+")
_BETWEEN = re.compile(r"[ \t\n\f/]*")
_ATTRIBUTE = re.compile(r"=?[^ \t\n\f/>=]*")
# One that is written as most are, with its value, and the blanks behind it.
_PLAIN_ATTRIBUTE = re.compile(
    r"([^ \t\n\f/>=]+)(?:=(?:\"([^\"]*)\"|'([^']*)'|([^ \t\n\f>\"'][^ \t\n\f>]*)))?"
    r"([ \t\n\f/]*)"
)
_EQUALS = re.compile(r"[ \t\n\f]*=[ \t\n\f]*")
_BARE = re.compile(r"[^ \t\n\f>]*")
_REFERENCE = re.compile("&(?:#[0-9]+;?|#[xX][0-9a-fA-F]+;?|[0-9A-Za-z]+;?)")
_PLAIN = re.compile(r"([^<&]+)(?=<)|<([A-Za-z][^ \t\n\f/>]*)>|</([A-Za-z][^ \t\n\f/>]*)>")
_KINDS = ("", "text", "start", "end")  # of the groups of _PLAIN
_COMMENT_END = re.compile("--!?>")
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
# Elements that hold text alone, and whether character references in it count.
_TEXT_ALONE = {
    **dict.fromkeys(("script", "style", "xmp", "iframe", "noembed", "noframes"), False),
    **dict.fromkeys(("title", "textarea"), True),
}

SOUP = "; lenient=True reads tag soup"  # ends the errors that lenient reading does not have


class Token(NamedTuple):
    """A tag or a text.

    Attributes:
        kind: "start", "end" or "text".
        offset: place where it begins.
        content: the tag's name in lower case, or the text with its character references resolved.
        attributes: attributes of a start tag, in lower case, with their values.
        closed: True if the start tag ends in a slash.
    """

    kind: str
    offset: int
    content: str
    attributes: tuple[tuple[str, str | None], ...] = ()
    closed: bool = False


def tokens(text: str, lenient: bool = False) -> Iterator[Token]:
    """The tags and texts of a document, in order, without comments and declarations.

    Args:
        text: the document.
        lenient: True to drop what is not closed at the end of the document.

    Raises:
        ParseError: a tag, an attribute's value or a comment is not closed.

    Example:
        >>> [token.content for token in tokens("<P CLASS=a>1 &lt; 2<!-- no --></p>")]
        ['p', '1 < 2', 'p']
    """
    at = 0
    while at < len(text):
        plain = _PLAIN.match(text, at)
        if plain is not None:  # a tag without attributes or a text without references, as most are
            kind, start, at = _KINDS[plain.lastindex or 0], at, plain.end()
            content = plain.group(plain.lastindex or 0)
            token: Token | None = Token(kind, start, content if kind == "text" else content.lower())
        else:
            try:
                at, token = _next(text, at)
            except ParseError as error:
                if not lenient:
                    raise error.but(message=error.message + SOUP) from None
                return
        if token is None:
            continue
        yield token
        if token.kind == "start" and token.content in _TEXT_ALONE and not token.closed:
            at, inside = _text_alone(text, at, token.content)
            if inside is not None:
                yield inside


def _next(text: str, at: int) -> tuple[int, Token | None]:
    """The token that begins at a place, and where it ends; None for what is no part of a tree."""
    if text[at] != "<":
        return _until_tag(text, at, at)
    if text[at + 1 : at + 2] in _LETTERS:
        return _start_tag(text, at)
    if text.startswith("</", at):
        return _end_tag(text, at)
    if text.startswith("<!--", at):
        return _comment_end(text, at), None
    if text.startswith(("<!", "<?"), at):
        return _closed(text, at, "a declaration"), None
    return _until_tag(text, at, at + 1)  # a sign of its own


def _until_tag(text: str, start: int, after: int) -> tuple[int, Token]:
    """A text up to the next sign that may begin a tag."""
    end = text.find("<", after)
    end = len(text) if end < 0 else end
    return end, Token("text", start, _resolved(text, start, end))


def _start_tag(text: str, start: int) -> tuple[int, Token]:
    name = _NAME.match(text, start + 1)
    assert name is not None  # as a letter stands there
    attributes: dict[str, str | None] = {}
    end = name.end()
    at = _after(_BETWEEN, text, end)
    while at < len(text) and text[at] != ">":
        plain = _PLAIN_ATTRIBUTE.match(text, at)
        if plain is not None and text[plain.end() : plain.end() + 1] != "=":
            at, end = plain.end(), plain.start(5)
            key, double, single, bare, _ = plain.groups()
            value = double if double is not None else single if single is not None else bare
            if value is not None and "&" in value:
                group = 2 if double is not None else 3 if single is not None else 4
                value = _resolved(text, *plain.span(group), _reference)
            key = key.lower()
        else:
            end = _after(_ATTRIBUTE, text, at)
            key = text[at:end].lower()
            end, value = _value(text, end, key)
            at = _after(_BETWEEN, text, end)
        attributes.setdefault(key, value)  # of two of one name the first counts
    if at >= len(text):
        raise ParseError.at(f"the tag <{name.group()[:20]}> is not closed by '>'", text, start)
    closed = at > end and text[at - 1] == "/"  # not the last character of a bare value
    pairs = tuple(attributes.items())
    return at + 1, Token("start", start, name.group().lower(), pairs, closed)


def _value(text: str, at: int, name: str) -> tuple[int, str | None]:
    """An attribute's value, and where it ends."""
    equals = _EQUALS.match(text, at)
    if equals is None:
        return at, None
    at = equals.end()
    quote = text[at : at + 1]
    if quote not in ("'", '"'):
        end = _after(_BARE, text, at)
        return end, _resolved(text, at, end, _reference)
    end = text.find(quote, at + 1)
    if end < 0:
        raise ParseError.at(f"the value of {name[:20]!r} is not closed by {quote}", text, at)
    return end + 1, _resolved(text, at + 1, end, _reference)


def _end_tag(text: str, start: int) -> tuple[int, Token | None]:
    if text[start + 2 : start + 3] not in _LETTERS:  # of no element: as a comment
        return _closed(text, start, "an end tag"), None
    end, tag = _start_tag(text, start + 1)  # which may have attributes, too
    return end, Token("end", start, tag.content)


def _comment_end(text: str, start: int) -> int:
    for empty in ("<!-->", "<!--->"):
        if text.startswith(empty, start):
            return start + len(empty)
    end = _COMMENT_END.search(text, start + 4)
    if end is None:
        raise ParseError.at("a comment is not closed by '-->'", text, start)
    return end.end()


def _closed(text: str, start: int, what: str) -> int:
    end = text.find(">", start)
    if end < 0:
        raise ParseError.at(f"{what} is not closed by '>'", text, start)
    return end + 1


def _text_alone(text: str, start: int, tag: str) -> tuple[int, Token | None]:
    """The text up to an element's end tag, in which other tags count as text, as in a script."""
    match = re.compile(f"</{tag}(?=[ \t\n\f/>])", re.IGNORECASE).search(text, start)
    end = len(text) if match is None else match.start()
    if end == start:
        return end, None
    inside = _resolved(text, start, end) if _TEXT_ALONE[tag] else text[start:end]
    return end, Token("text", start, inside)


def _resolved(
    text: str, start: int, end: int, reference: Callable[[re.Match[str]], str] | None = None
) -> str:
    """A part of a text, its character references resolved, as in an attribute if so asked."""
    part = text[start:end]
    if "&" not in part:
        return part
    try:
        return unescape(part) if reference is None else _REFERENCE.sub(reference, part)
    except ValueError:  # Python reads no number of thousands of digits
        place = re.compile(r"&#[xX]?[0-9a-fA-F]{1000}").search(text, start, end)
        assert place is not None
        raise ParseError.at("a character reference that is none", text, place.start()) from None


def _reference(match: re.Match[str]) -> str:
    """What a reference in an attribute stands for.

    A name without its semicolon counts only if neither "=" nor a letter or digit follows: the
    ``&copy=1`` of an address is no sign of copyright.
    """
    name = match.group()[1:]
    if name[0] == "#":
        return unescape(match.group())
    if not name.endswith(";") and match.string[match.end() : match.end() + 1] == "=":
        return match.group()
    return html5.get(name, match.group())


def _after(pattern: re.Pattern[str], text: str, at: int) -> int:
    """The end of a pattern's match at a place; the pattern must match the empty text, too."""
    match = pattern.match(text, at)
    assert match is not None
    return match.end()
