"""Finds installed fonts with the letters that matplotlib's default font lacks.

Texts in Chinese, Japanese or Korean need no setting if such a font is installed. If none is, there
is one warning, and the letters are drawn as boxes.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from matplotlib.font_manager import FontEntry, FontProperties

# Preferred if they are installed, as they have many letters in one even style.
PREFERRED = (
    "Noto Sans CJK", "Source Han Sans", "Noto Sans", "PingFang", "Hiragino Sans", "Yu Gothic",
    "Microsoft YaHei", "Malgun Gothic", "MS Gothic", "WenQuanYi", "IPAexGothic", "IPAGothic",
    "Arial Unicode MS", "DejaVu Sans",
)  # fmt: skip
BOX = "□"  # replaces a letter that no font has
CATCH_ALL = "Last Resort"  # a font of matplotlib in which every letter is a box


class Fonts(NamedTuple):
    """The fonts of a picture.

    Attributes:
        families: names of fonts; each is for letters that those before it lack.
        missing: letters that none of them has.
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
        """The fonts as matplotlib takes them."""
        from matplotlib.font_manager import FontProperties

        return FontProperties(family=list(self.families))


def fonts_for(texts: Iterable[str]) -> Fonts:
    """The default fonts of matplotlib and, if letters need them, other installed ones.

    Warns:
        UserWarning: no installed font has some letters; one warning for all texts.

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
        warnings.warn(  # points to the user's line that draws
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
        # The first font of a family, a regular one if there is one, decides for the family.
        covered = frozenset() if entry.name in tried else missing & _letters(entry.fname)
        tried.add(entry.name)
        if covered:
            families.append(entry.name)
            missing -= covered
    return Fonts(tuple(families), missing)


def _file(families: Iterable[str]) -> str:
    from matplotlib.font_manager import FontProperties, findfont

    return str(findfont(FontProperties(family=list(families))))


@cache
def _letters(file: str) -> frozenset[str]:
    """All letters of a font; none if its file cannot be read."""
    from matplotlib.ft2font import FT2Font

    try:
        return frozenset(map(chr, FT2Font(file).get_charmap()))
    except (OSError, RuntimeError):
        return frozenset()
