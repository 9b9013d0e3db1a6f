"""Two processes under torchrun compute what one process computes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
import train_programs
from alike import assert_same
from fresh_python import python
from train_programs import ONE_BY_ONE, of_some, routed_run

from structnet.training.checkpoint import load_state
from structnet.training.history import History
from structnet.training.processes import Processes


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("torchrun")
    # Whatever this machine calls itself.
    network = {"GLOO_SOCKET_IFNAME": "lo"} if Path("/sys/class/net/lo").exists() else {}
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    done = python(*launch, train_programs.__file__, "torchrun", folder, **network)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def ranks(folder: Path) -> list[dict]:
    return [load_state(folder / f"rank{rank}.safetensors") for rank in (0, 1)]


@pytest.fixture(scope="module")
def alone() -> dict:
    return routed_run()


def assert_close(actual: dict, expected: dict) -> None:
    assert actual.keys() == expected.keys()
    for name, value in expected.items():
        if value is None:
            assert actual[name] is None, name
        else:
            torch.testing.assert_close(actual[name], value, rtol=0, atol=1e-12)


@pytest.mark.parametrize("run", ["plain", "different start"])
def test_gradients_are_those_of_one_process(ranks: list[dict], alone: dict, run: str) -> None:
    assert len(alone["gradients"]) == 9
    for rank in ranks:
        assert len(rank[run]["gradients"]) == 9
        for actual, expected in zip(rank[run]["gradients"], alone["gradients"], strict=True):
            assert_close(actual, expected)


def test_each_process_weighs_by_what_counts(ranks: list[dict]) -> None:
    expected = of_some()
    for rank in ranks:
        assert_close(rank["of some"]["weights"], expected["weights"])
        for name in ("validation_loss", "validation_accuracy"):
            np.testing.assert_allclose(rank["of some"][name], expected[name], rtol=0, atol=1e-12)


def test_a_process_may_have_no_example(ranks: list[dict]) -> None:
    expected = routed_run(**ONE_BY_ONE)
    assert len(expected["gradients"]) == 23
    for rank in ranks:
        assert_close(rank["one by one"]["weights"], expected["weights"])
        for actual, gradients in zip(
            rank["one by one"]["gradients"], expected["gradients"], strict=True
        ):
            assert_close(actual, gradients)


def test_an_expert_that_no_process_used_keeps_no_gradient(alone: dict) -> None:
    used = [[name for name, grad in step.items() if grad is None] for step in alone["gradients"]]
    assert all("7" in unused for unused in used)  # expert 3 has no rows at all
    assert any(len(unused) > 1 for unused in used)  # others have none in some batches


@pytest.mark.parametrize("run", ["plain", "different start", "resumed"])
def test_weights_and_scores_are_those_of_one_process(
    ranks: list[dict], alone: dict, run: str
) -> None:
    for rank in ranks:
        assert_close(rank[run]["weights"], alone["weights"])
        for name in ("loss", "validation_loss", "validation_accuracy"):
            np.testing.assert_allclose(rank[run][name], alone[name], rtol=0, atol=1e-12)


def test_processes_end_alike_to_the_bit(ranks: list[dict]) -> None:
    first, second = ranks
    for run in ("plain", "resumed"):
        assert_same(first[run]["weights"], second[run]["weights"])
        assert first[run]["validation_loss"] == second[run]["validation_loss"]
    for run in ("norm", "averaged"):
        assert_same(first[run], second[run])


def test_resuming_changes_nothing(ranks: list[dict]) -> None:
    for rank in ranks:
        assert_same(rank["plain"]["weights"], rank["resumed"]["weights"])
        assert rank["plain"]["loss"] == rank["resumed"]["loss"]


def test_one_process_writes_the_files(folder: Path, ranks: list[dict]) -> None:
    names = {path.name for path in (folder / "run").iterdir()}
    assert names == {"checkpoint.safetensors", "history.jsonl"}
    assert History.load(folder / "run" / "history.jsonl")["loss"] == ranks[0]["plain"]["loss"]


def test_every_process_stops_at_a_loss_that_is_not_finite(ranks: list[dict]) -> None:
    for rank in ranks:
        assert "epoch 1, batch 1: examples 7 by themselves" in rank["error"]


def test_shares_cover_a_batch() -> None:
    processes = Processes(torch.device("cpu"))
    for world in (2, 3, 5):
        processes.world = world
        for size in range(1, 9):
            shares = []
            for processes.rank in range(world):
                shares.append(processes.share(np.arange(size)))
            assert np.concatenate(shares).tolist() == list(range(size))
            assert max(map(len, shares)) - min(map(len, shares)) <= 1
