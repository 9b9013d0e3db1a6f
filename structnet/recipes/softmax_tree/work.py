"""The work of the commands on a run of a softmax tree, fixed or grown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np

from structnet.estimators import Standardizer
from structnet.plot import plot_model_tree
from structnet.recipes.arrays import ArrayData
from structnet.recipes.recipe import Answer, Outcome, Pictures, Place, Say
from structnet.recipes.row_runs import SHOWN, Opened, answers, of_class, reading_of
from structnet.recipes.rows import examples_in
from structnet.recipes.run import Run
from structnet.recipes.softmax_tree.comparison import trained
from structnet.recipes.softmax_tree.data import load_data
from structnet.recipes.softmax_tree.pictures import draw_errors, draw_widths
from structnet.recipes.softmax_tree.settings import AdaptiveRunSettings, SoftmaxTreeRunSettings
from structnet.recipes.words import in_words
from structnet.routing import Samples
from structnet.routing.report import text_of
from structnet.softmax_tree import (
    AdaptiveSoftmaxTreeClassifier,
    SoftmaxTree,
    SoftmaxTreeClassifier,
    measured,
)
from structnet.softmax_tree.estimator_base import SoftmaxTreeEstimator
from structnet.softmax_tree.members import mean_choices
from structnet.softmax_tree.probabilities import Choices
from structnet.softmax_tree.training import Trained

STATE = "training.safetensors"
# Name of a model -> its settings and its estimator.
KINDS: dict[str, tuple[type[SoftmaxTreeRunSettings], type[SoftmaxTreeEstimator]]] = {
    "softmax-tree": (SoftmaxTreeRunSettings, SoftmaxTreeClassifier),
    "adaptive-softmax-tree": (AdaptiveRunSettings, AdaptiveSoftmaxTreeClassifier),
}


def load(settings: SoftmaxTreeRunSettings, say: Say) -> ArrayData:
    """The rows of a run, whose numbers it also reports; leaves with too few classes are refused."""
    say(f"reading {settings.data} ...")
    data = load_data(settings)
    settings.training.check_classes(data.arrays.num_outputs)
    say(f"data: {data.in_words()}")
    return data


def train(settings: SoftmaxTreeRunSettings, data: ArrayData, run: Run, say: Say) -> Outcome:
    """Trains the trees, or resumes after the last iteration; trained ones stay as they are."""
    file, state_file = run.model_file, run.folder / STATE
    if file.exists():
        say("trained already")
    else:
        if state_file.exists():
            say(f"going on after iteration {len(run.history) - 1}")
        found = trained(settings, data, state_file, [run.write_history], progress=True)
        _write(found, settings, data, run)
        for state in run.folder.glob(f"{state_file.stem}*{state_file.suffix}"):
            state.unlink()
    members = _estimator_of(run).members_
    first = members[0]
    details = {
        "chosen": asdict(first.settings),
        "growth": first.growth and asdict(first.growth),
        "trials": len(first.trials),
        "accepted": sum(trial.accepted for trial in first.trials),
        "iterations": len(first.history) - 1,
        "file_bytes": file.stat().st_size,
    }
    return Outcome(sum(each.history.records[-1]["seconds"] for each in members), details)


def open(run: Run, place: Place) -> Opened:
    """The trained trees of a run, which take scaled rows."""
    trees = [member.tree for member in _estimator_of(run).members_]
    return Opened(run, run.settings(_settings_of(run), place), trees)


def read(run: Run, file: str, place: Place) -> Samples:
    """The rows of a file of the same kind as the one that the run learned from."""
    return examples_in(file, run.settings(_settings_of(run), place), run.config["data"])


def measure(model: Opened, examples: Samples, ask: Any) -> dict[str, float]:
    """The accuracy, the size and the cost of the trees."""
    found = vars(measured(model.model, examples))
    return {"accuracy": 1 - found["error"], **found}


def answer(model: Opened, texts: Sequence[str], ask: Any) -> list[Answer]:
    """The predictions for the rows of a file, or with reasons for test examples.

    Raises:
        ValueError: there is more than one file, a file and a number, or no such example.
    """
    trees: Sequence[SoftmaxTree] = model.model
    names = model.run.config["data"]["classes"]

    def predict(x: Any) -> Iterator[Answer]:
        choices = mean_choices(trees, x)
        for i, ((k,), (p,)) in enumerate(zip(*choices.top(1), strict=True)):
            yield of_class(names, k, float(p), partial(_shares, choices, i, len(names)))

    def more(x: Any, values: dict[str, Any]) -> tuple[list[str], dict[str, Any]]:
        together = f"of all {len(trees)} trees: {in_words(values)}"
        return [together] * (len(trees) > 1), {}

    return answers(model, texts, load_data, trees[0], predict, more)


def _shares(choices: Choices, row: int, classes: int) -> list[float]:
    """The probability of each class for one row."""
    (shares,) = np.exp(choices.row(row).dense(classes)).tolist()
    return shares


def pictures(run: Run, data: Any, texts: Sequence[str], place: Place | None) -> Pictures:
    """The errors over the iterations, the tree with its leaves' classes, and its decisions.

    Of several trees, those of the first.
    """
    if not len(run.history):
        return {}
    found: Pictures = {"errors.png": lambda: draw_errors(run.history)}
    if run.model_file.exists():
        first = _estimator_of(run).members_[0]
        tree, growth = first.tree, first.growth
        # Read before anything is drawn: if the data are missing, no picture is written.
        data = data or run.read_again(_settings_of(run), load_data, place)
        reading = reading_of(tree, data.describe(), data.test)
        found["tree.png"] = lambda: draw_widths(tree, growth)
        found["nodes.png"] = lambda: plot_model_tree(reading, min_share=SHOWN)
    return found


def _settings_of(run: Run) -> type[SoftmaxTreeRunSettings]:
    return KINDS[run.config["model"]][0]


def _estimator_of(run: Run) -> SoftmaxTreeEstimator:
    """The estimator in a run's folder."""
    return KINDS[run.config["model"]][1].load(run.trained_file())


def _write(
    found: list[Trained], settings: SoftmaxTreeRunSettings, data: ArrayData, run: Run
) -> None:
    """Fills a run's folder; the trees are last, as their file means that training has ended.

    They are an estimator, which takes rows as they were read; images as rows of pixels.
    """
    first, trees = found[0], [each.tree for each in found]
    text = text_of(reading_of(first.tree, data.describe(), data.test))
    run.write_text("summary.txt", f"{measured(trees, data.test)}\n\n{text}\n")
    run.write_history(first.history)
    kind: Any = KINDS[run.config["model"]][1]
    parameters = vars(settings) | vars(settings.rows) | vars(settings.training)
    parameters |= vars(settings.growth_told or settings)
    model = data.estimator(kind, parameters, settings.training.seed, found)
    scale = data.arrays.x_scale
    if scale is not None and scale.mean.ndim > 1:
        shape = data.arrays.x_train.shape[1:]
        each = (np.broadcast_to(part, shape).ravel() for part in (scale.mean, scale.sd))
        scale = Standardizer(*each)
    model.input_scale_ = scale
    model.save(run.model_file)
