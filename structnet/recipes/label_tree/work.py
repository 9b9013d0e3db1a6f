"""The work of the commands on a run of a label tree."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from structnet.datasets import read_fasttext
from structnet.datasets.catalogue import LABELLED
from structnet.label_tree import Examples, Features
from structnet.recipes.label_tree import runs
from structnet.recipes.label_tree.data import (
    LabelData,
    examples_of,
    features_of,
    lines_of,
    load_data,
    wanted_labels,
)
from structnet.recipes.label_tree.pictures import plot_label_tree, plot_rebuilds
from structnet.recipes.label_tree.runs import Opened
from structnet.recipes.label_tree.runs import opened as open
from structnet.recipes.label_tree.settings import AskOfLabels, LabelTreeRunSettings
from structnet.recipes.recipe import (
    Answer,
    Outcome,
    Pictures,
    Place,
    Probabilities,
    Say,
    example_number,
    is_file,
)
from structnet.recipes.rows import examples_in, rows_in
from structnet.recipes.run import Run
from structnet.recipes.words import counted
from structnet.routing.words import percent
from structnet.training.checkpoint import load_model


def load(settings: LabelTreeRunSettings, say: Say) -> LabelData:
    """The examples of a run, whose numbers it also reports."""
    say(f"reading {settings.data} ...")
    data = load_data(settings, say)
    say(f"data: {data.in_words()}")
    return data


def train(settings: LabelTreeRunSettings, data: LabelData, run: Run, say: Say) -> Outcome:
    """Chooses the settings not given and trains, or resumes from the state in the folder."""
    start = time.perf_counter()
    training, classes = runs.trained(settings, data, run, say)
    elapsed = time.perf_counter() - start
    tree, report = training.tree, training.tree.softmax.node_report()
    run.save_model(tree, runs.content_of(data, training, classes.part_classes))
    run.write_text("tree.txt", runs.first_levels(tree, classes.names(data.labels)) + "\n")
    # Without epochs, a solution was computed.
    seconds = sum(record["seconds"] for record in training.epochs) or elapsed
    counts = tree.softmax.counts.numpy()
    details = {
        "chosen": vars(training.settings),
        "parts": int(np.bincount(classes.part_classes).max()),
        "last_rebuild": training.rebuilds[-1] if training.rebuilds else None,
        "nodes": tree.codes.num_nodes,
        "depth": int(tree.codes.depth.max()),
        "mean_depth": float(tree.codes.depth @ counts / counts.sum()),
        "objective": report.mean() if tree.codes.num_nodes > 1 else None,
    }
    return Outcome(seconds, details)


def read(run: Run, file: str, place: Place) -> Examples:
    """The examples of a file of the kind that the run learned from; unknown labels are -1.

    Raises:
        LabelledTextError, TableError: the file does not have the format.
        ValueError: the file is of another kind.
    """
    model = open(run, place)
    if model.text is not None and is_file(file, LABELLED):
        text = read_fasttext(file, model.text.words, model.labels)
        unknown = int((text.label_ids < 0).sum())
        if unknown or text.unknown_words:
            print(
                f"{file}: {counted(text.unknown_words, 'word')} that the tree does not know are "
                f"left out; {counted(unknown, 'label')} that it does not know count as missed"
            )
        return lines_of(text, model.text.from_ids(text.offsets, text.ids))
    if model.text is not None:
        raise ValueError(f"--data must be labelled text, FILE.txt, like the run's; got {file!r}")
    return examples_of(examples_in(file, model.settings, model.data))


def measure(model: Opened, examples: Examples, ask: AskOfLabels) -> dict[str, float]:
    """Accuracy, recall and precision at k, perplexity, and the nodes computed per example.

    All labels of an example count. The accuracy is the precision at 1; the recall is the share of
    all labels that are found; the perplexity is over all known labels, if there are any. k is that
    of the question, but at most the number of labels.
    """
    tree, k = model.classes, min(ask.top, model.classes.num_classes)
    _, labels, nodes = tree.top_k(examples.features, k, ask.beam, ask.threshold)
    rows, wanted = wanted_labels(examples)
    known = wanted >= 0
    right = (labels[rows] == wanted[:, None]) & known[:, None]
    log_p = tree.log_prob_of(examples.features[rows[known]], wanted[known])
    perplexity = {"perplexity": float(np.exp(-log_p.mean()))} if len(log_p) else {}
    return {
        "accuracy": float(right[:, 0].sum() / len(examples)),
        f"recall_at_{k}": float(right.any(1).mean()),
        f"precision_at_{k}": float(right.sum() / (k * len(examples))),
        **perplexity,
        "nodes_visited": nodes,
    }


def answer(model: Opened, texts: Sequence[str], ask: AskOfLabels) -> list[Answer]:
    """The likeliest labels of lines of words, of the rows of a file, or of test examples by number.

    Raises:
        TableError: the file does not have the format.
        ValueError: there is more than one file, a file and a number, or no such example.
    """
    if model.text is not None:
        features = model.text.of([text.split() for text in texts])
        return _named(model, features, [f"{text!r}" for text in texts], ask)
    rows = rows_in(texts, model.settings, model.data)
    if rows is None:
        return _of_test(model, texts, ask)
    features = features_of(rows)
    return _named(model, features, [f"row {i}" for i in range(1, len(features) + 1)], ask)


def _of_test(model: Opened, texts: Sequence[str], ask: AskOfLabels) -> list[Answer]:
    """The likeliest labels of test examples, by their numbers."""
    load = partial(load_data, say=lambda line: None)
    test = model.run.read_again(LabelTreeRunSettings, load, model.settings.place).test
    others = f"{model.settings.kinds_of_files}, or "
    rows = np.array([example_number(text, len(test), others) for text in texts])
    names = [f"test example {row}, in truth {model.labels[test.labels[row]]}" for row in rows]
    return _named(model, test.features[rows], names, ask)


def _named(
    model: Opened, features: Features, names: Sequence[str], ask: AskOfLabels
) -> list[Answer]:
    values, labels, _ = model.classes.top_k(features, ask.top, ask.beam, ask.threshold)
    known = [model.labels[k] for k in np.unique(labels[labels >= 0])]
    answers = []
    for name, row, log_p in zip(names, labels, values, strict=True):
        likely = {
            model.labels[k]: float(np.exp(p)) for k, p in zip(row, log_p, strict=True) if k >= 0
        }
        words = ", ".join(f"{label} {percent(p, 1)}" for label, p in likely.items())
        listed = f"{name}: {words or 'no label is so likely'}"
        probabilities = Probabilities(known, partial(dict, likely))
        answers.append(Answer(listed, {"labels": likely}, probabilities))
    return answers


def pictures(run: Run, *_: Any) -> Pictures:
    """The losses, the reassignments, and the first levels of the tree."""
    drawn = run.history_picture()
    if not run.model_file.exists():
        return drawn
    model, file = open(run, Place()), run.folder / runs.STATE
    rebuilds = load_model(file)[1]["state"]["rebuilds"] if file.exists() else []
    if len(rebuilds) > 1:  # one point would draw no line
        drawn["learning.png"] = lambda: plot_rebuilds(rebuilds)
    drawn["tree.png"] = lambda: plot_label_tree(
        model.classes.tree, model.classes.names(model.labels)
    )
    return drawn
