"""The tensor-train form: each child becomes a matrix, and a node their product."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from structnet.message_passing.cell import Nodes
from structnet.tensor_tree.aggregators.base import HIDDEN_MOMENT
from structnet.tensor_tree.aggregators.full_tensor import from_dense
from structnet.tensor_tree.aggregators.low_rank import WithOnes
from structnet.tensor_tree.parameters import Shape


class TensorTrain(WithOnes):
    """``y = Q (v M_1 .. M_L) + b`` where ``M_j = A_j(hbar_j)`` is r x r, linear in its child.

    Args:
        rank: r.
        others: other arguments of :class:`~structnet.tensor_tree.aggregators.base.Aggregator`.

    Shapes:
        cores: ``[num_types * L, c, G r r]``.
        ones: the homogeneous part, ``[num_types * L, G r r]``.
        input_cores, input_ones: ``[num_types, input_size, G r r]``, ``[num_types, G r r]``.
        start: v, ``[num_types, G, r]``.
        output: ``[num_types, G, r, c]``; bias: ``[num_types, G, c]``.

    Reference: Oseledets, SIAM J. Sci. Comput. 33(5), 2011, Eq. (1.2).

    Example:
        >>> from functools import partial
        >>> from structnet import TreeLSTM
        >>> sizes = {"num_types": 4, "arity": 5, "inputs": torch.eye(10)}
        >>> encoder = TreeLSTM(20, **sizes, aggregator=partial(TensorTrain, rank=5))
        >>> TensorTrain.count(20, arity=5, rank=5)  # parameters of one gate of one type
        2630
    """

    name = "tensor-train"
    linear = "cores"

    cores: nn.Parameter
    input_cores: nn.Parameter
    start: nn.Parameter

    def _shapes(self) -> dict[str, Shape]:
        others = {"start": (self.num_types, self.gates, self.rank), **super()._shapes()}
        return self._with_message(self.gates * self.rank**2, others)

    @torch.no_grad()
    def reset_parameters(self) -> None:
        # M_j = identity + noise of which v M_j has variance 1/M; the bias takes the constant.
        terms = self.num_modes * self.rank
        identity = torch.eye(self.rank).flatten().repeat(self.gates)
        self.cores.normal_().mul_((HIDDEN_MOMENT * self.hidden_size * terms) ** -0.5)
        self.ones.copy_(identity)
        self.start.normal_()
        self.output.normal_().mul_(self.rank**-0.5)
        self.bias.copy_(-(self.start.unsqueeze(2) @ self.output).squeeze(2))
        if self.input_size:
            self.input_cores.normal_().mul_((self.input_size * terms) ** -0.5)
            self.input_ones.copy_(identity)

    @classmethod
    def _count_inner(cls, c: int, L: int, r: int) -> int:
        return r + L * (c + 1) * r**2

    def reduce(self, nodes: Nodes, received: Tensor, x: Tensor | None) -> Sequence[Tensor]:
        v = nodes.select(self.start)[:, None, :, None]  # [runs, 1, G, 1, r]
        for matrix in self._all_modes(nodes, received, x):
            v = v @ matrix.unflatten(-1, (self.gates, self.rank, self.rank))
        v = v.squeeze(-2).transpose(1, 2)  # [runs, G, length, r]
        return self.map_out(nodes, v)

    def to_full(self) -> Tensor:
        v = self.start.unsqueeze(2)  # [types, G, combinations so far, r]
        cores = self._homogeneous(self.rank, self.rank)  # [types, G, n + 1, r, r]
        for core in cores:
            v = torch.einsum("tgar,tgbrs->tgabs", v, core).flatten(2, 3)
        return self.with_bias((v @ self.output).unflatten(2, [core.shape[2] for core in cores]))

    @classmethod
    def from_full(cls, tensor: Tensor, rank: int, input_size: int = 0) -> TensorTrain:
        """A tensor train of a dense tensor, by successive truncated SVDs (TT-SVD).

        It is exact if every unfolding has at most the given rank.

        Shapes:
            tensor ``[num_types, G, (input_size + 1), (c + 1)^L.., c]``.

        Raises:
            ValueError: the tensor's modes are not those of an aggregator.

        Reference: Oseledets, SIAM J. Sci. Comput. 33(5), 2011, Algorithm 1.
        """
        return from_dense(cls, tensor, input_size, rank=rank)

    def load_full(self, tensor: Tensor) -> None:
        r = self.rank
        self.start.data.zero_()
        self.start.data[..., 0] = 1
        self.bias.data.zero_()
        rest = tensor.flatten(2).unsqueeze(2)  # [types, G, ranks so far, what is left]
        rest = F.pad(rest, (0, 0, 0, r - 1))
        cores = []
        for n in tensor.shape[2:-1]:
            unfolding = rest.unflatten(-1, (n, -1)).flatten(2, 3)  # [types, G, r n, left]
            u, s, vh = torch.linalg.svd(unfolding, full_matrices=False)
            short = max(r - s.shape[-1], 0)
            u = F.pad(u[..., :r], (0, short))
            rest = F.pad(s[..., :r, None] * vh[..., :r, :], (0, 0, 0, short))
            cores.append(u.unflatten(2, (r, n)).transpose(2, 3))  # [types, G, n, r, r]
        self.output.data.copy_(rest)
        self._set_homogeneous(cores)
