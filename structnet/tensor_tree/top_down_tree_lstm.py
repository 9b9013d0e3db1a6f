"""The top-down Tree-LSTM: what stands above a node and beside it."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from structnet.tensor_tree.child_sum_cell import ChildSumCell, looked_up
from structnet.trees.forest import Forest
from structnet.trees.ways_down import upside_down


class TopDownTreeLSTM(ChildSumCell):
    """Carries states from the roots down, over those that an encoder gave from the leaves up.

    For a node v in place p below its parent u, with the state x that an encoder has of it::

        s       = g_p * h_u + b_p                            (0 at a root)
        i, o, n = sigmoid, sigmoid, tanh of W x + U s + b
        f       = sigmoid(W_f x + U_f h_u + b_f)
        c       = i * n + f * c_u
        h       = o * tanh(c)

    It is a :class:`~structnet.tensor_tree.ChildSumTreeLSTM` on the trees upside down, where a
    node's only child is its parent. As x says what is at and below a node, each node learns of all
    others: of those beside it by its parent's.

    Args:
        hidden_size: c, the size of its states and of the encoder's.
        places: places among siblings that are told apart; all from the last one on share it.

    Raises:
        ValueError: a size below 1.

    Shapes:
        x ``[num_nodes, hidden_size]``; output ``[nodes of all trees, hidden_size]``, in preorder.

    Reference: Miwa and Bansal, "End-to-End Relation Extraction using LSTMs on Sequences and Tree
    Structures", ACL 2016, Sec. 3.3, whose top-down LSTM reads words, with weights for each place;
    Irsoy and Cardie, "Bidirectional Recursive Neural Networks for Token-Level Labeling with
    Structure", 2013, whose downward layer reads states from below, as here.

    Example:
        >>> import torch
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

    def __init__(self, hidden_size: int, places: int = 5):
        super().__init__(hidden_size, hidden_size, places=places)
        self.reset_parameters()

    def forward(self, forest: Forest, x: Tensor, backend: str = "levels") -> Tensor:
        ways, nodes = upside_down(forest)
        none = np.full(len(nodes), -1)
        h = self.states(ways, (nodes, none), (x, x[:0]), backend=backend)
        return looked_up(h, ways.roots)
