"""The number of threads that a training uses.

At the end of a product, all threads wait for the slowest. If another program keeps one of the cores
busy, they wait for a time slice of the scheduler, some milliseconds, and a model of small products
nearly stops. So training uses one thread, unless its products take that long themselves.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from structnet.checks import check_integer, hardware_threads

# Floating-point operations of a product that keeps one core busy for a few milliseconds.
LARGE = 2**27
# The hardware threads that share a core with one of them; only Linux has this file.
SIBLINGS = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
_set_by_user = False


def set_threads(number: int) -> None:
    """Calls ``torch.set_num_threads`` with a number that :func:`~.fit` will then always keep.

    Args:
        number: number of threads of this process, from 1.

    Raises:
        ValueError: the number is not an int, or below 1.
    """
    global _set_by_user
    check_integer("number", number, 1, owner="set_threads")
    torch.set_num_threads(number)
    _set_by_user = True


def threads_are_set() -> bool:
    """Whether the user has set the number of threads.

    This may be by :func:`set_threads`, in the environment, or by ``torch.set_num_threads`` to other
    than the number of cores or of hardware threads, one of which is torch's default.
    """
    named = any(os.environ.get(name) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"))
    hardware = hardware_threads()
    return _set_by_user or named or torch.get_num_threads() not in {len(hardware), _cores(hardware)}


@cache
def _cores(hardware_threads: frozenset[int]) -> int:
    """The number of cores that hardware threads belong to; half of theirs if nothing says so."""
    try:
        return len({Path(SIBLINGS.format(number)).read_text() for number in hardware_threads})
    except OSError:
        return len(hardware_threads) // 2


def coarse_threads() -> int:
    """The number of threads for long calls, where none waits for another that has not started.

    This is torch's number, also in a training that uses one thread as its products are small.
    """
    around = _around.get()
    return torch.get_num_threads() if around is None else around.available


class Products(TorchDispatchMode):
    """A context that records the matrix products and convolutions that are computed in it.

    Attributes:
        sizes: floating-point operations of each.

    Example:
        >>> with Products() as products:
        ...     product = torch.ones(2, 3) @ torch.ones(3, 4)
        >>> products.sizes
        [48]
    """

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []

    def __torch_dispatch__(
        self, function: Any, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        result = function(*args, **(kwargs or {}))
        count = flop_registry.get(function._overloadpacket)
        if count is not None:
            self.sizes.append(count(*args, **(kwargs or {}), out_val=result))
        return result

    @property
    def are_large(self) -> bool:
        """Whether the average product gains from threads even on a busy machine."""
        return bool(self.sizes) and sum(self.sizes) >= LARGE * len(self.sizes)


class Threads:
    """The number of threads of one training: one, until a step has shown that more are faster.

    Trainings inside another one's :meth:`kept` choose from the threads that were available to the
    outer one. Work between them uses the outer one's number or, if it has not chosen any, the last
    one's.
    """

    available: int
    free: bool

    def __init__(self, device: torch.device):
        around = _around.get()
        self.available = torch.get_num_threads() if around is None else around.available
        free = device.type == "cpu" and self.available > 1
        self.free = free and (not threads_are_set() if around is None else around.free)
        self.number: int | None = None  # the choice, once it is made
        self.note = ""  # says what was changed

    @contextmanager
    def kept(self) -> Iterator[Threads]:
        """A context in which the number of threads may change; it is restored at its end."""
        around, entered = _around.get(), _around.set(self)
        try:
            if self.free:
                torch.set_num_threads(1)
            yield self
        finally:
            _around.reset(entered)
            if self.free:
                number = self.available if around is None else around.number
                if number is not None:  # else the last choice stays, until the one around has one
                    torch.set_num_threads(number)

    @contextmanager
    def measured(self) -> Iterator[None]:
        """A context for one step, by which the number is chosen if it has not been chosen yet."""
        if not self.free or self.number is not None:
            yield
            return
        with Products() as products:
            yield
        self.choose(self.available if products.are_large else 1)

    def choose(self, number: int | None) -> None:
        """Sets the number from now on; None leaves the choice to the next step."""
        if self.free and number is not None:
            self.number = min(number, self.available)
            torch.set_num_threads(self.number)
            self.note = ", 1 thread" if self.number == 1 else ""


_around: ContextVar[Threads | None] = ContextVar("around", default=None)  # whose kept() is open
