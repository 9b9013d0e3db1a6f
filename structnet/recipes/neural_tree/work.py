"""The work of the commands on a run of a neural tree."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import Any

from structnet import plot
from structnet.neural_tree import Decision
from structnet.neural_tree import train as grown_and_refined
from structnet.recipes.arrays import ArrayData
from structnet.recipes.neural_tree import runs
from structnet.recipes.neural_tree.answers import answer, measured
from structnet.recipes.neural_tree.data import load_data
from structnet.recipes.neural_tree.settings import AskOfTree, NeuralTreeRunSettings
from structnet.recipes.recipe import Outcome, Pictures, Place, Say
from structnet.recipes.row_runs import SHOWN, Opened, reading_of
from structnet.recipes.rows import examples_in
from structnet.recipes.run import MODEL, Run
from structnet.recipes.words import counted
from structnet.routing import Reading, Samples
from structnet.routing.report import summary, text_of
from structnet.routing.visits import passing
from structnet.training import evaluate
from structnet.training.processes import own_device

__all__ = ["answer", "load", "measure", "open", "pictures", "read", "train"]


def load(settings: NeuralTreeRunSettings, say: Say) -> ArrayData:
    """The rows or images of a run, which it also reports; modules that do not fit are refused."""
    say(f"reading {settings.data} ...")
    data = load_data(settings)
    say(f"data: {data.in_words()}")
    runs.root_of(settings, data.describe())
    return data


def train(settings: NeuralTreeRunSettings, data: ArrayData, run: Run, say: Say) -> Outcome:
    """Grows, refines and prunes a tree, or resumes from the state in the folder."""
    described, device = data.describe(), own_device(settings.place.device)
    epochs: Any = settings.training.refine_epochs  # resolved: not None
    say(
        "going on from what has grown"
        if (run.folder / runs.GROWN).exists()
        else "growing: first the root is trained, then each leaf is split, deepened or kept; "
        f"then the whole tree is refined, {counted(epochs, 'epoch')}"
    )
    trained = grown_and_refined(
        runs.root_of(settings, described),
        runs.training_of(settings, data),
        data.train,
        data.validation,
        data.everything() if settings.rows.finish else None,
        device=device,
        folder=run.folder,
        callbacks=[lambda found: run.write_history(found.history)],
        progress=True,
    )
    run.write_history(trained.history)
    tree, grown = trained.tree, runs.tree_of(run, runs.GROWN).to(device)
    if settings.training.prune is not None:
        before = counted(grown.num_leaves, "leaf", "leaves")
        say(f"pruning: {tree.num_leaves:,} of {before} stay")
    runs.save(settings, data, trained, run)
    size = summary(tree, data.test)
    run.write_text("summary.txt", f"{size}\n\n{text_of(reading_of(tree, described, data.test))}\n")
    details = {
        "primitives": settings.modules.primitives,
        "validation_loss": evaluate(tree, data.validation)["loss"],
        "before_refinement": {
            "test": measured(grown, data.test, described),
            "validation_loss": evaluate(grown, data.validation)["loss"],
            "decided": passing(grown, data.test)[1],
        },
        **runs.details_of(size, trained),
    }
    return Outcome(details["growth_seconds"] + details["refine_seconds"], details)


def open(run: Run, place: Place) -> Opened:
    """The trained tree of a run."""
    tree = runs.tree_of(run).to(own_device(place.device))
    return Opened(run, run.settings(NeuralTreeRunSettings, place), tree)


def read(run: Run, file: str, place: Place) -> Samples:
    """The rows of a table of the same kind as the one that the run learned from."""
    return examples_in(file, run.settings(NeuralTreeRunSettings, place), run.config["data"])


def measure(model: Opened, examples: Samples, ask: AskOfTree) -> dict[str, float]:
    """The accuracy, or the squared error and R2, of the ways through the tree."""
    paths = None if ask.path is None else (ask.path,)
    return measured(model.model, examples, model.run.config["data"], paths)


def pictures(run: Run, data: Any, texts: Sequence[str], place: Place | None) -> Pictures:
    """The growth and the refinement of the tree, its leaves, and its regions in a plane."""
    if not len(run.history):
        return {}
    if data is None:
        load = partial(load_data, known=run.config["data"])
        data = run.read_again(NeuralTreeRunSettings, load, place)
    decisions = [Decision(**each) for each in runs.decisions_of(run)]

    def read_as(file: str) -> Reading:
        return reading_of(runs.tree_of(run, file), data.describe(), data.test)

    grown = cache(partial(read_as, runs.GROWN))  # for two pictures
    found = {
        "growth.png": lambda: plot.plot_growth(run.history, decisions)[0],
        "tree_grown.png": lambda: plot.plot_model_tree(grown(), min_share=SHOWN),
    }
    if not run.model_file.exists():
        return found
    reading = read_as(MODEL)
    found["tree.png"] = lambda: plot.plot_model_tree(reading, min_share=SHOWN)
    if "refine" in run.history["phase"]:
        found["refinement.png"] = lambda: plot.plot_refinement(
            grown(), reading, reading.samples, min_share=SHOWN
        )[0]
    if len(reading.tree.shape) == 3:
        found["leaves.png"] = lambda: plot.plot_leaf_means(reading, reading.samples)
    if reading.class_names is not None:
        found["classes.png"] = lambda: plot.plot_leaf_classes(reading, reading.samples)
    if tuple(reading.tree.shape) == (2,) and (reading.class_names or data.arrays.num_outputs == 1):
        found["partition.png"] = lambda: plot.plot_partition(reading, reading.samples)
    return found
