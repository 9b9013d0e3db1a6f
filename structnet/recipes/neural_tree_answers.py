"""What a neural tree says of the rows of a user's file, and of test examples."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from structnet.recipes.arrays import inputs, read_table, scale_of
from structnet.recipes.neural_tree_scores import leaves, output
from structnet.recipes.recipe import Answer
from structnet.recipes.words import percent
from structnet.routing import Samples
from structnet.routing.explanation import explain

if TYPE_CHECKING:
    from structnet.recipes.neural_tree_runs import Opened

Described = Mapping[str, Any]  # data as config.json describes them
TOLD = ("multi", "greedy")  # the paths of which an explanation has the predictions


def of_rows(model: Opened, file: str, path: str) -> list[Answer]:
    """What a tree predicts for each row of a file."""
    x = inputs(read_table(file), model.data)
    predicted = output(model.tree, Samples(x, torch.zeros(len(x))), path)
    found = [_prediction(each, model.data) for each in predicted]
    return [Answer(f"row {number}: {in_words(each)}", each) for number, each in enumerate(found, 1)]


def of_example(model: Opened, test: Samples, text: str, path: str) -> Answer:
    """What a tree predicts for a test example, and how it comes to that.

    Raises:
        ValueError: there is no such example.
    """
    if not text.isascii() or not text.isdigit() or int(text) >= len(test):
        raise ValueError(
            f"expected FILE.csv, or numbers of test examples, 0 to {len(test) - 1}; got {text!r}"
        )
    example, data = test[np.array([int(text)])], model.data
    prediction = _prediction(output(model.tree, example, path)[0], data)
    # Of the leaves that are mixed, the one at the end of the greedy path is named.
    leaf = int(leaves(model.tree, example, "greedy" if path == "multi" else path))
    true = _true(example.targets[0], data)
    lines = [f"test example {text}", _explained(model, example)]
    if path not in TOLD:
        lines.append(f"by the path {path}: leaf {leaf}, {in_words(prediction)}")
    lines.append(f"true: {in_words({'true': true})}")
    values = {"example": int(text), **prediction, "leaf": leaf, "true": true}
    return Answer("\n".join(lines), values)


def _explained(model: Opened, example: Samples) -> str:
    """The greedy path of an example, what its leaf predicts, and what all leaves do."""
    told = explain(model.tree, example.x[0], model.data["classes"])
    if model.data["classes"] is not None:
        return str(told)
    one, mixture = (
        in_words(_prediction(torch.tensor(means), model.data))
        for means in (told.prediction, told.mixture)
    )
    # Instead of the last two lines, which have scaled numbers without names.
    decisions = str(told).splitlines()[:-2]
    return "\n".join([*decisions, f"its prediction: {one}", f"of all leaves: {mixture}"])


def _prediction(output: Tensor, data: Described) -> dict[str, Any]:
    """The likeliest class and its probability, or each target's value in its own units."""
    if data["classes"] is not None:
        place = int(output.argmax())
        return {"class": data["classes"][place], "probability": math.exp(output[place])}
    return {"values": _named(_undo(output, data), data)}


def _true(target: Tensor, data: Described) -> Any:
    if data["classes"] is not None:
        return data["classes"][int(target)]
    return _named(_undo(target, data), data)


def _undo(scaled: Tensor, data: Described) -> list[float]:
    return scale_of(data["y_scale"]).inverse(scaled.double().numpy()).tolist()


def _named(values: Sequence[float], data: Described) -> dict[str, float]:
    names = data["targets"] or [f"target {i}" for i in range(1, len(values) + 1)]
    return dict(zip(names, values, strict=True))


def in_words(found: Mapping[str, Any]) -> str:
    """A prediction, or what is true, as a line."""
    if "class" in found:
        return f"class {found['class']}, {percent(found['probability'], 1)}"
    values = found.get("values", found.get("true"))
    if isinstance(values, str):
        return f"class {values}"
    return ", ".join(f"{name} {value:.4g}" for name, value in values.items())
