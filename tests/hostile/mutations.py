"""Texts near the border of a format: valid ones, changed a little at random."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from random import Random

LONGEST = 2000  # characters: what goes wrong shows in short texts, of which more can be tried
ODD = ("\ufeff", "\ud800", "\x00", "\x1c", "\x85", "\u2028", "\u3000", "é", "日", "\U0001f600")
PLAIN = "".join(map(chr, range(32, 127))) + "\t\n\r"


def mutated(rng: Random, texts: Sequence[str], pieces: Sequence[str]) -> str:
    """One of the texts after some changes, or pieces in a row.

    Args:
        rng: source of chance.
        texts: valid texts.
        pieces: what the format's grammar gives a meaning to.
    """
    if rng.random() < 0.1:
        return "".join(rng.choices(pieces, k=rng.randrange(30)))
    text = rng.choice(texts)
    for _ in range(int(rng.expovariate(0.6))):
        place = rng.randrange(len(text) + 1)
        end = place + int(rng.expovariate(0.2))
        text = _changed(rng, text, place, end, texts, pieces)[:LONGEST]
    return text


def _changed(
    rng: Random, text: str, place: int, end: int, texts: Sequence[str], pieces: Sequence[str]
) -> str:
    kind = rng.randrange(10)
    if kind < 3:
        return text[:place] + rng.choice(pieces) + text[place:]
    if kind == 3:
        return text[:place] + text[end:]
    if kind == 4:
        return text[:place] + rng.choice(PLAIN) + text[place + 1 :]
    if kind == 5:  # a piece in place of another
        return text[:place] + rng.choice(pieces) + text[end:]
    if kind == 6:
        return text[:end] + text[place:end] * rng.choice((1, 1, 2, 50)) + text[end:]
    if kind == 7:  # the beginning of one text and the end of another
        other = rng.choice(texts)
        return text[:place] + other[rng.randrange(len(other) + 1) :]
    if kind == 8:
        return text[:place] + rng.choice(ODD) + text[place:]
    return text[:place]


def encoded(rng: Random, text: str) -> bytes:
    """A text as bytes, most often of UTF-8, some of which are then changed."""
    name = rng.choice(("utf-8", "utf-8", "utf-8", "latin-1", "utf-16", "utf-32"))
    try:
        data = bytearray(text.encode(name))
    except UnicodeEncodeError:
        data = bytearray(text.encode("utf-8", "surrogatepass"))
    if data and rng.random() < 0.5:
        for _ in range(rng.choice((1, 1, 1, 5))):
            data[rng.randrange(len(data))] = rng.randrange(256)
    if rng.random() < 0.05:
        data[:0] = rng.choice((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF32_BE))
    return bytes(data)
