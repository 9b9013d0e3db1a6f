"""A bottom-up tree automaton: each node is in one of a few states, which its children's determine.

The states of a Tree-LSTM are points in a space, in which a thousand trees can be learned by heart.
A node that has one of a few values can be nothing but what its children's values make of it. What
is learned is then a table, which holds for trees that were never seen.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from structnet.checks import check_integer
from structnet.errors import GraphError
from structnet.message_passing.cell import Edges, Nodes, State
from structnet.message_passing.propagation import propagate
from structnet.message_passing.scheduling import Layout, check_forest
from structnet.tensor_tree.aggregators.contraction import multilinear
from structnet.tensor_tree.parameters import Shape, allocate, check_shapes
from structnet.training.modules import not_compiled
from structnet.trees.forest import Forest

# Tables are so many times the parameters, and the output so many times the probabilities: a step
# of a rate that suits a Tree-LSTM then moves logits as far as tables need.
SCALE = 20.0


class TreeAutomaton(nn.Module):
    """Encodes each node of a forest as s times the probabilities of the states that it may be in.

    For a leaf with token x, and for a node of type t with children 1..L, of which missing ones are
    in a state of their own::

        p(k) = softmax(s E(x, k))
        p(k) = sum T(j_1, .., j_L, k) p_1(j_1) .. p_L(j_L)    T = softmax over k of s W_t

    This is Eq. (4) of Castellana and Bacciu with a tensor of conditional probabilities, without
    gates.

    Args:
        hidden_size: c, the number of states.
        num_types: number of node types, each with a table of its own (``vocabulary.num_types``).
        arity: L, the number of places (``vocabulary.arity``).
        num_tokens: number of tokens of leaves (``vocabulary.num_tokens``).

    Raises:
        ValueError: a size is out of its range, or the tables do not fit in memory.

    Shapes:
        output: ``[len(forest), hidden_size]``; each row sums to s = 20.

    Reference: Bacciu, Micheli and Sperduti, "Compositional Generative Mapping for Tree-Structured
    Data", IEEE TNNLS 23, 2012, whose bottom-up hidden tree Markov model has the same states;
    Castellana and Bacciu, IJCNN 2020, Eq. (4).

    Example:
        >>> from structnet import Forest, Tree, TreeAutomaton, Vocabulary
        >>> trees = [Tree.fromstring("(and 0 (not 1))")]
        >>> vocabulary = Vocabulary.from_trees(trees)
        >>> encoder = TreeAutomaton(3, vocabulary.num_types, vocabulary.arity, 2)
        >>> encoder(Forest.from_trees(trees, vocabulary)).sum().round().item()
        20.0
    """

    leaf_table: nn.Parameter
    table: nn.Parameter

    def __init__(self, hidden_size: int, num_types: int, arity: int, num_tokens: int):
        super().__init__()
        given = {"hidden_size": hidden_size, "num_types": num_types, "arity": arity}
        for name, value in (given | {"num_tokens": num_tokens}).items():
            check_integer(name, value, int(name == "hidden_size"), owner="TreeAutomaton")
        self.hidden_size, self.num_tokens = hidden_size, num_tokens
        self.layout = Layout(num_types, arity, positional=True, pads=True)
        shapes: dict[str, Shape] = {
            "leaf_table": (num_tokens, hidden_size),
            "table": (num_types, *[hidden_size + 1] * arity, hidden_size),
        }
        self.shapes = allocate(self, shapes)
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draws the initial tables, of which no state is far likelier than others."""
        for table in (self.leaf_table, self.table):
            table.normal_(std=1 / SCALE)

    def node_states(self, forest: Forest, backend: str = "levels") -> Tensor:
        """s times the probabilities of all nodes' states, by the nodes' numbers in the forest.

        Args:
            forest: the trees.
            backend: backend as for :func:`structnet.message_passing.propagate`.

        Shapes:
            output: ``[num_nodes, hidden_size]``.

        Raises:
            GraphError: the forest has types, places or tokens that the model does not have, or
                tokens at nodes with a type.
            ValueError: a table no longer has its shape.
        """
        check_forest(forest)
        return self._states(forest, np.arange(forest.num_nodes), backend)

    def forward(self, forest: Forest, backend: str = "levels") -> Tensor:
        """s times the probabilities of the roots' states; errors as for :meth:`node_states`."""
        check_forest(forest)
        return self._states(forest, None, backend)

    @not_compiled
    def _states(
        self, forest: Forest, nodes: Sequence[int] | np.ndarray | None, backend: str
    ) -> Tensor:
        check_shapes(self, self.shapes)
        types, tokens = forest.types, forest.tokens
        if (tokens >= self.num_tokens).any():
            raise GraphError(
                f"the forest has token {tokens.max()}; the model has {self.num_tokens} tokens"
            )
        if ((types >= 0) == (tokens >= 0)).any():
            raise GraphError("each node must have either a type or a token")
        return SCALE * propagate(forest, _Cell(self), nodes, backend)["h"]


class _Cell:
    """One sweep of a tree automaton."""

    sums: frozenset[str] = frozenset()

    def __init__(self, model: TreeAutomaton):
        self.layout = model.layout
        self.leaves = (SCALE * model.leaf_table).softmax(-1)
        self.table = (SCALE * model.table).softmax(-1)

    def leaf(self, nodes: Nodes) -> State:
        return {"h": self.leaves[nodes.tokens]}

    def bottom(self) -> State:
        return {"h": self.table.new_zeros(1, self.table.shape[-1])}

    def message(self, edges: Edges) -> State:
        h = edges.src["h"]
        return {"p": torch.cat([h, 1 - h.sum(-1, keepdim=True)], -1)}  # 1 where there is no child

    def reduce(self, nodes: Nodes) -> State:
        children = nodes.split(nodes.mailbox["p"]).unbind(2)
        modes = [p.unsqueeze(2) for p in children]  # [runs, length, 1, c + 1]
        return {"h": nodes.join(multilinear(nodes, modes, self.table).squeeze(1))}
