"""The state of a growth on disk: its tree, its decisions, and what it must be resumed with."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from structnet.neural_tree.growth.decision import Decision
from structnet.training.checkpoint import (
    CheckpointError,
    check_settings,
    describe,
    load_model,
    save_model,
)
from structnet.training.history import History
from structnet.training.processes import process_rank
from structnet.training.seeding import random_states_kept

if TYPE_CHECKING:
    from structnet.neural_tree.growth.growth import Growth

FILE = "growth.safetensors"


def settings(growth: Growth) -> dict[str, Any]:
    """What a resumed growth must share with the one it goes on with; its tree is a root yet."""
    tree, primitives = growth.tree, growth.tree.primitives
    plain = {key: growth.fitting[key] for key in ("epochs", "patience", "batch_size")}
    found = {
        **plain,
        **asdict(growth.limits),
        "n_init": growth.n_init,
        "warm_start": growth.warm_start,
        "balance_routers": growth.balance_routers,
        "seed": growth.seed,
        "samples": len(growth.train),
        "validation_samples": len(growth.validation),
        "likelihood": type(tree.likelihood).__name__,
        "routers": primitives.router is not None,
        "transformers": primitives.transformer is not None,
        "pool_every": primitives.pool_every,
        **describe("optimizer", growth.fitting["optimizer"](tree.parameters())),
        **{k: f"{v.dtype} {list(v.shape)}" for k, v in tree.state_dict().items()},
    }
    return {k: v.item() if isinstance(v, np.generic) else v for k, v in found.items()}


def save(growth: Growth) -> None:
    """Writes the state to the growth's file, if it has one; of several processes the first does."""
    if growth.file is None or process_rank()[0]:
        return
    state = {
        "settings": growth.settings,
        "tree": growth.tree.config(),
        "decisions": [asdict(decision) for decision in growth.decisions],
        "history": list(growth.history),
        "undecided": list(growth.undecided),
        "loss": growth.loss if growth.decisions else None,
    }
    save_model(growth.file, growth.tree, state)


def restore(growth: Growth) -> None:
    """Puts a growth that has just begun into the state of its file.

    Raises:
        CheckpointError: the file has no growth, or another one.
    """
    weights, state = load_model(growth.file)
    if "undecided" not in state:
        raise CheckpointError(f"{growth.file} is no growth; expected one written by Growth")
    check_settings(growth.file, state["settings"], growth.settings)
    with random_states_kept(growth.device):  # what is drawn here is replaced at once
        growth.tree.grow_to(state["tree"])
    try:
        growth.tree.load_state_dict(weights)
    except RuntimeError as error:
        raise CheckpointError(
            f"cannot resume from {growth.file}, whose tree is made of other modules; expected "
            "those that the same primitives make"
        ) from error
    growth.tree.eval()
    growth.decisions = [Decision(**decision) for decision in state["decisions"]]
    growth.history = History(state["history"])
    growth.undecided = state["undecided"]
    growth.loss = math.inf if state["loss"] is None else state["loss"]
