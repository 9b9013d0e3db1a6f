"""``structnet predict`` of a neural tree: for the rows of a file, or for test examples."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from structnet.cli.names import is_table
from structnet.cli.neural_tree.evaluate import own_data
from structnet.cli.neural_tree.measure import leaves, output
from structnet.cli.neural_tree.rows import inputs, read_table, scale_of
from structnet.cli.neural_tree.run import TreeRun
from structnet.cli.words import percent
from structnet.datasets.csv_file import Table
from structnet.neural_tree import NeuralTree
from structnet.routing import Samples
from structnet.routing.explanation import explain
from structnet.training.processes import own_device

SHOWN = 10  # rows that are told in words
TOLD = ("multi", "greedy")  # the paths of which an explanation has the predictions


def run(args: argparse.Namespace) -> None:
    """Prints what a tree predicts, in words and then as JSON."""
    given, folder = vars(args), TreeRun(args.run)
    torch.set_num_threads(given.get("threads", 1))
    described = folder.config["data"]
    tree = folder.tree().to(own_device(given.get("device", "cpu")))
    texts, path = args.expression, given.get("path", "multi")
    if len(texts) == 1 and is_table(texts[0]):
        found = _of_rows(tree, read_table(texts[0]), described, path)
    else:
        found = _of_examples(tree, own_data(folder, given).test, texts, described, path)
    result = {"run": str(folder), "path": path, "predictions": found}
    print(json.dumps(result, ensure_ascii=False))


def _of_rows(
    tree: NeuralTree, table: Table, data: Mapping[str, Any], path: str
) -> list[dict[str, Any]]:
    """What a tree predicts for each row of a file."""
    x = inputs(table, data)
    outputs = output(tree, Samples(x, torch.zeros(len(x))), path)
    found = [_prediction(each, data) for each in outputs]
    for number, each in enumerate(found[:SHOWN], 1):
        print(f"row {number}: {_in_words(each)}")
    if len(found) > SHOWN:
        print(f"... {len(found) - SHOWN:,} more")
    return found


def _of_examples(
    tree: NeuralTree, test: Samples, texts: Sequence[str], data: Mapping[str, Any], path: str
) -> list[dict[str, Any]]:
    """What a tree predicts for test examples, and how it comes to that."""
    found = []
    for text in texts:
        if not text.isascii() or not text.isdigit() or int(text) >= len(test):
            raise ValueError(
                f"expected FILE.csv, or numbers of test examples, 0 to {len(test) - 1}; got "
                f"{text!r}"
            )
        example = test[np.array([int(text)])]
        prediction = _prediction(output(tree, example, path)[0], data)
        # Of the leaves that are mixed, the one at the end of the greedy path is named.
        leaf = int(leaves(tree, example, "greedy" if path == "multi" else path))
        true = _true(example.targets[0], data)
        print(f"test example {text}\n{_explained(tree, example, data)}")
        if path not in TOLD:
            print(f"by the path {path}: leaf {leaf}, {_in_words(prediction)}")
        print(f"true: {_in_words({'true': true})}")
        found.append({"example": int(text), **prediction, "leaf": leaf, "true": true})
    return found


def _explained(tree: NeuralTree, example: Samples, data: Mapping[str, Any]) -> str:
    """The greedy path of an example, what its leaf predicts, and what all leaves do."""
    told = explain(tree, example.x[0], data["classes"])
    if data["classes"] is not None:
        return str(told)
    one, mixture = (
        _in_words(_prediction(torch.tensor(means), data))
        for means in (told.prediction, told.mixture)
    )
    # Instead of the last two lines, which have scaled numbers without names.
    decisions = str(told).splitlines()[:-2]
    return "\n".join([*decisions, f"its prediction: {one}", f"of all leaves: {mixture}"])


def _prediction(output: Tensor, data: Mapping[str, Any]) -> dict[str, Any]:
    """The likeliest class and its probability, or each target's value in its own units."""
    if data["classes"] is not None:
        place = int(output.argmax())
        return {"class": data["classes"][place], "probability": math.exp(output[place])}
    return {"values": _named(_undo(output, data), data)}


def _true(target: Tensor, data: Mapping[str, Any]) -> Any:
    if data["classes"] is not None:
        return data["classes"][int(target)]
    return _named(_undo(target, data), data)


def _undo(scaled: Tensor, data: Mapping[str, Any]) -> list[float]:
    return scale_of(data["y_scale"]).undo(scaled.numpy()).tolist()


def _named(values: Sequence[float], data: Mapping[str, Any]) -> dict[str, float]:
    names = data["targets"] or [f"target {i}" for i in range(1, len(values) + 1)]
    return dict(zip(names, values, strict=True))


def _in_words(found: Mapping[str, Any]) -> str:
    if "class" in found:
        return f"class {found['class']}, {percent(found['probability'], 1)}"
    values = found.get("values", found.get("true"))
    if isinstance(values, str):
        return f"class {values}"
    return ", ".join(f"{name} {value:.4g}" for name, value in values.items())
