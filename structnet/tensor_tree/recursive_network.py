"""The plain recursive network: an aggregation of the children's states and a tanh, no gates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from structnet.message_passing.cell import Edges, Nodes, State
from structnet.message_passing.propagation import propagate
from structnet.message_passing.scheduling import Layout
from structnet.tensor_tree.aggregators.base import Aggregator
from structnet.tensor_tree.aggregators.tucker import Tucker
from structnet.tensor_tree.inputs import WithInputs, aggregated
from structnet.tensor_tree.parameters import allocate
from structnet.trees.forest import Forest


class RecursiveNetwork(WithInputs):
    """Encodes each tree of a forest as the hidden state of its root.

    For a node of type t with input x (0 if it has none) and children 1..L, and for a leaf::

        h = tanh(aggregation of x, h_1, .., h_L)        with the parameters of type t
        h = tanh(W x + b)

    The aggregation is a full tensor, Eq. (4), a sum, Eq. (5), a Tucker tensor, Eq. (10), or any
    other aggregator of :class:`~structnet.tensor_tree.TreeLSTM`, which adds gates to this.

    Args:
        hidden_size: c, the size of h.
        num_types: number of node types, each with parameters of its own (``vocabulary.num_types``).
        arity: L, the number of places (``vocabulary.arity``).
        inputs: the input vectors, ``[num_tokens, input_size]``: a tensor for fixed ones, an
            ``nn.Embedding`` for learned ones.
        aggregator: an aggregator class, or a function that returns one's instance, called with
            ``(hidden_size, arity, num_types, gates=1, input_size=..)``.
        inner_inputs: True if nodes with a type carry inputs too.

    Raises:
        ValueError: the inputs or the aggregator are neither of these, or a size is out of range.

    Shapes:
        output: ``[len(forest), hidden_size]``.

    Reference: Castellana and Bacciu, IJCNN 2020, Eq. (2), (4), (5), (10).

    Example:
        >>> from structnet.trees.tree import Tree
        >>> from structnet.trees.vocabulary import Vocabulary
        >>> _ = torch.manual_seed(0)
        >>> trees = [Tree("MAX", [Tree("2"), Tree("MIN", [Tree("4"), Tree("7")])])]
        >>> vocabulary = Vocabulary(["MAX", "MIN"], "0123456789", arity=2)
        >>> encoder = RecursiveNetwork(8, vocabulary.num_types, vocabulary.arity, torch.eye(10))
        >>> encoder(Forest.from_trees(trees, vocabulary)).shape
        torch.Size([1, 8])
    """

    bottom_state: Tensor

    def __init__(
        self,
        hidden_size: int,
        num_types: int,
        arity: int,
        inputs: Tensor | nn.Embedding,
        aggregator: Callable[..., Aggregator] = partial(Tucker, rank=3),
        inner_inputs: bool = False,
    ):
        super().__init__()
        self.hidden_size, self.inner_inputs = hidden_size, inner_inputs
        self.hold_inputs(inputs)
        size = self.input_table().shape[1]
        self.make_aggregator(aggregator, hidden_size, arity, num_types, gates=1)
        own = self.aggregator
        self.layout = Layout(num_types, arity, own.positional, own.pads)
        shapes = {"leaf_weight": (size, hidden_size), "leaf_bias": (hidden_size,)}
        self.shapes = allocate(self, shapes)
        self.register_buffer("bottom_state", torch.empty(1, hidden_size))
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draws the initial weights, except the aggregator's and the inputs."""
        self.draw_leaf_weights()
        self.bottom_state.zero_()

    def _sweep(
        self, forest: Forest, nodes: Sequence[int] | np.ndarray | None, backend: str
    ) -> State:
        return propagate(forest, _Cell(self), nodes, backend)


class _Cell:
    """One sweep of a recursive network."""

    def __init__(self, model: RecursiveNetwork):
        self.model, self.aggregator, self.layout = model, model.aggregator, model.layout
        self.sums = frozenset(["aggregate"] if model.aggregator.summed else [])

    def leaf(self, nodes: Nodes) -> State:
        x = self.model.look_up(nodes.tokens)
        h = torch.addmm(self.model.leaf_bias, x, self.model.leaf_weight)
        return {"h": h.tanh()}

    def bottom(self) -> State:
        return {"h": self.model.bottom_state}

    def message(self, edges: Edges) -> State:
        h = edges.split(edges.src["h"])  # [runs, length, c]
        weight = self.aggregator.message_weight()
        z = h if weight is None else edges.product(h, weight)
        return {"aggregate": edges.join(self.aggregator.message(edges, z))}

    def reduce(self, nodes: Nodes) -> State:
        (y,) = aggregated(self.aggregator, nodes, self.model.own_inputs(nodes))
        return {"h": nodes.join(y.tanh())}
