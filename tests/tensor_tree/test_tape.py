"""What a sweep records for its backward: nothing is left behind, and one gradient a weight."""

from __future__ import annotations

import gc

import pytest
import torch
from configurations import (
    AGGREGATORS,
    CONFIGURATIONS,
    Configuration,
    forest_for,
)
from random_trees import VOCABULARY, chain

from structnet.message_passing import tape
from structnet.message_passing.propagation import propagate
from structnet.tensor_tree import TreeLSTM
from structnet.tensor_tree.tree_lstm import _Cell
from structnet.trees.forest import Forest


def broken(*arguments: object) -> None:
    raise ZeroDivisionError


def tapes_alive() -> int:
    gc.collect()
    return sum(type(thing) is tape.Tape for thing in gc.get_objects())


@pytest.mark.parametrize(
    "use",
    [
        "backward",
        "forward",
        "no_grad",
        "twice",
        "all",
        "error",
        "part",
        "frozen",
    ],
)
def test_a_sweep_leaves_nothing_behind(use: str):
    model = TreeLSTM(4, 2, 3, torch.eye(3))
    model.aggregator.core.requires_grad_(use != "frozen")
    forest = forest_for(CONFIGURATIONS[0], 0)
    before = tapes_alive()
    for _ in range(3):
        if use == "error":
            model.aggregator.reduce = broken  # fails within the sweep, messages sent
            with pytest.raises(ZeroDivisionError):
                propagate(forest, _Cell(model))
            continue
        with torch.set_grad_enabled(use != "no_grad"):
            h = propagate(forest, _Cell(model))["h"]
        if use in ("backward", "frozen"):
            h.sum().backward()
        elif use == "twice":
            h.sum().backward(retain_graph=True)
            h.sum().backward()
        elif use == "part":
            torch.autograd.grad(h.sum(), model.leaf_bias)
        elif use == "all":
            torch.autograd.grad(h.sum(), list(model.parameters()))
        del h
    assert tapes_alive() == before


@pytest.mark.parametrize("aggregator", AGGREGATORS)
def test_one_weight_gradient_a_sweep(aggregator: str, monkeypatch: pytest.MonkeyPatch):
    made = []
    apply = tape._Joined.apply
    monkeypatch.setattr(tape._Joined, "apply", lambda *a: made.append(a) or apply(*a))
    configuration = Configuration(aggregator, "child", "zero", False)
    forest = Forest.from_trees([chain(50)], VOCABULARY)
    propagate(forest, _Cell(configuration.model()))
    assert 1 <= len(made) <= 3
