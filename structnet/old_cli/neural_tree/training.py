"""One neural tree from its root to ``result.json``: growth, refinement, test, pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn
from tqdm.auto import tqdm

from structnet.cli.neural_tree.build import build_tree, limits_of, optimizer_of
from structnet.cli.neural_tree.data import Data, check_enough, load_data
from structnet.cli.neural_tree.measure import errors, unit
from structnet.cli.neural_tree.pictures import pictures
from structnet.cli.neural_tree.run import TreeRun
from structnet.cli.neural_tree.settings import Settings
from structnet.cli.pictures import optional, save
from structnet.cli.run import check_same_data
from structnet.cli.words import counted, outputs, percent
from structnet.neural_tree import Decision, Growth, NeuralTree, prune, refine
from structnet.routing.report import export_text, summary
from structnet.training.history import History
from structnet.training.metrics import accuracy, evaluate
from structnet.training.processes import own_device

Say = Callable[[str], None]


def prepared_data(settings: Settings, say: Say) -> Data:
    """The data of a run, with a word on what they are.

    Raises:
        ValueError: the settings, the data and the modules do not go together.
    """
    own_device(settings["device"])
    say(f"reading {settings['data']} ...")
    data = load_data(settings)
    arrays = data.arrays
    predicted = outputs(arrays.num_outputs, arrays.classes is not None)
    say(
        f"data: {len(data.train):,} to train on, {len(data.validation):,} for validation, "
        f"{len(data.test):,} to test ({arrays.split}); "
        f"inputs of {' x '.join(map(str, arrays.x_train.shape[1:]))}, {predicted}"
    )
    check_enough(data)
    build_tree({"settings": settings, "data": data.describe()})
    return data


def train_run(
    run: TreeRun, settings: Settings, data: Data, say: Say, resume: bool = False
) -> dict[str, Any]:
    """Grows, refines, tests and draws one tree, and writes all of its folder.

    Args:
        run: the folder.
        settings: all of them.
        data: as ``prepared_data`` gives them for these settings.
        say: what to do with a line for the user.
        resume: continue what is in the folder.

    Returns:
        The result.

    Raises:
        CheckpointError: the run in the folder was trained on other data.
        KeyboardInterrupt: the training was interrupted; it says how to continue.
    """
    torch.set_num_threads(settings["threads"])
    config = {"settings": settings, "data": data.describe()}
    if resume:
        check_same_data(run, config["data"])
    run.write("config.json", config)
    try:
        growth = _grow(run, config, data, say)
        grown = _scores(growth.tree, data, config)
        refinement = _refine(run, growth, config, data, say)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"continue with: structnet train --resume {run}") from None
    tree = _pruned(growth.tree, settings["prune"], data, say)
    run.write_history(_records(growth, refinement))
    run.save_model(tree, {**config, "tree": tree.config()})
    say("testing ...")
    result = _result(run, tree, config, growth, refinement, data) | {"before_refinement": grown}
    _write_summary(run, tree, data)
    run.write("result.json", result)
    for name, draw in pictures(run, data).items():
        with optional(name, run):
            save(draw(), run.folder / name)
    return result


def _grow(run: TreeRun, config: Mapping[str, Any], data: Data, say: Say) -> Growth:
    settings = config["settings"]

    def tell(growth: Growth, decision: Decision) -> None:
        run.write_history(growth.history)
        say(_in_words(decision, len(growth.undecided)))

    growth = Growth(
        build_tree(config),
        data.train,
        data.validation,
        epochs=settings["epochs"],
        patience=settings["patience"],
        batch_size=settings["batch_size"],
        optimizer=optimizer_of(settings),
        limits=limits_of(settings),
        n_init=settings["n_init"],
        seed=settings["seed"],
        device=settings["device"],
        folder=run.folder,
        resume=True,
        callbacks=[tell],
        progress=True,
    )
    if growth.decisions:
        say(f"going on after decision {len(growth.decisions) - 1}")
    else:
        say("growing: first the root is trained, then each leaf is split, deepened or kept")
    growth.run()
    return growth


def _in_words(decision: Decision, waiting: int) -> str:
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


def _refine(
    run: TreeRun, growth: Growth, config: Mapping[str, Any], data: Data, say: Say
) -> History:
    settings, epochs = config["settings"], config["settings"]["refine_epochs"]
    if not epochs:
        return History()

    def tell(model: nn.Module, history: History) -> None:
        run.write_history(_records(growth, history))
        # Clear of the bar, which is drawn anew below the line.
        with tqdm.external_write_mode():
            say(_epoch_in_words(history[-1], epochs))

    say(f"refining all modules together, {epochs} epochs")
    return refine(
        growth.tree,
        data.train,
        data.validation,
        epochs=epochs,
        batch_size=settings["batch_size"],
        optimizer=optimizer_of(settings),
        seed=settings["seed"],
        device=settings["device"],
        checkpoint=run.folder / "refine",
        resume=True,
        callbacks=[tell],
        **_monitor(config["data"]),
    )


def _pruned(tree: NeuralTree, share: float | None, data: Data, say: Say) -> NeuralTree:
    if share is None:
        return tree
    pruned = prune(tree, data.train, share)
    before = counted(tree.num_leaves, "leaf", "leaves")
    say(f"pruning: {pruned.num_leaves:,} of {before} stay")
    return pruned


def _records(growth: Growth, refinement: History) -> list[dict[str, Any]]:
    """One record an epoch of all phases."""
    return [*growth.history, *({"phase": "refine", **record} for record in refinement)]


def _monitor(data: Mapping[str, Any]) -> dict[str, Any]:
    """What refinement chooses its epoch by: the paper's validation accuracy, where there is one."""
    if data["classes"] is None:
        return {}
    return {"monitor": "accuracy", "metrics": {"accuracy": accuracy}}


def _epoch_in_words(record: Mapping[str, Any], epochs: int) -> str:
    right = record.get("validation_accuracy")
    return (
        f"refinement {record['epoch']:>{len(str(epochs))}}/{epochs}  loss {record['loss']:.4f}  "
        f"validation loss {record['validation_loss']:.4f}  "
        + ("" if right is None else f"accuracy {percent(right, 2)}  ")
        + f"{record['seconds']:.1f} s"
    )


def _scores(tree: NeuralTree, data: Data, config: Mapping[str, Any]) -> dict[str, Any]:
    """The errors of a tree on the test data by path, and its validation loss."""
    device = config["settings"]["device"]
    validation = evaluate(tree, data.validation, device=device)
    return {
        "test_error": errors(tree, data.test, config["data"]),
        "validation_loss": validation["loss"],
    }


def _result(
    run: TreeRun,
    tree: NeuralTree,
    config: Mapping[str, Any],
    growth: Growth,
    refinement: History,
    data: Data,
) -> dict[str, Any]:
    settings = config["settings"]
    size = summary(tree, data.test)
    best = refinement.best  # None if no epoch was better than the tree as it had grown
    return {
        "task": settings["task"],
        "data": config["data"]["name"],
        "preset": settings["preset"],
        **_scores(tree, data, config),
        "unit": unit(config["data"]),
        "leaves": size.leaves,
        "depth": size.depth,
        "parameters": size.parameters,
        "path_parameters": round(size.visited_parameters),
        "flops": size.flops,
        "path_flops": round(size.visited_flops),
        "decisions": len(growth.decisions),
        "growth_epochs": len(growth.history),
        "refine_epochs": len(refinement),
        "best_refine_epoch": best and best["epoch"],
        **{f"{name}_size": len(getattr(data, name)) for name in ("train", "validation", "test")},
        "seed": settings["seed"],
        "growth_seconds": round(sum(decision.seconds for decision in growth.decisions), 1),
        "refine_seconds": round(sum(record["seconds"] for record in refinement), 1),
        "run": str(run),
    }


def _write_summary(run: TreeRun, tree: NeuralTree, data: Data) -> None:
    told = export_text(tree, data.test_in_units, data.arrays.classes)
    text = f"{summary(tree, data.test)}\n\n{told}\n"
    (run.folder / "summary.txt").write_text(text, encoding="utf-8")
