"""``structnet evaluate``."""

from __future__ import annotations

import argparse
import json

import torch

from structnet.cli.measure import measure
from structnet.cli.run import Run, Trained, check_same_data
from structnet.cli.settings import PLACES
from structnet.cli.tasks import Labelled
from structnet.cli.words import percent
from structnet.training.processes import own_device


def run(args: argparse.Namespace) -> None:
    """Measures a trained model and prints what came out as JSON."""
    trained = opened(args)
    given = vars(args)
    refuse_path(args, trained)
    file = given.get("data")
    data = own_test_data(trained, given) if file is None else trained.task.read(file)
    result = {
        "task": trained.task.name,
        "run": str(trained.run),
        "data": file or "test",
        "size": len(data),
        **measure(trained, data, args.batch_size),
    }
    right = percent(result["accuracy"], 2)
    print(f"{right} of {result['size']:,} {trained.task.unit} are right")
    print(json.dumps(result, ensure_ascii=False))


def opened(args: argparse.Namespace) -> Trained:
    """The model of the run that the arguments name, on their device."""
    given = vars(args)
    torch.set_num_threads(given.get("threads", 1))
    return Trained(Run(args.run), own_device(given.get("device", "cpu")))


def refuse_path(args: argparse.Namespace, trained: Trained) -> None:
    """Raise ValueError if the arguments have a path, which there is in neural trees alone."""
    if "path" in vars(args):
        raise ValueError(f"--path is for neural trees; {trained.run} is none")


def own_test_data(trained: Trained, given: dict) -> Labelled:
    """The test data of a run, read or generated once more.

    Raises:
        CheckpointError: they are not the same.
    """
    places = {name: given[name] for name in PLACES if name in given}
    data = trained.task.load({**trained.settings, **places})
    check_same_data(trained.run, data.describe())
    return data.test
