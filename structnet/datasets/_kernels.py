"""The loop over the bytes of a text: compiled once by numba, cached on disk."""

from __future__ import annotations

import numpy as np

from structnet.trees._kernels import compiled, doubled

NEWLINE = 10


@compiled
def tokens_of(text):
    """Numbers the tokens of a text, which are separated by blanks and control characters.

    Returns the number of each token, from 0 in the order in which different tokens first occur; the
    place of each line's first token, and at the end the number of tokens; and for each number, the
    first byte and the length of its first occurrence.

    Shapes:
        text ``[bytes]``, uint8; numbers ``[tokens]``, int32; lines ``[lines + 1]``, int64; first
        bytes and lengths ``[different tokens]``, int64.
    """
    numbers = np.empty(1024, np.int32)
    lines = np.zeros(1024, np.int64)
    start = np.empty(1024, np.int64)
    length = np.empty(1024, np.int64)
    known = np.empty(1024, np.uint64)
    table = np.full(4096, -1, np.int32)
    many, line, names, at = 0, 0, 0, 0
    while at < len(text):
        if text[at] <= 32:
            if text[at] == NEWLINE:
                line += 1
                if line + 1 == len(lines):
                    lines = doubled(lines)
                lines[line] = many
            at += 1
            continue
        first = at
        code = np.uint64(14695981039346656037)
        while at < len(text) and text[at] > 32:
            code = (code ^ np.uint64(text[at])) * np.uint64(1099511628211)
            at += 1
        place = np.int64(code & np.uint64(len(table) - 1))
        found = -1
        while table[place] >= 0:
            other = table[place]
            if known[other] == code and length[other] == at - first:
                same = True
                for k in range(at - first):
                    if text[start[other] + k] != text[first + k]:
                        same = False
                        break
                if same:
                    found = other
                    break
            place = (place + 1) & (len(table) - 1)
        if found < 0:
            found = names
            if names == len(start):
                start, length, known = doubled(start), doubled(length), doubled(known)
            start[names], length[names], known[names] = first, at - first, code
            table[place] = names
            names += 1
            if 2 * names > len(table):
                table = np.full(4 * len(table), -1, np.int32)
                for number in range(names):
                    place = np.int64(known[number] & np.uint64(len(table) - 1))
                    while table[place] >= 0:
                        place = (place + 1) & (len(table) - 1)
                    table[place] = number
        if many == len(numbers):
            numbers = doubled(numbers)
        numbers[many] = found
        many += 1
    if len(text) and text[len(text) - 1] != NEWLINE:
        line += 1
        lines[line] = many  # the loop always leaves room for one more
    return numbers[:many], lines[: line + 1], start[:names], length[:names]
