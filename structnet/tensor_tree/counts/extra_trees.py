"""Decision trees on the counts of labels, for answers that are no linear function of them.

Exactly three of a label, or an even number of nodes, is what neither a sum of weighted counts nor
the states of a Tree-LSTM tell; splits at counts do.
"""

from __future__ import annotations

import numpy as np
import torch
from scipy.sparse import csr_matrix
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from torch import Tensor, nn

TREES = 100
LABELS = 300  # labels whose counts are used: those that most trees have
EXAMPLES = 2000  # from which one tree is grown, which bounds its size
ROWS = 10_000  # of counts for which the trees are asked at once
DOUBT = 0.5  # votes that all classes share, so that none has probability 0


class ExtraTrees(nn.Module):
    """A forest of extremely randomised trees on the counts of labels and on their sum.

    Args:
        num_outputs: number of outputs for each example.
        roots: number of trees in an example.
        kind: "classes", whose outputs are log-probabilities, or "numbers".
        num_columns, num_nodes, num_values: sizes of the arrays, which :meth:`fit` finds.

    Attributes:
        share: weight of the outputs beside those of other models.

    Shapes:
        columns: ``[num_columns]``, int64, ascending: labels whose counts are used.
        nodes: ``[3, num_nodes]``, int32, the trees one after the other, each in preorder: a column,
            a threshold, and where rows with more go; others go to the next node. In the place of
            that node, a leaf has ``-1 - v``, where v is its place in values.
        starts: ``[TREES]``, int64: root of each tree.
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
        num_columns: int = 0,
        num_nodes: int = 0,
        num_values: int = 0,
    ):
        super().__init__()
        self.roots, self.kind = roots, kind
        self.register_buffer("share", torch.zeros(()))
        self.register_buffer("columns", torch.zeros(num_columns, dtype=torch.int64))
        self.register_buffer("nodes", torch.zeros(3, num_nodes, dtype=torch.int32))
        self.register_buffer("starts", torch.zeros(TREES, dtype=torch.int64))
        self.register_buffer("values", torch.zeros(num_values, num_outputs))

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes of the arrays, as the constructor takes them."""
        return {
            "num_columns": len(self.columns),
            "num_nodes": self.nodes.shape[1],
            "num_values": len(self.values),
        }

    def fit(
        self, counts: csr_matrix, targets: np.ndarray, weights: np.ndarray | None, seed: int
    ) -> None:
        """Grows the trees.

        Args:
            counts: count of each label in each tree.
            targets: classes, or rows of numbers.
            weights: weight of each example.
            seed: seed of the splits.

        Shapes:
            counts ``[n * roots, labels]``; targets ``[n]`` or ``[n, outputs]``; weights ``[n]``.
        """
        of_most = np.argsort(-counts.getnnz(axis=0), kind="stable")[:LABELS]
        self._hold("columns", np.sort(of_most))
        some = EXAMPLES if len(targets) > EXAMPLES else None
        kind = ExtraTreesClassifier if self.kind == "classes" else ExtraTreesRegressor
        # Of few columns that matter, a split should not miss all.
        how = {"max_features": 1.0, "bootstrap": some is not None, "max_samples": some}
        targets = targets[:, 0] if targets.shape[1:] == (1,) else targets
        model = kind(TREES, random_state=seed, **how).fit(self.rows(counts), targets, weights)
        trees = [each.tree_ for each in model.estimators_]
        starts = np.cumsum([0, *(tree.node_count for tree in trees)])
        ends = [tree.children_left < 0 for tree in trees]
        said = [t.value[end].reshape(end.sum(), -1) for t, end in zip(trees, ends, strict=True)]
        right = np.concatenate([t.children_right + i for t, i in zip(trees, starts, strict=False)])
        leaf = np.concatenate(ends)
        # Most leaves have one class, so that few rows differ.
        told = np.concatenate(said, dtype=np.float32)
        found, place = np.unique(told, axis=0, return_inverse=True)
        right[leaf] = -1 - place.ravel()
        values = np.zeros((len(found), self.values.shape[1]), np.float32)
        values[:, model.classes_ if self.kind == "classes" else slice(None)] = found
        feature = np.concatenate([tree.feature for tree in trees])
        # A whole number is at most a threshold if it is at most the next lower whole number.
        threshold = np.floor(np.concatenate([tree.threshold for tree in trees]))
        self._hold("nodes", np.stack((feature, threshold, right)).astype(np.int32))
        self._hold("starts", starts[:-1])
        self._hold("values", values)

    def _hold(self, name: str, array: np.ndarray) -> None:
        self.register_buffer(name, torch.from_numpy(array).to(self.share.device))

    def rows(self, counts: csr_matrix) -> np.ndarray:
        """The counts that are used, and the sums of all.

        Shapes:
            ``[n * roots, labels] -> [n, roots * (num_columns + 1)]``.
        """
        some = counts[:, self.columns.cpu().numpy()].toarray()
        rows = np.hstack((some, np.asarray(counts.sum(axis=1))))
        return rows.reshape(-1, self.roots * rows.shape[1])

    def forward(self, rows: np.ndarray) -> Tensor:
        # Of no rows, there is one part.
        parts = np.array_split(rows, range(ROWS, len(rows), ROWS))
        found = torch.from_numpy(np.concatenate([self._means(part) for part in parts]))
        if self.kind == "classes":
            doubt = DOUBT / found.shape[1]
            found = ((TREES * found + doubt) / (TREES + DOUBT)).log()
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
