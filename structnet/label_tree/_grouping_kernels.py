"""Builds a tree from the labels up, by joining similar nodes of similar frequency."""

from __future__ import annotations

from functools import partial

import numpy as np

from structnet.label_tree._kernels import EMPTY
from structnet.trees._kernels import compiled

summing = partial(compiled, fastmath={"reassoc"})  # reordered sums vectorise


@summing
def joined(rarest, weight, middle, arity, slack, most):
    """The children of all inner nodes, each of which joins the rarest node with the nearest others.

    Nodes wait in two queues, rarest first: labels (``rarest``) and inner nodes made so far. The
    others are chosen from a window at the fronts of both, of at most ``most`` nodes with at most
    ``slack`` times the weight of the last one that Huffman would join; nodes that are not chosen
    return to the fronts. ``weight`` and ``middle`` have the weight and the vector of each label;
    those of inner nodes, in further rows, are filled in.
    """
    labels, total = len(rarest), len(weight)
    number = total - labels
    children = np.full((number, arity), EMPTY, np.int32)
    made = np.empty(number, np.int64)
    label, node = 0, 0  # fronts of the queues
    window = np.empty(most, np.int64)
    distance = np.empty(most)
    is_taken = np.zeros(most, np.bool_)
    for new in range(labels, total):
        room = arity - (1 - labels) % (arity - 1) if new == labels else arity
        last = new - labels  # end of the queue of nodes
        size, limit = 0, np.inf
        while size < most and (label < labels or node < last):
            is_label = node == last or (
                label < labels and weight[rarest[label]] <= weight[made[node]]
            )
            u = rarest[label] if is_label else made[node]
            if weight[u] > limit:
                break
            window[size] = u
            size += 1
            label, node = label + is_label, node + (not is_label)
            if size == room:  # the last that Huffman would join
                limit = weight[u] * slack
        for k in range(size):
            square = 0.0
            for i in range(middle.shape[1]):
                square += (middle[window[k], i] - middle[window[0], i]) ** 2
            distance[k] = square
            is_taken[k] = False
        distance[0] = -1.0  # so that the rarest is taken
        for _ in range(room):  # compiles faster than numpy's partition
            nearest = -1
            for k in range(size):  # the rarest of equally near ones
                if not is_taken[k] and (nearest < 0 or distance[k] < distance[nearest]):
                    nearest = k
            is_taken[nearest] = True
        for k in range(size):
            if is_taken[k]:
                weight[new] += weight[window[k]]
        slot = 0
        for k in range(size - 1, -1, -1):  # frequent nodes first
            u = window[k]
            if is_taken[k]:
                share = weight[u] / weight[new] if weight[new] > 0 else 1 / room
                for i in range(middle.shape[1]):
                    middle[new, i] += share * middle[u, i]
                # Inner nodes are numbered in reverse, so that the root, made last, is 0.
                children[total - 1 - new, slot] = number + u if u < labels else total - 1 - u
                slot += 1
            elif u < labels:
                label -= 1
                rarest[label] = u
            else:
                node -= 1
                made[node] = u
        at = last
        while at > node and weight[made[at - 1]] > weight[new]:
            made[at] = made[at - 1]
            at -= 1
        made[at] = new
    return children
