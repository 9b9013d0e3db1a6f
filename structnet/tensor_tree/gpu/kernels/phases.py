"""Order among the programs of one call, and other parts of all sweeps.

A program computes one task, up to ``ROWS`` rows (:mod:`..tasks`). Programs take tasks in order, and
wait until all of the phase before are done. So a program only ever waits for others that have
begun, and a sweep is one call, however many levels it has.
"""

from __future__ import annotations

import triton
import triton.language as tl

# Rows of a list that are read together, as the time for one is mostly latency.
TOGETHER = tl.constexpr(4)


@triton.jit
def take(tasks, done):
    """The next task: the kind of its rows, the first of them and the end, its key and phase.

    Kind 0 are nodes and 1 messages; a sweep of a Child-Sum Tree-LSTM has one kind of rows.
    ``done`` counts the tasks that have begun, and after that those of each phase that are done.
    """
    task = tasks + 6 * tl.atomic_add(done, 1).to(tl.int64)
    phase, needed = tl.load(task), tl.load(task + 1)
    if phase > 0:
        while tl.load(done + phase, volatile=True) < needed:
            pass
        while tl.atomic_cas(done + phase, 0, 0) < needed:  # after it, other programs' rows are seen
            pass
    key = tl.load(task + 5).to(tl.int64)
    return tl.load(task + 2), tl.load(task + 3), tl.load(task + 4), key, phase


@triton.jit
def finish(done, phase):
    """Counts a task as done."""
    tl.debug_barrier()  # all threads have stored their numbers
    tl.atomic_add(done + phase + 1, 1)


@triton.jit
def rows_at(x, index, there, stride):
    """Where rows begin whose numbers are at places ``index`` of x, ``[ROWS, 1]``."""
    return tl.load(x + index, there, other=0).to(tl.int64) * stride


@triton.jit
def lists_of(offsets, row, there):
    """Where each row's list begins, the lists' lengths, and the greatest of these."""
    begin = tl.load(offsets + row, there, other=0).to(tl.int64)
    length = tl.load(offsets + row + 1, there, other=0) - begin
    return begin, length, tl.max(length)


@triton.jit
def sigmoid(x):
    """The logistic function, element-wise."""
    return 1 / (1 + tl.exp(-x))


@triton.jit
def tanh(x):
    """The hyperbolic tangent, element-wise."""
    return 2 * sigmoid(2 * x) - 1


@triton.jit
def close_cell(i, o, u, kept, y, c_to, h_to, n, here):
    """The state of nodes from the arguments of their gates, which then hold the gates' values."""
    i, o, u = sigmoid(i), sigmoid(o), tanh(u)
    c = i * u + kept
    tl.store(y, i, here)
    tl.store(y + n, o, here)
    tl.store(y + 2 * n, u, here)
    tl.store(c_to, c, here)
    tl.store(h_to, o * tanh(c), here)


@triton.jit
def close_cell_backward(y, c, dh, dc, dy, dc_to, n, here):
    """The gradient of :func:`close_cell`: completes that of c, and sets those of the arguments."""
    i = tl.load(y, here, other=0)
    o = tl.load(y + n, here, other=0)
    u = tl.load(y + 2 * n, here, other=0)
    t = tanh(tl.load(c, here, other=0))
    dc += dh * o * (1 - t * t)
    tl.store(dc_to, dc, here)
    tl.store(dy, dc * u * i * (1 - i), here)
    tl.store(dy + n, dh * t * o * (1 - o), here)
    tl.store(dy + 2 * n, dc * i * (1 - u * u), here)
