"""The base of the aggregators: how the children's hidden states become one vector per gate.

Notation, after the paper: L is the arity, c the hidden size, r the rank, G the number of gates that
aggregate; ``h_j`` is the state of the child in place j, ``hbar = [h; 1]`` its homogeneous form,
``x`` the input that the node itself may carry. Every node type has parameters of its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from structnet.checks import check_integer
from structnet.message_passing.cell import Edges, Nodes

# The mean of h^2 to which a Tree-LSTM settles when its pre-activations have variance one:
# E[sigmoid(a)^2] E[tanh(c)^2] with E[c^2] = 2 E[sigmoid(a)^2] E[tanh(a)^2], for normal a.
HIDDEN_MOMENT = 0.056


class Aggregator(nn.Module):
    """Maps the states of up to L children, and the node's input, to G vectors of size c.

    A subclass defines what a child sends (:meth:`message`) and how a node combines what it received
    (:meth:`reduce`). The cell applies the linear part of the message, ``message_weight``, in one
    product with its own weights.

    Args:
        hidden_size: c.
        arity: L.
        num_types: number of node types, each with its own parameters.
        gates: G.
        input_size: size of the input that inner nodes carry; 0 if they carry none.

    Attributes:
        name: the form's name in tables and in the command.
        ranked: True if it has a rank.
        positional: True if children in different places use different parameters.
        pads: True if a missing child takes part, as the bottom state.
        summed: True if messages are only ever added up.
        shapes: the shape of each parameter, by name, as from ``parameters.allocate``; parameters
            that are not named are not checked.

    Example:
        >>> from structnet import Forest, Tree, TreeLSTM, Vocabulary
        >>> class Largest(Aggregator):
        ...     positional = False  # the weights are the same in all places
        ...
        ...     def __init__(self, *args, **sizes):
        ...         super().__init__(*args, **sizes)
        ...         c, t = self.hidden_size, self.num_types
        ...         self.weight = nn.Parameter(torch.randn(t, c, self.gates * c) / c**0.5)
        ...
        ...     def message_weight(self):
        ...         return None  # a child sends its state as it is
        ...
        ...     def reduce(self, nodes, received, x):
        ...         h = nodes.split(received).amax(2)  # of all places: [runs, length, c]
        ...         return nodes.product(h, self.weight).unflatten(-1, (self.gates, -1)).unbind(-2)
        >>> trees = [Tree.fromstring("(MAX 2 (MIN 4 7))")]
        >>> vocabulary = Vocabulary.from_trees(trees)
        >>> encoder = TreeLSTM(8, vocabulary.num_types, vocabulary.arity, torch.eye(3), Largest)
        >>> encoder(Forest.from_trees(trees, vocabulary)).shape
        torch.Size([1, 8])
    """

    name = ""
    ranked = False
    positional = True
    pads = True
    summed = False
    hidden_size: int
    arity: int
    num_types: int
    gates: int
    input_size: int
    shapes: Mapping[str, tuple[int, ...]] = MappingProxyType({})

    def __init__(
        self, hidden_size: int, arity: int, num_types: int, gates: int = 3, input_size: int = 0
    ):
        super().__init__()
        for name, value, least in (
            ("hidden_size", hidden_size, 1),
            ("arity", arity, 1),
            ("num_types", num_types, 0),
            ("gates", gates, 1),
            ("input_size", input_size, 0),
        ):
            setattr(self, name, checked_size(name, value, least, self))

    @classmethod
    def count(
        cls,
        hidden_size: int,
        arity: int,
        rank: int | None = None,
        gates: int = 1,
        output: bool = False,
    ) -> int:
        """The number of parameters for one node type, as the paper counts them.

        Args:
            hidden_size: c.
            arity: L.
            rank: r, for the low-rank forms.
            gates: G.
            output: True to count the output map (``r c`` per gate of a low-rank form) and the bias
                (``c``) too, which the paper leaves out. The full tensor contains its bias.

        Raises:
            ValueError: the rank is missing, or the form has none.

        Reference: Castellana and Bacciu, IJCNN 2020, Sec. IV and Tables I, II.
        """
        if (rank is not None) != cls.ranked:
            raise ValueError(
                f"{cls.name} {'needs a' if cls.ranked else 'has no'} rank; got {rank!r}"
            )
        r = rank or 0  # which forms without a rank do not read
        inner = cls._count_inner(hidden_size, arity, r)
        return gates * (inner + output * cls._count_outer(hidden_size, r))

    @classmethod
    def _count_inner(cls, c: int, L: int, r: int) -> int:
        """The number of parameters of one gate that combine the children's states."""
        raise NotImplementedError

    @classmethod
    def _count_outer(cls, c: int, r: int) -> int:
        """The number of parameters of one gate that map the result to the output."""
        return c

    @property
    def num_keys(self) -> int:
        """The number of kinds of edges; each is a parent's type and a place."""
        return self.num_types * (self.arity if self.positional else 1)

    @property
    def mode_sizes(self) -> list[int]:
        """The sizes of the vectors that are multiplied: the input, if any, and the children."""
        return [self.input_size] * (self.input_size > 0) + [self.hidden_size] * self.arity

    @property
    def num_modes(self) -> int:
        """The number of vectors that are multiplied."""
        return len(self.mode_sizes)

    @property
    def constant_term(self) -> tuple[slice | int, ...]:
        """The index of the constant term in the tensor of :meth:`to_full`: the one of each mode.

        Shapes:
            indexes ``[num_types, G, .., c]`` -> ``[num_types, G, c]``.
        """
        return (slice(None), slice(None), *[-1] * self.num_modes)

    def numbers_a_node(self) -> int:
        """The number of weights that combine what one node received."""
        return self.gates * self.hidden_size

    def forward(self) -> None:
        """Does nothing; it is called once before a sweep, to run hooks that set parameters.

        Such hooks are those of ``torch.nn.utils.prune``. The aggregator's own work is done level by
        level, in :meth:`message` and :meth:`reduce` or in compiled loops, where no hook can see it.
        """

    def register_forward_hook(self, *_: Any, **__: Any) -> RemovableHandle:
        """Raises an error, as such a hook would see nothing.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(
            f"a hook on a {type(self).__name__} would see nothing, as its work is done level by "
            "level, partly in compiled loops; put it on the TreeLSTM, or a forward pre-hook here"
        )

    register_full_backward_hook = register_forward_hook
    register_full_backward_pre_hook = register_forward_hook
    register_backward_hook = register_forward_hook

    def message_weight(self) -> Tensor | None:
        """The weight that multiplies a child's h, ``[num_keys, c, width]``; None sends h itself."""
        raise NotImplementedError(
            f"{type(self).__name__} has no method message_weight; expected one that gives a weight "
            "for the children's states, or None"
        )

    def message(self, edges: Edges, z: Tensor) -> Tensor:
        """A child's message; ``z`` is h times the message weight, ``[runs, length, width]``."""
        return z

    def reduce(self, nodes: Nodes, received: Tensor, x: Tensor | None) -> Sequence[Tensor]:
        """Combines what was received into G tensors ``[runs, length, c]``."""
        raise NotImplementedError(
            f"{type(self).__name__} has no method reduce; expected one that gives a tensor a gate"
        )

    def by_mode(self, name: str) -> list[Tensor]:
        """The parameters of this name, one ``[num_types, ..]`` for each mode.

        The input's parameters, which have the same name after ``input_``, come first if there are
        any.
        """
        children = getattr(self, name).unflatten(0, (self.num_types, -1))
        if not self.positional:
            children = children.expand(-1, self.arity, *children.shape[2:])
        own = [getattr(self, f"input_{name}")] if self.input_size else []
        return [*own, *children.unbind(1)]

    def set_by_mode(self, name: str, modes: Sequence[Tensor]) -> None:
        """The inverse of :meth:`by_mode`: sets parameters from a ``[num_types, ..]`` per mode."""
        if self.input_size:
            own, *modes = modes
            getattr(self, f"input_{name}").data.copy_(own)
        getattr(self, name).data.copy_(torch.stack(list(modes), 1).flatten(0, 1))

    def to_full(self) -> Tensor:
        """The same map as one dense tensor ``[num_types, G, (input_size + 1), (c+1)^L.., c]``.

        The modes are that of the input, if there is one, then one per child; index -1 of each is
        its homogeneous one.
        """
        raise NotImplementedError

    def load_full(self, tensor: Tensor) -> None:
        """Sets the parameters so that :meth:`to_full` is close to a ``[num_types, G, .., c]``."""
        raise NotImplementedError

    def extra_repr(self) -> str:
        return (
            f"hidden_size={self.hidden_size}, arity={self.arity}, num_types={self.num_types}, "
            f"gates={self.gates}"
        )

    def _all_modes(self, nodes: Nodes, received: Tensor, x: Tensor | None) -> list[Tensor]:
        """The vectors that are multiplied, one per mode, each ``[runs, length, ..]``."""
        modes = list(nodes.split(received).unbind(2))
        if self.input_size:
            assert x is not None  # nodes that carry inputs get them
            modes.insert(0, self.input_mode(nodes, nodes.split(x)))
        return modes

    def input_mode(self, nodes: Nodes, x: Tensor) -> Tensor:
        """The node's own input, ``[runs, length, input_size]``, in the form of a message."""
        raise NotImplementedError


def checked_size(name: str, value: int, least: int, owner: object) -> int:
    """The value as an int.

    Raises:
        ValueError: the value is not an int, or less than ``least``.
    """
    check_integer(name, value, least, owner=type(owner).__name__)
    return int(value)


def homogeneous_moments(sizes: Sequence[int]) -> Tensor:
    """Variances for a core over homogeneous modes that keep the output's variance near one.

    The entries of a mode of size n share ``1 / modes`` of the weight of its homogeneous one.
    Therefore terms of low order dominate, and a missing child, of which only the one is left,
    hardly changes the output's variance. The constant term gets no variance. Entries are scaled to
    unit total variance when half of the modes, rounded up, are present.

    Shapes:
        output: ``[n_1 + 1, .., n_M + 1]``.
    """
    modes = len(sizes)
    share = 1 / modes
    product = torch.ones(())  # grows by one mode a round, to [n_1 + 1, .., n_M + 1]
    for n in sizes:
        weights = torch.full((n + 1,), share / n)
        weights[-1] = 1
        product = product.unsqueeze(-1) * weights
    product[(-1,) * modes] = 0  # the constant term, ones in every mode
    return product / ((1 + share) ** math.ceil((modes + 1) / 2) - 1)
