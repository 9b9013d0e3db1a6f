"""The probabilities of a tree: a softmax over the classes of a leaf, and a rest for all others.

Narrow leaves make a tree fast, but training sends some rows to a leaf without their class, and of
new rows even more: on 1,000 curved classes, two in five. The rest of a leaf is the share of such
samples (see ``smoothing``). The other classes share it by their frequency, so that it costs one
number for each leaf, and no time in a prediction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from structnet.estimators.parts import of_classes
from structnet.softmax_tree import _kernels
from structnet.softmax_tree.arrays import Packed
from structnet.trees.end_to_end import offsets_of

TINY = 1e-30
JOINED = ("classes", "log_prob", "rest")


class Outside(NamedTuple):
    """The probabilities of the classes that the leaves lack.

    Attributes:
        rest: probability of all these together, of each leaf.
        shares: share of each class, in proportion to which they have it.

    Shapes:
        rest ``[nodes]``; shares ``[K]``; float64.
    """

    rest: np.ndarray
    shares: np.ndarray


class Choices(NamedTuple):
    """The classes of each row's leaf, and the probability of all others.

    Attributes:
        classes: classes of row i, ascending, at ``starts[i]:starts[i + 1]``.
        log_prob: log-probabilities of these classes.
        starts: positions at which the rows begin.
        rest: probability of the other classes together.
        shares: share of each class, in proportion to which they have it.

    Shapes:
        classes, log_prob ``[all]``, int64 and float64; starts ``[n + 1]``; rest ``[n]``; shares
        ``[K]``.
    """

    classes: np.ndarray
    log_prob: np.ndarray
    starts: np.ndarray
    rest: np.ndarray
    shares: np.ndarray

    def row(self, i: int) -> Choices:
        """The choices of one row."""
        here = slice(self.starts[i], self.starts[i + 1])
        classes, log_prob = self.classes[here], self.log_prob[here]
        starts = np.array([0, len(classes)])
        return Choices(classes, log_prob, starts, self.rest[i : i + 1], self.shares)

    def top(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The k likeliest classes of each row and their probabilities, likeliest first.

        Of equally likely ones, the first comes first.

        Shapes:
            both ``[n, k]``; k is at most K.
        """
        n, every = len(self.starts) - 1, np.arange(len(self.shares))
        order = np.argsort(-self.shares, kind="stable")
        found, prob = np.empty((n, k), np.int64), np.empty((n, k))
        for i in range(n):
            here = slice(self.starts[i], self.starts[i + 1])
            classes, p = self.classes[here], np.exp(self.log_prob[here])
            if self.rest[i] > 0 or len(classes) < k:  # the likeliest of the others, too
                others = (order if self.rest[i] > 0 else every)[: k + len(classes)]
                others = others[~np.isin(others, classes)][:k]
                lacked = self.shares.sum() - self.shares[classes].sum()
                more = np.exp(divided(self.rest[i], lacked, self.shares[others]))
                classes, p = np.append(classes, others), np.append(p, more)
            best = np.lexsort((classes, -p))[:k]
            found[i], prob[i] = classes[best], p[best]
        return found, prob

    def likeliest(self) -> np.ndarray:
        """The likeliest class of each row's leaf, the first of equally likely ones. ``[n]``."""
        most = np.maximum.reduceat(self.log_prob, self.starts[:-1])
        there = np.flatnonzero(self.log_prob == np.repeat(most, np.diff(self.starts)))
        first = there[np.searchsorted(there, self.starts[:-1])]
        return self.classes[first]

    def lacked(self) -> np.ndarray:
        """The sum of the shares of the classes that each row's leaf lacks. ``[n]``."""
        rows = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        own = np.bincount(rows, self.shares[self.classes], len(self.starts) - 1)
        return self.shares.sum() - own

    def matrix(self, num_classes: int) -> csr_matrix:
        """The probabilities in the leaf as a CSR matrix. ``[n, num_classes]``."""
        shape = len(self.starts) - 1, num_classes
        return csr_matrix((np.exp(self.log_prob), self.classes, self.starts), shape=shape)

    def dense(self, num_classes: int, dtype: Any = np.float64) -> np.ndarray:
        """The log-probabilities as a dense array. ``[n, num_classes]``."""
        n = len(self.starts) - 1
        rows = np.repeat(np.arange(n), np.diff(self.starts))
        if not self.rest.any():
            found = np.full((n, num_classes), -np.inf, dtype)
        else:
            lacked = self.lacked()[:, None]
            found = divided(self.rest[:, None], lacked, self.shares).astype(dtype, copy=False)
        found[rows, self.classes] = self.log_prob
        return found


def joined(parts: Sequence[Choices]) -> Choices:
    """The choices for the rows of several parts, one after the other."""
    sizes = np.concatenate([np.diff(part.starts) for part in parts])
    fields = (np.concatenate([getattr(part, name) for part in parts]) for name in JOINED)
    classes, log_prob, rest = fields
    return Choices(classes, log_prob, offsets_of(sizes), rest, parts[0].shares)


def choices_of(rows: tuple, number: int, arrays: Packed, outside: Outside) -> Choices:
    """The classes in the leaf of each row in kernel form."""
    leaves = arrays.leaves_of(rows, np.arange(number))
    starts = offsets_of(arrays.sizes()[leaves])
    classes, log_prob = np.empty(starts[-1], np.int64), np.empty(starts[-1])
    _kernels.log_probs_of(*rows, leaves, starts, *arrays.as_arguments, classes, log_prob)
    if arrays.has_parts:
        classes, log_prob, starts = _merged(log_prob.reshape(number, -1), arrays.classes(0))
    rest = outside.rest[leaves]
    log_prob += np.repeat(np.log1p(-rest), np.diff(starts))
    return Choices(classes, log_prob, starts, rest, outside.shares)


def _merged(
    log_prob: np.ndarray, part_classes: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The classes of each row, their log-probabilities, and where the rows begin."""
    there, place = np.unique(part_classes, return_inverse=True)
    number, size = len(log_prob), len(there)
    merged = of_classes(lambda rows: log_prob[rows], number, place) if number else log_prob
    return np.tile(there, number), merged.ravel(), np.arange(number + 1) * size


def divided(rest: Any, lacked: Any, shares: np.ndarray) -> np.ndarray:
    """The log-probability of each class, if those that a leaf lacks share its rest.

    Args:
        rest: probability of these classes together.
        lacked: sum of their shares.
        shares: share of each class; 0 gives -inf.

    Shapes:
        rest, lacked ``[]`` or ``[n, 1]``; shares ``[K]`` -> ``[K]`` or ``[n, K]``.
    """
    with np.errstate(divide="ignore"):
        # Without a rest, all classes may be there, and rounding leaves anything of their sum.
        return np.log(rest) - np.log(np.maximum(lacked, TINY)) + np.log(shares)
