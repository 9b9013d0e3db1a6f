"""What two equal runs share: weights to the bit, and records but for their times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import torch
from torch import Tensor, nn

from structnet.training.checkpoint import load_model

TIMES = ("seconds", "examples_per_second")  # what two equal runs differ in


def untimed(records: Iterable[dict]) -> list[dict]:
    return [{k: v for k, v in record.items() if k not in TIMES} for record in records]


def assert_same(ours: Mapping[str, Tensor], theirs: Mapping[str, Tensor]) -> None:
    """Are the tensors of each name the same to the bit?"""
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        assert torch.equal(value, theirs[name]), name


def assert_same_weights(ours: nn.Module, theirs: nn.Module) -> None:
    assert_same(ours.state_dict(), theirs.state_dict())


def assert_same_model(ours: Path, theirs: Path) -> None:
    """Have the runs of two folders ended with the same model?"""
    assert_same(*(load_model(folder / "model.safetensors")[0] for folder in (ours, theirs)))
