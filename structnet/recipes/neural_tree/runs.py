"""The trees in the folder of a neural tree's run, and the facts for its result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from structnet.neural_tree import (
    Categorical,
    NeuralTree,
    NeuralTreeClassifier,
    NeuralTreeRegressor,
    SquaredError,
    Trained,
    presets,
)
from structnet.neural_tree.member import Form, Member
from structnet.neural_tree.settings import NeuralTreeSettings
from structnet.recipes.arrays import ArrayData
from structnet.recipes.neural_tree.settings import FOR_IMAGES, SOME_HAVE, NeuralTreeRunSettings
from structnet.recipes.row_runs import Described
from structnet.recipes.run import MODEL, Run
from structnet.routing.report import Summary
from structnet.training import load_model
from structnet.training.seeding import seeded

GROWN = "growth.safetensors"
MAKERS = {**presets.NAMED, "conv": partial(presets.conv, kernel=3, padding=1)}


def root_of(
    settings: NeuralTreeRunSettings,
    data: Described,
    structure: Mapping[str, Any] | None = None,
    tensors: Sequence[str] | None = None,
) -> NeuralTree:
    """An untrained tree, its weights drawn with the run's seed.

    Args:
        settings: settings of the run.
        data: description of the data, as in ``config.json``.
        structure: structure of a grown tree, as returned by ``NeuralTree.config``; None for the
            root alone.
        tensors: names of its weights in a file, which are at least as many as its transformers;
            None if it is not from a file.

    Raises:
        ValueError: the modules are for images, and the data are rows.
    """
    modules: Any = settings.modules  # resolved: the primitives are not None
    if modules.primitives in FOR_IMAGES and len(data["shape"]) != 3:
        raise ValueError(
            f"{modules.primitives} is for images; {data['name']} has rows of {data['shape'][0]} "
            "numbers (try --primitives mlp)"
        )
    likelihood = SquaredError() if data["classes"] is None else Categorical()
    primitives = _make(settings)(data["num_outputs"]).without(
        routers=not modules.routers, transformers=not modules.transformers
    )
    with seeded(settings.training.seed):
        if structure is not None:
            # Each transformer has at least one tensor, so there are no more of them than tensors.
            most = None if tensors is None else len(tensors)
            return NeuralTree.from_config(dict(structure), primitives, likelihood, most)
        return NeuralTree(primitives, data["shape"], likelihood)


def training_of(settings: NeuralTreeRunSettings, data: ArrayData) -> NeuralTreeSettings:
    """The settings of the training, with the penalty that was chosen with the columns, if any."""
    given = settings.training.to_library()
    return replace(given, strength=given.strength or data.strength)


def _make(settings: NeuralTreeRunSettings) -> Any:
    """The preset of a run, a function from the number of outputs to primitives."""
    modules: Any = settings.modules  # resolved: the primitives are not None
    given = {name: getattr(modules, name) for name in SOME_HAVE if getattr(modules, name)}
    make: Any = MAKERS[modules.primitives]
    return partial(make, **given)


def tree_of(run: Run, file: str = MODEL) -> NeuralTree:
    """The final tree, or that in ``GROWN``, the tree as grown so far, before refinement.

    Raises:
        CheckpointError: there is no tree yet, or its file is damaged.
    """
    settings, data = run.settings(NeuralTreeRunSettings), run.config["data"]
    if file == MODEL:
        kind = NeuralTreeRegressor if data["classes"] is None else NeuralTreeClassifier
        return kind.load(run.trained_file()).tree_.eval()
    return run.load_model(
        lambda content: root_of(settings, data, content["tree"], content["tensors"]), file
    )


def save(settings: NeuralTreeRunSettings, data: ArrayData, trained: Trained, run: Run) -> None:
    """Writes the tree as an estimator, which takes rows and images as they were read."""
    arrays = data.arrays
    kind: Any = NeuralTreeRegressor if arrays.classes is None else NeuralTreeClassifier
    parameters = vars(settings.training.to_library()) | {
        "primitives": _make(settings),
        "routers": settings.modules.routers,
        "transformers": settings.modules.transformers,
        "validation_fraction": settings.rows.validation_fraction,
        "select_columns": settings.rows.select_columns,
    }
    form = Form(data.columns, data.x_scale, arrays.y_scale)
    member = Member(**vars(trained), **form._asdict())
    model = data.estimator(kind, parameters, settings.training.seed, [member])
    model.settings_ = training_of(settings, data)
    model.save(run.model_file)


def decisions_of(run: Run) -> list[dict[str, Any]]:
    """The decisions so far, each with the fields of :class:`structnet.neural_tree.Decision`."""
    file = run.folder / GROWN
    return load_model(file)[1]["decisions"] if file.exists() else []


def details_of(size: Summary, trained: Trained) -> dict[str, Any]:
    """The details in the result on a tree's size and its training."""
    assert size.visited_parameters is not None and size.visited_flops is not None  # of samples
    best = trained.refinement.best  # None if no epoch improved on the grown tree
    # The last epochs, on all examples, count as refinement.
    later = [each for each in trained.history if each["phase"] in ("refine", "finish")]
    return {
        **{name: getattr(size, name) for name in ("leaves", "depth", "parameters", "flops")},
        "path_parameters": round(size.visited_parameters),
        "path_flops": round(size.visited_flops),
        "decided": size.decided,
        "temperatures": list(trained.tree.temperatures),
        "decisions": len(trained.decisions),
        "growth_epochs": len(trained.growth),
        "refine_epochs": len(later),
        "best_refine_epoch": best and best["epoch"],
        "growth_seconds": round(sum(decision.seconds for decision in trained.decisions), 1),
        "refine_seconds": round(sum(record["seconds"] for record in later), 1),
    }
