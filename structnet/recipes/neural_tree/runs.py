"""What lies in the folder of a neural tree's run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from structnet.neural_tree import Categorical, NeuralTree, SquaredError, Trained, presets
from structnet.recipes.neural_tree.settings import FOR_IMAGES, SOME_HAVE, NeuralTreeRunSettings
from structnet.recipes.recipe import Place
from structnet.recipes.run import MODEL, Run
from structnet.routing.report import Summary
from structnet.training import load_model

Described = Mapping[str, Any]  # data as config.json describes them
GROWN = "growth.safetensors"
MAKERS = {**presets.NAMED, "conv": partial(presets.conv, kernel=3, padding=1)}


@dataclass(frozen=True)
class Opened:
    """A trained tree, with what it takes to ask it something."""

    run: Run
    tree: NeuralTree
    place: Place
    data: Described


def root_of(
    settings: NeuralTreeRunSettings,
    data: Described,
    structure: Mapping[str, Any] | None = None,
    most: int | None = None,
) -> NeuralTree:
    """An untrained tree, its weights drawn by the run's seed.

    Args:
        settings: settings of the run.
        data: description of them, as in ``config.json``.
        structure: structure of a tree that has grown, as ``NeuralTree.config`` gives it; the root
            alone otherwise.
        most: the most transformers that it may have; None for any.

    Raises:
        ValueError: the modules are for images, and the data are rows.
    """
    modules: Any = settings.modules  # resolved
    if modules.primitives in FOR_IMAGES and len(data["shape"]) != 3:
        raise ValueError(
            f"{modules.primitives} is for images; {data['name']} has rows of {data['shape'][0]} "
            "numbers (try --primitives mlp)"
        )
    likelihood = SquaredError() if data["classes"] is None else Categorical()
    make: Any = MAKERS[modules.primitives]
    given = {name: getattr(modules, name) for name in SOME_HAVE if getattr(modules, name)}
    primitives = make(data["num_outputs"], **given).without(
        routers=not modules.routers, transformers=not modules.transformers
    )
    with torch.random.fork_rng([]):
        torch.manual_seed(settings.training.seed)
        if structure is not None:
            return NeuralTree.from_config(dict(structure), primitives, likelihood, most)
        return NeuralTree(primitives, data["shape"], likelihood)


def tree_of(run: Run, file: str = MODEL) -> NeuralTree:
    """The tree in the end, or in ``GROWN``: as far as it has grown, before its refinement.

    Raises:
        CheckpointError: there is none yet, or its file is damaged.
    """
    settings, data = run.settings(NeuralTreeRunSettings), run.config["data"]
    # A transformer of these has at least one tensor of its own.
    return run.load_model(
        lambda content: root_of(settings, data, content["tree"], content["tensors"]), file
    )


def decisions_of(run: Run) -> list[dict[str, Any]]:
    """What was decided so far, as :class:`structnet.neural_tree.Decision` has it."""
    file = run.folder / GROWN
    return load_model(file)[1]["decisions"] if file.exists() else []


def details_of(size: Summary, trained: Trained) -> dict[str, Any]:
    """What the result says of a tree's size and its training."""
    assert size.visited_parameters is not None and size.visited_flops is not None  # of samples
    best = trained.refinement.best  # None if no epoch was better than the tree as it had grown
    # What is learnt last from all examples counts to the refinement, epochs as seconds.
    later = [each for each in trained.history if each["phase"] in ("refine", "finish")]
    return {
        **{name: getattr(size, name) for name in ("leaves", "depth", "parameters", "flops")},
        "path_parameters": round(size.visited_parameters),
        "path_flops": round(size.visited_flops),
        "decided": size.decided,
        "decisions": len(trained.decisions),
        "growth_epochs": len(trained.growth),
        "refine_epochs": len(later),
        "best_refine_epoch": best and best["epoch"],
        "growth_seconds": round(sum(decision.seconds for decision in trained.decisions), 1),
        "refine_seconds": round(sum(record["seconds"] for record in later), 1),
    }
