"""``structnet evaluate``."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from structnet.cli.names import opened
from structnet.recipes.recipe import result_of

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
    recipe, run, ask, own, _ = opened("evaluate RUN", words, ABOUT, EXAMPLES, Measured)
    from structnet.recipes.words import metrics

    begin = time.perf_counter()
    examples = recipe.examples_of(run, own.data, ask.place)
    tested = recipe.work.measure(recipe.work.open(run, ask.place), examples, ask)
    seconds = time.perf_counter() - begin
    print(*metrics(tested), sep="\n")
    settings, sizes = run.config["settings"], {"test": len(examples)}
    data = str(Path(own.data).resolve()) if own.data else settings["data"]
    result = result_of(recipe.name, data, settings, sizes, tested, seconds)
    print(json.dumps(result | {"run": str(run)}))
