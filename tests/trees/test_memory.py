"""Building trees without the garbage collector."""

from __future__ import annotations

import gc

import pytest

from structnet.trees.memory import collector_paused


def test_collector_comes_back_after_an_error() -> None:
    with pytest.raises(KeyError), collector_paused():
        raise KeyError
    assert gc.isenabled()
