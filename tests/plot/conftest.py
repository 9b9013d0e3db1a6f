"""What the tests of pictures share."""

from __future__ import annotations

from collections.abc import Iterator

import matplotlib
import matplotlib.pyplot as plt
import pytest


@pytest.fixture(autouse=True)
def settings_are_left_alone() -> Iterator[None]:
    """Draws without a window, and holds every picture to leave matplotlib's settings alone."""
    backend = matplotlib.get_backend()
    plt.switch_backend("agg")
    before = dict(matplotlib.rcParams)
    yield
    assert dict(matplotlib.rcParams) == before
    plt.close("all")
    plt.switch_backend(backend)
