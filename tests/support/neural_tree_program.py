"""A growth and a refinement that are killed at many moments, and go on each time.

python neural_tree_program.py FOLDER
"""

from __future__ import annotations

import random
import sys
from functools import partial
from pathlib import Path

import torch
from growths import grow, make_growth, make_samples, make_tree, outcome, scripted
from train_programs import die_in_write, kill

from structnet.neural_tree import NeuralTree, refine
from structnet.neural_tree.growth.state import FILE

SCRIPT = ("split", "deepen", "split", "keep", "deepen")


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


if __name__ == "__main__":
    deaths = [partial(die_in_write, number, whole) for number in (1, 2) for whole in (True, False)]
    kill(killed_growth, Path(sys.argv[1], "growth"), deaths)
    kill(killed_refinement, Path(sys.argv[1], "refinement"), deaths)
