"""``structnet predict``."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

from structnet.cli.names import opened
from structnet.recipes.predictions import Written, answers_to
from structnet.recipes.recipe import values_of

ABOUT = """Predicts with a trained model, and prints the answers, or writes them to a file.

An answer is the likeliest class and its probability, or the numbers that it predicts, with the true
value where that is known. A listops run takes one expression: MAX, MIN, MED (the median, cut to a
whole number) and SM (the sum modulo 10) of up to five operands. An lrt run takes two sentences over
the variables a to f. A run on your own trees takes a file like the one that it learned from, with
or without targets, or a tree. A run on a table or on images takes a file of rows, with the columns
that it was trained on (or, if they are a table, these rows, typed as 3,4 or on the standard input),
or the numbers of test examples, for which it also explains its answer. A language model takes
beginnings of sentences, or FILE.txt, a file with one on each line.
Without an INPUT, or for -, the standard input is read, as UTF-8."""
EXAMPLES = """\
  structnet predict runs/first "[MAX 2 9 [MIN 4 7 ] 0 ]"
  structnet predict runs/sum "( a ( and b ) )" "a"
  structnet predict runs/own new-trees.tsv
  cat new-trees.tsv | structnet predict runs/own
  structnet predict runs/houses new-houses.csv
  structnet predict runs/houses new-houses.csv --out prices.csv
  structnet predict runs/houses 120,3 85,2
  cat new-houses.csv | structnet predict runs/houses
  structnet predict runs/mytext "once upon a"
  structnet predict runs/digits 17 18"""


def run(words: Sequence[str]) -> None:
    """Prints a model's answers to the inputs, in words and then as JSON.

    Raises:
        ValueError: there are no inputs, nor any on the standard input.
    """
    recipe, run, ask, own, texts = opened("predict RUN INPUT...", words, ABOUT, EXAMPLES, Written)
    if texts == ["-"] or (not texts and not sys.stdin.isatty()):
        texts = [text] if (text := sys.stdin.read().strip()) else []
    answers = answers_to(recipe, run, texts, ask)
    result = {"model": recipe.name, "run": str(run), "asked": values_of(ask)} | own.to_json(answers)
    print(*own.words(answers), sep="\n")
    print(json.dumps(result, ensure_ascii=False))
