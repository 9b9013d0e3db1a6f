"""The tasks of a sweep on a GPU: blocks of rows that share their weights, in phases."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

BLOCK = 16  # rows of a task; the smallest matrix that a GPU's product units take


def make_tasks(*kinds: tuple[np.ndarray, np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The tasks upwards and downwards.

    A level has a phase for each kind of row that it has, in the order of the arguments; downwards,
    in the opposite one.

    Args:
        kinds: first row of each run and the end, the key of each run, and the first run of each
            level and the end, as in :class:`..compiled.plan.Plan`.

    Shapes:
        output: ``[tasks, 6]`` each: phase, number of tasks in the phase before, number of the kind,
        first row, end, key.
    """
    each = [_blocks(kind, len(kinds), *of_kind) for kind, of_kind in enumerate(kinds)]
    blocks = np.concatenate(each)
    _, phases = np.unique(blocks[:, 0], return_inverse=True)
    return _in_order(phases, blocks), _in_order(phases.max() - phases, blocks)


def _blocks(
    kind: int, kinds: int, starts: np.ndarray, keys: np.ndarray, levels: np.ndarray
) -> np.ndarray:
    """The rows of all runs in blocks: phase, kind, first row, end, key."""
    number = -(-np.diff(starts) // BLOCK)  # of blocks for each run
    run = np.repeat(np.arange(len(keys)), number)
    within = np.arange(len(run)) - (np.cumsum(number) - number)[run]
    first = starts[run] + BLOCK * within
    end = np.minimum(first + BLOCK, starts[run + 1])
    phase = kinds * np.repeat(np.arange(len(levels) - 1), np.diff(levels))[run] + kind
    return np.stack([phase, np.full_like(first, kind), first, end, keys[run]], 1)


def _in_order(phases: np.ndarray, blocks: np.ndarray) -> np.ndarray:
    order = np.argsort(phases, kind="stable")
    phases = phases[order]
    before = np.append(0, np.bincount(phases)[:-1])[phases]
    return np.column_stack([phases, before, blocks[order, 1:]]).astype(np.int32)


def counters(tasks: Tensor) -> Tensor:
    """Counts of tasks that have begun, and of those of each phase that are done: zeros.

    Shapes:
        tasks ``[tasks, 6]`` -> ``[tasks + 1]``, as there are no more phases than tasks.
    """
    return torch.zeros(len(tasks) + 1, dtype=torch.int32, device=tasks.device)


def tiles(n: int) -> dict[str, int]:
    """The sizes of the parts of matrices that are multiplied at once, for a hidden size."""
    size = min(max(power_of_two(n), BLOCK), 64)
    return {"ROWS": BLOCK, "WIDTH": size, "DEPTH": size}


def power_of_two(n: int) -> int:
    """The smallest one that is not less than n."""
    return 1 << (n - 1).bit_length()
