"""A growth and a refinement that are killed at many moments, and go on each time.

python neural_tree_program.py FOLDER
"""

from __future__ import annotations

import random
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from growths import grow, make_growth, make_samples, make_tree, outcome, scripted
from train_programs import die_in_write, forked, warm_up

from structnet.neural_tree import NeuralTree, refine
from structnet.neural_tree.growth.state import FILE
from structnet.training.checkpoint import save_model

SCRIPT = ("split", "deepen", "split", "keep", "deepen")
Run = Callable[[Path | None], tuple[NeuralTree, dict]]


def killed_growth(folder: Path | None) -> tuple[NeuralTree, dict]:
    """The growth that is killed and resumed; without a folder, the one that is not."""
    # The weights of the start are random, as in a user's program: those on disk count.
    begun = folder is not None and (folder / FILE).exists()
    seed = random.randrange(1, 1000) if begun else 0
    growth = make_growth(
        make_tree(seed=seed, norm=True, dropout=0.2),
        scripted(*SCRIPT),
        epochs=3,
        folder=folder,
        resume=folder is not None,
    )
    growth.run()
    return growth.tree, outcome(growth)


def killed_refinement(folder: Path | None) -> tuple[NeuralTree, dict]:
    """The refinement that is killed and resumed; without a folder, the one that is not."""
    tree = grow(make_tree(norm=True, dropout=0.2), scripted("split", "deepen"), epochs=1).tree
    how = {} if folder is None else {"checkpoint": folder, "resume": True}
    optimizer = partial(torch.optim.Adam, lr=0.02)
    train, validation = make_samples(60), make_samples(40, 1)
    options = {"epochs": 12, "batch_size": 10, "optimizer": optimizer, "progress": False}
    history = refine(tree, train, validation, **options, **how)
    return tree, {"validation_loss": history["validation_loss"], "loss": history["loss"]}


def attempt(run: Run, folder: Path | None, file: Path, prepare=lambda: None, seconds=60.0) -> int:
    """Runs in a process of its own, kills it after a time; its exit status."""

    def work() -> None:
        random.seed()
        prepare()
        tree, facts = run(folder)
        save_model(file, tree, facts)

    return forked(work, seconds)


def kill(run: Run, folder: Path) -> None:
    warm_up()
    begin = time.monotonic()
    assert attempt(run, None, folder / "whole.safetensors") == 0
    whole = time.monotonic() - begin
    state, killed = folder / "state", folder / "killed.safetensors"
    deaths = [(1, True), (1, False), (2, True), (2, False)]
    for number, complete in deaths:
        status = attempt(run, state, killed, partial(die_in_write, number, complete))
        assert status == signal.SIGKILL
    for _ in range(6):
        seconds = random.uniform(0.0, 0.3 * whole)
        assert attempt(run, state, killed, seconds=seconds) in (0, signal.SIGKILL)
    assert attempt(run, state, killed) == 0


if __name__ == "__main__":
    kill(killed_growth, Path(sys.argv[1], "growth"))
    kill(killed_refinement, Path(sys.argv[1], "refinement"))
