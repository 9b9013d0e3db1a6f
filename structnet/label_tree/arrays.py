"""A tree of softmaxes as arrays for the compiled loops, which find and score labels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from structnet.checks import check_integer, check_number
from structnet.label_tree._sgd_kernels import represented, score_all, score_labels, search
from structnet.label_tree.codes import LabelCodes
from structnet.label_tree.features import Features

AT_ONCE = 2**22  # numbers in the representations of bags that are held at once
NEAR = 2**18  # scores of labels at a single node that are held at once
WIDE = 500  # labels above which a single node uses matrix products instead of the loops
Rows = tuple[np.ndarray, np.ndarray | None, np.ndarray | None]


class TreeArrays(NamedTuple):
    """The arrays of a tree of softmaxes; on a CPU, some share memory with its module.

    Attributes:
        embedding: vectors of features, ``[features, in_features]``, whose weighted sum represents
            a bag; None if nodes classify examples directly.
        weight: ``[nodes, arity, in_features]``; for sparse rows that nodes classify directly,
            ``[nodes, in_features, arity]``.
        bias: ``[nodes, arity]``; -inf in empty slots.
        codes: the tree.
    """

    embedding: np.ndarray | None
    weight: np.ndarray
    bias: np.ndarray
    codes: LabelCodes

    def as_read(self, features: Features) -> Features:
        """Examples in the form of the compiled loops.

        Raises:
            ValueError: a table has another number of columns, or bags have features above that
                number.
        """
        if self.embedding is not None:
            return features.for_tree(len(self.embedding), True)
        return features.for_tree(self.weight.shape[2 if features.is_table else 1], False)

    def searched(
        self, features: Features, k: int = 1, beam: int | None = None, threshold: float = 0.0
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """The k likeliest labels of each example, and the mean number of nodes computed for one.

        Args:
            features: examples.
            k, beam, threshold: see :meth:`.TreeSoftmaxLoss.top_k`; k is at most the number of
                labels.

        Shapes:
            log-probabilities and labels, ``[n, k]``; -inf and -1 where there are fewer.

        Raises:
            ValueError: an argument is out of its range, or the features do not fit.
        """
        check_integer("k", k, 1, owner="top_k")
        check_integer("beam", beam, 1, optional=True, owner="top_k")
        check_number("threshold", threshold, 0, 1, owner="top_k")
        k = min(k, self.codes.num_labels)
        values, labels = np.full((len(features), k), -np.inf), np.full((len(features), k), -1)
        if not self.codes.num_nodes:
            return np.zeros_like(values), np.zeros_like(labels), 0.0
        least = np.log(threshold) if threshold > 0 else -np.inf
        count = 0
        for part, rows in self._parts(features):
            if k == 1 and self._is_wide(features):
                logits, above = self._at_node(rows)
                best = logits.argmax(1)[:, None]
                log_p = np.take_along_axis(logits, best, 1) - above[:, None]
                labels[part] = np.where(log_p >= least, best, -1)
                values[part] = np.where(log_p >= least, log_p, -np.inf)
                count += len(best)
                continue
            where = *rows, self.weight, self.bias, self.codes.children, k, beam or 0, least
            count += search(*where, labels[part], values[part])
        return values, labels, count / max(len(features), 1)

    def scored(self, features: Features, labels: np.ndarray) -> np.ndarray:
        """The log-probability of one label for each example. ``[n] -> [n]``."""
        log_p, labels = np.zeros(len(features)), np.asarray(labels, np.int64)
        codes = self.codes.offsets, self.codes.nodes, self.codes.slots
        for part, rows in self._parts(features):
            if self._is_wide(features):
                logits, above = self._at_node(rows)
                log_p[part] = np.take_along_axis(logits, labels[part, None], 1)[:, 0] - above
                continue
            score_labels(labels[part], *rows, self.weight, self.bias, *codes, log_p[part])
        return log_p

    def scored_all(self, features: Features) -> np.ndarray:
        """The log-probabilities of all labels, in double precision. ``[n, num_labels]``."""
        log_p = np.zeros((len(features), self.codes.num_labels))
        for part, rows in self._parts(features):
            if self._is_wide(features):
                logits, above = self._at_node(rows)
                np.subtract(logits, above[:, None], out=log_p[part])
                continue
            score_all(*rows, self.weight, self.bias, self.codes.children, log_p[part])
        return log_p

    def _is_wide(self, features: Features) -> bool:
        """Is the tree a single node with so many labels that matrix products are used, not loops?

        The scores of both may differ in the last digit.
        """
        dense = features.is_table or self.embedding is not None
        return dense and self.codes.num_nodes == 1 and self.codes.num_labels > WIDE

    def _at_node(self, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        """The scores of all labels at a single node, and what to subtract from them to get log p.

        Shapes:
            ``[n, labels]``, ``[n]``.
        """
        weight, slots = self.weight[0], self.codes.slots
        logits = rows[0].reshape(-1, weight.shape[1]) @ weight.T
        logits += self.bias[0]
        if len(slots) < len(weight) or (np.diff(slots) != 1).any():
            logits = logits[:, slots]  # by label, so that the lowest of equal ones wins
        highest = logits.max(1, keepdims=True)
        total = np.exp(logits - highest).sum(1, dtype=np.float64)
        return logits, highest[:, 0] + np.log(total)

    def _parts(self, features: Features) -> Iterator[tuple[slice, Rows]]:
        """Parts of the examples: their places, and the rows that nodes classify, for the loops."""
        features, size = self.as_read(features), max(1, len(features))
        if self.embedding is not None:
            size = max(1, AT_ONCE // self.embedding.shape[1])
        if self._is_wide(features):
            size = max(1, min(size, NEAR // self.codes.num_labels))
        for start in range(0, len(features), size):
            part = slice(start, start + size)
            rows = features[part].parts
            if self.embedding is not None:
                values, offsets, ids = rows
                rows = represented(offsets, ids, values, self.embedding), None, None
            yield part, rows
