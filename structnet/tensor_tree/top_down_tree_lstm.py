"""The top-down Tree-LSTM: carries what is above and beside a node down to it."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from structnet.errors import GraphError
from structnet.message_passing.scheduling import check_forest
from structnet.tensor_tree.child_sum_cell import ChildSumCell, added_up, looked_up
from structnet.tensor_tree.parameters import allocate, check_shapes
from structnet.training.modules import not_compiled
from structnet.trees.forest import Forest
from structnet.trees.ways_down import Entries, upside_down

BESIDE = 0.5  # scale of the initial weights of siblings, relative to those of the node itself


class TopDownTreeLSTM(ChildSumCell):
    """Computes states from the roots down, from those that an encoder computed from the leaves up.

    For a node v in place p below its parent u, where z, z_l and z_r are the encoder's states of v
    and of the siblings just before and after it::

        x       = z + A z_l + B z_r                          (without siblings that do not exist)
        s       = g_p * h_u + b_p                            (0 at a root)
        i, o, n = sigmoid, sigmoid, tanh of W x + U s + b
        f       = sigmoid(W_f x + U_f h_u + b_f)
        c       = i * n + f * c_u
        h       = o * tanh(c)

    Except for A and B, this is a :class:`~structnet.tensor_tree.ChildSumTreeLSTM` on the trees
    upside down, where the only child of a node is its parent. As z describes what is at and below a
    node, each node's state depends on all other nodes. A and B are not in the papers: the state of
    a parent with many children says little of what is just beside, for example, a word below it.

    Args:
        hidden_size: c, the size of its states and of the encoder's.
        places: number of places among siblings that are told apart; all later ones share the last.

    The module is called with a forest, the encoder's states z, a backend and the entries for which
    states are wanted, by default those of all nodes in preorder.

    Raises:
        ValueError: a size is below 1; or, in a call, z does not have one state per node.
        GraphError: the forest is empty.

    Shapes:
        z ``[num_nodes, hidden_size]``; output ``[entries, hidden_size]``.

    Reference: Miwa and Bansal, "End-to-End Relation Extraction using LSTMs on Sequences and Tree
    Structures", ACL 2016, Sec. 3.3, whose top-down LSTM reads words, with weights for each place;
    Irsoy and Cardie, "Bidirectional Recursive Neural Networks for Token-Level Labeling with
    Structure", 2013, whose downward layer reads states from below, as here.

    Example:
        >>> from structnet.tensor_tree import ChildSumTreeLSTM
        >>> from structnet.trees.tree import Tree
        >>> from structnet.trees.vocabulary import Vocabulary
        >>> trees = [Tree("f", [Tree("x"), Tree("x")])]
        >>> vocabulary = Vocabulary.from_trees(trees)
        >>> forest = Forest.from_trees(trees, vocabulary)
        >>> encoder = ChildSumTreeLSTM(8, vocabulary.num_types, vocabulary.num_tokens)
        >>> below = encoder.node_states(forest)
        >>> below.shape, TopDownTreeLSTM(8)(forest, below).shape  # x is stored once
        (torch.Size([2, 8]), torch.Size([3, 8]))
    """

    left_weight: nn.Parameter
    right_weight: nn.Parameter

    def __init__(self, hidden_size: int, places: int = 5):
        super().__init__(hidden_size, hidden_size, places=places)
        square = hidden_size, hidden_size
        self.shapes |= allocate(self, {"left_weight": square, "right_weight": square})
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draws the initial weights."""
        super().reset_parameters()
        for weight in (self.left_weight, self.right_weight):
            weight.normal_(std=BESIDE * len(weight) ** -0.5)

    @not_compiled
    def forward(
        self, forest: Forest, z: Tensor, backend: str = "levels", entries: Entries | None = None
    ) -> Tensor:
        check_forest(forest)
        if forest.num_nodes == 0:
            raise GraphError("the forest is empty; a sweep needs at least one node")
        if z.shape != (forest.num_nodes, self.hidden_size):
            raise ValueError(
                f"z must have one state per node, [{forest.num_nodes}, {self.hidden_size}]; got "
                f"shape {list(z.shape)}"
            )
        check_shapes(self, self.shapes)
        ways = upside_down(forest, entries)
        beside = (ways.left, z @ self.left_weight), (ways.right, z @ self.right_weight)
        given = [(nodes, partial(looked_up, of)) for nodes, of in beside]
        tables = z, added_up(given, self.weight)
        rows = ways.nodes, np.arange(len(ways.nodes))
        h = self.states_from(ways.forest, rows, tables, backend=backend)
        return looked_up(h, ways.forest.roots)
