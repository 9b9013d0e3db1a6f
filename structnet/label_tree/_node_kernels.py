"""Trains a single node of many labels on dense rows, in minibatches with matrix products."""

from __future__ import annotations

import numpy as np

from structnet.label_tree._sgd_kernels import decided, room_for
from structnet.label_tree._vectors import add
from structnet.trees._kernels import compiled

BATCH = 64  # largest number of examples in a step; products of more are no faster
SHARE = 8  # smallest number of labels for each of them, so that few examples share a label
WIDE = 32  # number of labels from which on this is faster than one row at a time


@compiled
def train_node(
    begin, end, labels, shares, values, offsets, ids, weight, bias,
    code_offsets, nodes, slots, sums, seen, first_rate, last_rate, learn_bias,
):  # fmt: skip
    """Trains as :func:`.train_dense`, but with the same weights for all examples of a batch.

    Their steps are added, not averaged: with many labels, those of different examples hardly
    overlap.
    """
    arity, size = weight.shape[1:]
    room, p = room_for(code_offsets, arity)
    x, w = values.reshape(-1, size), weight[0]
    batch = min(BATCH, max(arity // SHARE, 1))
    error, change = np.empty((batch, arity), np.float32), np.empty((arity, size), np.float32)
    loss, likelihood = 0.0, 1.0
    for start in range(begin, end, batch):
        number = min(batch, end - start)
        rows, errors = x[start : start + number], error[:number]
        before = bias.copy()
        np.dot(rows, w.T, errors)
        for n in range(number):
            i = start + n
            for j in range(room):
                p[j] = errors[n, j] + before[0, j] if j < arity else -np.inf
            rate = np.float32(first_rate + (last_rate - first_rate) * i / len(labels))
            share = shares[i] if len(shares) else np.float32(1)
            row = code_offsets[labels[i]]
            loss, likelihood = decided(
                row, row + 1, nodes, slots, arity, room, p, bias, sums, seen, share, rate,
                learn_bias, len(shares) > 0, loss, likelihood,
            )  # fmt: skip
            for j in range(arity):  # compiles in a third of the time of an array for an array
                errors[n, j] = p[j]
        np.dot(errors.T, rows, change)
        add(weight, 0, -np.float32(1), change, 0, arity * size)
    return loss - np.log(likelihood)
