"""``structnet evaluate`` of a neural tree."""

from __future__ import annotations

import argparse
import json

import torch

from structnet.cli.neural_tree.data import Data, load_data
from structnet.cli.neural_tree.measure import errors, unit
from structnet.cli.neural_tree.rows import labelled
from structnet.cli.neural_tree.run import TreeRun
from structnet.cli.run import check_same_data
from structnet.cli.settings import PLACES
from structnet.neural_tree.tree import PATHS
from structnet.training.processes import own_device


def run(args: argparse.Namespace) -> None:
    """Measures a trained tree on its test data, or on a file, and prints the outcome as JSON."""
    given, folder = vars(args), TreeRun(args.run)
    torch.set_num_threads(given.get("threads", 1))
    described, file = folder.config["data"], given.get("data")
    samples = own_data(folder, given).test if file is None else labelled(file, folder)
    tree = folder.tree().to(own_device(given.get("device", "cpu")))
    paths = [given["path"]] if "path" in given else PATHS
    found = errors(tree, samples, described, paths, args.batch_size)
    for path, error in found.items():
        print(f"{path}: {error:.4g} {unit(described)}")
    result = {
        "run": str(folder),
        "data": file or "test",
        "size": len(samples),
        "unit": unit(described),
        "test_error": found,
    }
    print(json.dumps(result, ensure_ascii=False))


def own_data(run: TreeRun, given: dict) -> Data:
    """The data of a run, read once more.

    Raises:
        CheckpointError: they are not the same.
    """
    data = load_data({**run.config["settings"], **{n: given[n] for n in PLACES if n in given}})
    check_same_data(run, data.describe())
    return data
