"""``structnet train``."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from structnet.cli.flags import parse
from structnet.cli.names import chosen_recipe, show_models

if TYPE_CHECKING:
    from structnet.recipes.protocol import Recipe


@dataclass(frozen=True)
class RunFlags:
    """the run folder, which gets config.json, model.safetensors, history.jsonl, result.json,
    pictures, and the state from which an interrupted run is resumed; the last line that is printed
    is the content of result.json

    Args:
        out: folder for a new run (default: runs/MODEL-DATA-...)
        resume: folder of a run to continue (it starts anew if its first epoch never ended); the run
            keeps its settings, except for the runtime options and those that say so
    """

    out: Path | None = None
    resume: Path | None = None


def run(words: Sequence[str]) -> None:
    """Trains a model with the given settings, and prints the result as JSON."""
    if not words or words[0] in ("-h", "--help"):
        show_models("train", "--data DATA [settings] [--out RUN | --resume RUN]")
    words = [part for word in words for part in re.split("(?<=^--resume)=", word)]
    if "--resume" in words:
        recipe, settings, folder = _to_resume(words)
    else:
        recipe, words = chosen_recipe("train", words)
        prog = f"structnet train {recipe.name}"
        examples = recipe.examples["train"]
        settings_given, own, _ = parse(
            recipe.Settings, words, prog, own=RunFlags, examples=examples, refused=recipe.refused
        )
        settings = settings_given.resolved()
        folder = own.out or Path("runs", f"{recipe.name}-{settings.name}")
    from structnet.recipes.execution import carry_out, speaker
    from structnet.recipes.run import Run

    run, say = Run(folder), speaker()
    if "--resume" not in words:
        run.refuse_any()
    say(f"run folder: {run}")
    result = carry_out(recipe, run, settings, say)
    if result:
        say(f"model, pictures and records are in {run}")
        print(json.dumps(result, ensure_ascii=False))


def _to_resume(words: Sequence[str]) -> tuple[Recipe, Any, Path]:
    """The recipe of the run to resume, its settings, and its folder."""
    from structnet.recipes.execution import recipe_of
    from structnet.recipes.run import Run

    place = list(words).index("--resume") + 1
    if place >= len(words):
        raise ValueError("--resume needs the folder of a run; got nothing after it")
    run = Run(words[place])
    recipe = recipe_of(run)
    if not words[0].startswith("-"):
        if words[0] != recipe.name:
            raise ValueError(f"{run} is a run of {recipe.name}, not of {words[0]}")
        words = words[1:]
    saved = run.settings_to_resume(recipe.Settings)
    prog = f"structnet train {recipe.name}"
    settings_given, own, _ = parse(recipe.Settings, words, prog, own=RunFlags, default=saved)
    if own.out is not None:
        raise ValueError("--resume gives the run's folder already; leave out --out")
    return recipe, run.going_on(saved, settings_given), run.folder
