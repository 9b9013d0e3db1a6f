"""The answers of a run for Python, the standard output, or a CSV file."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from structnet.recipes.recipe import Answer, Place

if TYPE_CHECKING:
    from structnet.recipes.protocol import Recipe
    from structnet.recipes.run import Run

SHOWN = 10  # answers that are printed in words


@dataclass(frozen=True)
class Written:
    """where to put the predictions

    Args:
        out: CSV file for them, a row for each input, with the probability of every class, or of
            the labels or words that --top asks for (default: the standard output)
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

    def to_json(self, answers: Sequence[Answer]) -> dict[str, Any]:
        """The answers, or the file to which they are written, for JSON."""
        if self.out is None:
            return {"answers": [answer.values for answer in answers]}
        from structnet.training.files import replacing

        with replacing(self.out) as file:
            text = io.TextIOWrapper(file, encoding="utf-8", newline="")
            write_table(answers, text)
            text.detach()
        return {"out": str(self.out), "rows": len(answers)}


def predict_with(
    run: str | Path, *inputs: str | Path, device: str = "cpu", **flags: Any
) -> list[dict[str, Any]]:
    """The predictions of a run of the command, with what ``structnet predict --out`` writes.

    Args:
        run: folder of the run.
        inputs: words that follow the run in the command, such as the path of a CSV file with the
            columns that it was trained on; they become numbers as in training.
        device: torch device.
        flags: flags of the command, such as ``path="greedy"`` for a neural tree.

    Returns:
        A dictionary for each input, which ``pandas.DataFrame`` takes, too; its lists are JSON in a
        file.

    Raises:
        CheckpointError: there is no such run, or it is damaged.
        ValueError: an input is not what the run was trained on, or there is none.
        TypeError: the model has no such flag.
    """
    from structnet.recipes.execution import recipe_of, use
    from structnet.recipes.run import Run

    opened = Run(run)
    recipe = recipe_of(opened)
    ask = recipe.Ask(place=Place(device=device), **flags)
    use(recipe, ask.place)
    rows = []
    for answer in answers_to(recipe, opened, list(map(str, inputs)), ask):
        shares = answer.shares.of() if answer.shares else {}
        rows.append(_row(answer) | {f"probability of {name}": p for name, p in shares.items()})
    return rows


def answers_to(recipe: Recipe, run: Run, inputs: Sequence[str], ask: Any) -> list[Answer]:
    """The answers of a run to the words that follow it in the command.

    Raises:
        CheckpointError: there is no trained model, or it is damaged.
        ValueError: an input is not what the run was trained on, or there is none.
    """
    if not inputs:
        raise ValueError("there is nothing to predict: give the input after the run")
    return recipe.work.answer(recipe.work.open(run, ask.place), inputs, ask)


def write_table(answers: Sequence[Answer], file: TextIO) -> None:
    """Writes the answers as CSV, in which a row lacks what its answer does not have.

    The probabilities are asked for one answer after the other.

    Example:
        >>> import sys
        >>> from structnet.recipes.recipe import Probabilities
        >>> shares = Probabilities(["elm", "oak"], lambda: {"elm": 0.75, "oak": 0.25})
        >>> write_table([Answer("", {"class": "elm", "probability": 0.75}, shares)], sys.stdout)
        input,class,probability,probability of elm,probability of oak
        1,elm,0.75,0.75,0.25
    """
    rows = [_row(answer) for answer in answers]
    columns = dict.fromkeys(name for row in rows for name in row)
    parts = {id(each.shares.names): each.shares.names for each in answers if each.shares}
    classes = dict.fromkeys(name for names in parts.values() for name in names)
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["input", *columns, *(f"probability of {name}" for name in classes)])
    for number, (answer, row) in enumerate(zip(answers, rows, strict=True), 1):
        shares = answer.shares.of() if answer.shares else {}
        cells = (_cell(row.get(name)) for name in columns)
        writer.writerow([number, *cells, *(shares.get(name) for name in classes)])


def _row(answer: Answer) -> dict[str, Any]:
    """The columns of an answer without its probabilities."""
    values = dict(answer.values)
    for name, one in (("labels", "class"), ("words", "word")):
        if isinstance(values.get(name), dict):  # the likeliest ones, of which none may be known
            shares = values.pop(name)
            best = max(shares, key=shares.__getitem__, default="")
            values |= {one: best, "probability": shares.get(best)}
    row: dict[str, Any] = {}
    for name, of in (("values", "predicted"), ("true", "true")):  # numbers, by their targets
        if isinstance(values.get(name), dict):
            row |= {f"{of} {target}": value for target, value in values.pop(name).items()}
    return row | values


def _cell(value: Any) -> Any:
    """A value as CSV has it; of more than one, JSON."""
    plain = value is None or isinstance(value, str | int | float)
    return value if plain else json.dumps(value, ensure_ascii=False)
