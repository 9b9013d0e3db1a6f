"""``structnet data``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from structnet.checks import check_integer
from structnet.cli.flags import parse
from structnet.datasets import catalogue
from structnet.datasets.catalogue import SPARSE, TABLES, TEXT_SETS, TEXTS, TREE_SETS
from structnet.recipes.recipe import did_you_mean, is_file

KNOWN = TREE_SETS | catalogue.ARRAY_SETS | TEXT_SETS
EXAMPLES = """\
  structnet data lrt --data-dir data
  structnet data listops --generate --num 1000 --out my-listops
  structnet data houses.csv --target price --task regression"""


@dataclass(frozen=True)
class Generated:
    """generated listops and lrt

    Args:
        generate: write generated data instead; needs no network
        num: number of expressions, or pairs, to generate (default: 100,000, or 250,000)
        seed: seed of the generator (default: 0)
        out: folder of the generated files (default: data/cache/NAME)
    """

    generate: bool = False
    num: int | None = None
    seed: int | None = None
    out: Path | None = None

    def __post_init__(self) -> None:
        check_integer("num", self.num, 10, optional=True)
        check_integer("seed", self.seed, 0, optional=True)


@dataclass(frozen=True)
class OfTable:
    """tables, FILE.csv

    Args:
        target: column to predict: its name, or its number from 1 (default: the last)
        task: kind of the target (default: classification if it is not numeric, or a few whole
            numbers)
        header: is the first row the columns' names? (default: yes if it holds no number)
        delimiter: character between fields (default: a comma; a tab in FILE.tsv)
    """

    target: str | None = None
    task: Literal["classification", "regression"] | None = None
    header: Literal["yes", "no"] | None = None
    delimiter: str | None = None


@dataclass(frozen=True)
class DataFlags:
    """Downloads, generates or checks a data set.

    Finds the published files, or downloads them once into the cache, and checks them. The cache is
    the folder that the environment's STRUCTNET_DATA names, or ~/.cache/structnet.

    Args:
        data_dir: folder that is looked into before the cache
    """

    data_dir: str | None = None
    generated: Generated = field(default_factory=Generated)
    table: OfTable = field(default_factory=OfTable)


def run(words: Sequence[str]) -> None:
    """Finds, downloads, generates or checks a data set and prints what is in it."""
    listed = "\n".join(f"  {name:<10} {what}" for name, what in (KNOWN | catalogue.OWN).items())
    examples = f"{EXAMPLES}\n\ndata sets:\n{listed}"
    flags, _, names = parse(DataFlags, words, "structnet data NAME", examples=examples, inputs=True)
    name = _checked(names, flags)
    from structnet.recipes import data_sets

    if name in TREE_SETS:
        made = flags.generated
        given = (made.out, made.num, made.seed or 0) if made.generate else None
        result = data_sets.trees(name, flags.data_dir, given, print)
    elif name in TEXT_SETS or is_file(name, TEXTS):
        result = data_sets.text(name, flags.data_dir, print)
    else:
        result = data_sets.arrays(name, flags.data_dir, vars(flags.table), print)
    print(json.dumps(result, ensure_ascii=False))


def _checked(names: Sequence[str], flags: DataFlags) -> str:
    """The one name among the words; no flag may be given that would be ignored."""
    name, made, table = " ".join(names), flags.generated, flags.table
    if name not in KNOWN and not is_file(name, TABLES + SPARSE + TEXTS):
        expected = f"NAME must be one of {', '.join(KNOWN)}, or {' or '.join(catalogue.OWN)}; got "
        got = f"{repr(name) if name else 'nothing'}{did_you_mean(name, list(KNOWN))}"
        raise ValueError(expected + got)
    if made.generate:
        if name not in TREE_SETS:
            raise ValueError(f"--generate is for {' and '.join(TREE_SETS)}; the data set is {name}")
        if flags.data_dir is not None:
            raise ValueError("--data-dir is where published files lie; generated ones go to --out")
    for flag, value in vars(made).items():
        if flag != "generate" and value is not None and not made.generate:
            raise ValueError(f"--{flag} goes with --generate")
    for flag, value in vars(table).items():
        if value is not None and not is_file(name, TABLES + SPARSE * (flag == "task")):
            raise ValueError(f"--{flag} is for a table, FILE.csv; the data set is {name}")
    if name == "digits" and flags.data_dir is not None:
        raise ValueError("digits comes with scikit-learn; it has no files for --data-dir")
    return name
