"""The loops over nodes that numpy cannot express: compiled once by numba, cached on disk.

Arrays are int64, except the result of ``sizes`` (float64, as shared trees can be astronomically
large) and the rows of ``doubled`` and ``add_rows``. Children are in CSR form: those of node v are
``children[offsets[v]:offsets[v + 1]]``, and every child has a smaller number than its parent.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from numba.core.caching import FunctionCache, IndexDataCacheFile

from structnet.trees.memory import collector_paused


class CacheFiles(IndexDataCacheFile):
    """Compiled functions on disk, in files that are named after their contents.

    Numba numbers its files. Two processes that compile for different types at the same time may
    then both write number 1, and a process that reads it later calls code made for other types: it
    crashes at every start, until the files are removed. Here a lost race only costs a compilation.
    """

    def save(self, key: tuple, data: Any) -> None:
        """Stores what was compiled for a signature (``key``)."""
        digest = hashlib.sha256(repr((self._source_stamp, key)).encode()).hexdigest()[:16]
        name = self._index_name.replace(".nbi", f".{digest}.nbc")
        self._save_data(name, data)  # before the index says that it is there
        self._save_index({**self._load_index(), key: name})


@cache
def stamp_of(folder: Path) -> str:
    """A text that changes with the files of compiled functions at and below a folder."""
    sha = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        if path.stem.endswith(("kernels", "_vectors", "_llvm")) or path.parent.name == "kernels":
            status = path.stat()
            sha.update(f"{path.relative_to(folder)} {status.st_mtime} {status.st_size}\n".encode())
    return sha.hexdigest()


class Cache(FunctionCache):
    """Numba's cache of one function, on :class:`CacheFiles`."""

    def __init__(self, function: Callable):
        super().__init__(function)
        # A function holds copies of those that it calls, which may be in other files.
        stamp = (*self._impl.locator.get_source_stamp(), stamp_of(Path(__file__).parents[1]))
        self._cache_file = CacheFiles(self._cache_path, self._impl.filename_base, stamp)

    def _index_key(self, sig: Any, codegen: Any) -> tuple:
        """A key from names of functions; numba's own differs in every process."""
        if self._py_func.__closure__ is None:
            return super()._index_key(sig, codegen)
        parts = (cell.cell_contents for cell in self._py_func.__closure__)
        names = tuple(f"{each.__module__}.{each.__qualname__}" for each in parts)
        return sig, codegen.magic_tuple(), names


def compiled(function: Callable, nogil: bool = True, **options: Any) -> Callable:
    """Compiles on first use and keeps the result on disk, if there is a place to keep it.

    Several threads may run it at the same time, unless ``nogil=False``.
    """
    options |= {"no_cfunc_wrapper": True}  # which C would call, and nobody does
    dispatcher = njit(nogil=nogil, **options)(function)
    if hasattr(dispatcher, "_compiler"):  # numba may be told to compile nothing
        # It makes millions of objects, and each collection would visit all of the process.
        dispatcher._compiler.compile = collector_paused()(dispatcher._compiler.compile)
    with suppress(RuntimeError):  # no place, neither beside the library nor in the user's cache
        dispatcher._cache = Cache(function)
    return dispatcher


@compiled
def grouped(keys, num_keys):
    """Rows in the order of their keys, and where the rows of each key begin: a counting sort."""
    offsets = np.zeros(num_keys + 1, np.int64)
    for key in keys:
        offsets[key + 1] += 1
    for key in range(num_keys):  # numpy's own cumsum takes longer to compile than all this
        offsets[key + 1] += offsets[key]
    fill = offsets[:-1].copy()
    order = np.empty(len(keys), np.int64)
    for row in range(len(keys)):
        order[fill[keys[row]]] = row
        fill[keys[row]] += 1
    return order, offsets


@compiled
def doubled(x):
    """The numbers followed by as many zeros; numpy's ``append`` takes long to compile."""
    wider = np.zeros(2 * len(x), x.dtype)
    for i in range(len(x)):
        wider[i] = x[i]
    return wider


@compiled
def heights(offsets, children):
    """Edges on the longest way from each node down to a leaf."""
    height = np.zeros(len(offsets) - 1, np.int64)
    for v in range(len(height)):
        for e in range(offsets[v], offsets[v + 1]):
            height[v] = max(height[v], height[children[e]] + 1)
    return height


@compiled
def reached(roots, offsets, children):
    """All nodes at or below the roots, those of the first root first, and where each root's end.

    The work is linear in these nodes and their edges.
    """
    seen = np.zeros(len(offsets) - 1, np.bool_)  # of the memory, only what is touched costs
    nodes, ends = np.empty(len(offsets) - 1, np.int64), np.empty(len(roots), np.int64)
    n = i = 0
    for r in range(len(roots)):
        if not seen[roots[r]]:
            seen[roots[r]] = True
            nodes[n] = roots[r]
            n += 1
        while i < n:  # found is its own queue
            v = nodes[i]
            i += 1
            for e in range(offsets[v], offsets[v + 1]):
                u = children[e]
                if not seen[u]:
                    seen[u] = True
                    nodes[n] = u
                    n += 1
        ends[r] = n
    return nodes[:n], ends


def below(roots, offsets, children):
    """All nodes at or below the roots, ascending."""
    return np.sort(reached(roots, offsets, children)[0])


@compiled
def restrict(nodes, roots, offsets, children):
    """CSR and roots of the sub-forest on ``nodes``, which are renumbered.

    Nodes follow their children in the list. If several such lists are joined, each gets copies of
    its own, and the roots are those of the last list.
    """
    local = np.empty(len(offsets) - 1, np.int64)  # only the entries of ``nodes`` are ever touched
    new_offsets = np.zeros(len(nodes) + 1, np.int64)
    for i in range(len(nodes)):
        new_offsets[i + 1] = new_offsets[i] + offsets[nodes[i] + 1] - offsets[nodes[i]]
    edges = np.empty(new_offsets[-1], np.int64)  # where each kept edge was
    new_children = np.empty(new_offsets[-1], np.int64)
    k = 0
    for i in range(len(nodes)):
        v = nodes[i]
        local[v] = i
        for e in range(offsets[v], offsets[v + 1]):
            edges[k] = e
            new_children[k] = local[children[e]]
            k += 1
    new_roots = np.empty(len(roots), np.int64)
    for i in range(len(roots)):
        new_roots[i] = local[roots[i]]
    return new_offsets, new_children, edges, new_roots


@compiled
def topological_order(child, parent, num_nodes):
    """Nodes with children before parents; shorter than ``num_nodes`` if there is a cycle."""
    waiting = np.zeros(num_nodes, np.int64)  # children not yet placed
    for p in parent:
        waiting[p] += 1
    edges, offsets = grouped(child, num_nodes)
    parents = parent[edges]
    order = np.empty(num_nodes, np.int64)
    n = 0
    for v in range(num_nodes):
        if waiting[v] == 0:
            order[n] = v
            n += 1
    i = 0
    while i < n:
        v = order[i]
        i += 1
        for p in parents[offsets[v] : offsets[v + 1]]:
            waiting[p] -= 1
            if waiting[p] == 0:
                order[n] = p
                n += 1
    return order[:n]


@compiled
def sizes(offsets, children):
    """The number of nodes at and below each, float64; shared ones count as often as they occur."""
    size = np.ones(len(offsets) - 1)
    for v in range(len(size)):
        for e in range(offsets[v], offsets[v + 1]):
            size[v] += size[children[e]]
    return size


@compiled
def preorder(roots, offsets, children, total):
    """The nodes at and below each root, parents first, children in order, shared ones repeated.

    ``total`` is the number of these nodes.
    """
    order = np.empty(total, np.int64)
    # What waits are children of nodes on one path, and no node is on it twice.
    waiting = np.empty(len(children) + 1, np.int64)
    n = 0
    for r in roots:
        waiting[0] = r
        count = 1
        while count:
            count -= 1
            v = waiting[count]
            order[n] = v
            n += 1
            for e in range(offsets[v + 1] - 1, offsets[v] - 1, -1):
                waiting[count] = children[e]
                count += 1
    return order


@compiled
def wanted_places(roots, offsets, children, size, wanted):
    """The wanted nodes of each tree in preorder, ``[5, nodes]``, which goes only where some are.

    The rows are a node's tree, its number, its parent's number, its place in the preorder of all
    trees, and its parent's place; those of a root's parent are -1. ``size`` is the number of nodes
    at and below each.
    """
    below = wanted.copy()
    for v in range(len(below)):
        for e in range(offsets[v], offsets[v + 1]):
            below[v] |= below[children[e]]
    waiting = np.empty((4, len(children) + 1), np.int64)  # see preorder
    found = np.empty((5, 0), np.int64)
    for fill in (False, True):
        n = begin = 0
        for tree in range(len(roots)):
            root = roots[tree]
            waiting[0, 0], waiting[1, 0], waiting[2, 0], waiting[3, 0] = root, -1, begin, -1
            begin += size[root]
            count = 1 if below[root] else 0
            while count:
                count -= 1
                v, place = waiting[0, count], waiting[2, count]
                if wanted[v]:
                    if fill:
                        found[0, n] = tree
                        for i in range(4):
                            found[i + 1, n] = waiting[i, count]
                    n += 1
                end = place + size[v]
                for e in range(offsets[v + 1] - 1, offsets[v] - 1, -1):
                    child = children[e]
                    end -= size[child]
                    if below[child]:
                        waiting[0, count], waiting[1, count] = child, v
                        waiting[2, count], waiting[3, count] = end, place
                        count += 1
        if not fill:
            found = np.empty((5, n), np.int64)
    return found


@compiled
def ways_down(nodes, size, offsets, children):
    """For each entry of a preorder its parent's entry, the edge between them, and its depth.

    ``nodes`` is the preorder, ``size`` the number of entries of each stored node and all below it.
    The parent and the edge of a root are -1.
    """
    n = len(nodes)
    parent, edge, depth = np.full(n, -1), np.full(n, -1), np.zeros(n, np.int64)
    for i in range(n):
        child = i + 1
        for e in range(offsets[nodes[i]], offsets[nodes[i] + 1]):
            parent[child], edge[child], depth[child] = i, e, depth[i] + 1
            child += size[children[e]]
    return parent, edge, depth


@compiled
def add_rows(x, places, rows):
    """Adds each row to the row at its place, in place: ``x[places[i]] += rows[i]``.

    Torch's own ``index_add_`` takes thousands of times as long on two threads beside another busy
    program.
    """
    for i in range(len(places)):
        place = places[i]
        for k in range(x.shape[1]):
            x[place, k] += rows[i, k]
