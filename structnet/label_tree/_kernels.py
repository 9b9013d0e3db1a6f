"""Compiled loops over labels: codes from children, statistics of decisions, and reassignment.

Children are int32 ``[nodes, arity]``: an inner node's number, ``nodes + label`` for a leaf, or
``EMPTY``. Node 0 is the root. Codes are in CSR form: the node and the slot of label l at depth d
are in row ``offsets[l] + d``.
"""

from __future__ import annotations

import numpy as np

from structnet.label_tree._assignment_kernels import greedy, optimal
from structnet.trees._kernels import compiled

EMPTY = -1
UNSEEN = 1e-6  # weight of a label without examples, relative to the rarest label with some
PAPER, EQ10, MARGIN, EXACT = range(4)  # scores
ANCHORED, UNIFORM, INDEX = range(3)  # priors


@compiled
def codes_of(children, num_labels):
    """The codes of the labels as offsets, nodes and slots, and the first wrong number in children.

    That is one out of range, or of a node or label that occurs twice or not at all; -1 for none.
    """
    num_nodes, arity = children.shape
    above = np.full(num_nodes + num_labels, -1, np.int64)  # node * arity + slot above each
    offsets = np.zeros(num_labels + 1, np.int64)
    nothing = np.zeros(0, np.int32)
    depth = np.zeros(num_nodes, np.int64)
    stack = np.zeros(num_nodes + 1, np.int64)
    top = min(num_nodes, 1)  # the root is on the stack, if there is one
    while top:
        top -= 1
        v = stack[top]
        for j in range(arity):
            u = children[v, j]
            if u == EMPTY:
                continue
            if u <= 0 or u >= num_nodes + num_labels or above[u] >= 0:
                return offsets, nothing, nothing, u
            above[u] = v * arity + j
            if u < num_nodes:
                depth[u] = depth[v] + 1
                stack[top] = u
                top += 1
            else:
                offsets[u - num_nodes + 1] = depth[v] + 1
    for u in range(1, len(above)):
        if above[u] < 0 and num_nodes:
            return offsets, nothing, nothing, u
    for label in range(num_labels):
        offsets[label + 1] += offsets[label]
    nodes = np.empty(offsets[-1], np.int32)
    slots = np.empty(offsets[-1], np.int32)
    for label in range(num_labels):
        u = num_nodes + label
        for row in range(offsets[label + 1] - 1, offsets[label] - 1, -1):
            nodes[row] = above[u] // arity
            slots[row] = above[u] % arity
            u = nodes[row]
    return offsets, nodes, slots, -1


@compiled
def scores_of(kind, q, p):
    """The value of moving each label to each child; see :func:`.reassign`."""
    n, arity = p.shape
    mean = np.zeros(arity)
    for i in range(n):
        for j in range(arity):
            mean[j] += q[i] * p[i, j]
    sign = np.zeros(arity)
    if kind == EXACT:
        for i in range(n):
            for j in range(arity):
                sign[j] += q[i] * np.sign(p[i, j] - mean[j])
    scores = np.empty((n, arity))
    for i in range(n):
        for j in range(arity):
            above = p[i, j] - mean[j]
            if kind == MARGIN:
                scores[i, j] = q[i] * above
            elif kind == PAPER:
                scores[i, j] = q[i] * (1 - q[i]) * np.sign(above) * p[i, j]
            elif kind == EQ10:
                scores[i, j] = 2 / arity * q[i] * (1 - q[i]) * np.sign(above)
            else:
                scores[i, j] = 2 / arity * q[i] * (np.sign(above) - sign[j])
    return scores


@compiled
def decisions(nodes, slots, sums, seen, weights, num_nodes):
    """Statistics of the decision at each node, over the rows of all codes and their weights.

    Returns the mean probability of each child, ``[nodes, arity]``, and two weighted means over the
    labels, ``[nodes]``: of ``sum_j min(p_j, 1 - p_j)`` and of ``sum_j |p_j - mean_j|``. One
    observation of the label's own slot is added to the statistics of each row.
    """
    arity = sums.shape[1]
    total, torn, spread = np.zeros(num_nodes), np.zeros(num_nodes), np.zeros(num_nodes)
    mean = np.zeros((num_nodes, arity))
    for row in range(len(nodes)):
        total[nodes[row]] += weights[row]
    for again in range(2):
        for row in range(len(nodes)):
            node = nodes[row]
            q = weights[row] / total[node] if total[node] > 0 else 0.0
            for j in range(arity):
                p = (sums[row, j] + (j == slots[row])) / (seen[row] + 1)
                if again:
                    spread[node] += q * abs(p - mean[node, j])
                else:
                    mean[node, j] += q * p
                    torn[node] += q * min(p, 1 - p)
    return mean, torn, spread


@compiled
def shares_of(labels, counts):
    """The share of each label among the examples of a node.

    Labels without examples get a tiny share: with 0, all children would have the same value, and
    all such labels would go to the first one.
    """
    q = np.empty(len(labels))
    least = np.inf
    for k in range(len(labels)):
        if counts[labels[k]] > 0:
            least = min(least, counts[labels[k]])
    unseen = UNSEEN * least if least < np.inf else 1.0
    total = 0.0
    for k in range(len(labels)):
        q[k] = max(counts[labels[k]], unseen)
        total += q[k]
    for k in range(len(labels)):
        q[k] /= total
    return q


@compiled
def means_of(node, depth, labels, q, offsets, nodes, slots, sums, seen, prior, certain):
    """The mean probability of each child over the examples of each label that will pass a node.

    ``certain`` prior observations are added to the statistics. Anchored ones are of the label's
    slot at this node; for a label that is new here, of the slot with the smallest share so far.
    """
    arity = sums.shape[1]
    p = np.empty((len(labels), arity))
    share = np.zeros(arity)
    slot = np.full(len(labels), -1)
    for k in range(len(labels)):
        row = offsets[labels[k]] + depth
        if row < offsets[labels[k] + 1] and nodes[row] == node:
            slot[k] = slots[row]
            share[slot[k]] += q[k]
    for k in range(len(labels)):
        row = offsets[labels[k]] + depth
        known = slot[k] >= 0
        if not known:
            slot[k] = np.argmin(share)
            share[slot[k]] += q[k]
        count = seen[row] if known else 0.0
        for j in range(arity):
            if prior == ANCHORED:
                before = 1.0 if j == slot[k] else 0.0
            else:
                before = 1 / arity
                if prior == INDEX:
                    before = (before + (1.0 if j == labels[k] % arity else 0.0)) / 2
            total = sums[row, j] if known else 0.0
            p[k, j] = (total + certain * before) / (count + certain)
    return p


@compiled
def rebuilt(
    children, offsets, nodes, slots, sums, seen, counts, score, prior, certain, max_depth, limit
):
    """The children after a reassignment, and a mask of the nodes that are new in their places.

    From the root down, the labels of each node are assigned to its children. A child with several
    labels is the inner node that was in its place before, or a new one, for which the number of an
    unused node is taken in the end.
    """
    num_nodes, arity = children.shape
    num_labels = len(offsets) - 1
    room = np.full((2 * num_nodes, arity), EMPTY, np.int32)  # new nodes have numbers from num_nodes
    labels = np.arange(num_labels)
    stack = [(0, 0, num_labels, 0)]
    new = 0
    while stack:
        node, start, end, depth = stack.pop()
        mine = labels[start:end].copy()
        q = shares_of(mine, counts)
        p = means_of(node, depth, mine, q, offsets, nodes, slots, sums, seen, prior, certain)
        scores = scores_of(score, q, p)
        capacity = num_labels
        if max_depth:
            capacity = 1
            for _ in range(max_depth - depth - 1):
                capacity = min(capacity * arity, num_labels)
        # Only the one that is asked for is compiled.
        choice = greedy(scores, capacity) if limit is None else optimal(scores, capacity, limit)
        ends = np.zeros(arity + 1, np.int64)
        for k in range(len(mine)):
            ends[choice[k] + 1] += 1
        for j in range(arity):
            ends[j + 1] += ends[j]
        fill = ends[:-1].copy()
        for k in range(len(mine)):
            labels[start + fill[choice[k]]] = mine[k]
            fill[choice[k]] += 1
        for j in range(arity):
            size = ends[j + 1] - ends[j]
            if size == 1:
                room[node, j] = 2 * num_nodes + labels[start + ends[j]]
            elif size > 1:
                child = num_nodes + new
                if node < num_nodes and 0 <= children[node, j] < num_nodes:
                    child = children[node, j]
                else:
                    new += 1
                room[node, j] = child
                stack.append((child, start + ends[j], start + ends[j + 1], depth + 1))
    return renumbered(room, num_nodes)


@compiled
def renumbered(room, num_nodes):
    """The children after new nodes get the numbers of unused ones, and a mask of the new nodes."""
    arity = room.shape[1]
    used = np.zeros(2 * num_nodes, np.bool_)
    used[0] = True
    for v in range(2 * num_nodes):
        for j in range(arity):
            if 0 <= room[v, j] < 2 * num_nodes:
                used[room[v, j]] = True
    number = np.full(2 * num_nodes, -1)
    is_new = np.zeros(num_nodes, np.bool_)
    free = 0
    for v in range(num_nodes):
        if used[v]:
            number[v] = v
    for v in range(num_nodes, 2 * num_nodes):
        if used[v]:
            while used[free]:
                free += 1
            used[free] = True
            number[v] = free
            is_new[free] = True
    children = np.full((num_nodes, arity), EMPTY, np.int32)
    for v in range(2 * num_nodes):
        if number[v] < 0:
            continue
        for j in range(arity):
            u = room[v, j]
            if u >= 2 * num_nodes:
                children[number[v], j] = u - num_nodes
            elif u >= 0:
                children[number[v], j] = number[u]
    return children, is_new


@compiled
def kept_rows(offsets, nodes, new_offsets, new_nodes, is_new):
    """For each row of the new codes, the old row of the same label, depth and node, or -1."""
    old_rows = np.full(new_offsets[-1], -1)
    for label in range(len(offsets) - 1):
        depth = min(
            offsets[label + 1] - offsets[label], new_offsets[label + 1] - new_offsets[label]
        )
        for d in range(depth):
            before, now = offsets[label] + d, new_offsets[label] + d
            if nodes[before] == new_nodes[now] and not is_new[new_nodes[now]]:
                old_rows[now] = before
    return old_rows
