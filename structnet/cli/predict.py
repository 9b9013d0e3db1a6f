"""``structnet predict``."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

from structnet.cli.evaluate import asked
from structnet.recipes.recipe import values_of

ABOUT = """Asks a trained model, and prints what it says in words and as JSON.

It says the likeliest class and its probability, or the numbers that it predicts, and the truth
where that is known. A listops run takes one expression: MAX, MIN, MED (the median, cut to a whole
number) and SM (the sum modulo 10) of up to five operands. An lrt run takes two sentences over the
variables a to f. A run on trees of your own takes a file like the one that it learnt from, with
targets or without, or a tree. A run on a table or on images takes a file of rows, with the columns
it was trained on, or the numbers of test examples, of which it also tells how it comes to its
answer. What is not named is read from the standard input."""
EXAMPLES = """\
  structnet predict runs/first "[MAX 2 9 [MIN 4 7 ] 0 ]"
  structnet predict runs/sum "( a ( and b ) )" "a"
  structnet predict runs/own new-trees.tsv
  cat new-trees.tsv | structnet predict runs/own
  structnet predict runs/houses new-houses.csv
  structnet predict runs/digits 17 18"""
SHOWN = 10  # answers that are told in words


def run(words: Sequence[str]) -> None:
    """Prints what a model says of the inputs, in words and then as JSON.

    Raises:
        ValueError: there are no inputs, nor any on the standard input.
    """
    recipe, run, ask, _, texts = asked("predict RUN INPUT...", words, ABOUT, EXAMPLES)
    if not texts and not sys.stdin.isatty():
        texts = [text] if (text := sys.stdin.read().strip()) else []
    if not texts:
        raise ValueError("there is nothing to predict: name the input behind the run")
    answers = recipe.answer(recipe.open(run, ask.place), texts, ask)
    print(*(answer.words for answer in answers[:SHOWN]), sep="\n")
    if len(answers) > SHOWN:
        print(f"... {len(answers) - SHOWN:,} more")
    result: dict[str, Any] = {"model": recipe.name, "run": str(run), "asked": values_of(ask)}
    result["answers"] = [answer.values for answer in answers]
    print(json.dumps(result, ensure_ascii=False))
