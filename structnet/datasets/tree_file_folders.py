"""The files in a folder from which trees are read."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from structnet.datasets.tree_file_formats import LINES, format_of_ending
from structnet.parse.lines import opening_text
from structnet.parse.nexus import is_nexus


class FolderFiles(NamedTuple):
    """The files of a folder.

    Attributes:
        format: format of the trees; None if no file has the ending of one.
        read: files to read.
        others: files that are left out.
    """

    format: str | None
    read: list[Path]
    others: list[Path]


def files_of(path: Path, format_: str | None, everywhere: bool = False) -> FolderFiles:
    """The files in a folder to read trees from, chosen by their endings, and the others.

    Args:
        path: path of the folder.
        format_: format of the trees; None for the format of most files.
        everywhere: True to include files directly in the folder, not only those in its folders.
    """
    paths = sorted(path.glob("**/*" if everywhere else "*/**/*"))
    files = [each for each in paths if each.is_file()]
    files = [each for each in files if "/." not in f"/{each.relative_to(path).as_posix()}"]
    format_of = {each: of for each in files if (of := _format_of(each)) not in (None, LINES)}
    formats = list(format_of.values())
    chosen = format_ or max(dict.fromkeys(formats), key=formats.count, default=None)
    read = [each for each, of in format_of.items() if of == chosen]
    if format_ is not None:  # formats without endings may be in any file
        read = read or list(format_of) or files
    kept = set(read)
    return FolderFiles(chosen, read, [each for each in files if each not in kept])


def _format_of(file: Path) -> str | None:
    """The format by a file's ending, except for NEXUS files with the ending of treebanks."""
    format_ = format_of_ending(file)
    if format_ != "bracketed":
        return format_
    with opening_text(file, errors="replace") as text:
        return "newick" if is_nexus(text.read(100)) else format_
