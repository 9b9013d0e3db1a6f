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
from structnet.message_passing.steps import child_by_child
from structnet.tensor_tree.aggregators.contraction import multilinear
from structnet.tensor_tree.parameters import Shape, allocate, check_shapes
from structnet.training.modules import not_compiled
from structnet.trees.forest import Forest

# Tables are so many times the parameters, and the output so many times the probabilities: a step
# of a rate that suits a Tree-LSTM then moves logits as far as tables need.
SCALE = 20.0
NEVER = -2.0  # of states that are not used
LIKELY = 0.25  # what the likeliest state has more than others at first; exp(s times that) is 150


class TreeAutomaton(nn.Module):
    """Encodes each node of a forest as s times the probabilities of the states that it may be in.

    For a leaf with token x, and for a node of type t, which reads its children 1..L one after the
    other from a state of its own, 0::

        p(k) = softmax(s E(x, k))
        q_i(k) = sum T_t(j, h, k) q_{i-1}(j) p_i(h)    p = q_L    T = softmax over k of s W

    A node may so have any number of children. With two, this is Eq. (4) of Castellana and Bacciu
    with a tensor of conditional probabilities, without gates.

    Args:
        hidden_size: c, the number of states.
        num_types: number of node types, each with a table of its own (``vocabulary.num_types``).
        num_tokens: number of tokens of leaves (``vocabulary.num_tokens``).

    Raises:
        ValueError: a size is out of its range, or the tables do not fit in memory.

    Shapes:
        output: ``[len(forest), hidden_size]``; each row sums to s = 20.

    Reference: Carme, Niehren and Tommasi, "Querying Unranked Trees with Stepwise Tree Automata",
    RTA 2004; Bacciu, Micheli and Sperduti, "Compositional Generative Mapping for Tree-Structured
    Data", IEEE TNNLS 23, 2012, whose bottom-up hidden tree Markov model has such probabilities.

    Example:
        >>> from structnet import Forest, Tree, TreeAutomaton, Vocabulary
        >>> trees = [Tree.fromstring("(and 0 (not 1) 1)")]
        >>> vocabulary = Vocabulary.from_trees(trees)
        >>> encoder = TreeAutomaton(3, vocabulary.num_types, vocabulary.num_tokens)
        >>> encoder(Forest.from_trees(trees, vocabulary)).sum().round().item()
        20.0
    """

    leaf_table: nn.Parameter
    transitions: nn.Parameter

    def __init__(self, hidden_size: int, num_types: int, num_tokens: int):
        super().__init__()
        given = {"hidden_size": hidden_size, "num_types": num_types, "num_tokens": num_tokens}
        for name, value in given.items():
            check_integer(name, value, int(name == "hidden_size"), owner="TreeAutomaton")
        self.hidden_size, self.num_tokens = hidden_size, num_tokens
        self.layout = Layout(num_types, arity=2, positional=True, pads=True)
        shapes: dict[str, Shape] = {
            "leaf_table": (num_tokens, hidden_size),
            # The last row is that of the state in which a node begins.
            "transitions": (num_types, hidden_size + 1, hidden_size, hidden_size),
        }
        self.shapes = allocate(self, shapes)
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self, used: int | None = None) -> None:
        """Draws the initial tables: a node starts as its first child, all else is left open.

        Args:
            used: number of states that nodes may be in; None for all. A training leaves it so.
        """
        for table in (self.leaf_table, self.transitions):
            table.normal_(std=1 / SCALE)
            if used is not None:
                table[..., used:] = NEVER
        self.transitions[:, -1] += LIKELY * torch.eye(self.hidden_size)

    @torch.no_grad()
    def name_states(self, output: nn.Linear) -> None:
        """Lets the first states stand for the classes that a linear map reads from them.

        Where classes are the values of nodes, small trees then tell what leaves are.
        """
        output.weight[:, : self.hidden_size] += LIKELY * torch.eye(
            output.out_features, self.hidden_size
        )

    def node_states(self, forest: Forest, backend: str = "levels") -> Tensor:
        """s times the probabilities of all nodes' states, by the nodes' numbers in the forest.

        Args:
            forest: the trees.
            backend: backend as for :func:`structnet.message_passing.propagate`.

        Shapes:
            output: ``[num_nodes, hidden_size]``.

        Raises:
            GraphError: the forest has types or tokens that the model does not have, tokens at
                nodes with a type, or nodes with a type and no children. Places of children do not
                count, but for their order.
            ValueError: a table no longer has its shape.
        """
        check_forest(forest)
        return self._states(forest, np.arange(forest.num_nodes), backend)

    def forward(self, forest: Forest, backend: str = "levels") -> Tensor:
        """s times the probabilities of the roots' states; errors as for :meth:`node_states`."""
        check_forest(forest)
        return self._states(forest, forest.roots, backend)

    def _states(self, forest: Forest, nodes: np.ndarray, backend: str) -> Tensor:
        return states_side_by_side([self], forest, nodes, backend)[:, 0]


@not_compiled
def states_side_by_side(
    automata: Sequence[TreeAutomaton], forest: Forest, nodes: np.ndarray, backend: str = "levels"
) -> Tensor:
    """The output for some nodes of several automata of the same sizes, in one sweep.

    Args:
        automata: the automata.
        forest: the trees.
        nodes: numbers of the nodes.
        backend: backend as for :func:`structnet.message_passing.propagate`.

    Shapes:
        output: ``[len(nodes), len(automata), hidden_size]``.

    Raises:
        GraphError: see :meth:`TreeAutomaton.node_states`.
        ValueError: a table no longer has its shape.
    """
    for each in automata:
        check_shapes(each, each.shapes)
    types, tokens, most = forest.types, forest.tokens, automata[0].num_tokens
    if (tokens >= most).any():
        raise GraphError(f"the forest has token {tokens.max()}; the model has {most} tokens")
    if ((types >= 0) == (tokens >= 0)).any():
        raise GraphError("each node must have either a type or a token")
    if ((types >= 0) & (np.diff(forest.offsets) == 0)).any():
        raise GraphError("each node with a type must have children")
    steps = child_by_child(forest)
    return SCALE * propagate(steps, _Cell(automata), steps.roots[nodes], backend)["h"]


class _Cell:
    """One sweep of some tree automata."""

    sums: frozenset[str] = frozenset()

    def __init__(self, automata: Sequence[TreeAutomaton]):
        self.layout = automata[0].layout
        leaves = torch.stack([each.leaf_table for each in automata], 1)
        transitions = torch.stack([each.transitions for each in automata], 1)
        self.leaves = (SCALE * leaves).softmax(-1)  # [num_tokens, automata, c]
        self.transitions = (SCALE * transitions).softmax(-1)

    def leaf(self, nodes: Nodes) -> State:
        return {"h": self.leaves[nodes.tokens]}

    def bottom(self) -> State:
        return {"h": self.transitions.new_zeros(1, *self.leaves.shape[1:])}

    def message(self, edges: Edges) -> State:
        h = edges.src["h"]
        return {"p": torch.cat([h, 1 - h.sum(-1, keepdim=True)], -1)}  # 1 where nothing was read

    def reduce(self, nodes: Nodes) -> State:
        before, child = nodes.split(nodes.mailbox["p"]).unbind(2)
        modes = [before, child[..., :-1]]  # [runs, length, automata, c + 1] and c
        return {"h": nodes.join(multilinear(nodes, modes, self.transitions).transpose(1, 2))}
