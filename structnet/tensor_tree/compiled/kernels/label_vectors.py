"""What labels give to the nodes that have them: computed once for each distinct label.

A node's label is a pair of a type and a token, of which one may be missing (-1): its vector is the
sum of theirs.
"""

from __future__ import annotations

import numpy as np

from structnet.tensor_tree.compiled.kernels.gates import compiled, internal
from structnet.trees._kernels import grouped


@compiled
def distinct(types, tokens, leaves):
    """The distinct labels of nodes, those that only the first ``leaves`` nodes have first.

    Gives the label of each node, the type and the token of each label, and the first label that
    other nodes have. Counting sorts: linear in nodes, types and tokens.
    """
    num_types, num_tokens = np.int64(0), np.int64(0)
    for v in range(len(types)):
        num_types, num_tokens = max(num_types, types[v] + 1), max(num_tokens, tokens[v] + 1)
    by_token, starts = grouped(tokens + 1, num_tokens + 1)
    last = np.full(num_types + 1, -1)  # the label that was last made of each type
    label, node = np.empty(len(types), np.int64), np.empty(len(types), np.int64)
    count = 0
    for token in range(len(starts) - 1):
        first = count
        for i in range(starts[token], starts[token + 1]):
            v = by_token[i]
            kind = types[v] + 1
            if last[kind] < first:
                last[kind] = count
                node[count] = v
                count += 1
            label[v] = last[kind]
    inside = np.zeros(count, np.int64)
    inner, outer = count, 0
    for v in range(leaves, len(types)):
        inner -= 1 - inside[label[v]]
        inside[label[v]] = 1
    place, first_types, first_tokens = inside, np.empty(count, np.int64), np.empty(count, np.int64)
    for i in range(count):
        is_outer = inside[i] == 0
        place[i] = outer if is_outer else inner + i - outer
        outer += is_outer
        first_types[place[i]] = types[node[i]]
        first_tokens[place[i]] = tokens[node[i]]
    for v in range(len(types)):
        label[v] = place[label[v]]
    return label, first_types, first_tokens, inner


@internal
def look_up(types, tokens, of_types, of_tokens, x):
    """``x = of_types[type] + of_tokens[token]``, a row a label."""
    for i in range(len(x)):
        kind, token = types[i], tokens[i]
        for j in range(x.shape[1]):
            x[i, j] = of_types[kind, j] if kind >= 0 else 0
        if token >= 0:
            for j in range(x.shape[1]):
                x[i, j] += of_tokens[token, j]


@compiled
def look_up_backward(types, tokens, dx, d_types, d_tokens):
    """Its gradient, added to those of the vectors, which have no rows where none is asked for."""
    for i in range(len(dx)):
        kind, token = types[i], tokens[i]
        if kind >= 0 and len(d_types):
            for j in range(dx.shape[1]):
                d_types[kind, j] += dx[i, j]
        if token >= 0 and len(d_tokens):
            for j in range(dx.shape[1]):
                d_tokens[token, j] += dx[i, j]
