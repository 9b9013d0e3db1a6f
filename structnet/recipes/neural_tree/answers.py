"""The predictions of a neural tree, their scores, and the reasons for them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from structnet.neural_tree import NeuralTree
from structnet.recipes.arrays import ArrayData, inputs, read_table, scale_of
from structnet.recipes.neural_tree.runs import Described, Opened
from structnet.recipes.neural_tree.settings import PATHS
from structnet.recipes.recipe import Answer, Probabilities, example_number
from structnet.recipes.words import in_words
from structnet.routing import Samples
from structnet.routing.batches import BATCH, ask
from structnet.routing.explanation import Explanation, explain
from structnet.training.modules import device_of


def output(
    tree: NeuralTree, samples: Samples, path: str = "multi", batch_size: int = BATCH
) -> Tensor:
    """The outputs of a tree, on the CPU: log-probabilities of classes, or means, ``[n, outputs]``.

    The stochastic path is always drawn with the same seed.
    """
    generator = _generator(tree)
    return ask(tree, samples.x, lambda x: tree.output(x, path, generator), batch_size)


def _generator(tree: NeuralTree) -> torch.Generator:
    return torch.Generator(device_of(tree)).manual_seed(0)


# ---- scores


def score(predicted: Tensor, targets: Tensor, data: Described) -> float:
    """The accuracy or the mean squared error of predictions.

    The squared error is in the units of the data set's file, and is averaged over all targets.

    Args:
        predicted: log-probabilities of classes, or means, ``[n, outputs]``.
        targets: classes ``[n]``, or numbers ``[n, outputs]``, scaled as in training.
        data: description of the data, as in ``config.json``.
    """
    if data["classes"] is not None:
        return (predicted.argmax(1) == targets).double().mean().item()
    sd = torch.tensor(data["y_scale"]["sd"])
    return ((predicted - targets).double() * sd).square().mean().item()


def measured(
    tree: NeuralTree,
    samples: Samples,
    data: Described,
    paths: Sequence[str] = PATHS,
    batch_size: int = BATCH,
) -> dict[str, float]:
    """The score of each way through a tree; that of all leaves has the plain name of the metric."""
    metric = "mse" if data["classes"] is None else "accuracy"
    return {
        metric if path == "multi" else f"{metric}_{path}": score(
            output(tree, samples, path, batch_size), samples.targets, data
        )
        for path in paths
    }


def of_ensemble(outputs: Sequence[Tensor], targets: Tensor, data: Described) -> float:
    """The score of several trees, their ``[n, outputs]`` probabilities or means averaged."""
    stack = torch.stack(list(outputs))
    # The logarithm of the number of trees does not change the likeliest class.
    mean = stack.mean(0) if data["classes"] is None else stack.logsumexp(0)
    return score(mean, targets, data)


# ---- answers


def of_rows(model: Opened, file: str, path: str) -> list[Answer]:
    """The predictions of a tree for the rows of a file, or of the standard input."""
    x = inputs(read_table(file, model.data), model.data)
    predicted = output(model.tree, Samples(x, torch.zeros(len(x))), path)
    found = []
    for number, each in enumerate(predicted, 1):
        values = _prediction(each, model.data)
        words = f"row {number}: {in_words(values)}"
        found.append(Answer(words, values, _shares(each, model.data)))
    return found


def _shares(output: Tensor, data: Described) -> Probabilities | None:
    """The probability of each class; None if numbers are predicted."""
    names = data["classes"]
    if names is None:
        return None
    return Probabilities(names, lambda: dict(zip(names, output.exp().tolist(), strict=True)))


def of_example(model: Opened, own: ArrayData, text: str, path: str) -> Answer:
    """The prediction of a tree for a test example, with the reasons for it.

    Raises:
        ValueError: there is no such example.
    """
    number = example_number(text, len(own.test), "FILE.csv, or ")
    tree, data, example = model.tree, model.data, own.test[np.array([number])]
    predicted = output(tree, example, path)[0]
    prediction, true = _prediction(predicted, data), _true(example, data)
    units = None if data["y_scale"] is None else lambda means: _in_units(means, data)
    told = explain(tree, example.x[0], data["classes"], units, **own.told(number))
    lines, leaf = [f"test example {text}", *_explained(told, data)], told.leaf
    if path not in ("multi", "greedy"):  # the explanation covers these two
        generator = _generator(tree)
        leaf = int(ask(tree, example.x, lambda x: tree.apply_path(x, path, generator)))
        lines.append(f"by the path {path}: leaf {leaf}, {in_words(prediction)}")
    lines.append(f"true: {in_words(true)}")
    (told_true,) = true.values()
    values = {"example": number, **prediction, "leaf": leaf, "true": told_true}
    return Answer("\n".join(lines), values, _shares(predicted, data))


def _explained(told: Explanation, data: Described) -> list[str]:
    lines = str(told).splitlines()
    if told.class_names is None:  # the last two lines do not name the targets
        said = {"its prediction": told.prediction, "of all leaves": told.mixture}
        lines[-2:] = [f"{what}: {in_words(_named(means, data))}" for what, means in said.items()]
    return lines


def _prediction(output: Tensor, data: Described) -> dict[str, Any]:
    """The likeliest class and its probability, or each target's value in its own units."""
    if data["classes"] is None:
        return _named(_in_units(output.numpy(), data), data)
    place = int(output.argmax())
    return {"class": data["classes"][place], "probability": math.exp(output[place])}


def _true(example: Samples, data: Described) -> dict[str, Any]:
    """The true class, or each target's true value in its own units."""
    if data["classes"] is None:
        return _named(_in_units(example.targets[0].numpy(), data), data)
    return {"class": data["classes"][int(example.targets)]}


def _in_units(scaled: np.ndarray, data: Described) -> np.ndarray:
    return scale_of(data["y_scale"]).inverse(scaled.astype(float))


def _named(values: Sequence[float] | np.ndarray, data: Described) -> dict[str, Any]:
    names = data["targets"] or [f"target {i}" for i in range(1, len(values) + 1)]
    return {"values": dict(zip(names, map(float, values), strict=True))}
