"""Labelled text as for fastText."""

from __future__ import annotations

from pathlib import Path

import pytest

from structnet.datasets import read_fasttext
from structnet.datasets.fasttext_file import LabelledTextError


def test_labels_may_begin_otherwise(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("#owl the owls\n#bat #owl bats\n")
    text = read_fasttext(path, prefix="#")
    assert text.labels == ("owl", "bat") and text.label_ids.tolist() == [0, 1, 0]
    assert text.words == ("the", "owls", "bats")
    path.write_text("#owl the owls\nbats\n")
    with pytest.raises(LabelledTextError, match=r"line 2: no label; expected one that .* with #$"):
        read_fasttext(path, prefix="#")
    path.write_text("\n")
    with pytest.raises(LabelledTextError, match="expected lines like '#x some words'"):
        read_fasttext(path, prefix="#")
