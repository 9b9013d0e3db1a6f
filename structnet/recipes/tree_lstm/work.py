"""The work of the commands on a run of a Tree-LSTM."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from structnet.recipes.protocol import sizes_in_words
from structnet.recipes.recipe import Answer, Outcome, Pictures, Place, Say
from structnet.recipes.run import Run
from structnet.recipes.tree_lstm.model import OF_NAME, Opened, first_weights, fitted
from structnet.recipes.tree_lstm.pictures import draw_by_operators, draw_tree
from structnet.recipes.tree_lstm.settings import Sizes, TreeLSTMRunSettings
from structnet.recipes.tree_lstm.trees import Labelled, TreeData, nearest_size
from structnet.routing.words import percent
from structnet.tensor_tree import count_aggregation
from structnet.training import accuracy_by
from structnet.training.modules import count_parameters
from structnet.training.processes import is_first_process, own_device


def load(settings: TreeLSTMRunSettings, say: Say) -> TreeData:
    """The trees of a run; it also reports where they come from."""
    of = OF_NAME[settings.data]
    say(f"reading or generating the data of {of.name} ...")
    data = data_of(of.name, settings.sizes, settings.place.data_dir)
    say(f"data: {data.origin} {of.unit}, {sizes_in_words(data)}")
    generated = not settings.sizes.generate and settings.sizes.max_depth in (None, 20)
    if data.origin == "generated" and generated:
        say(f"(the published files are not at hand: structnet data {of.name} downloads them)")
    return data


def train(settings: TreeLSTMRunSettings, data: TreeData, run: Run, say: Say) -> Outcome:
    """Trains, or resumes after the last whole epoch, and writes the weights of the best epoch."""
    of, model = OF_NAME[settings.data], first_weights(settings)
    chosen: Any = settings.model  # resolved: only the rank may be None
    number = count_parameters(model)
    rank = "" if chosen.rank is None else f" and rank {chosen.rank}"
    size = f"hidden size {chosen.hidden_size}{rank}, {number:,} parameters"
    say(f"model: Tree-LSTM, {chosen.cell} of {size}")
    history = fitted(model, settings, data, run)
    best = history.best
    assert best is not None  # since there are validation data
    if is_first_process():
        run.save_model(model)
    sizes = [sum(tree.size for tree in data.test.example(i)) for i in range(len(data.test))]
    details = {
        "origin": data.origin,
        "validation_accuracy": best["validation_accuracy"],
        "parameters": number,
        "aggregation_parameters": count_aggregation(
            chosen.cell, chosen.hidden_size, of.arity, chosen.rank
        ),
        "best_epoch": best["epoch"],
        "epochs": len(history),
        "example": of.write(data.test.example(nearest_size(sizes))),  # to be drawn
    }
    return Outcome(sum(history["seconds"]), details)


def open(run: Run, place: Place) -> Opened:
    """The trained model of a run."""
    settings, device = run.settings(TreeLSTMRunSettings), own_device(place.device)
    model = run.load_model(lambda content: first_weights(settings)).to(device)
    of = OF_NAME[settings.data]
    return Opened(model, of, run.config["data"]["classes"], device)


def read(run: Run, file: str, place: Place) -> Labelled:
    """The examples of a file in the format of the published ones."""
    return OF_NAME[run.settings(TreeLSTMRunSettings).data].read(file)


def measure(model: Opened, examples: Labelled, ask: Any) -> dict[str, Any]:
    """The accuracy; for lrt also by number of operators, and the mean over these groups."""
    numbers = [model.classes.index(name) for name in model.ask_all(examples)]
    predicted, true = np.array(numbers), np.array(examples.labels)
    result: dict[str, Any] = {"accuracy": float((predicted == true).mean())}
    if model.of.groups is not None:
        groups = accuracy_by(predicted, true, model.of.groups(examples))
        result["accuracy_mean_over_operators"] = float(np.mean([a for a, _ in groups.values()]))
        result["accuracy_by_operators"] = {str(n): list(group) for n, group in groups.items()}
    return result


def answer(model: Opened, texts: Sequence[str], ask: Any) -> list[Answer]:
    """The predicted and the true class of one example."""
    trees = model.of.parse(texts)
    predicted, probability = model.ask(trees)
    true, words = model.of.truth(trees), model.of.in_words
    values = {
        "expression": model.of.write(trees),
        "class": predicted,
        "probability": probability,
        "true": true,
    }
    sure = percent(probability, 1)
    text = f"predicted {words(predicted)} with probability {sure}; true: {words(true)}"
    return [Answer(text, values)]


def pictures(run: Run, data: Any, texts: Sequence[str], place: Place | None) -> Pictures:
    """``history.png``, ``tree.png`` and, for lrt, ``by_operators.png``."""
    drawn = run.history_picture()
    # An unfinished training has a history, but no model yet.
    result = run.result or {}
    typed = texts or result.get("details", {}).get("example")
    if typed:
        model = open(run, place or Place())
        drawn["tree.png"] = partial(draw_tree, model, model.of.parse(typed))
    groups = result.get("test", {}).get("accuracy_by_operators")
    if groups:
        name = run.settings(TreeLSTMRunSettings).model.cell
        drawn["by_operators.png"] = partial(draw_by_operators, {name: groups})
    return drawn


@lru_cache(maxsize=1)  # so that a table of several models reads its data once
def data_of(name: str, sizes: Sizes, data_dir: Path | None) -> TreeData:
    """The data of a run."""
    return OF_NAME[name].load(sizes, data_dir)
