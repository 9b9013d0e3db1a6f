"""Training of a single node of many labels on dense rows: minibatches, by products of matrices."""

from __future__ import annotations

import numpy as np

from structnet.label_tree._sgd_kernels import decided, room_for
from structnet.label_tree._vectors import add
from structnet.trees._kernels import compiled

BATCH = 64  # examples of a step: of more, products are no faster
SHARE = 8  # labels for each of them, at least: few examples of a batch are of the same label
WIDE = 32  # labels from which on this is faster than a row at a time


@compiled
def train_node(
    begin, end, labels, shares, values, offsets, ids, weight, bias,
    code_offsets, nodes, slots, sums, seen, first_rate, last_rate, learn_bias,
):  # fmt: skip
    """As :func:`.train_dense`; but the examples of a batch are decided on with the same weights.

    Their steps are added up, each as long as it would be alone: where labels are many, those of
    different examples hardly meet.
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
            errors[n] = p[:arity]
        np.dot(errors.T, rows, change)
        add(weight, 0, -np.float32(1), change, 0, arity * size)
    return loss - np.log(likelihood)
