"""The work of the commands on a run of a softmax tree, fixed or grown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from structnet.estimators import Standardizer
from structnet.plot import plot_model_tree
from structnet.recipes.arrays import ArrayData
from structnet.recipes.recipe import (
    Answer,
    Outcome,
    Pictures,
    Place,
    Probabilities,
    Say,
    example_number,
)
from structnet.recipes.rows import examples_in, rows_in
from structnet.recipes.run import Run
from structnet.recipes.softmax_tree.comparison import trained
from structnet.recipes.softmax_tree.data import load_data
from structnet.recipes.softmax_tree.pictures import draw_errors, draw_widths
from structnet.recipes.softmax_tree.settings import (
    AdaptiveRunSettings,
    SoftmaxTreeRunSettings,
)
from structnet.recipes.words import in_words
from structnet.routing import Samples
from structnet.routing.explanation import explain
from structnet.routing.report import text_of
from structnet.routing.words import percent
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
GROWN = "adaptive-softmax-tree"
SHOWN = 0.01  # share of the samples below which a branch is folded in pictures


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
        _write(
            trained(settings, data, state_file, [run.write_history], progress=True),
            settings,
            data,
            run,
        )
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


class Opened(NamedTuple):
    """A run, its settings with the place where it is used, and its trained trees."""

    run: Run
    settings: SoftmaxTreeRunSettings
    trees: list[SoftmaxTree]


def open(run: Run, place: Place) -> Opened:
    """The trained trees of a run, which take scaled rows."""
    trees = [member.tree for member in _estimator_of(run).members_]
    return Opened(run, run.settings(_settings_of(run), place), trees)


def read(run: Run, file: str, place: Place) -> Samples:
    """The rows of a file of the same kind as the one that the run learned from.

    Raises:
        ValueError: the file is of another kind, or the run did not learn from a file.
    """
    samples = examples_in(file, run.settings(_settings_of(run), place), run.config["data"])
    x = samples.x if issparse(samples.x) else samples.x.reshape(len(samples), -1)
    return Samples(x, samples.targets)


def measure(model: Opened, examples: Samples, ask: Any) -> dict[str, float]:
    """The accuracy, the size and the cost of the trees."""
    found = vars(measured(model.trees, examples))
    return {"accuracy": 1 - found["error"], **found}


def answer(model: Opened, texts: Sequence[str], ask: Any) -> list[Answer]:
    """The predictions for the rows of a file, or with reasons for test examples.

    Raises:
        ValueError: there is more than one file, a file and a number, or no such example.
    """
    run, settings, trees = model
    names = run.config["data"]["classes"]
    rows = rows_in(texts, settings, run.config["data"])
    if rows is None:
        own = _own_data(run, settings.place)
        return [_of_example(trees, own, text, names) for text in texts]
    choices, found = mean_choices(trees, rows), []
    for i, ((k,), (p,)) in enumerate(zip(*choices.top(1), strict=True)):
        values, shares = {"class": names[k], "probability": float(p)}, _shares(choices, i, names)
        found.append(Answer(f"row {i + 1}: {in_words(values)}", values, shares))
    return found


def _shares(choices: Choices, row: int, names: Sequence[str]) -> Probabilities:
    """The probability of each class for one row."""

    def of() -> dict[str, float]:
        (shares,) = np.exp(choices.row(row).dense(len(names))).tolist()
        return dict(zip(names, shares, strict=True))

    return Probabilities(names, of)


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
        reading = (data or _own_data(run, place)).reading(tree)
        found["tree.png"] = lambda: draw_widths(tree, growth)
        found["nodes.png"] = lambda: plot_model_tree(reading, min_share=SHOWN)
    return found


def _settings_of(run: Run) -> type[SoftmaxTreeRunSettings]:
    return AdaptiveRunSettings if run.config["model"] == GROWN else SoftmaxTreeRunSettings


def _estimator_of(run: Run) -> SoftmaxTreeEstimator:
    """The estimator in a run's folder."""
    grown = run.config["model"] == GROWN
    kind = AdaptiveSoftmaxTreeClassifier if grown else SoftmaxTreeClassifier
    return kind.load(run.trained_file())


def _estimator(
    found: list[Trained], settings: SoftmaxTreeRunSettings, data: ArrayData
) -> SoftmaxTreeEstimator:
    """The trees as an estimator, which takes rows as they were read; images as rows of pixels."""
    growth = settings.growth_told
    kind: Any = SoftmaxTreeClassifier if growth is None else AdaptiveSoftmaxTreeClassifier
    parameters = vars(settings) | vars(settings.rows) | vars(settings.training)
    parameters |= vars(growth or settings)
    model = data.estimator(kind, parameters, settings.training.seed, found)
    scale = data.arrays.x_scale
    if scale is not None and scale.mean.ndim > 1:
        shape = data.arrays.x_train.shape[1:]
        each = (np.broadcast_to(part, shape).ravel() for part in (scale.mean, scale.sd))
        scale = Standardizer(*each)
    model.input_scale_ = scale
    return model


def _own_data(run: Run, place: Place | None) -> ArrayData:
    return run.read_again(_settings_of(run), load_data, place)


def _write(
    found: list[Trained], settings: SoftmaxTreeRunSettings, data: ArrayData, run: Run
) -> None:
    """Fills a run's folder; the trees are last, as their file means that training has ended."""
    first, trees = found[0], [each.tree for each in found]
    run.write_text(
        "summary.txt", f"{measured(trees, data.test)}\n\n{text_of(data.reading(first.tree))}\n"
    )
    run.write_history(first.history)
    _estimator(found, settings, data).save(run.model_file)


def _of_example(
    trees: Sequence[SoftmaxTree], own: ArrayData, text: str, names: Sequence[str]
) -> Answer:
    test = own.test
    number = example_number(text, len(test), "FILE.csv or FILE.svm, or ")
    true, x = names[int(test.targets[number])], test.x[[number]]
    explanation = explain(trees[0], test.x[number], names, **own.explain_options(number))
    choices = mean_choices(trees, x)
    (best,), (probability,) = (part[0].tolist() for part in choices.top(1))
    lines = [f"test example {text}", *str(explanation).splitlines()]
    if len(trees) > 1:
        lines.append(f"of all {len(trees)} trees: class {names[best]}, {percent(probability, 1)}")
    values = {"class": names[best], "probability": probability}
    more = {"example": number, "leaf": explanation.leaf, "true": true}
    text_shown = "\n".join([*lines, f"true: class {true}"])
    return Answer(text_shown, values | more, _shares(choices, 0, names))
