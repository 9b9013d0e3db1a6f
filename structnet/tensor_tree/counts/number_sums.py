"""Sums of the numbers in a tree, by which a linear model reads their values."""

from __future__ import annotations

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor, nn

from structnet.tensor_tree.number_embedding import FURTHEST, signed_log, unit_of
from structnet.trees.forest import Forest, Preorder
from structnet.trees.number_tokens import FIRST, values_of

# Factor beside tf-idf, whose rows have length 1 and therefore a small penalty.
BESIDE_TFIDF = 30**-0.5


class NumberSums(nn.Module):
    """Sums the numbers of each tree, and their logarithms, over the tree and over each field.

    The field of a number is the type of the node that carries it or, for a leaf, of its parent: the
    key of a JSON object, or the operator of an expression. Sums are divided by their standard
    deviation over those training trees that have the field, so that a field of few trees counts
    like a label; sums that do not vary are divided by their size. Beside other forms of the counts
    than the counts themselves, which add up, no number adds more than ``FURTHEST`` to a sum: one
    far beyond those of the training trees, such as 2**63 - 1 for no limit, would decide by itself.

    Args:
        num_types: number of fields.

    Shapes:
        output: ``[len(forest), width]``, a sparse matrix, where the width is
            ``2 (1 + num_types)``.
    """

    unit: Tensor
    spread: Tensor

    def __init__(self, num_types: int):
        super().__init__()
        self.width = 2 * (1 + num_types)
        self.register_buffer("unit", torch.ones(()).double())
        self.register_buffer("spread", torch.ones(self.width).double())

    def fit_scale(self, forest: Forest) -> None:
        """Fits the scales to training trees."""
        tokens = forest.tokens[forest.preorder().nodes]
        self.unit.fill_(unit_of(values_of(tokens[tokens >= FIRST])))
        self.spread.fill_(1.0)
        sums = self(forest)
        mean, square = (np.asarray(x.mean(axis=0)).ravel() for x in (sums, sums.multiply(sums)))
        share = sums.getnnz(axis=0) / max(len(forest), 1)
        deviation = np.sqrt(np.maximum(square - mean**2, 0) / np.maximum(share, 1e-12))
        size = np.sqrt(square)  # a deviation of a millionth of it is rounding
        spread = np.where(deviation > 1e-6 * size, deviation, np.where(size > 0, size, 1.0))
        self.spread.copy_(torch.from_numpy(spread))

    def forward(self, forest: Forest, form: str = "count") -> csr_matrix:
        order = forest.preorder()
        entry, column, value = self.added(forest, order, form)
        found = csr_matrix((value, (order.trees[entry], column)), (len(forest), self.width))
        found.sum_duplicates()
        return found

    def added(
        self, forest: Forest, order: Preorder, form: str = "count"
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """All terms of the sums: the entry in the preorder, the column, the scaled value.

        Args:
            forest: trees.
            order: their preorder.
            form: form of the counts beside the sums.

        Shapes:
            ``[m]`` each.
        """
        tokens, types = forest.tokens[order.nodes], forest.types[order.nodes]
        number, above = np.flatnonzero(tokens >= FIRST), forest.parents(order)
        leaf = number[(types[number] < 0) & (above[number] >= 0)]
        own = number[types[number] >= 0]
        nothing = np.zeros(len(number), np.int64)
        fields = np.concatenate((nothing, 1 + types[above[leaf]], 1 + types[own]))
        entry = np.concatenate((number, leaf, own))
        values = values_of(tokens[entry])
        logarithms = signed_log(values, self.unit.item())
        columns = np.concatenate((2 * fields, 2 * fields + 1))
        found = np.concatenate((values, logarithms)) / self.spread.cpu().numpy()[columns]
        if form != "count":
            found = found.clip(-FURTHEST, FURTHEST)
        if form == "tf-idf":
            found *= BESIDE_TFIDF
        return np.tile(entry, 2), columns, found
