"""The base of encoders that aggregate children: inputs, the aggregator, and checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from structnet.checks import wrong
from structnet.errors import GraphError
from structnet.message_passing.cell import Nodes, State
from structnet.message_passing.scheduling import check_forest
from structnet.tensor_tree.aggregators.base import Aggregator
from structnet.tensor_tree.number_embedding import check_known
from structnet.tensor_tree.parameters import Shape, check_shapes
from structnet.training.modules import not_compiled
from structnet.trees.forest import Forest


class WithInputs(nn.Module):
    """An encoder whose leaves, and with ``inner_inputs`` other nodes too, carry input vectors."""

    aggregator: Aggregator
    embedding: nn.Embedding
    inputs: Tensor
    inner_inputs: bool
    leaf_weight: nn.Parameter
    leaf_bias: nn.Parameter
    learned_inputs: bool
    shapes: Mapping[str, Shape]

    def hold_inputs(self, inputs: Tensor | nn.Embedding) -> None:
        """Takes the vectors over: an embedding as it is, a tensor as a copy that is not trained.

        Shapes:
            inputs ``[num_tokens, input_size]``.

        Raises:
            ValueError: the inputs are neither.
        """
        if not isinstance(inputs, nn.Embedding) and getattr(inputs, "ndim", 0) != 2:
            raise ValueError(
                "inputs must be an nn.Embedding or a tensor [num_tokens, input_size]; got "
                + (f"shape {list(inputs.shape)}" if hasattr(inputs, "shape") else repr(inputs))
            )
        self.learned_inputs = isinstance(inputs, nn.Embedding)
        if isinstance(inputs, nn.Embedding):
            self.embedding = inputs
        else:
            table = torch.as_tensor(inputs).detach()
            self.register_buffer("inputs", table.to(torch.get_default_dtype(), copy=True))

    def make_aggregator(
        self,
        aggregator: Callable[..., Aggregator],
        hidden_size: int,
        arity: int,
        num_types: int,
        gates: int,
    ) -> None:
        """Makes the aggregator, once the inputs are held.

        Raises:
            ValueError: it is neither a class nor a function that gives an instance of one.
        """
        is_class = isinstance(aggregator, type) and issubclass(aggregator, Aggregator)
        made: Any = None
        if is_class or not isinstance(aggregator, type | nn.Module):
            input_size = self.input_table().shape[1] if self.inner_inputs else 0
            made = aggregator(hidden_size, arity, num_types, gates=gates, input_size=input_size)
        if not isinstance(made, Aggregator):
            expected = "a subclass of Aggregator, or a functools.partial of one"
            raise wrong("aggregator", expected, aggregator, type(self).__name__)
        self.aggregator = made

    def input_table(self) -> Tensor:
        """The input vectors, ``[num_tokens, input_size]``."""
        return self.embedding.weight if self.learned_inputs else self.inputs

    def look_up(self, tokens: Tensor) -> Tensor:
        """The input vectors of tokens, looked up with the options of the embedding.

        Shapes:
            tokens ``[n]`` -> ``[n, input_size]``.
        """
        return self.embedding(tokens) if self.learned_inputs else self.inputs[tokens]

    def own_inputs(self, nodes: Nodes) -> Tensor | None:
        """The input vectors of nodes with a type, ``[rows, input_size]``, 0 for nodes without one.

        None if nodes with a type carry no inputs in this encoder.
        """
        if not self.inner_inputs:
            return None
        there = (nodes.tokens >= 0).unsqueeze(1)
        return self.look_up(nodes.tokens.clamp_min(0)) * there

    @torch.no_grad()
    def draw_leaf_weights(self) -> None:
        """Draws the initial weights of the leaves, so that pre-activations have variance 1."""
        moment = self.input_table().square().sum(1).mean().clamp_min(1e-6)
        self.leaf_weight.normal_().div_(moment.sqrt())
        self.leaf_bias.zero_()

    @not_compiled
    def states(
        self,
        forest: Forest,
        *,
        nodes: Sequence[int] | np.ndarray | None = None,
        backend: str = "levels",
    ) -> State:
        """The states of some nodes, by default the roots.

        Args:
            forest: the trees.
            nodes: numbers of nodes in the forest, or a mask of all of them.
            backend: backend as for :func:`structnet.message_passing.propagate`; "levels" is one
                compiled call per direction where :mod:`structnet.tensor_tree.compiled`, or on a GPU
                :mod:`structnet.tensor_tree.gpu`, supports the model, with equal results.

        Shapes:
            output: ``h`` and, with gates, ``c``, each ``[len(nodes), hidden_size]``.

        Raises:
            GraphError: the forest has types, places or tokens that the model does not have.
            IndexError: ``nodes`` are not numbers of nodes, or out of range.
            ValueError: a parameter no longer has its shape.
        """
        self.check_sweep(forest)
        return self._sweep(forest, nodes, backend)

    def _sweep(
        self, forest: Forest, nodes: Sequence[int] | np.ndarray | None, backend: str
    ) -> State:
        raise NotImplementedError

    def node_states(self, forest: Forest, backend: str = "levels") -> Tensor:
        """The hidden states of all nodes, by their numbers in the forest.

        Args and errors: those of :meth:`states`.

        Shapes:
            output: ``[num_nodes, hidden_size]``.
        """
        check_forest(forest)
        return self.states(forest, nodes=np.arange(forest.num_nodes), backend=backend)["h"]

    def forward(self, forest: Forest, backend: str = "levels") -> Tensor:
        """The hidden states of the roots, ``[len(forest), hidden_size]``."""
        return self.states(forest, backend=backend)["h"]

    def check_sweep(self, forest: Forest) -> None:
        """Runs the aggregator's hooks before a sweep, then checks what compiled loops do not check.

        Raises:
            TypeError: it is not a Forest.
            GraphError: as for :meth:`check_tokens`.
            ValueError: a parameter no longer has its shape.
        """
        check_forest(forest)
        self.check_tokens(forest)
        self.aggregator()  # runs its hooks
        check_shapes(self, self.shapes)
        check_shapes(self.aggregator, self.aggregator.shapes)

    def check_tokens(self, forest: Forest) -> None:
        """Refuses nodes that lack a vector they need, or carry one that would not be read.

        Raises:
            GraphError: a token is not in the table, a node has neither type nor token, or it has
                both and the encoder reads no inputs of inner nodes.
        """
        table = self.embedding if self.learned_inputs else self.inputs
        check_known(forest.tokens, table, "the forest has token {}; the model has {} input vectors")
        empty = (forest.types < 0) & (forest.tokens < 0)
        if empty.any():
            raise GraphError(f"node {empty.argmax()} has neither type nor token; it needs one")
        if not self.inner_inputs and ((forest.types >= 0) & (forest.tokens >= 0)).any():
            raise GraphError(
                "nodes with a type carry tokens, which the model would not read; "
                "build it with inner_inputs=True"
            )


def aggregated(aggregator: Aggregator, nodes: Nodes, x: Tensor | None) -> Sequence[Tensor]:
    """What an aggregator, which may be a user's, computes from the messages that nodes receive.

    Args:
        aggregator: the aggregator.
        nodes: nodes with its messages in their mailbox.
        x: the nodes' own inputs, if there are any.

    Shapes:
        x ``[rows, input_size]``; output: one ``[runs, length, hidden_size]`` for each gate.

    Raises:
        ValueError: it gives something else.
    """
    found: Any = aggregator.reduce(nodes, nodes.mailbox["aggregate"], x)
    shape = (*nodes.split(nodes.tokens).shape, aggregator.hidden_size)
    got = [_shape(y) for y in found] if isinstance(found, Sequence) else _shape(found)
    if got != [shape] * aggregator.gates:
        raise ValueError(
            f"{type(aggregator).__name__}.reduce must give a sequence of {aggregator.gates} "
            f"tensors, one for each gate, of shape {shape} (runs, length, hidden_size); got "
            f"{got if isinstance(got, list | str) else f'one of shape {got}'}"
        )
    return found


def _shape(x: Any) -> tuple[int, ...] | str:
    return tuple(x.shape) if isinstance(x, Tensor) else type(x).__name__
