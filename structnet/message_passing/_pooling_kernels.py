"""Sums and maxima over all nodes of trees, from the leaves up and back.

Children are in CSR form and have smaller numbers than their parents; a node that stands in a tree
several times counts as often in the sum, as it is added once an edge.
"""

from __future__ import annotations

from structnet.trees._kernels import compiled


@compiled
def sum_up(offsets, children, S):
    """``S[v] += sum of S[children of v]``, children first."""
    for v in range(len(S)):
        s = S[v]
        for e in range(offsets[v], offsets[v + 1]):
            below = S[children[e]]
            for j in range(len(s)):
                s[j] += below[j]


@compiled
def sum_down(offsets, children, D):
    """Its gradient: ``D[child] += D[v]``, parents first."""
    for v in range(len(D) - 1, -1, -1):
        d = D[v]
        for e in range(offsets[v], offsets[v + 1]):
            below = D[children[e]]
            for j in range(len(d)):
                below[j] += d[j]


@compiled
def max_up(offsets, children, M, A):
    """``M[v] = max(M[v], M[children of v])``, and in A the number of the node that has it."""
    for v in range(len(M)):
        m, a = M[v], A[v]
        for j in range(len(m)):
            a[j] = v
        for e in range(offsets[v], offsets[v + 1]):
            below, where = M[children[e]], A[children[e]]
            for j in range(len(m)):
                if below[j] > m[j]:
                    m[j], a[j] = below[j], where[j]


@compiled
def max_down(chosen, DM, D):
    """Its gradient: ``D[chosen[r, j], j] += DM[r, j]``."""
    for r in range(len(DM)):
        for j in range(DM.shape[1]):
            D[chosen[r, j], j] += DM[r, j]
