"""What a CSV file may begin with, and what is no text."""

from __future__ import annotations

from pathlib import Path

import pytest

from structnet.datasets.csv_file import TableError, read


@pytest.mark.parametrize("head", ["sep=;\n", "SEP=;\r\n"])
def test_excels_line_that_names_the_delimiter(tmp_path: Path, head: str) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(f"{head}a;b\n1;x\n2;y,z\n".encode())
    found = read(path)
    assert (found.names, found.rows, found.lines) == (
        ("a", "b"),
        [["1", "x"], ["2", "y,z"]],
        [3, 4],
    )
    path.write_bytes(f"{head}a;b\n1;x\n2\n".encode())
    with pytest.raises(TableError, match="line 4, column 2"):
        read(path)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_a_byte_order_mark_tells_the_encoding(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "data.csv"
    path.write_text("größe\tart\n1\tÖ\n", encoding=encoding)
    assert read(path).rows == [["1", "Ö"]] and read(path).names == ("größe", "art")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\n1,Ü\n".encode("latin-1"), "line 2: .* byte 0xdc; save it as CSV with the encoding"),
        (b"\xef\xbb\xbfa,b\n1,\xdc\n", "line 2: .* byte 0xdc; save it"),
        (b"\x89PNG\r\n\0\0", r"data\.csv is not a text file, as it has zero bytes; expected a ta"),
        (b"PK\3\4\x14\0\0\0\n,a\n1,2\n", "is not a text file"),
        (b"\x20\0\0\0\0\0\0\0{}\n1,2\n", "is not a text file"),  # as of safetensors
        (b"\xff\xfea", "line 1: the file is not UTF-16 text; got the byte"),
        (b'a,b\n1,"x\n2,y\n', "line 2: a quotation mark is opened and not closed"),
    ],
)
def test_what_is_no_table_of_text(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    with pytest.raises(TableError, match=message):
        read(path)
