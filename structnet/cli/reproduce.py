"""``structnet reproduce``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from structnet.checks import check_integer
from structnet.cli.flags import parse
from structnet.cli.names import chosen_recipe, show_models, speaker
from structnet.recipes.recipe import Recipe, Say

if TYPE_CHECKING:
    from structnet.recipes.paper import Member
    from structnet.recipes.run import Run


@dataclass(frozen=True)
class TableFlags:
    """which table

    Args:
        table: the table's number in the paper
        seeds: trainings of each model, with the seeds 0 to N-1
        out: folder of the runs and the table (default: runs/reproduce-MODEL)
    """

    table: int | None = None
    seeds: int = 1
    out: Path | None = None

    def __post_init__(self) -> None:
        check_integer("seeds", self.seeds, 1)


def run(words: Sequence[str]) -> None:
    """Trains what is not trained yet, and prints the table, in words and as JSON."""
    if not words or words[0] in ("-h", "--help"):
        show_models("reproduce", "--table N [--seeds N] [settings] [--out DIR]")
    recipe, words = chosen_recipe("reproduce", words)
    prog = f"structnet reproduce {recipe.name}"
    choice, own, rest = parse(
        recipe.Choice, words, prog, own=TableFlags, examples=recipe.examples["reproduce"]
    )
    known = ", ".join(map(str, recipe.tables))
    if rest or own.table not in recipe.tables:
        got = repr(rest[0]) if rest else own.table
        raise ValueError(f"--table must be one of {known}; got {got} (see {prog} --help)")
    _reproduce(recipe, choice, own, own.out or Path("runs", f"reproduce-{recipe.name}"))


def _reproduce(recipe: Recipe, choice: Any, own: TableFlags, folder: Path) -> None:
    from structnet.recipes.paper import written
    from structnet.recipes.run import Run
    from structnet.training.processes import process_rank

    table, say = recipe.tables[own.table], speaker()
    # Seed by seed, so that an interrupted table has as many models as possible.
    members = [each for seed in range(own.seeds) for each in table.members(choice, seed)]
    if not members:
        raise ValueError(f"--only leaves nothing of table {own.table}")
    runs = [Run(folder / member.folder) for member in members]
    for member, run in zip(members, runs, strict=True):
        run.refuse_other(member.settings)
    _check_data(runs)
    for number, (member, run) in enumerate(zip(members, runs, strict=True), 1):
        say(f"\n{number} of {len(members)}: {run}")
        _train(recipe, member, run, say)
    _check_data(runs)
    if process_rank()[0] > 0:
        return
    by_key: dict[Any, list[Run]] = {}
    for member, run in zip(members, runs, strict=True):
        by_key.setdefault(member.key, []).append(run)
    made = table.make(choice, by_key)
    result = written(made, folder / table.name(choice))
    print("\n" + made.markdown())
    print(json.dumps(result, ensure_ascii=False))


def _check_data(runs: Sequence[Run]) -> None:
    """Raise ValueError if runs that are done, and follow the recipe, were trained on other data."""
    done = [run for run in runs if run.started and isinstance(run.config["data"], dict)]
    for run in done[1:]:
        if run.config["data"] != done[0].config["data"]:
            raise ValueError(
                f"{run} was trained on other data than {done[0]}; name another folder with --out"
            )


def _train(recipe: Recipe, member: Member, run: Run, say: Say) -> None:
    """Trains a member of a table, if it is not done."""
    from structnet.recipes.run import carry_out, values_of

    if run.result is not None:
        say("done already")
        return
    try:
        if member.train is None:
            carry_out(recipe, run, member.settings, say)
            return
        result = member.train(member.settings, say)
        run.write("config.json", {key: result[key] for key in ("model", "settings", "data")})
        run.write("result.json", result | {"settings": values_of(member.settings)})
    except KeyboardInterrupt:
        raise KeyboardInterrupt("give the same command again to continue") from None
