"""Fonts for the words of users: which of those installed have the letters that the usual one lacks.

A picture of Chinese, Japanese or Korean needs no setting where such a font is installed; where none
is, one warning says so, and the letters are drawn as boxes.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from matplotlib.font_manager import FontEntry, FontProperties

# Taken first where they are installed: even letters, and all of them from one font.
PREFERRED = (
    "Noto Sans CJK", "Source Han Sans", "Noto Sans", "PingFang", "Hiragino Sans", "Yu Gothic",
    "Microsoft YaHei", "Malgun Gothic", "MS Gothic", "WenQuanYi", "IPAexGothic", "IPAGothic",
    "Arial Unicode MS", "DejaVu Sans",
)  # fmt: skip
BOX = "□"  # for a letter that no font has
CATCH_ALL = "Last Resort"  # a font of matplotlib whose every letter is a box


class Fonts(NamedTuple):
    """The fonts of a picture.

    Attributes:
        families: names of fonts, each for what those before it lack.
        missing: letters that none has.
    """

    families: tuple[str, ...]
    missing: frozenset[str] = frozenset()

    def shown(self, text: str) -> str:
        """The text with a box for each letter that no font has."""
        if self.missing.isdisjoint(text):
            return text
        return "".join(BOX if letter in self.missing else letter for letter in text)

    @property
    def properties(self) -> FontProperties:
        """The same for matplotlib."""
        from matplotlib.font_manager import FontProperties

        return FontProperties(family=list(self.families))


def fonts_for(texts: Iterable[str]) -> Fonts:
    """The usual fonts of matplotlib and, if letters need it, further ones that are installed.

    Warns:
        UserWarning: letters that no installed font has, said once for all texts.

    Example:
        >>> fonts_for(["cat", "größer"]).families
        ('sans-serif',)
    """
    from matplotlib import rcParams

    usual = tuple(rcParams["font.family"])
    letters = set().union(*texts)
    if all(letter.isascii() for letter in letters):
        return Fonts(usual)
    missing = {letter for letter in letters if letter.isprintable()} - _letters(_file(usual))
    fonts = _with(usual, frozenset(missing))
    if fonts.missing:
        shown = "".join(sorted(fonts.missing)[:8])
        more = f" and {len(fonts.missing) - 8} more" if len(fonts.missing) > 8 else ""
        warnings.warn(  # at the line of the user who draws
            f"no installed font has the letters {shown!r}{more}, which are drawn as {BOX}; install "
            "one that does, such as Noto Sans CJK for Chinese, Japanese and Korean",
            stacklevel=5,
        )
    return fonts


@lru_cache(maxsize=64)
def _with(usual: tuple[str, ...], missing: frozenset[str]) -> Fonts:
    from matplotlib.font_manager import fontManager

    entries = [each for each in fontManager.ttflist if not each.name.startswith(CATCH_ALL)]

    def rank(entry: FontEntry) -> tuple:
        name = entry.name
        place = [name.startswith(each) for each in (*PREFERRED, name)].index(True)
        return place, entry.style != "normal", entry.weight != 400, name

    families, tried = list(usual), set()
    for entry in sorted(entries, key=rank):
        if not missing:
            break
        # Of a family, its regular letters speak for all others.
        found = frozenset() if entry.name in tried else missing & _letters(entry.fname)
        tried.add(entry.name)
        if found:
            families.append(entry.name)
            missing -= found
    return Fonts(tuple(families), missing)


def _file(families: Iterable[str]) -> str:
    from matplotlib.font_manager import FontProperties, findfont

    return str(findfont(FontProperties(family=list(families))))


@cache
def _letters(file: str) -> frozenset[str]:
    """All letters of a font; none of a file that cannot be read."""
    from matplotlib.ft2font import FT2Font

    try:
        return frozenset(map(chr, FT2Font(file).get_charmap()))
    except (OSError, RuntimeError):
        return frozenset()
