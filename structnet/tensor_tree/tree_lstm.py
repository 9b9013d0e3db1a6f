"""The Tree-LSTM, with any aggregator of the children's states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from structnet.checks import check_one_of
from structnet.message_passing.cell import Edges, Nodes, State
from structnet.message_passing.propagation import propagate
from structnet.message_passing.scheduling import Layout
from structnet.tensor_tree.aggregators.base import HIDDEN_MOMENT, Aggregator
from structnet.tensor_tree.aggregators.tucker import Tucker
from structnet.tensor_tree.compiled.tree_sweep import covers, sweep
from structnet.tensor_tree.gates import lstm_state
from structnet.tensor_tree.inputs import WithInputs, aggregated
from structnet.tensor_tree.parameters import Shape, allocate
from structnet.trees.forest import Forest
from structnet.trees.numbering import node_numbers


class TreeLSTM(WithInputs):
    """Encodes each tree of a forest as the hidden state of its root.

    For a node with type t, input x (0 if it has none) and children 1..L::

        i, o, u = sigmoid, sigmoid, tanh of three aggregations of x, h_1, .., h_L
        f_j     = sigmoid(W x + U_j h_j + b)            for each child j
        c       = i * u + sum_j f_j * c_j
        h       = o * tanh(c)

    where all parameters are those of type t. A leaf has an input but no children, and all leaves
    share one set of parameters: ``i, o, u`` of ``W x + b``, ``c = i * u``. These are Eq. (11),
    except that u is a tanh, as in the paper's released code and in every other LSTM, while the
    paper's text prints a sigmoid; and that b is the same for all places, while the paper has a
    b_j, as ``forget_bias="place"`` does.

    Args:
        hidden_size: c, the size of h and of the cell state.
        num_types: number of node types, each with parameters of its own (``vocabulary.num_types``).
        arity: L, the number of places (``vocabulary.arity``).
        inputs: the input vectors, ``[num_tokens, input_size]``: a tensor for fixed ones, an
            ``nn.Embedding`` for learned ones.
        aggregator: an aggregator class, or a function that returns one's instance, called with
            ``(hidden_size, arity, num_types, gates=.., input_size=..)``.
        forget: "child" to compute f_j from child j only; "all" to compute it from all children by
            the aggregator, as the paper's released code does.
        forget_bias: "type" for one b per type; "place" for one per type and place.
        bottom: the state of a missing child: "zero", or "learned".
        inner_inputs: True if nodes with a type carry inputs too (as in dependency trees).

    Raises:
        ValueError: an option is unknown, or options exclude each other.

    Shapes:
        output: ``[len(forest), hidden_size]``.

    Reference: Castellana and Bacciu, IJCNN 2020, Eq. (11).

    Example:
        >>> from structnet.trees.forest import Forest
        >>> from structnet.trees.vocabulary import Vocabulary
        >>> from structnet.trees.tree import Tree
        >>> _ = torch.manual_seed(0)
        >>> trees = [Tree("MAX", [Tree("2"), Tree("MIN", [Tree("4"), Tree("7")])])]
        >>> vocabulary = Vocabulary(["MAX", "MIN"], "0123456789", arity=5)
        >>> encoder = TreeLSTM(8, vocabulary.num_types, vocabulary.arity, torch.eye(10))
        >>> encoder(Forest.from_trees(trees, vocabulary)).shape
        torch.Size([1, 8])
    """

    forget_weight: nn.Parameter
    forget_bias: nn.Parameter
    forget_input: nn.Parameter
    bottom_state: Tensor

    def __init__(
        self,
        hidden_size: int,
        num_types: int,
        arity: int,
        inputs: Tensor | nn.Embedding,
        aggregator: Callable[..., Aggregator] = partial(Tucker, rank=3),
        forget: str = "child",
        bottom: str = "zero",
        inner_inputs: bool = False,
        forget_bias: str = "type",
    ):
        super().__init__()
        check_one_of("forget", forget, ("child", "all"), "TreeLSTM")
        check_one_of("bottom", bottom, ("zero", "learned"), "TreeLSTM")
        check_one_of("forget_bias", forget_bias, ("type", "place"), "TreeLSTM")
        if forget == "all" and forget_bias == "place":
            raise ValueError("forget_bias='place' needs forget='child'; got forget='all'")
        self.hidden_size, self.inner_inputs = hidden_size, inner_inputs
        self.forget, self.bottom, self.forget_bias_of = forget, bottom, forget_bias
        self.hold_inputs(inputs)
        input_size = self.input_table().shape[1]
        gates = 3 if forget == "child" else 3 + arity
        self.make_aggregator(aggregator, hidden_size, arity, num_types, gates)
        chosen = {"forget": forget, "bottom": bottom, "forget_bias": forget_bias}
        needed = {"forget": "child", "bottom": "zero", "forget_bias": "type"}
        if not self.aggregator.positional and chosen != needed:
            raise ValueError(
                f"{type(self.aggregator).__name__} does not tell places apart: it needs "
                f"{_in_words(needed)}; got {_in_words(chosen)}"
            )
        self.layout = Layout(
            num_types,
            arity,
            self.aggregator.positional,
            self.aggregator.pads or forget == "all" or bottom == "learned",
            # A padding row costs in proportion to the size of the weights.
            slack=2**25 // self._numbers_a_message(),
            node_slack=2**25 // self.aggregator.numbers_a_node(),
        )
        if bottom == "zero":
            self.register_buffer("bottom_state", torch.empty(2, 1, hidden_size))
        self.shapes = allocate(self, self._shapes(input_size))
        self.shapes["bottom_state"] = (2, 1, hidden_size)
        self.reset_parameters()

    def _numbers_a_message(self) -> int:
        """The size of the matrix that computes one message."""
        weight = self.aggregator.message_weight()
        width = 0 if weight is None else weight.shape[-1]
        return self.hidden_size * (width + self.hidden_size)

    def _shapes(self, input_size: int) -> dict[str, Shape]:
        c, layout = self.hidden_size, self.layout
        shapes: dict[str, Shape] = {"leaf_weight": (input_size, 3 * c), "leaf_bias": (3 * c,)}
        if self.forget == "child":
            shapes["forget_weight"] = (layout.num_keys, c, c)
            by_place = self.forget_bias_of == "place"
            shapes["forget_bias"] = (layout.num_keys if by_place else layout.num_types, c)
            if self.inner_inputs:
                shapes["forget_input"] = (layout.num_types, input_size, c)
        if self.bottom == "learned":
            shapes["bottom_state"] = (2, 1, c)
        return shapes

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draws the initial weights, except the aggregator's and the inputs."""
        self.draw_leaf_weights()
        self.bottom_state.zero_()
        if self.forget == "child":
            self.forget_weight.normal_().mul_(0.5 * (HIDDEN_MOMENT * self.hidden_size) ** -0.5)
            # L f^2 = 1/2 at first: cell states neither grow nor vanish with depth.
            keep = torch.tensor((2 * self.layout.arity) ** -0.5)
            self.forget_bias.copy_(torch.logit(keep))
            if self.inner_inputs:
                size = self.input_table().shape[1]
                self.forget_input.normal_().mul_(0.5 * size**-0.5)
        if self.bottom == "learned":
            self.bottom_state.normal_().mul_(HIDDEN_MOMENT**0.5)

    def _sweep(
        self, forest: Forest, nodes: Sequence[int] | np.ndarray | None, backend: str
    ) -> State:
        if backend == "levels" and covers(self, forest):
            chosen = None if nodes is None else node_numbers(nodes, forest.num_nodes)
            return sweep(self, forest, chosen)
        return propagate(forest, _Cell(self), nodes, backend)


class _Cell:
    """One sweep of a TreeLSTM: its parameters, arranged once for all levels."""

    def __init__(self, model: TreeLSTM):
        self.model, self.aggregator, self.layout = model, model.aggregator, model.layout
        weight = model.aggregator.message_weight()
        self.width = 0 if weight is None else weight.shape[-1]
        self.weights = [] if weight is None else [weight]
        if model.forget == "child":
            self.weights.append(model.forget_weight)
        # If parents have no input of their own, they add nothing to the forget gates: a child can
        # apply its own gate, and only the sum of what is kept matters.
        self.sends_kept = model.forget == "child" and not model.inner_inputs
        self.sums = frozenset(["kept"] * self.sends_kept + ["aggregate"] * model.aggregator.summed)
        if model.forget == "child":
            places = self.layout.num_keys // max(len(model.forget_bias), 1)
            self.forget_bias = model.forget_bias.repeat_interleave(places, 0)  # [num_keys, c]

    def leaf(self, nodes: Nodes) -> State:
        x = self.model.look_up(nodes.tokens)
        i, o, u = torch.addmm(self.model.leaf_bias, x, self.model.leaf_weight).chunk(3, -1)
        h, c = lstm_state(i, o, u, None)
        return {"h": h, "c": c}

    def bottom(self) -> State:
        h, c = self.model.bottom_state.unbind(0)
        return {"h": h, "c": c}

    def message(self, edges: Edges) -> State:
        h, c = edges.split(edges.src["h"]), edges.split(edges.src["c"])  # [runs, length, c]
        z = edges.product(h, *self.weights) if self.weights else h[..., :0]
        sent: State = {}
        if self.model.forget == "child":
            f = z[..., self.width :] + edges.select(self.forget_bias).unsqueeze(1)
            sent |= {"kept": torch.sigmoid(f) * c} if self.sends_kept else {"f": f}
        if not self.sends_kept:
            sent["c"] = c
        z = z[..., : self.width] if self.width else h
        sent["aggregate"] = self.aggregator.message(edges, z)
        return {name: edges.join(x) for name, x in sent.items()}

    def reduce(self, nodes: Nodes) -> State:
        x = self.model.own_inputs(nodes)
        i, o, u, *forget_gates = aggregated(self.aggregator, nodes, x)
        h, c = lstm_state(i, o, u, nodes.split(self._kept(nodes, forget_gates, x)))
        return {"h": nodes.join(h), "c": nodes.join(c)}

    def _kept(self, nodes: Nodes, forget_gates: Sequence[Tensor], x: Tensor | None) -> Tensor:
        """``sum_j f_j * c_j``, ``[rows, c]``."""
        if self.sends_kept:
            return nodes.mailbox["kept"]
        c = nodes.mailbox["c"]
        if self.model.forget == "all":
            f = nodes.join(torch.stack(list(forget_gates), 2))  # [rows, L, c]
            return (torch.sigmoid(f) * c).sum(1)
        assert x is not None  # otherwise children would have sent what is kept
        own = nodes.join(nodes.product(nodes.split(x), self.model.forget_input))
        f = nodes.mailbox["f"]
        if self.layout.pads:
            return (torch.sigmoid(f + own.unsqueeze(1)) * c).sum(1)
        assert nodes.owner is not None  # as nothing is padded
        return nodes.sum(torch.sigmoid(f + own.index_select(0, nodes.owner)) * c)


def _in_words(options: dict[str, str]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in options.items())
