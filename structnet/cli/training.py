"""One training from the first step to ``result.json``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from torch import nn
from tqdm.auto import tqdm

from structnet.cli.measure import measure
from structnet.cli.models import build_model, first_weights, optimization
from structnet.cli.pictures import (
    choose_example,
    draw_by_operators,
    draw_history,
    draw_tree,
    optional,
)
from structnet.cli.run import Run, Trained, check_same_data
from structnet.cli.settings import Settings
from structnet.cli.tasks import TASKS, Task, TaskData
from structnet.cli.words import percent
from structnet.tensor_tree import count_aggregation
from structnet.training.checkpoint import CheckpointError
from structnet.training.fitting import fit
from structnet.training.history import History
from structnet.training.loop import steps_per_epoch
from structnet.training.metrics import accuracy
from structnet.training.processes import own_device, process_rank

Config = dict[str, Any]
Say = Callable[[str], None]


def prepared_data(settings: Settings, say: Say) -> TaskData:
    """The data of a run, with a word on what they are.

    Raises:
        ValueError: the settings exclude each other; nothing has been read or generated then.
    """
    task = TASKS[settings["task"]]
    build_model(_config(settings, task))
    own_device(settings["device"])
    say(f"reading or generating the data of {task.name} ...")
    data = task.load(settings)
    sizes = f"{len(data.train):,} to train on, {len(data.validation):,} for validation"
    say(f"data: {data.origin} {task.unit}, {sizes}, {len(data.test):,} to test")
    if data.origin == "generated" and task.published_wanted(settings):
        say(f"(the published files are not at hand: structnet data {task.name} downloads them)")
    return data


def train_run(
    run: Run, settings: Settings, data: TaskData, say: Say, resume: bool = False
) -> dict[str, Any]:
    """Trains, tests and draws one run, and writes all of its folder.

    Args:
        run: the folder.
        settings: all of them.
        data: as ``prepared_data`` gives them for these settings.
        say: what to do with a line for the user.
        resume: continue what is in the folder.

    Returns:
        The result. Under ``torchrun`` only the first process has one; it is empty in the others.

    Raises:
        CheckpointError: the run in the folder was trained on other data.
        KeyboardInterrupt: the training was interrupted; it says how to continue.
    """
    torch.set_num_threads(settings["threads"])
    config = _config(settings, TASKS[settings["task"]]) | {"data": data.describe()}
    model = first_weights(config)
    device = own_device(settings["device"])
    first = process_rank()[0] == 0
    if resume:
        _check_data(run, config)
    if first:
        run.write("config.json", config)
    say(_describe(model, settings))
    try:
        history = _fit(run, model, data, config, say, resume)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"continue with: structnet train --resume {run}") from None
    if not first:
        return {}
    run.save_model(model, config)
    return _finish(run, data, history, device, say)


def _config(settings: Settings, task: Task) -> Config:
    return {
        "settings": settings,
        "vocabulary": task.vocabulary().to_dict(),
        "classes": list(task.classes),
    }


def _check_data(run: Run, config: Config) -> None:
    started = run.config
    check_same_data(run, config["data"])
    for part in ("vocabulary", "classes"):
        if started[part] != config[part]:
            raise CheckpointError(
                f"{run} was trained with the {part} {started[part]}; got {config[part]}"
            )


def _fit(
    run: Run,
    model: nn.Module,
    data: TaskData,
    config: Config,
    say: Say,
    resume: bool,
) -> History:
    settings = config["settings"]
    vocabulary = TASKS[settings["task"]].vocabulary()
    batch_size, epochs = settings["batch_size"], settings["epochs"]
    steps = epochs * steps_per_epoch(len(data.train), batch_size)
    return fit(
        model,
        data.train.encoded(vocabulary),
        data.validation.encoded(vocabulary),
        epochs=epochs,
        batch_size=batch_size,
        patience=settings["patience"],
        monitor="accuracy",
        metrics={"accuracy": accuracy},
        seed=settings["seed"],
        device=settings["device"],
        checkpoint=run.folder,
        resume=resume,
        callbacks=[partial(_tell_epoch, epochs=epochs, say=say)],
        **optimization(settings, steps),
    )


def _tell_epoch(model: nn.Module, history: History, *, epochs: int, say: Say) -> None:
    record = history[-1]
    # Clear of the bar, which is drawn anew below the line.
    with tqdm.external_write_mode():
        say(
            f"epoch {record['epoch']:>{len(str(epochs))}}/{epochs}  loss {record['loss']:.4f}  "
            f"validation loss {record['validation_loss']:.4f}  "
            f"accuracy {percent(record['validation_accuracy'], 2)}  {record['seconds']:.1f} s"
        )


def _describe(model: nn.Module, settings: Settings) -> str:
    rank = "" if settings["rank"] is None else f" and rank {settings['rank']}"
    number = sum(parameter.numel() for parameter in model.parameters())
    return (
        f"model: Tree-LSTM, {settings['aggregator']} of hidden size {settings['hidden_size']}"
        f"{rank}, {number:,} parameters"
    )


def aggregation_size(settings: Mapping[str, Any]) -> int:
    """The parameters of one aggregation, as the paper counts them."""
    arity = TASKS[settings["task"]].vocabulary().arity
    return count_aggregation(
        settings["aggregator"], settings["hidden_size"], arity, settings["rank"]
    )


def _finish(
    run: Run, data: TaskData, history: History, device: torch.device, say: Say
) -> dict[str, Any]:
    """The test, the pictures and ``result.json``."""
    say("testing ...")
    trained = Trained(run, device)
    settings = trained.settings
    tested = measure(trained, data.test)
    example = choose_example(data.test)
    result = {
        "task": trained.task.name,
        **{f"test_{name}": value for name, value in tested.items()},
        "validation_accuracy": history.best["validation_accuracy"],
        "aggregator": settings["aggregator"],
        "parameters": sum(parameter.numel() for parameter in trained.model.parameters()),
        "aggregation_parameters": aggregation_size(settings),
        "best_epoch": history.best["epoch"],
        "epochs": len(history),
        "data": data.origin,
        **{f"{name}_size": len(getattr(data, name)) for name in ("train", "validation", "test")},
        "seed": settings["seed"],
        "seconds": round(sum(history["seconds"]), 1),  # of all its parts, if it was resumed
        "example": trained.task.write(example),
        "run": str(run),
    }
    with optional("history.png", run):
        draw_history(run, run.folder)
    with optional("tree.png", run):
        draw_tree(trained, example, run.folder)
    if trained.task.grouped:
        with optional("by_operators.png", run):
            draw_by_operators({settings["aggregator"]: tested["accuracy_by_operators"]}, run.folder)
    run.write("result.json", result)
    return result
