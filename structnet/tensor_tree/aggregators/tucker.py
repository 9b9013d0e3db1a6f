"""The Tucker form: a small core between low-rank projections of the children."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from structnet.message_passing.cell import Edges, Nodes
from structnet.tensor_tree.aggregators.base import HIDDEN_MOMENT, homogeneous_moments
from structnet.tensor_tree.aggregators.contraction import expand_outer, multilinear
from structnet.tensor_tree.aggregators.full_tensor import from_dense
from structnet.tensor_tree.aggregators.low_rank import LowRank
from structnet.tensor_tree.parameters import Shape


class Tucker(LowRank):
    """``y = q(sum G(i_1, .., i_L, :) zbar_1(i_1) .. zbar_L(i_L))`` with ``z_j = U_j h_j``.

    Here ``zbar = [z; 1]`` and ``q(v) = Q v + b``. Each gate has modes, a core and an output map of
    its own. A node's input, if it has one, is an additional mode.

    Args:
        rank: r, the size of the modes z.
        others: other arguments of :class:`~structnet.tensor_tree.aggregators.base.Aggregator`.

    Shapes:
        modes: ``[num_types * L, c, G r]``.
        input_modes: ``[num_types, input_size, G r]``.
        core: ``[num_types, G, (r + 1)^M.., r]``, M modes.
        output: ``[num_types, G, r, c]``; bias: ``[num_types, G, c]``.

    Reference: Castellana and Bacciu, IJCNN 2020, Eq. (10). ("HOSVD" names an algorithm that finds
    such a form, here :meth:`from_full`.)

    Example:
        >>> from functools import partial
        >>> from structnet import TreeLSTM
        >>> sizes = {"num_types": 4, "arity": 5, "inputs": torch.eye(10)}
        >>> encoder = TreeLSTM(20, **sizes, aggregator=partial(Tucker, rank=3))
        >>> Tucker.count(20, arity=5, rank=3)  # parameters of one gate of one type
        3372
    """

    name = "tucker"

    modes: nn.Parameter
    input_modes: nn.Parameter
    core: nn.Parameter

    def _shapes(self) -> dict[str, Shape]:
        c, t, g, r = self.hidden_size, self.num_types, self.gates, self.rank
        shapes: dict[str, Shape] = {
            "modes": (self.num_keys, c, g * r),
            "core": (t, g, *[r + 1] * self.num_modes, r),
            **super()._shapes(),
        }
        if self.input_size:
            shapes["input_modes"] = (t, self.input_size, g * r)
        return shapes

    @torch.no_grad()
    def reset_parameters(self) -> None:
        self.modes.normal_().mul_((HIDDEN_MOMENT * self.hidden_size) ** -0.5)
        variance = homogeneous_moments([self.rank] * self.num_modes)
        self.core.normal_().mul_(variance.sqrt().unsqueeze(-1))
        self.output.normal_().mul_(self.rank**-0.5)
        self.bias.zero_()
        if self.input_size:
            self.input_modes.normal_().mul_(self.input_size**-0.5)

    def numbers_a_node(self) -> int:
        return math.prod(self.shapes["core"][1:])

    @classmethod
    def _count_inner(cls, c: int, L: int, r: int) -> int:
        return r * (r + 1) ** L + L * c * r

    def message_weight(self) -> Tensor:
        return self.modes

    def message(self, edges: Edges, z: Tensor) -> Tensor:
        return self._with_one(z)

    def input_mode(self, nodes: Nodes, x: Tensor) -> Tensor:
        return self._with_one(nodes.product(x, self.input_modes))

    def _with_one(self, z: Tensor) -> Tensor:
        return F.pad(z.unflatten(-1, (self.gates, -1)), (0, 1), value=1.0)  # zbar, [.., G, r + 1]

    def reduce(self, nodes: Nodes, received: Tensor, x: Tensor | None) -> Sequence[Tensor]:
        modes = self._all_modes(nodes, received, x)
        return self.map_out(nodes, multilinear(nodes, modes, self.core))

    def to_full(self) -> Tensor:
        modes = [m.unflatten(-1, (self.gates, -1)) for m in self.by_mode("modes")]
        matrices = [homogeneous(m.transpose(1, 2)) for m in modes]
        projection = expand_outer(matrices)  # [types, G, (c+1)^M, (r+1)^M]
        full = projection @ self.core.flatten(2, -2) @ self.output
        return self.with_bias(full.unflatten(2, [m.shape[-2] for m in matrices]))

    @classmethod
    def from_full(cls, tensor: Tensor, rank: int, input_size: int = 0) -> Tucker:
        """A Tucker form of a dense tensor, by truncated higher-order SVD.

        It is exact if the rank is at least c and the input's size.

        Shapes:
            tensor: ``[num_types, G, (input_size + 1), (c + 1)^L.., c]``.

        Raises:
            ValueError: the tensor's modes are not those of an aggregator.

        Reference: De Lathauwer et al., SIAM J. Matrix Anal. Appl. 21(4), 2000.
        """
        return from_dense(cls, tensor, input_size, rank=rank)

    def load_full(self, tensor: Tensor) -> None:
        self.bias.data.copy_(tensor[self.constant_term])
        core = tensor.clone()
        core[self.constant_term] = 0  # the bias holds the constant term
        matrices = []
        for mode in range(self.num_modes):
            # The homogeneous one stays as it is; the other entries are projected.
            inner = core.movedim(2 + mode, 2)[:, :, :-1].flatten(3)  # [types, G, n, rest]
            matrices.append(leading_vectors(inner, self.rank))
        output = leading_vectors(core.movedim(-1, 2).flatten(3), self.rank)  # [types, G, c, r]
        for mode, matrix in enumerate(matrices):
            core = times(core.movedim(2 + mode, -1), homogeneous(matrix)).movedim(-1, 2 + mode)
        self.core.data.copy_(times(core, output))
        self.output.data.copy_(output.mT)
        self.set_by_mode("modes", [m.transpose(1, 2).flatten(2) for m in matrices])


def times(tensor: Tensor, matrix: Tensor) -> Tensor:
    """``[types, G, .., n]`` times ``[types, G, n, m]``: ``[types, G, .., m]``."""
    return (tensor.flatten(2, -2) @ matrix).unflatten(2, tensor.shape[2:-1])


def homogeneous(matrix: Tensor) -> Tensor:
    """``[.., n, r]`` -> ``[.., n + 1, r + 1]``, which maps the homogeneous one to itself."""
    padded = F.pad(matrix, (0, 1, 0, 1))
    corner = torch.zeros_like(padded)
    corner[..., -1, -1] = 1
    return padded + corner


def leading_vectors(unfolding: Tensor, rank: int) -> Tensor:
    """The first left singular vectors of ``[.., n, m]``, padded with zeros: ``[.., n, rank]``."""
    u = torch.linalg.svd(unfolding, full_matrices=False).U[..., :rank]
    return F.pad(u, (0, rank - u.shape[-1]))
