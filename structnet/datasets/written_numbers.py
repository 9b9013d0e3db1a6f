"""Numbers as files write them: with decimal commas, parted thousands, currencies, percent signs.

=======================  =======================================================================
``1.234,5``, ``1,234.5`` are such beyond doubt, as is ``1.234.567``; one of them tells how all other
                         columns are written
``1,5``                  between semicolons, has a decimal comma if no number has a decimal point;
                         elsewhere it may be anything, and stays as it is
``12 %``, ``$5``, ``5 €`` lose the sign if all numbers of the column have the same one
=======================  =======================================================================

A column is rewritten only if all its fields are such numbers, or missing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

MISSING = frozenset({"", "?", "na", "n/a", "nan", "null"})  # in lower or upper case
PLAIN = re.compile(r"[+-]?\d+(\.\d+)?")
DECIMAL_POINT = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?")
SIGNED = re.compile(r"([+-]?)([$€£¥]?)\s?([+-]?\d[\d.,]*)\s?([$€£¥%]?)")
ODD = re.compile(r"[,$€£¥%]|\.\d*\.")  # what no plain number has


class Style(NamedTuple):
    """The mark between thousands, and that before decimals.

    Args:
        thousands, decimal: the marks.
        number: pattern of numbers of this style.
        sure: pattern of those that are of no other.
    """

    thousands: str
    decimal: str
    number: re.Pattern[str]
    sure: re.Pattern[str]

    @classmethod
    def of(cls, thousands: str, decimal: str) -> Style:
        """The style with these marks."""
        part, point = rf"[1-9]\d{{0,2}}({re.escape(thousands)}\d{{3}})", re.escape(decimal)
        number = rf"[+-]?(\d+|{part}+)({point}\d+)?([eE][+-]?\d+)?"
        sure = rf"[+-]?({part}+{point}\d+|{part}{{2,}})"
        return cls(thousands, decimal, re.compile(number), re.compile(sure))

    def plain(self, texts: Sequence[str]) -> list[str] | None:
        """The numbers as ``float`` reads them, gaps as they are; None if a text is no number."""
        if not all(self.number.fullmatch(text) or text.lower() in MISSING for text in texts):
            return None
        without = [text.replace(self.thousands, "") for text in texts]
        return [text.replace(self.decimal, ".") for text in without]


POINTS, COMMAS = Style.of(",", "."), Style.of(".", ",")


def plain_numbers(
    rows: list[list[str]], delimiter: str, thousands: str = ""
) -> tuple[list[list[str]], dict[int, str]]:
    """Rows with numbers as ``float`` reads them.

    Args:
        rows: fields of each row, as many in all.
        delimiter: character between the fields.
        thousands: mark between thousands where no number is sure, if none is written otherwise.

    Returns:
        The rows, and what parted the thousands of columns, by the column's number.

    Example:
        >>> plain_numbers([["1.200,50 €", "oak"], ["9,00 €", "elm"]], ";")
        ([['1200.50', 'oak'], ['9.00', 'elm']], {0: '.'})
    """
    columns = [list(column) for column in zip(*rows, strict=True)]
    if not thousands and not any(ODD.search("\n".join(texts)) for texts in columns):
        return rows, {}
    bare = list(map(_without_sign, columns))
    own = {place: style for place, texts in enumerate(bare) if (style := _sure_style(texts))}
    styles = set(own.values())
    if not styles:
        styles = {style for style in (POINTS, COMMAS) if style.thousands == thousands}
        styles = {style for style in styles if not _are_others(style, bare)}
    if not styles and delimiter == ";" and not any(map(_has_point, bare)):
        styles = {COMMAS}
    default = next(iter(styles)) if len(styles) == 1 else None
    parted = {}
    for place, texts in enumerate(bare):
        style = own.get(place, default)
        plain = style.plain(texts) if style else None
        if style and plain and any(style.thousands in text for text in texts):
            parted[place] = style.thousands
        if plain or _are_plain(texts):
            columns[place] = plain or texts
    return [list(row) for row in zip(*columns, strict=True)], parted


def _without_sign(texts: list[str]) -> list[str]:
    """The fields of a column without the sign that all of them have, if any."""
    found = [SIGNED.fullmatch(text) for text in texts if text.lower() not in MISSING]
    signs = {match and match[2] + match[4] for match in found}
    if len(signs) != 1 or not all(sign and len(sign) == 1 for sign in signs):
        return texts
    numbers = iter(match[1] + match[3] for match in found if match)
    return [text if text.lower() in MISSING else next(numbers) for text in texts]


def _sure_style(texts: list[str]) -> Style | None:
    """The style of a column in which a number is of no other."""
    for style in (POINTS, COMMAS):
        if any(map(style.sure.fullmatch, texts)) and style.plain(texts):
            return style
    return None


def _are_others(style: Style, columns: list[list[str]]) -> bool:
    """Whether a number is not of a style, but of the other one."""
    other = POINTS if style is COMMAS else COMMAS
    texts = (text for column in columns for text in column)
    return any(other.number.fullmatch(text) and not style.number.fullmatch(text) for text in texts)


def _has_point(texts: list[str]) -> bool:
    return any(map(DECIMAL_POINT.fullmatch, texts))


def _are_plain(texts: list[str]) -> bool:
    """Whether ``float`` reads all fields that are not missing."""
    return all(PLAIN.fullmatch(text) or text.lower() in MISSING for text in texts)
