"""Numbers as a column writes them: with marks between thousands, and a currency or percent sign.

=======================  =======================================================================
``1.234,5``, ``1,234.5`` have both marks, so that there is no doubt which of them is which
``$5``, ``5 €``, ``12%`` have a sign, the same in all fields of a column, before or after the number
``1.234.567``            may also be a code, ``1,234`` one and a bit: only beside others in the
                         column that leave no doubt
=======================  =======================================================================

The fields of a column tell its style once, in training; it then reads all fields to come.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

SIGN = r"[$¢£¥%‰\u20a0-\u20cf]"  # the last are the block of currencies
SIGNED = re.compile(rf"([+-]?)({SIGN}?)\s?([+-]?)([\d.,]+(?:[eE][+-]?\d+)?)\s?({SIGN}?)")
PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
PARTED = re.compile(r"[1-9]\d{0,2}\.\d{3}")  # or a number with three decimals
SHARES = "%", "‰"  # without which 0.12 may also be 12 %
MARKS = re.compile("[.,]")
MISPRINTS = 0.05  # largest share of fields that may be no numbers, or tell another style


class Style(NamedTuple):
    """How a column writes numbers.

    Args:
        before, after: sign before or after the number; empty if there is none.
        decimal: mark before decimals, a point or a comma; the other one is between thousands. Empty
            if the column has neither.
        parted: True if thousands have marks; if not, ``1.234`` may be meant in two ways.
    """

    before: str
    after: str
    decimal: str
    parted: bool = True

    def __str__(self) -> str:
        digits = f"1{self._thousands}234" if self.parted else "12"
        digits += f"{self.decimal}5" * bool(self.decimal)
        return f"{self.before}{digits}{f' {self.after}' * bool(self.after)}"

    @property
    def _thousands(self) -> str:
        return {".": ",", ",": ".", "": ""}[self.decimal]

    def number(self, text: str) -> float:
        """The number in a field of this style, or in one that ``float`` reads and without doubt.

        Raises:
            ValueError: the field has another sign or other marks.

        Example:
            >>> style = Style("", "€", decimal=",")
            >>> style.number("1.234,5 €"), style.number("1234")
            (1234.5, 1234.0)
            >>> style.number("$5")
            Traceback (most recent call last):
            ValueError: expected a number written as 1.234,5 €; got '$5'
        """
        _, minus, digits = _parts(text)
        if self.wrote(text):
            digits = digits.replace(self._thousands, "").replace(",", ".")
            return float(minus + digits)
        doubtful = self.before + self.after in SHARES or (
            "." in digits if self.decimal == "," else not self.decimal and PARTED.fullmatch(digits)
        )
        if PLAIN.fullmatch(text) and not doubtful:
            return float(text)
        raise ValueError(self.unlike(text))

    def wrote(self, text: str) -> bool:
        """Whether a field is a number of this style."""
        signs, _, digits = _parts(text)
        return signs == (self.before, self.after) and self.fits(digits)

    def fits(self, digits: str) -> bool:
        """Whether this is a number of the style, without signs."""
        return bool(_pattern(self.decimal, self.parted).fullmatch(digits))

    def unlike(self, text: str) -> str:
        """The words for a field that is none."""
        return f"expected a number written as {self}; got {text!r}"


def style_of(fields: Iterable[str]) -> Style | None:
    """The style of a column's numbers; None if it is in doubt, or if they are plain.

    Fields that are no numbers of the style are left to the caller, who knows how many there may be.

    Args:
        fields: fields of the column that are not missing.

    Example:
        >>> style_of(["1.234,50", "900", "oak"])
        Style(before='', after='', decimal=',', parted=True)
        >>> style_of(["1.234.567", "1.234"]), style_of(["$1,234"])
        (None, None)
    """
    signs = Counter[tuple[str, str]]()
    parts = Counter[tuple[tuple[str, str], str]]()
    for text, count in Counter(fields).items():
        each, _, digits = _parts(text)
        if digits:
            signs[each] += count
            parts[each, digits] += count
    if not signs:
        return None
    sign = signs.most_common(1)[0][0]
    numbers = {digits: count for (each, digits), count in parts.items() if each == sign}
    points, commas = Style(*sign, "."), Style(*sign, ",")
    of_points, of_commas = (
        {digits: n for digits, n in numbers.items() if style.fits(digits)}
        for style in (points, commas)
    )
    ahead = sum(of_points.values()) - sum(of_commas.values())
    style, own = (points, of_points) if ahead >= 0 else (commas, of_commas)
    if abs(ahead) <= MISPRINTS * sum(numbers.values()) and any(map(MARKS.search, own)):
        return None
    if not any(sign) and not any("." in each and "," in each for each in own):
        return None
    parted = any(style._thousands in each for each in own)
    return Style(*sign, style.decimal if ahead else "", parted)


def _parts(text: str) -> tuple[tuple[str, str], str, str]:
    """The sign before and after a number, its plus or minus, and the rest; empty if it is none."""
    found = SIGNED.fullmatch(text)
    if not found or (found[1] and found[3]) or (found[2] and found[5]):
        return ("", ""), "", ""
    return (found[2], found[5]), found[1] + found[3], found[4]


@cache
def _pattern(decimal: str, parted: bool) -> re.Pattern[str]:
    """The pattern of numbers; without parted thousands, of those that have only one meaning."""
    if not decimal:
        return re.compile(r"\d+(?:[.,](?!\d{3}$)\d+)?")
    thousands, mark = re.escape("," if decimal == "." else "."), re.escape(decimal)
    part = rf"[1-9]\d{{0,2}}(?:{thousands}\d{{3}})"
    marked = rf"{part}+(?:{mark}\d*)?" if parted else rf"{part}+{mark}\d+|{part}{{2,}}"
    return re.compile(rf"(?:\d+{mark}?\d*|{mark}\d+)(?:[eE][+-]?\d+)?|{marked}")
