"""The loop that joins nodes about as rare that are alike, from the labels up to the root."""

from __future__ import annotations

from functools import partial

import numpy as np

from structnet.label_tree._kernels import EMPTY
from structnet.trees._kernels import compiled

summing = partial(compiled, fastmath={"reassoc"})  # in any order, so that it is vectorised


@summing
def joined(rarest, weight, middle, arity, slack, most):
    """The children of nodes each of which joins the rarest one with what is nearest to it.

    What waits stands in two queues, rarest first: labels (``rarest``) and nodes made so far. A
    window is what both begin with; what of it is not joined goes back to where the queues now
    begin. ``weight`` and ``middle`` have rows of the labels; those of the nodes are filled in.
    """
    labels, total = len(rarest), len(weight)
    number = total - labels
    children = np.full((number, arity), EMPTY, np.int32)
    made = np.empty(number, np.int64)
    label, node = 0, 0  # where the queues begin
    window = np.empty(most, np.int64)
    distance = np.empty(most)
    is_taken = np.zeros(most, np.bool_)
    for new in range(labels, total):
        room = arity - (1 - labels) % (arity - 1) if new == labels else arity
        last = new - labels  # where the queue of nodes ends
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
            if size == room:  # Huffman's last
                limit = weight[u] * slack
        for k in range(size):
            square = 0.0
            for i in range(middle.shape[1]):
                square += (middle[window[k], i] - middle[window[0], i]) ** 2
            distance[k] = square
            is_taken[k] = False
        distance[0] = -1.0  # the rarest is taken
        for _ in range(room):  # numpy's partition takes longer to compile than all this
            nearest = -1
            for k in range(size):  # of those just as far, the rarest
                if not is_taken[k] and (nearest < 0 or distance[k] < distance[nearest]):
                    nearest = k
            is_taken[nearest] = True
        for k in range(size):
            if is_taken[k]:
                weight[new] += weight[window[k]]
        slot = 0
        for k in range(size - 1, -1, -1):  # the frequent ones first
            u = window[k]
            if is_taken[k]:
                share = weight[u] / weight[new] if weight[new] > 0 else 1 / room
                for i in range(middle.shape[1]):
                    middle[new, i] += share * middle[u, i]
                # Nodes are numbered from the last, which is the root.
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
