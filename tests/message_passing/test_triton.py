"""Where Triton cannot compile, the general path is taken, and said why."""

from __future__ import annotations

import logging
import sys

import pytest
import torch

from structnet.message_passing.gpu import triton


@pytest.fixture(autouse=True)
def _asked_anew() -> None:
    triton.compiles.cache_clear()


def test_a_triton_that_fails_is_told_once(monkeypatch, caplog):
    """As without a C compiler: here, what fails is its import, or a CPU's tensors."""
    monkeypatch.setattr(triton, "find_spec", lambda name: object())
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    monkeypatch.setitem(sys.modules, "structnet.message_passing.gpu.probing", None)
    with caplog.at_level(logging.WARNING):
        assert not triton.compiles(torch.device("cpu"), torch.float32)
        assert not triton.compiles(torch.device("cpu"), torch.float32)
    assert len(caplog.records) == 1
    assert "Triton cannot compile for cpu and torch.float32 (ModuleNotFoundError: " in caplog.text


def test_without_triton_nothing_is_said(monkeypatch, caplog):
    monkeypatch.setattr(triton, "find_spec", lambda name: None)
    assert not triton.compiles(torch.device("cpu"), torch.float32)
    assert not caplog.records
