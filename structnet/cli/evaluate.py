"""``structnet evaluate``."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from structnet.cli.flags import parse
from structnet.recipes.recipe import Ask, result_of

if TYPE_CHECKING:
    from structnet.recipes.protocol import Recipe

ABOUT = """Measures a trained model on its own test data, or on a file of your own.

The metrics are those of the run's result: shares from 0 to 1, or values in the units of the
targets."""
EXAMPLES = """\
  structnet evaluate runs/first
  structnet evaluate runs/first --data expressions.tsv
  structnet evaluate runs/own --data other-trees.tsv
  structnet evaluate runs/houses --data other-houses.csv"""


@dataclass(frozen=True)
class Measured:
    """the data to measure the model on

    Args:
        data: file of examples (default: the run's own test data). A file of trees has one example
            on each line, VALUE<TAB>EXPRESSION for listops and RELATION<TAB>LEFT<TAB>RIGHT for lrt,
            or the form of the file that the model was trained on; a table has the same columns as
            that one, either by name or, without names, in the same order, including the column to
            predict
    """

    data: str | None = None


def run(words: Sequence[str]) -> None:
    """Measures a trained model and prints the results as JSON."""
    recipe, run, ask, own, _ = asked("evaluate RUN", words, ABOUT, EXAMPLES, Measured)
    from structnet.recipes.words import metrics

    begin = time.perf_counter()
    examples = recipe.examples_of(run, own.data, ask.place)
    tested = recipe.measure(recipe.open(run, ask.place), examples, ask)
    seconds = time.perf_counter() - begin
    print(*metrics(tested), sep="\n")
    settings, sizes = run.config["settings"], {"test": len(examples)}
    data = str(Path(own.data).resolve()) if own.data else settings["data"]
    result = result_of(recipe.name, data, settings, sizes, tested, seconds)
    print(json.dumps(result | {"run": str(run)}))


def asked(
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
    said: dict[str, Any] = {"about": about, "examples": examples, "inputs": "INPUT" in usage}
    said["refused"] = recipe.refused
    ask, flags, rest = parse(cls or recipe.Ask, words[1:], prog, own=own, **said)
    use(recipe, ask.place)
    return recipe, run, ask, flags, rest
