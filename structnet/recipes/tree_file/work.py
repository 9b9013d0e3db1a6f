"""The work of the commands on a run of the user's own trees."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from structnet.datasets import TreeFile
from structnet.recipes.recipe import Outcome, Pictures, Place, Say
from structnet.recipes.run import Run
from structnet.recipes.tree_file.answers import Opened, answer, description_of, estimator, trees_of
from structnet.recipes.tree_file.data import TreeFileData, known_part, load_data, read_like
from structnet.recipes.tree_file.measures import (
    left_out,
    mistakes,
    of_classes,
    of_nodes,
    of_numbers,
)
from structnet.recipes.tree_file.pictures import (
    as_nodes,
    draw_confusion,
    draw_example,
    draw_reasons,
    from_nodes,
)
from structnet.recipes.tree_file.settings import TreeFileSettings
from structnet.training.modules import count_parameters

__all__ = ["answer", "load", "measure", "open", "pictures", "read", "train"]

EXPLAINED = 1000  # nodes of a tree up to which a node's class is explained, in seconds


def load(settings: TreeFileSettings, say: Say) -> TreeFileData:
    """The trees of a run; it also reports what was guessed and left out."""
    say(f"reading {settings.data} ...")
    return load_data(settings, say)


def train(settings: TreeFileSettings, data: TreeFileData, run: Run, say: Say) -> Outcome:
    """Trains a model from the beginning, or resumes from the state in the folder."""
    chosen = dict(vars(settings.training))
    chosen |= {"random_state": chosen.pop("seed"), "device": settings.place.device}
    model = estimator(data.train.task)(**chosen, folder=run.folder, verbose=True)
    held_out = known_part(data.validation, data.classes)
    groups = data.train.groups if data.group else None
    validation = {"X_val": held_out.trees, "y_val": held_out.targets, "groups": groups}
    model.fit(data.train.trees, data.train.targets, **validation)
    model.save(run.model_file)
    details = {
        "chosen": dict(vars(model.settings_)),
        "parameters": count_parameters(model.model_),
        "epochs": len(model.history_),
        "best_epoch": model.history_.best["epoch"],
    }
    run.write("example.json", as_nodes(data.test))
    return Outcome(sum(model.history_["seconds"]), details)


def open(run: Run, place: Place) -> Opened:
    """The trained estimator of a run."""
    data = description_of(run)
    model = estimator(data["task"]).load(run.trained_file())
    model.set_params(device=place.device).model_.to(place.device)
    return Opened(model, data)


def read(run: Run, file: str, place: Place) -> TreeFile:
    """The trees of a file of the same kind as the one that the run learned from."""
    return read_like(description_of(run), file)


def measure(model: Opened, examples: TreeFile, ask: Any) -> dict[str, Any]:
    """The accuracy, macro F1 and confusion matrix over all examples; or the errors of numbers."""
    predicted, true = model.estimator.predict(examples.trees), examples.targets or []
    baseline, missed = model.data["baseline"], left_out(examples, model.data["classes"])
    if examples.task == "regression":
        return of_numbers(true, predicted, baseline) | missed
    if examples.task == "nodes":
        return of_nodes(true, predicted, baseline) | missed
    names = list(map(str, predicted))
    wrong = mistakes(examples.places, true, names)
    return of_classes(true, names, baseline) | wrong | missed


def pictures(run: Run, data: Any, texts: Sequence[str], place: Place | None) -> Pictures:
    """``history.png``, ``confusion.png``, ``tree.png`` and ``why.png``, as far as they exist."""
    drawn = run.history_picture()
    confusion = (run.result or {}).get("test", {}).get("confusion")
    if confusion:
        drawn["confusion.png"] = partial(draw_confusion, confusion)
    example: Any = run.read("example.json")
    if texts or example:
        model = open(run, place or Place())
        shown = trees_of(model.data, texts) if texts else from_nodes(model.data, example)
        drawn["tree.png"] = partial(draw_example, model, shown)
        first: Any = shown.trees[0]
        if model.data["task"] != "nodes" or first.size <= EXPLAINED:
            drawn["why.png"] = partial(draw_reasons, model, shown)
    return drawn
