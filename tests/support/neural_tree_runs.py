"""Runs of neural trees at tiny sizes, and what lies in their folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from commands import SMALL

from structnet.neural_tree import NeuralTree
from structnet.recipes.arrays import ArrayData
from structnet.recipes.neural_tree.data import load_data
from structnet.recipes.neural_tree.runs import GROWN, tree_of
from structnet.recipes.neural_tree.settings import NeuralTreeRunSettings
from structnet.recipes.recipe import settings_from
from structnet.recipes.run import Run

SIZES = ["--train-size", "200", "--test-size", "60"]
DIGITS = ["train", "neural-tree", "--data", "digits", *SIZES, *SMALL, "--width", "4"]
DIGITS += ["--max-leaves", "3", "--no-transformers"]
DIGITS += ["--gain-errors", "0", "--min-gain", "0", "--learning-rate", "1e-3"]  # few are noise


def settings_of(**values: Any) -> NeuralTreeRunSettings:
    """All settings of a run, by their names."""
    return settings_from(NeuralTreeRunSettings, values).resolved()


def of_run(folder: Path) -> ArrayData:
    """The data of a run."""
    return load_data(Run(folder).settings(NeuralTreeRunSettings))


def trained(folder: Path) -> NeuralTree:
    """The tree of a run."""
    return tree_of(Run(folder))


def grown(folder: Path) -> NeuralTree:
    """The tree of a run before its refinement."""
    return tree_of(Run(folder), GROWN)


def mnist(folder: Path) -> Path:
    """A file of MNIST's form: each digit a bar at a place of its own, some pixels wrong."""
    rng, arrays = np.random.default_rng(0), {}
    for part, size in (("train", 60_000), ("test", 10_000)):
        y = np.arange(size, dtype=np.uint8) % 10
        x = np.zeros((size, 28, 28), np.uint8)
        x[np.arange(size), 4 + 2 * y.astype(int), 4:24] = 200
        x[np.arange(size), rng.integers(0, 28, size), rng.integers(0, 28, size)] = 255
        arrays |= {f"x_{part}": x, f"y_{part}": y}
    folder.mkdir()
    np.savez_compressed(folder / "mnist.npz", **arrays)
    return folder
