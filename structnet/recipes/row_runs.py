"""Runs of trees of rows, whatever their family: what they are asked, and the reasons they give.

A family says what its trees predict. Names and units are those of the run's data, as the
description in ``config.json`` has them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch

from structnet.estimators.counts import scale_of_lists
from structnet.recipes.arrays import ArrayData
from structnet.recipes.recipe import Answer, Probabilities, example_number
from structnet.recipes.rows import rows_in
from structnet.recipes.run import Run
from structnet.recipes.words import in_words
from structnet.routing import Reading, RoutedTree, Samples
from structnet.routing.explanation import explain

SHOWN = 0.01  # share of the samples below which a branch is folded in pictures
Described = Mapping[str, Any]  # description of a run's data, as in config.json


class Opened(NamedTuple):
    """A trained run, its settings with the place where it is used, and the family's model in it."""

    run: Run
    settings: Any
    model: Any


def reading_of(tree: RoutedTree, data: Described, samples: Samples | None = None) -> Reading:
    """A tree and samples, with the names and units of the file for people to read.

    Args:
        tree: tree.
        data: description of the run's data.
        samples: samples as the tree takes them.
    """
    inputs, targets = (scale_of_lists(data[name]) for name in ("x_scale", "y_scale"))
    if targets is not None and samples is not None:
        in_units = targets.inverse(samples.targets.double().numpy())
        samples = replace(samples, targets=torch.from_numpy(in_units))
    units = inputs.inverse if inputs is not None and inputs.mean.ndim == 1 else None  # not images
    words = (data[name] for name in ("classes", "features", "targets"))
    classes, features, names = (None if each is None else tuple(each) for each in words)
    return Reading(tree, samples, classes, features, units, targets and targets.inverse, names)


def answers(
    opened: Opened,
    texts: Sequence[str],
    load: Callable[[Any], ArrayData],
    tree: RoutedTree,
    predict: Callable[[Any], Iterable[Answer]],
    more: Callable[[Any, dict[str, Any]], tuple[list[str], dict[str, Any]]],
) -> list[Answer]:
    """The predictions of a run for the rows of a file, or with reasons for test examples.

    Args:
        opened: run.
        texts: words of the command.
        load: function from the settings to the data.
        tree: tree that gives the reasons.
        predict: function from inputs, scaled as in training, to answers that lack their words.
        more: function from the inputs ``[1, *shape]`` and the values of one answer to further lines
            and values.

    Raises:
        ValueError: there is more than one file, a file and a number, or no such example.
    """
    run, settings, _ = opened
    data = run.config["data"]
    rows = rows_in(texts, settings, data)
    if rows is not None:
        each = enumerate(predict(rows), 1)
        return [found._replace(words=f"row {i}: {in_words(found.values)}") for i, found in each]
    own, reading = run.read_again(type(settings), load, settings.place), reading_of(tree, data)
    how: dict[str, Any] = {"feature_names": reading.feature_names, "units": reading.units}
    names, x, y, answered = reading.class_names, own.test.x, own.test.targets, []
    for text in texts:
        number = example_number(text, len(y), f"{settings.kinds_of_files}, or ")
        [(_, values, shares)] = predict(x[[number]])
        original = own.as_read(number)
        why = explain(tree, x[number], names, reading.target_units, **how, original=original)
        why = replace(why, target_names=None if names else _names_of_numbers(data))
        lines, about = more(x[[number]], values)
        true = {"class": names[y[number]]} if names else next(numbers(y[[number]], data))
        words = [f"test example {text}", str(why), *lines, f"true: {in_words(true)}"]
        found = {"leaf": why.leaf} | about | {"true": next(iter(true.values()))}
        answered.append(Answer("\n".join(words), {"example": number} | values | found, shares))
    return answered


def of_class(
    names: Sequence[str], place: int, probability: float, shares: Callable[[], list[float]]
) -> Answer:
    """An answer that lacks its words: the likeliest class.

    Args:
        names: names of the classes.
        place: number of the likeliest one.
        probability: its probability.
        shares: function that gives the probability of each class.
    """
    each = Probabilities(names, lambda: dict(zip(names, shares(), strict=True)))
    return Answer("", {"class": names[place], "probability": probability}, each)


def numbers(scaled: torch.Tensor, data: Described) -> Iterator[dict[str, Any]]:
    """Scaled numbers by the names of their targets, in the units of the file.

    Args:
        scaled: numbers, scaled as in training.
        data: description of the run's data.

    Shapes:
        ``[n, targets]``.
    """
    scale = scale_of_lists(data["y_scale"])
    assert scale is not None  # as numbers are predicted
    for row in scale.inverse(scaled.numpy().astype(np.float64)).tolist():
        yield {"values": dict(zip(_names_of_numbers(data), row, strict=True))}


def _names_of_numbers(data: Described) -> tuple[str, ...]:
    """The names of the predicted numbers, or their numbers from 1."""
    return tuple(data["targets"] or (f"target {i}" for i in range(1, data["num_outputs"] + 1)))
