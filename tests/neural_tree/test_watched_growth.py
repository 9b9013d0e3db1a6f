"""Schedules, metrics and callbacks of a growth: as torch has them, plain functions."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
import torch
from growths import assert_same_growth, make_growth, scripted
from torch.optim.lr_scheduler import LambdaLR, StepLR

from structnet.training.checkpoint import CheckpointError
from structnet.training.metrics import accuracy, evaluate

HALVES = partial(StepLR, step_size=1, gamma=0.5)
SCRIPT = scripted("split", "deepen")


@pytest.mark.parametrize("per", ["epoch", "batch"])
def test_each_training_has_a_schedule_of_its_own(per: str) -> None:
    growth = make_growth(kind=SCRIPT, epochs=3, schedule=HALVES, schedule_per=per)
    growth.run()
    steps = {"epoch": 1, "batch": 3}[per]  # an epoch has 60 samples, a batch 20
    rates = growth.history["learning_rate"]
    assert len(rates) > 9 and rates == [0.05 / 2 ** (steps * i) for i in range(3)] * (
        len(rates) // 3
    )
    plain = make_growth(kind=SCRIPT, epochs=3)
    plain.run()
    assert plain.history["loss"] != growth.history["loss"]


def test_a_plain_function_is_a_schedule() -> None:
    def warm(optimizer: torch.optim.Optimizer) -> LambdaLR:
        return LambdaLR(optimizer, lambda epoch: min(1.0, (epoch + 1) / 2))

    growth = make_growth(epochs=3, schedule=warm)
    growth.step()
    assert growth.history["learning_rate"] == [0.025, 0.05, 0.05]


def test_metrics_are_those_of_the_tree_after_each_decision() -> None:
    seen = []

    def measure(growth, decision) -> None:
        found = evaluate(growth.tree, growth.validation, metrics={"accuracy": accuracy})
        seen.append({"accuracy": found["accuracy"], "leaves": growth.tree.num_leaves})

    def leaves(tree, batch) -> float:
        return tree.num_leaves

    metrics = {"accuracy": accuracy, "leaves": leaves}
    growth = make_growth(kind=SCRIPT, metrics=metrics, callbacks=[measure])
    growth.run()
    assert [decision.metrics for decision in growth.decisions] == seen
    assert f"accuracy {seen[1]['accuracy']:.4f}, " in str(growth.decisions[1])
    without = make_growth(kind=SCRIPT)
    without.run()
    assert without.decisions[0].metrics == {}
    assert without.loss == growth.loss  # measuring changes nothing


def test_every_epoch_is_told() -> None:
    told = []
    growth = make_growth(
        kind=SCRIPT, epoch_callbacks=[lambda growth, record: told.append((growth, record))]
    )
    growth.run()
    assert [record for _, record in told] == list(growth.history)
    assert {record["phase"] for _, record in told} == {"root", "split", "deepen"}
    assert all(who is growth for who, _ in told)


def test_a_growth_with_a_schedule_goes_on_with_it_alone(tmp_path: Path) -> None:
    how = {"kind": SCRIPT, "folder": tmp_path, "resume": True, "metrics": {"accuracy": accuracy}}
    first = make_growth(schedule=HALVES, **how)
    first.step(), first.step()
    second = make_growth(schedule=HALVES, **how)
    second.run()
    whole = make_growth(kind=SCRIPT, schedule=HALVES, metrics={"accuracy": accuracy})
    whole.run()
    assert_same_growth(second, whole)
    for other in (None, partial(StepLR, step_size=2)):
        with pytest.raises(CheckpointError, match="schedule"):
            make_growth(schedule=other, **how)
