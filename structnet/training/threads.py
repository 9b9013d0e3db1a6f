"""How many threads a training computes with.

On several threads, each waits at the end of a product for the slowest. Where another program holds
one of the cores, that wait is a slice of the scheduler's time, some milliseconds, and a model of
small products comes to a standstill. So one thread computes unless the products take that long.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from structnet.checks import check_integer

# Floating-point operations of a product that keeps one core busy for a few milliseconds.
LARGE = 2**27
_set_by_user = False


def set_threads(number: int) -> None:
    """``torch.set_num_threads``, with a number that :func:`~.fit` then keeps in any case.

    Args:
        number: threads of this process, from 1.

    Raises:
        ValueError: the number is no int, or below 1.
    """
    global _set_by_user
    check_integer("number", number, 1, owner="set_threads")
    torch.set_num_threads(number)
    _set_by_user = True


def threads_are_set() -> bool:
    """Has the user set the number of threads?

    By :func:`set_threads`, in the environment, or by ``torch.set_num_threads`` to a number that
    torch would not take by itself, which is the number of cores.
    """
    named = any(os.environ.get(name) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"))
    affinity = getattr(os, "sched_getaffinity", None)  # Linux alone has it
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    # Two threads may share a core.
    return _set_by_user or named or torch.get_num_threads() not in {cores, cores // 2}


def coarse_threads() -> int:
    """Threads for long calls of which none waits for one that has not begun.

    These are torch's, also within a training that computes on one because its products are small.
    """
    around = _around.get()
    return torch.get_num_threads() if around is None else around.found


class Products(TorchDispatchMode):
    """Sees the products of matrices and the convolutions that are computed in it.

    Attributes:
        sizes: the floating-point operations of each.

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
        """Does the average product gain from threads whatever else the machine does?"""
        return bool(self.sizes) and sum(self.sizes) >= LARGE * len(self.sizes)


class Threads:
    """The number of threads of one training: one, until a step has shown that more gain.

    Trainings within another one's :meth:`kept` choose among the threads that this found. What is
    computed between them has its number, or where it has not chosen any, that of the last.
    """

    found: int
    free: bool

    def __init__(self, device: torch.device):
        around = _around.get()
        self.found = torch.get_num_threads() if around is None else around.found
        free = device.type == "cpu" and self.found > 1
        self.free = free and (not threads_are_set() if around is None else around.free)
        self.number: int | None = None  # the choice, once it is made
        self.note = ""  # says what was changed

    @contextmanager
    def kept(self) -> Iterator[None]:
        """What is computed inside may change the number of threads; it is put back at the end."""
        around, entered = _around.get(), _around.set(self)
        try:
            if self.free:
                torch.set_num_threads(1)
            yield
        finally:
            _around.reset(entered)
            if self.free:
                number = self.found if around is None else around.number
                if number is not None:  # else the last choice stays, until the one around has one
                    torch.set_num_threads(number)

    @contextmanager
    def measured(self) -> Iterator[None]:
        """A step, by which the number is chosen unless it has been."""
        if not self.free or self.number is not None:
            yield
            return
        with Products() as products:
            yield
        self.choose(self.found if products.are_large else 1)

    def choose(self, number: int | None) -> None:
        """Takes a number from now on; None leaves the choice to the next step."""
        if self.free and number is not None:
            self.number = min(number, self.found)
            torch.set_num_threads(self.number)
            self.note = ", 1 thread" if self.number == 1 else ""


_around: ContextVar[Threads | None] = ContextVar("around", default=None)  # whose kept() is open
