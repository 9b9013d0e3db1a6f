"""``structnet reproduce``."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from structnet.checks import check_integer
from structnet.cli.flags import parse
from structnet.cli.names import chosen_recipe, show_models


@dataclass(frozen=True)
class TableFlags:
    """which table or figure to reproduce

    Args:
        table: number of the table in the paper, or name of a table of this library's own; for a
            figure give --figure N
        seeds: number of trainings of each model, with the seeds 0 to N-1
        out: folder for the runs and the table (default: runs/reproduce-MODEL)
    """

    table: str
    seeds: int = 1
    out: Path | None = None

    def __post_init__(self) -> None:
        check_integer("seeds", self.seeds, 1)


def run(words: Sequence[str]) -> None:
    """Trains all models that are not trained yet, and prints the table, in words and as JSON.

    Raises:
        ValueError: a word is wrong, or the paper has no such table.
    """
    if not words or words[0] in ("-h", "--help"):
        show_models("reproduce", "--table N [--seeds N] [settings] [--out DIR]")
    recipe, words = chosen_recipe("reproduce", words)
    words = [re.sub("^--figure(?==|$)", "--table", word) for word in words]  # some papers have both
    prog = f"structnet reproduce {recipe.name}"
    examples, refused = recipe.examples["reproduce"], [*{"device"}.intersection(recipe.refused)]
    choice, own, _ = parse(
        recipe.Choice, words, prog, own=TableFlags, examples=examples, refused=refused
    )
    tables = {str(name): table for name, table in recipe.tables.items()}
    if own.table not in tables:
        known = ", ".join(tables)
        raise ValueError(f"--table must be one of {known}; got {own.table} (see {prog} --help)")
    from structnet.recipes.execution import speaker, trained
    from structnet.recipes.paper import written
    from structnet.training.processes import is_first_process

    table, folder = tables[own.table], own.out or Path("runs", f"reproduce-{recipe.name}")
    # Seed by seed, so that an interrupted table has as many models as possible.
    members = [each for seed in range(own.seeds) for each in table.members(choice, seed)]
    if not members:
        raise ValueError(f"--only leaves no row in table {own.table}")
    runs = trained(recipe, members, folder, speaker())
    if is_first_process():
        made = table.make(choice, runs)
        result = written(made, folder / table.name(choice))
        print("\n" + made.markdown())
        print(json.dumps(result, ensure_ascii=False))
