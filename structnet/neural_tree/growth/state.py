"""The state of a growth on disk: its tree, its decisions, and what a resumed growth must share."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.optim import Optimizer

from structnet.neural_tree.growth.decision import Decision
from structnet.neural_tree.settings import NeuralTreeSettings
from structnet.neural_tree.tree import NeuralTree
from structnet.training.checkpoint import (
    MALFORMED,
    CheckpointError,
    check_settings,
    describe,
    load_model,
    save_model,
)
from structnet.training.history import History
from structnet.training.processes import process_rank
from structnet.training.seeding import random_states_kept

FILE = "growth.safetensors"
# Settings that growth does not depend on, and the learning rate, which the optimizer's description
# contains.
OTHERS = ("refine_epochs", "stop_refinement", "learning_rate", "weight_decay", "cache_bytes")


class State(NamedTuple):
    """The progress of a growth, apart from its tree; see :class:`.growth.Growth`."""

    decisions: list[Decision]
    history: History
    undecided: list[int]
    loss: float
    strength: float | None


def identity(
    tree: NeuralTree,
    settings: NeuralTreeSettings,
    optimizer: Optimizer,
    schedule: tuple[Callable, str] | None = None,
    **others: Any,
) -> dict[str, Any]:
    """The facts that a resumed growth must share with the one it continues.

    Args:
        tree: root before any growth.
        settings: settings of the growth.
        optimizer: optimizer of the root.
        schedule: function that makes the learning rate scheduler, and when it is stepped.
        others: further facts.
    """
    primitives = tree.primitives
    described = describe("optimizer", optimizer)  # first, as a schedule changes the learning rate
    if schedule is not None:
        make, per = schedule
        described |= {"schedule_per": per, **describe("schedule", make(optimizer))}
    found = {
        **{k: v for k, v in asdict(settings).items() if k not in OTHERS},
        **others,
        "likelihood": type(tree.likelihood).__name__,
        "routers": primitives.router is not None,
        "transformers": primitives.transformer is not None,
        "pool_every": primitives.pool_every,
        **described,
        **{k: f"{v.dtype} {list(v.shape)}" for k, v in tree.state_dict().items()},
    }
    return {k: v.item() if isinstance(v, np.generic) else v for k, v in found.items()}


def save(file: Path, tree: NeuralTree, state: State, settings: Mapping[str, Any]) -> None:
    """Writes a growth, with the facts from :func:`identity`; only the first process writes."""
    if process_rank()[0]:
        return
    config = {
        "settings": settings,
        "tree": tree.config(),
        "decisions": [asdict(decision) for decision in state.decisions],
        "history": list(state.history),
        "undecided": list(state.undecided),
        "loss": state.loss if state.decisions else None,
        "strength": state.strength,
    }
    save_model(file, tree, config)


def restore(
    file: Path, tree: NeuralTree, settings: Mapping[str, Any], device: torch.device
) -> State:
    """Grows a root to the tree of a file, and returns the progress of the growth.

    Raises:
        CheckpointError: the file holds no growth, or the growth of another tree or other settings.
    """
    weights, config = load_model(file)
    if "undecided" not in config:
        raise CheckpointError(f"{file} is no growth; expected a file written by Growth")
    try:
        check_settings(file, config["settings"], settings)
        found = State(
            [Decision(**decision) for decision in config["decisions"]],
            History(config["history"]),
            config["undecided"],
            math.inf if config["loss"] is None else config["loss"],
            config["strength"],
        )
        # Each decision adds at most one transformer to those of the initial root.
        most = tree.num_transformers(0) + len(found.decisions)
        with random_states_kept(device):  # the weights drawn here are replaced below
            tree.grow_to(config["tree"], most)
    except CheckpointError:
        raise
    except MALFORMED as error:
        raise CheckpointError(f"{file} holds no growth that can be resumed: {error}") from error
    try:
        tree.load_state_dict(weights)
    except RuntimeError as error:
        raise CheckpointError(
            f"cannot resume from {file}, whose tree consists of other modules; expected those that "
            "the same primitives make"
        ) from error
    tree.eval()
    return found
