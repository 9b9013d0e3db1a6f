"""The predictions of a neural tree, their scores, and the reasons for them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from structnet.neural_tree import NeuralTree
from structnet.recipes.neural_tree.data import load_data
from structnet.recipes.neural_tree.settings import PATHS, AskOfTree
from structnet.recipes.recipe import Answer
from structnet.recipes.row_runs import Described, Opened, answers, numbers, of_class
from structnet.recipes.words import in_words
from structnet.routing import Samples
from structnet.routing.batches import ask
from structnet.training.modules import device_of


def output(tree: NeuralTree, x: Any, path: str = "multi") -> Tensor:
    """The outputs of a tree, on the CPU: log-probabilities of classes, or means.

    The stochastic path is always drawn with the same seed.

    Shapes:
        ``[n, *shape] -> [n, outputs]``.
    """
    generator = _generator(tree)
    return ask(tree, torch.as_tensor(x), lambda batch: tree.output(batch, path, generator))


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
    classes = data["classes"] is not None
    found: dict[str, float] = {}
    for path in paths or (PATHS if tree.num_leaves > 1 else PATHS[:1]):
        way = "" if path == "multi" else f"_{path}"
        predicted = output(tree, samples.x, path)
        right = score(predicted, samples.targets, data)
        if not classes and not found:
            errors = (predicted - samples.targets).double().square().mean(0)
            variance = samples.targets.double().var(0, correction=0)
            if (variance > 0).all():
                found[f"r2{way}"] = 1 - (errors / variance).mean().item()
            found[f"rmse{way}"] = math.sqrt(right)
        found[f"{'accuracy' if classes else 'mse'}{way}"] = right
    return found


def of_ensemble(outputs: Sequence[Tensor], targets: Tensor, data: Described) -> float:
    """The score of several trees, their ``[n, outputs]`` probabilities or means averaged."""
    stack = torch.stack(list(outputs))
    # The logarithm of the number of trees does not change the likeliest class.
    mean = stack.mean(0) if data["classes"] is None else stack.logsumexp(0)
    return score(mean, targets, data)


# ---- answers


def answer(model: Opened, texts: Sequence[str], asked: AskOfTree) -> list[Answer]:
    """The predictions of a tree for the rows of a file, or with reasons for test examples.

    Raises:
        ValueError: there is more than one file, a file and a number, or no such example.
    """
    path = asked.path or "multi"
    tree: NeuralTree = model.model
    data = model.run.config["data"]

    def predict(x: Any) -> Iterator[Answer]:
        outputs = output(tree, x, path)
        if data["classes"] is None:
            return (Answer("", values) for values in numbers(outputs, data))
        best = outputs.argmax(1).tolist()
        return (_of_class(data["classes"], *each) for each in zip(best, outputs, strict=True))

    def more(x: Tensor, values: dict[str, Any]) -> tuple[list[str], dict[str, Any]]:
        if path in ("multi", "greedy"):  # which the explanation covers
            return [], {}
        generator = _generator(tree)
        leaf = int(ask(tree, x, lambda batch: tree.apply_path(batch, path, generator)))
        return [f"by the path {path}: leaf {leaf}, {in_words(values)}"], {"leaf": leaf}

    return answers(model, texts, partial(load_data, known=data), tree, predict, more)


def _of_class(names: Sequence[str], place: int, output: Tensor) -> Answer:
    return of_class(names, place, math.exp(output[place]), lambda: output.exp().tolist())
