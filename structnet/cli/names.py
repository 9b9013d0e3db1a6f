"""What the first words of a command name: a model or a run; and what is said when they do not."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from structnet.recipes import RECIPES
from structnet.recipes.recipe import Place, Recipe, Say, did_you_mean, is_file


def chosen_recipe(command: str, words: Sequence[str]) -> tuple[Recipe, list[str]]:
    """The recipe that the first word names, and the other words.

    Raises:
        ValueError: it names none; with a command that works, where one can be guessed.
    """
    name, *rest = words
    if name not in RECIPES:
        if name.startswith("-"):
            raise ValueError(
                f"name the model first, one of {', '.join(RECIPES)}: structnet {command} MODEL "
                f"{name} ... (see structnet {command} --help)"
            )
        raise ValueError(f"there is no model {name!r}{_guess(command, name)}")
    recipe = RECIPES[name]()
    if rest and not rest[0].startswith("-"):
        given = "with --data" if command == "train" else "by flags"
        instead = f"structnet train {name} --data {rest[0]}" if command == "train" else ""
        raise ValueError(
            f"{rest[0]!r} must be said {given}"
            + (f"; did you mean: {instead}" if instead else f" (see structnet {command} {name} -h)")
        )
    return recipe, rest


def _guess(command: str, name: str) -> str:
    """What may have been meant by a word in the place of a model's name."""
    for model, make in RECIPES.items():
        recipe = make()
        if name in recipe.data_sets or is_file(name, recipe.files):
            return f", which is data; did you mean: structnet {command} {model} --data {name}"
    near = did_you_mean(name, list(RECIPES))
    return near or f"; expected one of {', '.join(RECIPES)} (see structnet {command} --help)"


def show_models(command: str, usage: str) -> NoReturn:
    """Prints the help of a command that wants a model first, and ends."""
    from structnet.cli import COMMANDS

    models = "\n".join(f"    {name:<14}{make.__doc__}" for name, make in RECIPES.items())
    examples = "\n".join(
        line
        for make in RECIPES.values()
        for line in make().examples[command].partition("\n\n")[0].splitlines()
    )
    print(
        f"usage: structnet {command} MODEL {usage}\n\n"
        f"{COMMANDS[command].capitalize()}.\n\nmodels:\n{models}\n\nexamples:\n{examples}\n\n"
        f"'structnet {command} MODEL --help' explains the settings of a model."
    )
    sys.exit(0)


def named_run(command: str, words: Sequence[str]) -> tuple[str, list[str]]:
    """The folder that the first word names, and the other words.

    Raises:
        ValueError: the first word is a flag, or there is none.
    """
    if not words or words[0].startswith("-"):
        raise ValueError(
            f"name the run first, the folder of a run of structnet train: structnet {command} RUN "
            f"... (see structnet {command} --help)"
        )
    return words[0], list(words[1:])


def here(data_dir: Path | None) -> Place:
    """Where a trained model is asked, if not told otherwise: on this processor."""
    return Place(data_dir)


def speaker() -> Say:
    """What prints a line for the user: of several processes, the first alone does."""
    from structnet.training.processes import process_rank

    if process_rank()[0] > 0:
        return lambda line: None
    return lambda line: print(line, flush=True)
