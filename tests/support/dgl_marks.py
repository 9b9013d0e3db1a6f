"""Without dgl, on Python 3.12 and later, what asks for a graph is skipped, and nothing else."""

from __future__ import annotations

import doctest
import sys
from collections.abc import Iterator

import pytest

HAS_DGL = sys.version_info < (3, 12)
REASON = "dgl has no release for this version of Python"


def asks_for_dgl(error: BaseException) -> bool:
    """Was an error raised because there is no dgl?"""
    # A doctest wraps what its example raised.
    cause = error.exc_info[1] if isinstance(error, doctest.UnexpectedException) else error
    return isinstance(cause, ModuleNotFoundError) and cause.name == "dgl"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Skips a test that was stopped by the missing dgl; with dgl, that is a failure."""
    try:
        return (yield)
    except Exception as error:
        if HAS_DGL or not asks_for_dgl(error):
            raise
    pytest.skip(REASON)
