"""The canonical polyadic form: a sum of r products of one number per child."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from structnet.checks import check_integer
from structnet.message_passing.cell import Nodes
from structnet.tensor_tree.aggregators.base import HIDDEN_MOMENT
from structnet.tensor_tree.aggregators.full_tensor import from_dense
from structnet.tensor_tree.aggregators.low_rank import WithOnes
from structnet.tensor_tree.parameters import Shape


class CP(WithOnes):
    """``y = Q (z_1 * .. * z_L) + b`` with ``z_j = A_j hbar_j`` of size r, ``*`` entry by entry.

    Args:
        rank: r.
        others: other arguments of :class:`~structnet.tensor_tree.aggregators.base.Aggregator`.

    Shapes:
        factors: ``[num_types * L, c, G r]``; ones: the homogeneous part, ``[num_types * L, G r]``.
        input_factors, input_ones: ``[num_types, input_size, G r]``, ``[num_types, G r]``.
        output: ``[num_types, G, r, c]``; bias: ``[num_types, G, c]``.

    Reference: Kolda and Bader, SIAM Review 51(3), 2009, Sec. 3.

    Example:
        >>> from functools import partial
        >>> from structnet import TreeLSTM
        >>> sizes = {"num_types": 4, "arity": 5, "inputs": torch.eye(10)}
        >>> encoder = TreeLSTM(20, **sizes, aggregator=partial(CP, rank=32))
        >>> CP.count(20, arity=5, rank=32)  # parameters of one gate of one type
        3360
    """

    name = "cp"
    linear = "factors"

    factors: nn.Parameter
    input_factors: nn.Parameter

    def _shapes(self) -> dict[str, Shape]:
        return self._with_message(self.gates * self.rank, super()._shapes())

    @torch.no_grad()
    def reset_parameters(self) -> None:
        # z_j = 1 + noise of variance 1/M: low orders dominate, and the bias takes the constant.
        self.factors.normal_().mul_((HIDDEN_MOMENT * self.hidden_size * self.num_modes) ** -0.5)
        self.ones.fill_(1)
        self.output.normal_().mul_(self.rank**-0.5)
        self.bias.copy_(-self.output.sum(2))
        if self.input_size:
            self.input_factors.normal_().mul_((self.input_size * self.num_modes) ** -0.5)
            self.input_ones.fill_(1)

    @classmethod
    def _count_inner(cls, c: int, L: int, r: int) -> int:
        return L * (c + 1) * r

    def reduce(self, nodes: Nodes, received: Tensor, x: Tensor | None) -> Sequence[Tensor]:
        z, *others = self._all_modes(nodes, received, x)
        for other in others:
            z = z * other
        z = z.unflatten(-1, (self.gates, -1)).transpose(1, 2)  # [runs, G, length, r]
        return self.map_out(nodes, z)

    def to_full(self) -> Tensor:
        factors = self._homogeneous(self.rank)  # [types, G, n + 1, r]
        full = _outer(factors) @ self.output
        return self.with_bias(full.unflatten(2, [each.shape[2] for each in factors]))

    @classmethod
    def from_full(
        cls, tensor: Tensor, rank: int, input_size: int = 0, sweeps: int = 200, starts: int = 10
    ) -> CP:
        """A CP form of a dense tensor, by alternating least squares from several random starts.

        Args:
            tensor: a dense tensor, of the shape that :meth:`to_full` gives.
            rank: r; the best approximation of a given rank is not always found, and need not exist.
            input_size: size of the input's mode, 0 for none.
            sweeps: the most times that each factor is solved for.
            starts: the most starts; each gate of each type keeps its best one. The search ends
                early once it is close to the tensor.

        Shapes:
            tensor ``[num_types, G, (input_size + 1), (c + 1)^L.., c]``.

        Raises:
            ValueError: the tensor's modes are not those of an aggregator, or a number is out of its
                range.

        Reference: Kolda and Bader, SIAM Review 51(3), 2009, Fig. 3.3.
        """
        check_integer("sweeps", sweeps, 0, owner="CP.from_full")
        check_integer("starts", starts, 1, owner="CP.from_full")
        aggregator = from_dense(cls, tensor, input_size, rank=rank)
        aggregator.load_full(tensor, sweeps, starts)
        return aggregator

    def load_full(self, tensor: Tensor, sweeps: int = 0, starts: int = 1) -> None:
        generator = torch.Generator().manual_seed(0)
        best: list[Tensor] = []
        least = tensor.new_full(tensor.shape[:2], torch.inf)  # [types, G] its error
        for _ in range(starts):
            factors = [
                torch.randn(*tensor.shape[:2], n, self.rank, generator=generator).to(tensor)
                for n in tensor.shape[2:]
            ]
            error = _improve(tensor, factors, sweeps)
            better = (error < least)[..., None, None]
            pairs = zip(factors, best or factors, strict=True)
            best = [torch.where(better, new, old) for new, old in pairs]
            least = torch.minimum(error, least)
            if (least < _EXACT).all():
                break
        *modes, output = best
        self.bias.data.zero_()
        self.output.data.copy_(output.mT)
        self._set_homogeneous(modes)


# A form this close to its tensor, as a share of its norm, needs no other start.
_EXACT = 1e-8


def _improve(tensor: Tensor, factors: list[Tensor], sweeps: int) -> Tensor:
    """Solves for the factors in turn; returns the errors as shares of the norm, ``[types, G]``."""
    norm = tensor.flatten(2).norm(dim=-1).clamp_min(torch.finfo(tensor.dtype).tiny)
    error = norm.new_full(norm.shape, torch.inf)
    for sweep in range(sweeps):
        for mode in range(len(factors)):
            _solve_factor(tensor, factors, mode)
        if sweep % 20 == 19 or sweep == sweeps - 1:
            before = error
            residual = tensor.flatten(3) - factors[0] @ _outer(factors[1:]).mT
            error = residual.flatten(2).norm(dim=-1) / norm
            if ((error < _EXACT) | (error > 0.999 * before)).all():
                break  # close, or no longer getting closer
    return error


def _outer(factors: list[Tensor]) -> Tensor:
    """The products of the rows of factors, the last fastest: ``[types, G, n_2 n_3 .., r]``."""
    product, *others = factors
    for other in others:
        product = torch.einsum("tgar,tgbr->tgabr", product, other).flatten(2, 3)
    return product


def _solve_factor(tensor: Tensor, factors: list[Tensor], mode: int) -> None:
    """Replaces one factor by the least-squares solution given the others."""
    others = [f for m, f in enumerate(factors) if m != mode]
    gram = torch.stack([f.mT @ f for f in others]).prod(0)  # [types, G, r, r]
    unfolding = tensor.movedim(2 + mode, 2).flatten(3)  # [types, G, n, all other modes]
    factors[mode] = unfolding @ _outer(others) @ torch.linalg.pinv(gram, hermitian=True)
