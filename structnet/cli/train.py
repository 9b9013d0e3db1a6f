"""``structnet train``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from structnet.cli.flags import parse
from structnet.cli.names import chosen_recipe, show_models, speaker
from structnet.recipes.recipe import Recipe, values_of


@dataclass(frozen=True)
class RunFlags:
    """the run folder

    Args:
        out: folder of a new run (default: runs/MODEL-DATA-...)
        resume: folder of a run to continue, or to begin anew if its first epoch never ended; it
            keeps its settings, and only what says where it is computed may differ
    """

    out: Path | None = None
    resume: Path | None = None


def run(words: Sequence[str]) -> None:
    """Trains as the words say, and prints the result as JSON."""
    if not words or words[0] in ("-h", "--help"):
        show_models("train", "--data DATA [settings] [--out RUN | --resume RUN]")
    if "--resume" in words:
        recipe, settings, folder = _to_resume(words)
    else:
        recipe, words = chosen_recipe("train", words)
        prog = f"structnet train {recipe.name}"
        found, own, rest = parse(
            recipe.Settings, words, prog, own=RunFlags, examples=recipe.examples["train"]
        )
        if rest:
            raise ValueError(f"what is {rest[0]!r}? (see {prog} --help)")
        settings = found.resolved()
        folder = own.out or Path("runs", f"{recipe.name}-{settings.name}")
    _carry_out(recipe, settings, folder, resume="--resume" in words)


def _to_resume(words: Sequence[str]) -> tuple[Recipe, object, Path]:
    """The recipe of a run to go on with, its settings, and its folder."""
    from structnet.recipes.run import Run, different

    place = list(words).index("--resume") + 1
    if place >= len(words):
        raise ValueError("--resume names the folder of a run; got nothing behind it")
    run = Run(words[place])
    recipe = run.recipe
    if not words[0].startswith("-"):
        if words[0] != recipe.name:
            raise ValueError(f"{run} is a run of {recipe.name}, not of {words[0]}")
        words = words[1:]
    saved = run.settings(recipe.Settings)
    prog = f"structnet train {recipe.name}"
    found, own, rest = parse(recipe.Settings, words, prog, own=RunFlags, default=saved)
    if own.out is not None:
        raise ValueError("--resume names the run's folder; leave out --out")
    if rest:
        raise ValueError(f"what is {rest[0]!r}? (see {prog} --help)")
    try:
        found = found.resolved()
    except ValueError:  # which the difference explains better, if there is one
        pass
    before, now = values_of(saved), values_of(found)
    for name in different(before, now):
        label = name.replace("_", "-")
        raise ValueError(
            f"{run} was started with {label} {before[name]}, and a run that goes on keeps its "
            f"settings; got {label} {now[name]}"
        )
    return recipe, found.resolved(), run.folder


def _carry_out(recipe: Recipe, settings: object, folder: Path, resume: bool) -> None:
    from structnet.recipes.run import Run, carry_out
    from structnet.training.processes import process_rank

    run, say = Run(folder), speaker()
    # The first process alone looks: it may have begun to write when the others come here.
    if not resume and process_rank()[0] == 0 and run.started:
        raise ValueError(
            f"{run} holds a run already; name another folder with --out, or continue that run "
            f"with --resume {run}"
        )
    say(f"run folder: {run}")
    result = carry_out(recipe, run, settings, say)
    if result:
        say(f"model, pictures and records are in {run}")
        print(json.dumps(result, ensure_ascii=False))
