"""The matrix library that compiled loops call, on one thread: so its sums have one order."""

from __future__ import annotations

import threading
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


class _OneThread:
    """Its number of threads is the process's, so whoever is the last to leave puts it back."""

    def __init__(self) -> None:
        self.lock, self.inside = threading.Lock(), 0
        self.before: list[int] = []  # by library

    def __enter__(self) -> None:
        with self.lock:
            self.inside += 1
            if self.inside == 1:
                self.before = [library.get_num_threads() for library in _libraries()]
                self._set([1] * len(self.before))

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.inside -= 1
            if not self.inside:
                self._set(self.before)

    def _set(self, numbers: list[int]) -> None:
        for library, before, number in zip(_libraries(), self.before, numbers, strict=True):
            if before > 1:
                library.set_num_threads(number)


ONE_THREAD = _OneThread()


@cache
def _libraries() -> Any:
    import scipy.linalg.cython_blas  # noqa: F401 - it loads the one that compiled loops call

    return ThreadpoolController().select(internal_api="openblas").lib_controllers
