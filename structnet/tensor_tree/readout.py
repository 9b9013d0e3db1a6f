"""Reads outputs of each example from the states of all nodes of its trees."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from structnet.checks import check_integer, check_number
from structnet.message_passing.pooling import pooled
from structnet.tensor_tree.child_sum_tree_lstm import ChildSumTreeLSTM
from structnet.tensor_tree.recursive_network import RecursiveNetwork
from structnet.tensor_tree.settings import check_pools
from structnet.tensor_tree.tree_automaton import TreeAutomaton
from structnet.tensor_tree.tree_lstm import TreeLSTM
from structnet.trees.forest import Forest


class TreeReadout(nn.Module):
    """A linear map of the pooled states of a tree's nodes.

    Args:
        encoder: module that gives the states of all nodes, by ``node_states(forest, backend)``.
        num_outputs: number of outputs for each example.
        pools: names of the pools, whose results are concatenated: the state of the "root", and the
            "sum", "mean" or "max" over all nodes, or their mean weighted by "attention".
        roots_per_example: number of consecutive trees that are one example; the pooled states l
            and r of two trees are combined as ``[l, r, |l - r|, l * r]``.
        dropout: share of the pooled numbers that is dropped in training.

    Raises:
        ValueError: a pool is unknown, or a number out of its range.

    Shapes:
        output: ``[len(forest) / roots_per_example, num_outputs]``.

    Reference: max over nodes after Conneau et al., EMNLP 2017; ``|l - r|, l * r`` after Tai et al.,
    ACL 2015, Eq. (15); attention after Lin et al., ICLR 2017.
    """

    def __init__(
        self,
        encoder: ChildSumTreeLSTM | TreeLSTM | RecursiveNetwork | TreeAutomaton,
        num_outputs: int,
        pools: Sequence[str] = ("root", "max"),
        roots_per_example: int = 1,
        dropout: float = 0.0,
    ):
        super().__init__()
        check_integer("num_outputs", num_outputs, 1, owner="TreeReadout")
        check_integer("roots_per_example", roots_per_example, 1, owner="TreeReadout")
        check_number("dropout", dropout, 0, 0.999, owner="TreeReadout")
        check_pools(pools, owner="TreeReadout")
        self.encoder, self.pools, self.dropout = encoder, tuple(pools), dropout
        self.roots_per_example = roots_per_example
        width = len(self.pools) * encoder.hidden_size
        width *= 4 if roots_per_example == 2 else roots_per_example
        self.output = nn.Linear(width, num_outputs)
        if "attention" in self.pools:
            self.score = nn.Linear(encoder.hidden_size, 1, bias=False)

    def read(self, forest: Forest, backend: str = "levels") -> Tensor:
        """The pooled states of each example, ``[len(forest) / roots_per_example, width]``."""
        h = self.encoder.node_states(forest, backend)
        score = self.score.weight[0] if "attention" in self.pools else None
        return self._joined(pooled(forest, h, self.pools, backend, score))

    def _joined(self, x: Tensor) -> Tensor:
        """The rows of an example's trees as one row."""
        if self.roots_per_example == 1:
            return x
        if len(x) % self.roots_per_example:
            raise ValueError(
                f"examples of {self.roots_per_example} trees need a multiple of "
                f"{self.roots_per_example} trees; got {len(x)}"
            )
        rows = x.unflatten(0, (-1, self.roots_per_example))  # [n, trees, width]
        if self.roots_per_example != 2:
            return rows.flatten(1)
        left, right = rows.unbind(1)
        return torch.cat([left, right, (left - right).abs(), left * right], -1)

    def of_roots(self, h: Tensor) -> Tensor:
        """The output for given states of roots, where nothing but these is read.

        Shapes:
            h: ``[len(forest), encoder.hidden_size]``.
        """
        return self.output(F.dropout(self._joined(h), self.dropout, self.training))

    def forward(self, forest: Forest, backend: str = "levels") -> Tensor:
        x = F.dropout(self.read(forest, backend), self.dropout, self.training)
        return self.output(x)
