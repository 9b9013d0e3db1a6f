"""Decision trees on counts of labels and names, for answers that are no linear function of them.

Exactly three of a label, or an even number of nodes, is what neither a sum of weighted counts nor
the states of a Tree-LSTM tell; splits at counts do.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import sklearn
import torch
from scipy.sparse import csr_matrix
from sklearn.tree import ExtraTreeClassifier, ExtraTreeRegressor
from torch import Tensor, nn

TREES = 100  # trees, if these take no more than WORK
LABELS = 300  # counts that are used: those of what most trees have
TRIED = 64  # columns that a split is chosen from: of few that matter, it should not miss all
EXAMPLES = 2000  # from which one tree is grown, which bounds its size
# Nodes times columns tried times outputs of all trees, some seconds; and fewest trees worth it.
WORK, FEWEST = 1_000_000_000, 20
ROWS = 10_000  # of counts for which the trees are asked at once
DOUBT = 0.5  # votes that all classes share, so that none has probability 0


class _Grown(NamedTuple):
    """One tree, as :class:`ExtraTrees` stores all: its nodes, and the predictions of its leaves.

    Shapes:
        nodes ``[3, nodes]``, int32; values ``[values, num_outputs]``.
    """

    nodes: np.ndarray
    values: np.ndarray


class ExtraTrees(nn.Module):
    """A forest of extremely randomised trees on counts of labels and names, and on that of nodes.

    Args:
        num_outputs: number of outputs for each example.
        roots: number of trees in an example.
        kind: "classes", whose outputs are log-probabilities, or "numbers".
        num_labels: number of columns, the first ones, that count labels and are added up; by
            default all.
        num_columns, num_nodes, num_values, num_trees: sizes of the arrays, which :meth:`fit` finds.

    Attributes:
        share: weight of the outputs beside those of other models.

    Shapes:
        columns: ``[num_columns]``, int64, ascending: counts that are used.
        nodes: ``[3, num_nodes]``, int32, the trees one after the other, each in preorder: a column,
            a threshold, and where rows with more go; others go to the next node. In the place of
            that node, a leaf has ``-1 - v``, where v is its place in values.
        starts: ``[num_trees]``, int64: root of each tree.
        values: ``[num_values, num_outputs]``: predictions of leaves.
        output: ``[n, num_outputs]``.

    Reference: Geurts, Ernst, Wehenkel, "Extremely randomized trees", Machine Learning 63, 2006.
    """

    columns: Tensor
    nodes: Tensor
    starts: Tensor
    values: Tensor
    share: Tensor

    def __init__(
        self,
        num_outputs: int,
        roots: int,
        kind: str,
        num_labels: int | None = None,
        num_columns: int = 0,
        num_nodes: int = 0,
        num_values: int = 0,
        num_trees: int = TREES,
    ):
        super().__init__()
        self.roots, self.kind, self.num_labels = roots, kind, num_labels
        self.register_buffer("share", torch.zeros(()))
        self.register_buffer("columns", torch.zeros(num_columns, dtype=torch.int64))
        self.register_buffer("nodes", torch.zeros(3, num_nodes, dtype=torch.int32))
        self.register_buffer("starts", torch.zeros(num_trees, dtype=torch.int64))
        self.register_buffer("values", torch.zeros(num_values, num_outputs, dtype=torch.float32))

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes of the arrays, as the constructor takes them."""
        return {
            "num_columns": len(self.columns),
            "num_nodes": self.nodes.shape[1],
            "num_values": len(self.values),
            "num_trees": len(self.starts),
        }

    def fit(
        self, counts: csr_matrix, targets: np.ndarray, weights: np.ndarray | None, seed: int
    ) -> None:
        """Grows the trees: fewer than ``TREES`` if they are large and outputs many, down to none.

        Args:
            counts: count of each label, and maybe of names, in each tree.
            targets: classes, or rows of numbers.
            weights: weight of each example.
            seed: seed of the splits.

        Shapes:
            counts ``[n * roots, columns]``; targets ``[n]`` or ``[n, outputs]``; weights ``[n]``.
        """
        of_most = np.argsort(-counts.getnnz(axis=0), kind="stable")[:LABELS]
        self._hold("columns", np.sort(of_most))
        tried = min(TRIED, self.roots * (len(of_most) + 1))
        random = np.random.RandomState(seed)
        all_rows = None if len(targets) > EXAMPLES else self.rows(counts).astype(np.float32)
        grown: list[_Grown] = []
        number = 1
        while len(grown) < number:
            tree_seed = random.randint(np.iinfo(np.int32).max)
            if all_rows is not None:
                grown.append(self._grown(all_rows, targets, weights, tried, tree_seed))
            else:
                some = random.randint(len(targets), size=EXAMPLES)
                of = (some[:, None] * self.roots + np.arange(self.roots)).ravel()
                drawn = targets[some], None if weights is None else weights[some]
                grown.append(self._grown(self.rows(counts[of]), *drawn, tried, tree_seed))
            most = WORK // (grown[0].nodes.shape[1] * tried * self.values.shape[1])
            number = 0 if most < FEWEST else min(most, TREES)
        if not number:
            self._hold("starts", np.zeros(0, np.int64))
            return
        # Most leaves have one class, so that few rows differ.
        values = np.concatenate([tree.values for tree in grown])
        found, place = np.unique(values, axis=0, return_inverse=True)
        starts = np.cumsum([0, *(tree.nodes.shape[1] for tree in grown)])
        leaves = np.cumsum([0, *(len(tree.values) for tree in grown)])
        for tree, start, first in zip(grown, starts, leaves, strict=False):
            right = tree.nodes[2]
            leaf = right < 0
            right[leaf] = -1 - place.ravel()[first - 1 - right[leaf]]
            right[~leaf] += start
        self._hold("nodes", np.hstack([tree.nodes for tree in grown]))
        self._hold("starts", starts[:-1])
        self._hold("values", found)

    def _grown(
        self,
        rows: np.ndarray,
        targets: np.ndarray,
        weights: np.ndarray | None,
        tried: int,
        seed: int,
    ) -> _Grown:
        """One tree of the rows of some examples; other arguments as for :meth:`fit`.

        Shapes:
            rows ``[n, roots * (num_columns + 1)]``.
        """
        kind = ExtraTreeClassifier if self.kind == "classes" else ExtraTreeRegressor
        model = kind(max_features=tried, random_state=seed)
        # A hundred trees need not each look through the same rows.
        rows = rows.astype(np.float32, copy=False)
        with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
            tree = model.fit(rows, targets, weights, check_input=False).tree_
        leaf = tree.children_left < 0
        values = np.zeros((leaf.sum(), self.values.shape[1]), np.float32)
        classes = model.classes_ if self.kind == "classes" else slice(None)
        values[:, classes] = tree.value[leaf].reshape(len(values), -1)
        values, place = np.unique(values, axis=0, return_inverse=True)
        right = tree.children_right.copy()
        right[leaf] = -1 - place.ravel()
        # A whole number is at most a threshold if it is at most the next lower whole number.
        nodes = np.stack((tree.feature, np.floor(tree.threshold), right)).astype(np.int32)
        return _Grown(nodes, values)

    def _hold(self, name: str, array: np.ndarray) -> None:
        self.register_buffer(name, torch.from_numpy(array).to(self.share.device))

    def rows(self, counts: csr_matrix) -> np.ndarray:
        """The counts that are used, and the sums of those of labels.

        Shapes:
            ``[n * roots, columns] -> [n, roots * (num_columns + 1)]``.
        """
        some = counts[:, self.columns.cpu().numpy()].toarray()
        rows = np.hstack((some, np.asarray(counts[:, : self.num_labels].sum(axis=1))))
        return rows.reshape(-1, self.roots * rows.shape[1])

    def forward(self, rows: np.ndarray) -> Tensor:
        # Of no rows, there is one part.
        parts = np.array_split(rows, range(ROWS, len(rows), ROWS))
        found = torch.from_numpy(np.concatenate([self._means(part) for part in parts]))
        if self.kind == "classes":
            doubt = DOUBT / found.shape[1]
            found = ((len(self.starts) * found + doubt) / (len(self.starts) + DOUBT)).log()
        return found.to(self.values)

    def _means(self, rows: np.ndarray) -> np.ndarray:
        """The mean over the trees of their predictions, ``[n, num_outputs]``, float64."""
        nodes, starts, values = (x.cpu().numpy() for x in (self.nodes, self.starts, self.values))
        feature, threshold, right = nodes
        at = np.tile(starts, (len(rows), 1))  # [n, trees]
        place = np.arange(len(rows))[:, None]
        while (inner := right[at] >= 0).any():
            less = rows[place, feature[at]] <= threshold[at]
            at = np.where(inner, np.where(less, at + 1, right[at]), at)
        found = np.zeros((len(rows), values.shape[1]))
        for leaf in -1 - right[at].T:
            found += values[leaf]
        return found / len(starts)
