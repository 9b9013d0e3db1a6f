"""Finds the model that the first word of a command names, or explains what is wrong."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NoReturn

from structnet.recipes import RECIPES, recipe_for
from structnet.recipes.recipe import did_you_mean, is_file

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
