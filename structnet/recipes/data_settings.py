"""The flags of ``structnet data``. Nothing here imports torch."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from structnet.checks import check_integers
from structnet.datasets import catalogue
from structnet.datasets.catalogue import LABELLED, SPARSE, TABLES, TEXT_SETS, TREE_SETS
from structnet.recipes.recipe import did_you_mean, is_file
from structnet.recipes.run_settings import check_data_dir
from structnet.recipes.tree_file.settings import Format, Task

KNOWN = TREE_SETS | catalogue.ARRAY_SETS | TEXT_SETS
OF_TABLES = ("classification", "regression")


@dataclass(frozen=True)
class Generated:
    """generated data for listops and lrt

    Args:
        generate: write generated data instead; needs no network
        num: number of expressions, or of pairs, to generate (default: 100,000 expressions, or
            250,000 pairs)
        seed: seed of the generator (default: 0)
        out: folder for the generated files (default: data/cache/NAME)
    """

    generate: bool = False
    num: int | None = None
    seed: int | None = None
    out: Path | None = None

    def __post_init__(self) -> None:
        check_integers(self, optional=True, num=10, seed=0)


@dataclass(frozen=True)
class OfFile:
    """your own files: trees and tables

    Args:
        format: format of the trees; needed only if neither the name's ending nor the first lines
            show that the file has trees
        target: column to predict, by name or by number from 1 (default: the last column of a table,
            the first of a file of trees); for trees also root-label, node-labels, or the key of a
            comment
        task: kind of target (default: classification if the target is not numeric, or has only a
            few whole numbers); pairs and nodes are for trees
        header: yes if the first row of a table has the column names (default: as it looks, beside
            the other rows)
        without: columns of a table to leave out, by name or number from 1
        delimiter: character between the fields of a table (default: a comma, a semicolon or a tab,
            as the first rows look; a tab for FILE.tsv)
    """

    format: Format | None = None
    target: str | None = None
    task: Task | None = None
    header: Literal["yes", "no"] | None = None
    without: tuple[str, ...] | None = None
    delimiter: str | None = None


@dataclass(frozen=True)
class DataSettings:
    """Downloads, generates or checks a data set, or shows what is in a file of your own.

    The published files are searched for, downloaded once into the cache if they are not found, and
    checked. The cache is the folder named by the environment variable STRUCTNET_DATA, or
    ~/.cache/structnet. For a file of trees, it shows how many there are, their heights, arities,
    labels and targets, which trees are equal, and which lines cannot be read.

    Args:
        data_dir: folder that is searched before the cache
    """

    data_dir: str | None = None
    generated: Generated = field(default_factory=Generated)
    file: OfFile = field(default_factory=OfFile)


def kind_of(name: str, settings: DataSettings) -> str:
    """The kind of a data set: "sets of trees", "trees", "texts" or "arrays".

    Args:
        name: name of the data set, as given.
        settings: flags; any that would be ignored is an error.

    Raises:
        ValueError: there is no such data set, or a flag does not apply to it.

    Example:
        >>> kind_of("lrt", DataSettings()), kind_of("houses.csv", DataSettings())
        ('sets of trees', 'arrays')
        >>> kind_of("trees.mrg", DataSettings())
        'trees'
    """
    made, file = settings.generated, settings.file
    trees = name not in KNOWN and bool(name) and _has_trees(name, settings)
    if not trees and name not in KNOWN and not is_file(name, TABLES + SPARSE + LABELLED):
        expected = f"NAME must be one of {', '.join(KNOWN)}, or {' or '.join(catalogue.OWN)}; got "
        got = f"{repr(name) if name else 'nothing'}{did_you_mean(name, list(KNOWN))}"
        raise ValueError(expected + got)
    if made.generate:
        if name not in TREE_SETS:
            raise ValueError(f"--generate is for {' and '.join(TREE_SETS)}; the data set is {name}")
        if settings.data_dir is not None:
            raise ValueError("--data-dir is for published files; generated ones go to --out")
    for flag, value in vars(made).items():
        if flag != "generate" and value is not None and not made.generate:
            raise ValueError(f"--{flag} goes with --generate")
    _check_flags(name, file, trees)
    check_data_dir(name, settings.data_dir)
    if trees:
        return "trees"
    texts = name in TEXT_SETS or is_file(name, LABELLED)
    return "sets of trees" if name in TREE_SETS else "texts" if texts else "arrays"


def _has_trees(name: str, settings: DataSettings) -> bool:
    from structnet.datasets.tree_file_sources import is_tree_file

    return settings.file.format is not None or is_tree_file(Path(settings.data_dir or "", name))


def _check_flags(name: str, file: OfFile, trees: bool) -> None:
    """Raises ValueError for a flag that is for another kind of file."""
    for flag, value in vars(file).items():
        if value is None:
            continue
        if trees and flag in ("header", "without", "delimiter"):
            raise ValueError(f"--{flag} is for a table, FILE.csv; {name} has trees")
        if not trees and not is_file(name, TABLES + SPARSE * (flag == "task")):
            raise ValueError(f"--{flag} is for a table, FILE.csv; the data set is {name}")
    if file.task is not None and not trees and file.task not in OF_TABLES:
        raise ValueError(f"--task {file.task} is for trees; the data set is {name}")


def listed() -> str:
    """The data sets, one per line, for the help."""
    return "\n".join(f"  {name:<10} {what}" for name, what in (KNOWN | catalogue.OWN).items())
