"""The answers of a run for Python, the standard output, or a CSV file."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from structnet.recipes.recipe import Answer, Place

SHOWN = 10  # answers that are printed in words


@dataclass(frozen=True)
class Written:
    """where to put the predictions

    Args:
        out: CSV file for them, a row for each input, with the probability of every class, or of
            those that --top asks for (default: the standard output)
    """

    out: Path | None = None

    def words(self, answers: Sequence[Answer]) -> Iterator[str]:
        """The lines to print: the first answers in words, or where all are."""
        if self.out is not None:
            yield f"predictions: {len(answers):,}, in {self.out}"
            return
        yield from (answer.words for answer in answers[:SHOWN])
        if len(answers) > SHOWN:
            yield f"... {len(answers) - SHOWN:,} more"

    def told(self, answers: Sequence[Answer]) -> dict[str, Any]:
        """The answers, or the file to which they are written, for JSON."""
        if self.out is None:
            return {"answers": [answer.values for answer in answers]}
        from structnet.training.files import replacing

        with replacing(self.out) as file:
            file.write(table_of(answers).encode())
        return {"out": str(self.out), "rows": len(answers)}


def predict_with(
    run: str | Path, *inputs: str | Path, device: str = "cpu", **asked: Any
) -> list[dict[str, Any]]:
    """The predictions of a run of the command, as ``structnet predict --out`` writes them.

    Args:
        run: folder of the run.
        inputs: words that follow the run in the command, such as the path of a CSV file with the
            columns that it was trained on; they become numbers as in training.
        device: torch device.
        asked: flags of the command, such as ``path="greedy"`` for a neural tree.

    Returns:
        A dictionary for each input, which ``pandas.DataFrame`` takes, too.

    Raises:
        CheckpointError: there is no such run, or it is damaged.
        ValueError: an input is not what the run was trained on.
        TypeError: the model has no such flag.
    """
    from structnet.recipes.execution import recipe_of
    from structnet.recipes.run import Run

    found = Run(run)
    recipe = recipe_of(found)
    ask = recipe.Ask(place=Place(device=device), **asked)
    answers = recipe.answer(recipe.open(found, ask.place), list(map(str, inputs)), ask)
    return [_row(answer) for answer in answers]


def table_of(answers: Sequence[Answer]) -> str:
    """The answers as a CSV file, in which a row lacks what its answer does not have.

    Example:
        >>> shares = {"elm": 0.75, "oak": 0.25}
        >>> print(table_of([Answer("", {"class": "elm", "probability": 0.75}, shares)]), end="")
        input,class,probability,probability of elm,probability of oak
        1,elm,0.75,0.75,0.25
    """
    rows = [{"input": number} | _row(answer) for number, answer in enumerate(answers, 1)]
    names = dict.fromkeys(name for row in rows for name in row)
    file = io.StringIO()
    writer = csv.DictWriter(file, list(names), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def _row(answer: Answer) -> dict[str, Any]:
    """The columns of an answer; lists are written as JSON."""
    values, shares = dict(answer.values), answer.shares or {}
    if isinstance(values.get("labels"), dict):  # the likeliest ones, of which none may be known
        best = max(values.pop("labels"), key=shares.__getitem__, default="")
        values |= {"class": best, "probability": shares.get(best)}
    row = {f"predicted {name}": value for name, value in values.pop("values", {}).items()}
    for name, value in values.items():
        plain = value is None or isinstance(value, str | int | float)
        row[name] = value if plain else json.dumps(value, ensure_ascii=False)
    return row | {f"probability of {name}": share for name, share in shares.items()}
