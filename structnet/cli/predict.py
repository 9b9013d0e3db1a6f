"""``structnet predict``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from structnet.cli.evaluate import asked
from structnet.recipes.recipe import values_of

EXAMPLES = """\
  structnet predict runs/first "[MAX 2 9 [MIN 4 7 ] 0 ]"
  structnet predict runs/sum "( a ( and b ) )" "a"
  structnet predict runs/houses new-houses.csv
  structnet predict runs/digits 17 18"""
SHOWN = 10  # answers that are told in words


@dataclass(frozen=True)
class Nothing:
    """what it is asked follows RUN: one listops expression, two sentences of lrt, a file of rows,
    or numbers of test examples"""


def run(words: Sequence[str]) -> None:
    """Prints what a model says of the inputs, in words and then as JSON."""
    recipe, run, ask, _, texts = asked("predict RUN INPUT..."[:7], words, EXAMPLES, Nothing)
    if not texts:
        raise ValueError("there is nothing to predict: name the input behind the run")
    answers = recipe.answer(recipe.open(run, ask.place), texts, ask)
    for answer in answers[:SHOWN]:
        print(answer.words)
    if len(answers) > SHOWN:
        print(f"... {len(answers) - SHOWN:,} more")
    found = [answer.values for answer in answers]
    result = {"model": recipe.name, "run": str(run), "asked": values_of(ask), "answers": found}
    print(json.dumps(result, ensure_ascii=False))
