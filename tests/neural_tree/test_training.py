"""The training of a neural tree as a whole: growth, refinement, pruning, and going on."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch
from growths import assert_same_weights, make_samples, make_tree, same_weights, untimed

from structnet.neural_tree import (
    Growth,
    Limits,
    NeuralTreeSettings,
    Trained,
    prune,
    refine,
    train,
)
from structnet.training.metrics import accuracy

SHORT = NeuralTreeSettings(
    max_leaves=3, epochs=3, refine_epochs=3, batch_size=20, learning_rate=0.05, seed=4
)
TRAIN, VALIDATION = make_samples(60, 60), make_samples(40, 40)


def trained(settings: NeuralTreeSettings = SHORT, **how) -> Trained:
    return train(make_tree(), settings, TRAIN, VALIDATION, **how)


def test_it_is_growth_then_refinement_then_pruning() -> None:
    found = trained(replace(SHORT, prune=0.05))
    tree = make_tree()
    fitting = {
        "batch_size": 20,
        "optimizer": partial(torch.optim.Adam, lr=0.05),
        "seed": 4,
    }
    limits = Limits(max_leaves=3)
    growth = Growth(tree, TRAIN, VALIDATION, epochs=3, limits=limits, **fitting)
    growth.run()
    by_accuracy = {"monitor": "accuracy", "metrics": {"accuracy": accuracy}}
    refined = refine(tree, TRAIN, VALIDATION, epochs=3, progress=False, **by_accuracy, **fitting)
    assert_same_weights(found.tree, prune(tree, TRAIN, 0.05))
    assert untimed(found.growth) == untimed(growth.history)
    place = {"phase": "refine", "node": 0, "decision": len(growth.decisions)}
    assert untimed(found.refinement) == untimed([place | record for record in refined])
    assert list(found.history) == [*found.growth, *found.refinement]
    assert found.undecided == []


def test_without_epochs_of_refinement_the_tree_stays_as_it_grew(tmp_path: Path) -> None:
    found = trained(replace(SHORT, refine_epochs=0), folder=tmp_path)
    assert len(found.refinement) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["growth.safetensors"]


@pytest.mark.parametrize("stop", [1, 3, "refine"])
def test_an_interrupted_training_goes_on_to_the_same_tree(tmp_path: Path, stop: int | str) -> None:
    def interrupt(so_far: Trained) -> None:
        if stop in (len(so_far.decisions), so_far.history[-1]["phase"]):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trained(folder=tmp_path, callbacks=[interrupt])
    resumed, whole = trained(folder=tmp_path), trained()
    assert_same_weights(resumed.tree, whole.tree)
    assert untimed(resumed.history) == untimed(whole.history)


def test_callbacks_hear_of_every_decision_and_epoch() -> None:
    heard: list[tuple[int, int, str]] = []

    def listen(so_far: Trained) -> None:
        heard.append((len(so_far.decisions), len(so_far.undecided), so_far.history[-1]["phase"]))

    found = trained(callbacks=[listen])
    decisions = len(found.decisions)
    assert [number for number, _, _ in heard[:decisions]] == list(range(1, decisions + 1))
    assert heard[0] == (1, 1, "root")
    assert heard[decisions:] == [(decisions, 0, "refine")] * 3


def test_the_seed_decides() -> None:
    assert_same_weights(trained().tree, trained().tree)
    assert not same_weights(trained().tree, trained(replace(SHORT, seed=5)).tree)
