"""The parts of a Tree-LSTM that the sweeps in one call read, on any device."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor, nn

from structnet.message_passing.scheduling import Layout
from structnet.tensor_tree.aggregators.base import Aggregator


class Model(Protocol):
    """The parts of a :class:`~structnet.tensor_tree.TreeLSTM` that a sweep reads."""

    hidden_size: int
    forget: str
    inner_inputs: bool
    layout: Layout
    aggregator: Aggregator
    leaf_weight: nn.Parameter
    leaf_bias: nn.Parameter
    forget_weight: nn.Parameter
    forget_bias: nn.Parameter
    bottom_state: Tensor

    def look_up(self, tokens: Tensor) -> Tensor:
        """The input vectors of tokens, ``[n]`` -> ``[n, input_size]``."""
        ...

    def input_table(self) -> Tensor:
        """All input vectors, ``[num_tokens, input_size]``."""
        ...
