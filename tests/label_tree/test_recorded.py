"""Several processes learn the tree that one process learns from all of their examples."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import tree_processes
from fresh_python import python

from structnet.training.checkpoint import load_state


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> list[dict]:
    folder = tmp_path_factory.mktemp("ranks")
    network = {"GLOO_SOCKET_IFNAME": "lo"} if Path("/sys/class/net/lo").exists() else {}
    done = python(tree_processes.__file__, folder, **network)
    assert done.returncode == 0, done.stderr
    return [load_state(folder / f"rank{rank}.safetensors") for rank in (0, 1)]


@pytest.mark.parametrize("run", ["fitted", "wrapped True", "wrapped False"])
def test_processes_learn_the_tree_of_one(ranks: list[dict], run: str) -> None:
    alone = tree_processes.fitted() if run == "fitted" else tree_processes.wrapped(True)
    assert alone["tree.seen"].sum() > 0
    for rank in ranks:
        assert torch.equal(rank[run]["tree.layout"], alone["tree.layout"])
        assert torch.equal(rank[run]["tree.seen"], alone["tree.seen"])
        torch.testing.assert_close(rank[run], alone, rtol=1e-4, atol=1e-6)
    assert all(torch.equal(ranks[0][run][name], value) for name, value in ranks[1][run].items())


@pytest.mark.parametrize("batch_size", [1, tree_processes.BATCH])
def test_sparse_gradients_are_those_of_one_process(ranks: list[dict], batch_size: int) -> None:
    alone = tree_processes.in_rows(batch_size)
    assert alone["tree.weight"].abs().max() > 0.01
    for rank in ranks:
        torch.testing.assert_close(rank[f"in rows {batch_size}"], alone, rtol=1e-6, atol=1e-9)


def test_processes_with_different_trees_are_told_so(ranks: list[dict]) -> None:
    assert all("the processes have different trees" in rank["different"] for rank in ranks)
