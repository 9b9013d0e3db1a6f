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
        self.limits: Any = None

    def __enter__(self) -> None:
        with self.lock:
            self.inside += 1
            if self.inside == 1:
                self.limits = _libraries().limit(limits=1)

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.inside -= 1
            if not self.inside:
                self.limits.restore_original_limits()


ONE_THREAD = _OneThread()


@cache
def _libraries() -> Any:
    return ThreadpoolController().select(internal_api="openblas")
