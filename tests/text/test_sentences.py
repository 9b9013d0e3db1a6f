"""Sentences from files: what separates words and lines, and what is refused."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from structnet.text import TextError, read_sentences
from structnet.text.sentences import read_lines


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_words_stand_between_blanks_and_lines_end_at_newlines_only(tmp_path, encoding):
    file = tmp_path / "text.txt"
    # Of the separators, U+2028 and a form feed end no line; a byte order mark is no word.
    file.write_bytes("one\ttwo\r\n  \nthree\u2028four\x0cfive\n".encode(encoding))
    assert read_sentences(file) == [["one", "two"], ["three", "four", "five"]]


@pytest.mark.parametrize(
    "content, words",
    [
        (b"", "holds no word"),
        (b" \n\n", "holds no word"),
        (b"a\nb \xff\n", "line 2: the file is not UTF-8 text; got the byte 0xff;"),
        (b"\xef\xbb\xbfa\nb \xff\n", "line 2: the file is not UTF-8 text; got the byte 0xff;"),
        (b"\xff\xfea", "not UTF-16 text"),
    ],
)
def test_what_is_no_text_is_refused_by_the_name_of_its_file(tmp_path, content, words):
    file = tmp_path / "odd.txt"
    file.write_bytes(content)
    with pytest.raises(TextError, match=words) as caught:
        read_sentences(file)
    assert str(file) in str(caught.value)


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=("\ufeffone two\nthree".encode(),))
    writer.start()
    assert list(read_lines(path)) == [(1, "one two"), (2, "three")]
    writer.join()
