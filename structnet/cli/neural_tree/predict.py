"""``structnet predict`` of a neural tree: for the rows of a file, or for test examples."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from structnet.cli.names import is_table
from structnet.cli.neural_tree.evaluate import own_data
from structnet.cli.neural_tree.measure import output
from structnet.cli.neural_tree.run import TreeRun
from structnet.cli.words import percent
from structnet.datasets import Scale
from structnet.datasets.csv_file import Table, TableError, read
from structnet.neural_tree import NeuralTree, Samples
from structnet.neural_tree.explain import explain
from structnet.parallel import own_device

SHOWN = 10  # rows that are told in words


def run(args: argparse.Namespace) -> None:
    """Prints what a tree predicts, in words and then as JSON."""
    given, folder = vars(args), TreeRun(args.run)
    torch.set_num_threads(given.get("threads", 1))
    described = folder.config["data"]
    tree = folder.tree().to(own_device(given.get("device", "cpu")))
    texts: Sequence[str] = args.expression
    if len(texts) == 1 and is_table(texts[0]):
        found = _of_rows(tree, read(texts[0], None, _delimiter(texts[0])), described)
    else:
        found = _of_examples(tree, own_data(folder, given).test, texts, described)
    print(json.dumps({"run": str(folder), "predictions": found}, ensure_ascii=False))


def _delimiter(name: str) -> str:
    return "\t" if name.lower().endswith(".tsv") else ","


def _of_rows(tree: NeuralTree, table: Table, data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What a tree predicts for each row of a file."""
    x = Scale(**_arrays(data["x_scale"])).apply(
        table.numbers(_columns(table, data)).reshape(-1, *data["shape"])
    )
    outputs = output(tree, Samples(torch.from_numpy(x), torch.zeros(len(x))))
    found = [_prediction(each, data) for each in outputs]
    for number, each in enumerate(found[:SHOWN], 1):
        print(f"row {number}: {_in_words(each)}")
    if len(found) > SHOWN:
        print(f"... {len(found) - SHOWN:,} more")
    return found


def _columns(table: Table, data: Mapping[str, Any]) -> list[int]:
    """The columns of a file that hold the features: all of them, or those of their names."""
    features, size = data["features"], math.prod(data["shape"])
    if table.names and features and list(table.names) != list(features):
        missing = [name for name in features if name not in table.names]
        if missing:
            raise TableError(f"{table.path} has no column {missing[0]!r}, a feature of the tree")
        several = [n for n in features if table.names.count(n) > 1 or features.count(n) > 1]
        if several:
            raise TableError(
                f"{table.path}: there are several columns {several[0]!r}, here or among the "
                "features of the tree; expected one, or the features alone, in the tree's order"
            )
        return [table.names.index(name) for name in features]
    if table.num_columns != size:
        raise TableError(
            f"{table.path} has {table.num_columns} columns; the tree takes {size} features, in the "
            "order of its data"
        )
    return list(range(size))


def _of_examples(
    tree: NeuralTree, test: Samples, texts: Sequence[str], data: Mapping[str, Any]
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
        told = explain(tree, example.x[0], data["classes"])
        if data["classes"] is None:
            prediction, mixture = (
                tuple(_undo(torch.tensor(part), data)) for part in (told.prediction, told.mixture)
            )
            told = replace(told, prediction=prediction, mixture=mixture)
        true = _true(example.targets[0], data)
        print(f"test example {text}\n{told}\ntrue: {_in_words({'true': true})}")
        prediction = _prediction(output(tree, example)[0], data)
        found.append({"example": int(text), **prediction, "leaf": told.leaf, "true": true})
    return found


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
    return Scale(**_arrays(data["y_scale"])).undo(scaled.numpy()).tolist()


def _arrays(scale: Mapping[str, Any]) -> dict[str, np.ndarray]:
    return {name: np.array(values) for name, values in scale.items()}


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
