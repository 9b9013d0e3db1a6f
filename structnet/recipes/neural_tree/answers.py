"""The predictions of a neural tree, their scores, and the reasons for them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from structnet.estimators.counts import scale_of_lists
from structnet.neural_tree import NeuralTree
from structnet.recipes.arrays import ArrayData
from structnet.recipes.neural_tree.runs import Described, Opened
from structnet.recipes.neural_tree.settings import PATHS
from structnet.recipes.recipe import Answer, Probabilities, example_number
from structnet.recipes.words import in_words
from structnet.routing import Samples
from structnet.routing.batches import ask
from structnet.routing.explanation import explain
from structnet.training.modules import device_of


def output(tree: NeuralTree, samples: Samples, path: str = "multi") -> Tensor:
    """The outputs of a tree, on the CPU: log-probabilities of classes, or means, ``[n, outputs]``.

    The stochastic path is always drawn with the same seed.
    """
    generator = _generator(tree)
    return ask(tree, samples.x, lambda x: tree.output(x, path, generator))


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
    _, sd = map(torch.tensor, data["y_scale"])
    return ((predicted - targets).double() * sd).square().mean().item()


def measured(
    tree: NeuralTree,
    samples: Samples,
    data: Described,
    paths: Sequence[str] | None = None,
) -> dict[str, float]:
    """The score of each way through a tree; that of all leaves has the plain name of the metric.

    Of numbers, the first way has also R2, the share of their variance that is explained (unless it
    is 0; the mean of all targets), and the root of the squared error, in the units of the file.

    Args:
        tree: tree.
        samples: samples.
        data: description of the data, as in ``config.json``.
        paths: ways; None for all, of which a tree with one leaf has one.
    """
    numbers = data["classes"] is None
    found: dict[str, float] = {}
    for path in paths or (PATHS if tree.num_leaves > 1 else PATHS[:1]):
        way = "" if path == "multi" else f"_{path}"
        predicted = output(tree, samples, path)
        right = score(predicted, samples.targets, data)
        if numbers and not found:
            errors = (predicted - samples.targets).double().square().mean(0)
            variance = samples.targets.double().var(0, correction=0)
            if (variance > 0).all():
                found[f"r2{way}"] = 1 - (errors / variance).mean().item()
            found[f"rmse{way}"] = math.sqrt(right)
        found[f"{'mse' if numbers else 'accuracy'}{way}"] = right
    return found


def of_ensemble(outputs: Sequence[Tensor], targets: Tensor, data: Described) -> float:
    """The score of several trees, their ``[n, outputs]`` probabilities or means averaged."""
    stack = torch.stack(list(outputs))
    # The logarithm of the number of trees does not change the likeliest class.
    mean = stack.mean(0) if data["classes"] is None else stack.logsumexp(0)
    return score(mean, targets, data)


# ---- answers


def of_rows(model: Opened, x: Tensor, path: str) -> list[Answer]:
    """The predictions of a tree for rows ``[n, *shape]`` of a file, or of the standard input."""
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
    explanation = explain(tree, example.x[0], data["classes"], units, **own.explain_options(number))
    explanation = replace(explanation, target_names=_target_names(data))
    lines, leaf = [f"test example {text}", *str(explanation).splitlines()], explanation.leaf
    if path not in ("multi", "greedy"):  # the explanation covers these two
        generator = _generator(tree)
        leaf = int(ask(tree, example.x, lambda x: tree.apply_path(x, path, generator)))
        lines.append(f"by the path {path}: leaf {leaf}, {in_words(prediction)}")
    lines.append(f"true: {in_words(true)}")
    (told_true,) = true.values()
    values = {"example": number, **prediction, "leaf": leaf, "true": told_true}
    return Answer("\n".join(lines), values, _shares(predicted, data))


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
    scale = scale_of_lists(data["y_scale"])
    assert scale is not None  # as numbers are predicted
    return scale.inverse(scaled.astype(float))


def _named(values: Sequence[float] | np.ndarray, data: Described) -> dict[str, Any]:
    return {"values": dict(zip(_target_names(data) or (), map(float, values), strict=True))}


def _target_names(data: Described) -> tuple[str, ...] | None:
    """The names of predicted numbers, or their numbers from 1; None if classes are predicted."""
    if data["classes"] is not None:
        return None
    return tuple(data["targets"] or (f"target {i}" for i in range(1, data["num_outputs"] + 1)))
