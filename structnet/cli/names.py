"""Finds the model or the run that the first word of a command names, or says what is wrong."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NoReturn

from structnet.cli.flags import parse
from structnet.recipes import RECIPES, recipe_for
from structnet.recipes.recipe import Ask, did_you_mean, is_file

if TYPE_CHECKING:
    from structnet.recipes.protocol import Recipe

COMMANDS = {
    "train": "train a model and test it",
    "evaluate": "measure a trained model",
    "predict": "predict with a trained model",
    "plot": "draw the pictures of a run again",
    "data": "download, generate or check a data set",
    "reproduce": "train a paper's models and compare the results with its tables",
}


def chosen_recipe(command: str, words: Sequence[str]) -> tuple[Recipe, list[str]]:
    """The recipe that the first word names, and the other words.

    Raises:
        ValueError: there is no such recipe, or data are given without a flag. The message has a
            command that works, if one can be guessed.
    """
    name, *rest = words
    if name not in RECIPES:
        if name.startswith("-"):
            see = f"(see structnet {command} --help)"
            raise ValueError(f"name the model first, one of {', '.join(RECIPES)} {see}")
        raise ValueError(f"there is no model {name!r}{_guess(command, name)}")
    flags = [part for word in rest for part in re.split("(?<=^--data)=", word)]
    recipe = recipe_for(name, dict(pairwise(flags)).get("--data"))
    if rest and not rest[0].startswith("-"):
        if command == "train":
            meant = f"with --data; did you mean: structnet train {name} --data {rest[0]}"
        else:
            meant = f"as a flag (see structnet {command} {name} --help)"
        raise ValueError(f"{rest[0]!r} must be given {meant}")
    return recipe, rest


def _guess(command: str, name: str) -> str:
    """The end of an error about a word that is not a model's name: what may have been meant."""
    for model, make in RECIPES.items():
        recipe = make()
        known, files = recipe.Settings.DATA_SETS, recipe.Settings.FILES
        flags = [f"--data {name}"] * (name in known or is_file(name, files))
        if command == "reproduce":
            about = {number: of.data for number, of in recipe.tables.items() if name in of.data}
            flags = [f"--table {n}" + f" --data {name}" * (len(about[n]) > 1) for n in about]
        if flags:
            return f", which is data; did you mean: structnet {command} {model} {flags[0]}"
    near = did_you_mean(name, list(RECIPES))
    return near or f"; expected one of {', '.join(RECIPES)} (see structnet {command} --help)"


def opened(
    usage: str,
    words: Sequence[str],
    about: str,
    examples: str,
    own: type | None = None,
    cls: type | None = None,
) -> tuple[Recipe, Any, Any, Any, list[str]]:
    """What a command on a run was given: recipe, run, flags, the command's own flags, other words.

    Args:
        usage: the command and what follows its name.
        words, about, examples, own: see :func:`.parse`.
        cls: dataclass of the flags; None for the ``Ask`` of the run's recipe.

    Raises:
        ValueError: no run is named, or a flag is wrong.
        CheckpointError: there is no such run, or it is damaged.
    """
    prog = f"structnet {usage}"
    if not words or words[0] in ("-h", "--help"):
        further = "Some models have further flags, such as --path for neural trees, which\n"
        more = "" if cls else f"\n\n{further}'{prog} --help' explains."
        parse(cls or Ask, ["--help"], prog, own=own, about=about, examples=examples + more)
    if words[0].startswith("-"):
        raise ValueError(f"name the run first, by its folder: {prog} ... (see {prog} --help)")
    from structnet.recipes.execution import recipe_of, use
    from structnet.recipes.run import Run

    run = Run(words[0])
    recipe = recipe_of(run)
    options: dict[str, Any] = {"about": about, "examples": examples, "inputs": "INPUT" in usage}
    others = () if options["inputs"] else recipe.Ask.TO_PREDICT
    for flag in (f"--{name}" for name in others):
        if any(word.partition("=")[0] == flag for word in words):
            raise ValueError(f"{flag} is for structnet predict, as {run} is of {recipe.name}")
    options["refused"] = (*recipe.refused, *others)
    ask, flags, rest = parse(cls or recipe.Ask, words[1:], prog, own=own, **options)
    use(recipe, ask.place)
    return recipe, run, ask, flags, rest


def models() -> str:
    """The models, one per line, for the help."""
    width = max(map(len, RECIPES)) + 2
    return "\n".join(f"    {name:<{width}}{make.__doc__}" for name, make in RECIPES.items())


def show_models(command: str, usage: str) -> NoReturn:
    """Prints the help of a command whose first word is a model, and exits."""
    recipes = [make() for make in RECIPES.values()]
    examples = "\n".join(each.examples[command].partition("\n\n")[0] for each in recipes)
    print(
        f"usage: structnet {command} MODEL {usage}\n\n"
        f"{COMMANDS[command].capitalize()}.\n\nmodels:\n{models()}\n\nexamples:\n{examples}\n\n"
        f"'structnet {command} MODEL --help' explains the settings of a model."
    )
    sys.exit(0)
