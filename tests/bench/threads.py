"""What several threads gain and lose: training beside other busy programs, and without.

``fit`` trains models of growing products, on the number of threads that it chooses and on all of
torch's; ``ratio`` is the time on all over the time on its choice. The neighbours are processes that
compute without a pause, one and none; the times are those of the clock, after the first step.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import torch
from common import arguments, report
from torch import nn

from structnet.training import fit, threads

CORES = torch.get_num_threads()
SIZES = {"tiny": (32, 16), "small": (64, 256), "medium": (256, 512), "large": (1024, 1024)}


class Layers(nn.Sequential):
    """Two hidden layers, for some seconds; notes when a step begins, and on how many threads."""

    def __init__(self, width: int, seconds: float):
        super().__init__(
            *(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()),
            nn.Linear(width, 10),
        )
        self.seconds, self.begun = seconds, []
        self.threads = 0

    def loss(self, x: torch.Tensor) -> torch.Tensor:
        self.begun.append(time.perf_counter())
        self.threads = torch.get_num_threads()
        if self.begun[-1] - self.begun[0] > self.seconds:
            raise TimeoutError
        return self(x).square().mean()


@contextmanager
def neighbours(number: int) -> Iterator[None]:
    """So many processes that compute without a pause."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(number)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def step_time(batch: int, width: int, seconds: float, seed: int) -> tuple[float, int]:
    """The mean time of a step, and on how many threads it was."""
    torch.manual_seed(seed)
    model, data = Layers(width, seconds), torch.randn(4 * batch, width)
    with suppress(TimeoutError):
        fit(model, data, epochs=10**6, batch_size=batch, progress=False)
    after = model.begun[1:]  # the first step chooses
    return (after[-1] - after[0]) / (len(after) - 1), model.threads


def row(name: str, busy: int, seconds: float, seed: int) -> dict:
    batch, width = SIZES[name]
    with neighbours(busy):
        ours, number = step_time(batch, width, seconds, seed)
        os.environ["OMP_NUM_THREADS"] = str(CORES)  # as a user says it
        theirs, _ = step_time(batch, width, seconds, seed)
        del os.environ["OMP_NUM_THREADS"]
    return {
        "products": f"{name}: {batch} x {width} x {width}",
        "busy neighbours": busy,
        "threads chosen": number,
        "ms a step": 1e3 * ours,
        f"ms on {CORES}": 1e3 * theirs,
        "ratio": theirs / ours,
    }


def main() -> None:
    options = arguments(__doc__)
    if threads.threads_are_set():
        sys.exit("this benchmark chooses the threads; run it without OMP_NUM_THREADS")
    seconds = 2.0 if options.quick else 8.0
    rows = [row(name, busy, seconds, options.seed) for busy in (0, 1) for name in SIZES]
    report(rows, threads=CORES, seed=options.seed)


if __name__ == "__main__":
    main()
