"""Labelled text as for fastText."""

from __future__ import annotations

from pathlib import Path

import pytest

from structnet.datasets import read_fasttext
from structnet.datasets.fasttext_file import LabelledTextError


def test_lines_without_labels_are_named(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("__label__owl the owls\n__label__bat __label__owl bats\n")
    text = read_fasttext(path)
    assert text.labels == ("owl", "bat") and text.label_ids.tolist() == [0, 1, 0]
    assert text.words == ("the", "owls", "bats")
    path.write_text("__label__owl the owls\nbats\n")
    with pytest.raises(LabelledTextError, match=r"line 2: no label; expected one .* __label__$"):
        read_fasttext(path)
    path.write_text("\n")
    with pytest.raises(LabelledTextError, match="expected lines like '__label__x some words'"):
        read_fasttext(path)


def test_words_end_where_those_of_fasttext_do(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_bytes(b"\xef\xbb\xbf__label__a x\x00y\tz\x0b\x0cx\r\n")  # a mark is no letter
    assert read_fasttext(path).words == ("x", "y", "z")
