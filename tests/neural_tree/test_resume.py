"""A growth that was stopped, or killed, ends as if it had not been; and so does a refinement."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import pytest
import torch
from alike import assert_same
from forests import exactly
from fresh_python import ROOT, python
from growths import (
    TIMES,
    assert_same_growth,
    assert_same_weights,
    grow,
    growth_on,
    make_growth,
    make_primitives,
    make_samples,
    make_tree,
    scripted,
    untimed,
    visits,
)
from torch import nn

from structnet.neural_tree import Growth, NeuralTree, Primitives
from structnet.training.checkpoint import CheckpointError, load_model, save_model
from structnet.training.metrics import evaluate

SCRIPT = scripted("deepen", "split", "keep", "deepen", "split")
STEPS = 8


def begin(folder: Path | None, kind: type[Growth] = SCRIPT, seed: int = 0, **how) -> Growth:
    tree = make_tree(seed=seed, norm=True, dropout=0.2)
    return make_growth(tree, kind, folder=folder, **how)


@pytest.fixture(scope="module")
def whole() -> Growth:
    torch.manual_seed(0)
    growth = begin(None)
    growth.run()
    assert len(growth.decisions) == STEPS
    return growth


@pytest.mark.parametrize("steps", range(STEPS + 1))
def test_a_growth_goes_on_from_any_decision(tmp_path: Path, whole: Growth, steps: int) -> None:
    growth = begin(tmp_path)
    for _ in range(steps):
        growth.step()
    # What the new tree was made with plays no part.
    again = begin(tmp_path, seed=5, resume=True)
    assert_same_growth(again, growth)
    assert again.done == (steps == STEPS)
    if steps:
        assert not any(module.training for module in again.tree.modules())
    again.run()
    assert_same_growth(again, whole)


def test_the_state_is_written_before_the_callbacks_are_called(tmp_path: Path) -> None:
    def check(growth: Growth, decision: object) -> None:
        weights, state = load_model(tmp_path / "growth.safetensors")
        assert len(state["decisions"]) == len(growth.decisions)
        assert untimed(state["history"]) == untimed(growth.history)
        assert_same(growth.tree.state_dict(), weights)

    growth = begin(tmp_path, callbacks=[check])
    for _ in range(4):
        growth.step()


def test_resuming_a_finished_growth_does_nothing(tmp_path: Path) -> None:
    growth = begin(tmp_path)
    growth.run()
    file = tmp_path / "growth.safetensors"
    before = file.read_bytes()

    def never(*_: object) -> None:
        raise AssertionError

    again = begin(tmp_path, resume=True, callbacks=[never])
    assert again.done
    again.run()
    assert_same_growth(again, growth)
    assert file.read_bytes() == before
    assert [d.seconds for d in again.decisions] == [d.seconds for d in growth.decisions]
    assert again.history.records == growth.history.records
    loss = evaluate(again.tree, again.validation)["loss"]
    assert loss == pytest.approx(growth.loss, rel=1e-9)


def test_resume_without_a_file_begins(tmp_path: Path, whole: Growth) -> None:
    growth = begin(tmp_path / "new" / "folder", resume=True)
    growth.run()
    assert_same_growth(growth, whole)


def test_a_fresh_growth_replaces_the_old_one_at_once(tmp_path: Path) -> None:
    begin(tmp_path).step()
    fresh = begin(tmp_path, seed=2)
    again = begin(tmp_path, seed=3, resume=True)
    assert again.decisions == []
    assert_same_weights(again.tree, fresh.tree)


def test_only_the_first_process_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("structnet.neural_tree.growth.state.process_rank", lambda: (1, 2))
    begin(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills processes it has forked")
def test_killed_at_any_moment_it_ends_the_same(tmp_path: Path) -> None:
    done = python(ROOT / "tests/support/neural_tree_program.py", tmp_path)
    assert done.returncode == 0, done.stderr
    for what in ("growth", "refinement"):
        weights, facts = load_model(tmp_path / what / "whole.safetensors")
        resumed, same = load_model(tmp_path / what / "killed.safetensors")
        assert same == facts
        assert_same(weights, resumed)


def test_settings_that_growth_does_not_depend_on_may_be_others(tmp_path: Path) -> None:
    growth = begin(tmp_path)
    growth.step()
    others = {"stop_refinement": False, "refine_epochs": 7, "weight_decay": 0.5, "cache_bytes": 1.0}
    assert_same_growth(begin(tmp_path, resume=True, **others), growth)


# ---- what cannot be resumed


def refused(folder: Path, start: str, end: str, tree: NeuralTree, **how) -> None:
    with pytest.raises(CheckpointError) as caught:
        make_growth(tree, folder=folder, resume=True, **how)
    message = str(caught.value)
    assert "\n" not in message
    for part in (str(folder), start, end):
        assert part in message, message


@pytest.mark.parametrize(
    ("how", "there", "here"),
    [
        ({"seed": 1}, "seed is 0", "1 here"),
        ({"epochs": 3}, "epochs is 2", "3 here"),
        ({"batch_size": 30}, "batch_size is 20", "30 here"),
        ({"patience": None}, "patience is 5", "None here"),
        ({"n_init": 2}, "n_init is 1", "2 here"),
        ({"warm_start_solvers": True}, "warm_start_solvers is False", "True here"),
        ({"max_leaves": 7}, "max_leaves is None", "7 here"),
        ({"min_gain": 0.1}, "min_gain is 0.0", "0.1 here"),
        ({"optimizer": partial(torch.optim.Adam, lr=0.1)}, "optimizer.0.lr is 0.05", "0.1 here"),
        ({"optimizer": torch.optim.SGD}, "optimizer is Adam", "SGD here"),
    ],
)
def test_other_settings_are_refused(tmp_path: Path, how: dict, there: str, here: str) -> None:
    begin(tmp_path).step()
    tree = make_tree(norm=True, dropout=0.2)
    refused(tmp_path, "which another training wrote", f"{there} there and {here}", tree, **how)


def test_other_samples_and_modules_are_refused(tmp_path: Path) -> None:
    begin(tmp_path).step()
    chain = make_primitives(norm=True, dropout=0.2).without(routers=True)
    for tree, difference in (
        (
            make_tree(norm=True, width=6),
            "weight is torch.float64 [5, 3] there and torch.float64 [6, ",
        ),
        (make_tree(primitives=chain), "routers is True there and False here"),
        (make_tree("squares", norm=True), "likelihood is Categorical there and SquaredError here"),
        (
            make_tree(norm=True).float(),
            "weight is torch.float64 [5, 3] there and torch.float32 [5, ",
        ),
    ):
        refused(tmp_path, "which another training wrote", difference, tree)
    with pytest.raises(CheckpointError, match="samples is 60 there and 50 here"):
        samples, how = (make_samples(50), make_samples(40)), {"folder": tmp_path, "resume": True}
        growth_on(make_tree(norm=True, dropout=0.2), *samples, **how)


def test_primitives_that_differ_in_what_has_grown_are_refused(tmp_path: Path) -> None:
    growth = begin(tmp_path, scripted("split"))
    growth.step(), growth.step()
    plain = make_primitives(norm=True, dropout=0.2)
    wide = Primitives(
        lambda shape: nn.Sequential(nn.Linear(*shape, 2), nn.Linear(2, 1)),
        plain.transformer,
        plain.solver,
    )
    message = "whose tree consists of other modules; expected those that the same primitives make"
    refused(tmp_path, "cannot resume from", message, make_tree(primitives=wide))


def test_damaged_files_are_refused_in_one_sentence(tmp_path: Path) -> None:
    growth = begin(tmp_path)
    growth.step()
    file = tmp_path / "growth.safetensors"
    content = file.read_bytes()
    damages = [b"", content[:7], content[: len(content) // 2], content[:-1], b"\0" * 100, b"{}"]
    for damaged in damages:
        file.write_bytes(damaged)
        refused(tmp_path, "cannot read", "expected a model", make_tree(norm=True))
    file.write_bytes(content)
    assert_same_growth(begin(tmp_path, resume=True), growth)


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "growth.safetensors"
    save_model(file, nn.Linear(2, 1), {"inputs": 2})
    message = f"{file} is no growth; expected a file written by Growth"
    with pytest.raises(CheckpointError, match=exactly(message)):
        begin(tmp_path, resume=True)


def test_times_are_all_that_is_left_out() -> None:
    growth = grow(kind=scripted("split"))
    record, plain = growth.history[0], untimed(growth.history)[0]
    assert set(record) - set(plain) == set(TIMES)
    assert visits(growth)[1] == (0, "split")
