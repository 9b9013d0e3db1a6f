"""What lies in the folder of a neural tree's run, and what is said while it is filled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from tqdm.auto import tqdm

from structnet.neural_tree import (
    Categorical,
    NeuralTree,
    Primitives,
    SquaredError,
    Trained,
    presets,
)
from structnet.recipes.arrays import ArrayData, load_data
from structnet.recipes.neural_tree_settings import FOR_IMAGES, Modules, NeuralTreeRunSettings
from structnet.recipes.recipe import Place, Say
from structnet.recipes.run import Run
from structnet.recipes.words import counted, percent
from structnet.training import load_model

Described = Mapping[str, Any]  # data as config.json describes them
GROWN = "growth.safetensors"


@dataclass(frozen=True)
class Opened:
    """A trained tree, with what it takes to ask it something."""

    run: Run
    tree: NeuralTree
    place: Place
    data: Described


def root_of(
    settings: NeuralTreeRunSettings, data: Described, structure: Mapping[str, Any] | None = None
) -> NeuralTree:
    """An untrained tree, its weights drawn by the run's seed.

    Args:
        settings: settings of the run.
        data: description of them, as in ``config.json``.
        structure: structure of a tree that has grown, as ``NeuralTree.config`` gives it; the root
            alone otherwise.

    Raises:
        ValueError: the modules are for images, and the data are rows.
    """
    primitives = settings.modules.primitives
    if primitives in FOR_IMAGES and len(data["shape"]) != 3:
        raise ValueError(
            f"{primitives} is for images; {data['name']} has rows of {data['shape'][0]} numbers "
            "(try --primitives mlp)"
        )
    likelihood = SquaredError() if data["classes"] is None else Categorical()
    makers = primitives_of(settings.modules, likelihood.num_outputs(data["num_outputs"]))
    with torch.random.fork_rng([]):
        torch.manual_seed(settings.training.seed)
        if structure is not None:
            return NeuralTree.from_config(structure, makers, likelihood)
        return NeuralTree(makers, data["shape"], likelihood)


def primitives_of(modules: Modules, num_outputs: int) -> Primitives:
    """The functions that make the modules of a tree."""
    makers = {
        **presets.PRESETS,
        "mlp": presets.mlp,
        "conv": partial(presets.conv, kernel=3, padding=1),
    }
    width = {} if modules.width is None else {"width": modules.width}
    return makers[modules.primitives](num_outputs, **width).without(
        routers=not modules.routers, transformers=not modules.transformers
    )


def trained_tree(run: Run) -> NeuralTree:
    """The tree in the end, on the CPU.

    Raises:
        CheckpointError: there is none yet, or its file is damaged.
    """
    return _tree(run, "model.safetensors")


def grown_tree(run: Run) -> NeuralTree:
    """The tree before its refinement, as far as it has grown.

    Raises:
        CheckpointError: there is none yet, or its file is damaged.
    """
    return _tree(run, GROWN)


def _tree(run: Run, name: str) -> NeuralTree:
    settings, data = run.settings(NeuralTreeRunSettings), run.config["data"]
    return run.load_model(lambda content: root_of(settings, data, content["tree"]), name)


def decisions_of(run: Run) -> list[dict[str, Any]]:
    """What was decided so far, as :class:`structnet.neural_tree.Decision` has it."""
    file = run.folder / GROWN
    return load_model(file)[1]["decisions"] if file.exists() else []


def own_data(run: Run, place: Place) -> ArrayData:
    """The data of a run, read once more.

    Raises:
        CheckpointError: they are not the same.
    """
    data = load_data(run.settings(NeuralTreeRunSettings, place))
    run.check_same_data(data.describe())
    return data


def tell(found: Trained, refine_epochs: int, say: Say) -> None:
    """Says a line on a decision or an epoch, clear of the bar, which is drawn anew below it."""
    with tqdm.external_write_mode():
        if found.refinement:
            if len(found.refinement) == 1:
                say(f"refining all modules together, {refine_epochs} epochs")
            say(epoch_in_words(found.refinement[-1], refine_epochs))
        else:
            say(decision_in_words(found.decisions[-1], len(found.undecided)))


def decision_in_words(decision: Any, waiting: int) -> str:
    """One decision as a line."""
    tried = ", ".join(f"{kind} {loss:.4f}" for kind, loss in decision.candidates.items())
    taken = f"{tried or 'nothing to try'} -> {decision.action}"
    if decision.action == "root":
        taken = "trained the root"
    leaves = counted(decision.leaves, "leaf", "leaves")
    return (
        f"decision {decision.number}, node {decision.node}: {taken}; validation loss "
        f"{decision.loss:.4f}, {leaves} ({waiting} to decide), {decision.parameters:,} parameters, "
        f"{decision.seconds:.1f} s"
    )


def epoch_in_words(record: Mapping[str, Any], epochs: int) -> str:
    """One epoch of the refinement as a line."""
    right = record.get("validation_accuracy")
    return (
        f"refinement {record['epoch']:>{len(str(epochs))}}/{epochs}  loss {record['loss']:.4f}  "
        f"validation loss {record['validation_loss']:.4f}  "
        + ("" if right is None else f"accuracy {percent(right, 2)}  ")
        + f"{record['seconds']:.1f} s"
    )


def details_of(size: Any, trained: Trained) -> dict[str, Any]:
    """What the result says of a tree's size and its training."""
    best = trained.refinement.best  # None if no epoch was better than the tree as it had grown
    return {
        "leaves": size.leaves,
        "depth": size.depth,
        "parameters": size.parameters,
        "path_parameters": round(size.visited_parameters),
        "flops": size.flops,
        "path_flops": round(size.visited_flops),
        "decisions": len(trained.decisions),
        "growth_epochs": len(trained.growth),
        "refine_epochs": len(trained.refinement),
        "best_refine_epoch": best and best["epoch"],
        "growth_seconds": round(sum(decision.seconds for decision in trained.decisions), 1),
        "refine_seconds": round(sum(record["seconds"] for record in trained.refinement), 1),
    }
