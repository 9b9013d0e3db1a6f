"""What the settings of all families' runs share: their data, and which flags go with these.

Nothing here imports torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from structnet.datasets.catalogue import PACKED, SPARSE, TABLES
from structnet.parse.packed import stem_of
from structnet.recipes.recipe import Place, did_you_mean, filled, is_file

if TYPE_CHECKING:
    from typing_extensions import Self


class RunSettings:
    """The base of a recipe's ``Settings``, a frozen dataclass that has at least these fields.

    Attributes:
        DATA_SETS: names of the data sets that it learns from.
        FILES: endings of the user's files that it learns from.
    """

    DATA_SETS: ClassVar[Sequence[str]]
    FILES: ClassVar[Sequence[str]] = ()
    data: str
    place: Place

    def __post_init__(self) -> None:
        check_data(self.data, self.DATA_SETS, self.FILES)
        check_data_dir(self.data, self.place.data_dir)

    @property
    def name(self) -> str:
        """The part of the run folder's name that tells it from runs on other data."""
        path = Path(self.data)
        return path.name if path.is_dir() else stem_of(path)

    @property
    def free(self) -> tuple[str, ...]:
        """The settings, besides the place, that may change when a run is resumed."""
        return ()

    def resolved(self) -> Self:
        """The same settings with absolute paths, as a run may be resumed from another folder.

        What was not given has its default, and what does not go together is refused.

        Raises:
            ValueError: settings do not go together.
        """
        data = self.in_folder(self.data) if is_file(self.data, self.FILES) else self.data
        return replace(self, data=str(data))  # type: ignore[type-var]  # a dataclass

    def in_folder(self, file: str | Path) -> Path:
        """The absolute path of a user's file, which is relative to the folder of the data."""
        return Path(self.place.data_dir or "", file).resolve()

    def only_for(self, what: str, group: Any, *names: str) -> None:
        """Refuses the settings of a group that go with other data.

        Args:
            what: data with which they go, in words.
            group: group of settings.
            names: names of the settings.

        Raises:
            ValueError: one of them is given.
        """
        for name in names:
            if getattr(group, name) not in (None, False):
                raise ValueError(f"--{name.replace('_', '-')} is for {what}, not {self.data}")


@dataclass(frozen=True)
class FileRows:
    """which examples to use

    Args:
        target: column of a table to predict, by name or number from 1 (default: the last)
        without: columns of a table to leave out, by name or number from 1
        bend: bend the columns of a table that have heavy tails, such as sizes and counts, like a
            normal distribution, and take logarithms of sparse counts, before they are scaled
            (default: yes for a file)
        test_file: file of test rows, for a file (default: a fifth of the rows is drawn, of each
            class)
    """

    TITLE: ClassVar[str] = "data"

    target: str | None = None
    without: tuple[str, ...] | None = None
    bend: bool | None = None
    test_file: Path | None = None

    def options(self) -> dict[str, Any]:
        """The arguments of :func:`.load_arrays` that say the same; None for its defaults."""
        options = {"target": self.target, "without": self.without, "test": self.test_file}
        return options | {"bend": self.bend or None}


class RowsRunSettings(RunSettings):
    """The base of settings of runs that learn from rows, which may be those of a user's file."""

    rows: FileRows

    def __post_init__(self) -> None:
        super().__post_init__()
        if not is_file(self.data, TABLES):
            self.only_for("a table, FILE.csv", self.rows, "target", "without")
        if not is_file(self.data, TABLES + SPARSE):
            kind = "file" if set(SPARSE) <= set(self.FILES) else "table"
            self.only_for(f"a {kind}, {self.kinds_of_files}", self.rows, "bend", "test_file")

    @property
    def kinds_of_files(self) -> str:
        """The kinds of files with rows that it may learn from, in words."""
        return "FILE.csv or FILE.svm" if set(SPARSE) <= set(self.FILES) else "FILE.csv"

    def resolved(self) -> Self:
        """The same settings with absolute paths, and ``bend`` where there is a file."""
        rows = filled(self.rows, {"bend": is_file(self.data, TABLES + SPARSE)})
        if rows.test_file is not None:
            rows = replace(rows, test_file=self.in_folder(rows.test_file))
        return replace(super().resolved(), rows=rows)  # type: ignore[type-var]  # a dataclass


def check_data(data: str, names: Sequence[str], files: Sequence[str] = ()) -> None:
    """Refuses data that are neither a known data set nor a file with a known ending.

    Raises:
        ValueError: the data are neither of these.

    Example:
        >>> check_data("digit", ["digits", "mnist"], [".csv"])
        Traceback (most recent call last):
            ...
        ValueError: --data must be one of digits, mnist, or a file whose name ends in .csv; got
        'digit'; did you mean 'digits'?
    """
    if data in names or is_file(data, files):
        return
    known = ", ".join(names)
    if files:
        known += f", or a file whose name ends in {_endings(files)}"
    raise ValueError(f"--data must be one of {known}; got {data!r}{did_you_mean(data, names)}")


def _endings(files: Sequence[str]) -> str:
    """The endings in words, with those of compressed files in parentheses.

    Example:
        >>> _endings([".csv", ".svm", ".svm.gz", ".svm.bz2"])
        '.csv or .svm (.svm also compressed, as .gz or .bz2)'
    """
    plain = [ending for ending in files if not ending.endswith(PACKED)]
    packed = [ending for ending in plain if ending + PACKED[0] in files]
    if not packed:
        return _listed(plain, "or")
    also = f"{_listed(packed, 'and')} also compressed, as {_listed(PACKED, 'or')}"
    return f"{_listed(plain, 'or')} ({also})"


def _listed(words: Sequence[str], last: str) -> str:
    return f" {last} ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def check_data_dir(data: str, folder: str | Path | None) -> None:
    """Refuses a folder of published files for data that have none.

    Raises:
        ValueError: there is such a folder.
    """
    if data == "digits" and folder is not None:
        raise ValueError("digits comes with scikit-learn; it has no files for --data-dir")
