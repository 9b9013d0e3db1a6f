"""The network: bundles that elect each other, and sentences that flow through them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import mish

from structnet.checks import check_number, check_one_of, wrong
from structnet.naru import autograd_backend, message_passing, sweep
from structnet.naru.capsules import Capsules
from structnet.naru.waves import Waves
from structnet.naru.wiring import Wiring

if TYPE_CHECKING:
    import networkx as nx
    from dgl import DGLGraph

    from structnet.naru.statistics import RoutingStats

BACKENDS = {"sweep": sweep.run, "autograd": autograd_backend.run}


class Routed(NamedTuple):
    """The predictions of a network for sentences, and the paths that they took.

    Attributes:
        predictions: predicted next token for every token but the last; 0 after the end.
        record: active bundle of each capsule at each step; -1 for none.
        gates: gates of each capsule's active bundle at each step, in the order of
            :meth:`.Wiring.reads`; 0 where there are none.

    Shapes:
        predictions ``[sentences, tokens - 1, dims[-1]]``, record ``[sentences, steps, capsules]``
        of int64, gates ``[sentences, steps, most connections]`` for each capsule.
    """

    predictions: Tensor
    record: Tensor
    gates: list[Tensor]


class RoutedNetwork(Capsules):
    """Capsules of bundles, of which a token activates one per capsule; the others cost nothing.

    A bundle keeps a state, which is 0 until it is first active. At each step, every active bundle
    reads its own state and those of its neighbours, as they were before the step, through gates
    (Eq. 1-4, see :class:`.Bundle`), and then writes its new state (Eq. 5, 8)::

        h = mish(sum_i c_i / n),    n the number of its connections

    The first bundle has no activation and adds the token before the division, ``(x + sum_i c_i) /
    n``; the last one has no activation either, and its state is the prediction. The next capsule's
    bundle with the largest gate, the first one at a tie, is active at the next step. So tokens
    follow each other through the capsules, and the prediction for token k is read when it reaches
    the last one. As gates are computed from states before the step, a token's path depends on the
    tokens before it, not on itself. States are reset for each sentence. The election has no
    gradient; gates learn because they scale what is read.

    With ``Wiring.memory`` a bundle reads the one that elected it, which holds the same token, and
    perhaps itself. Elected is who would read the elector's new state through the largest gate, so
    that a token's path depends on itself, too. All connections between two capsules have a part of
    their weights in common.

    Args:
        wiring: capsules, bundles and links; None for those of the thesis.
        input_layer: True to pass the tokens through ``mish(x W + b)`` first.
        gate_noise: standard deviation of the noise that is added to gates in training, for the
            election only.

    Attributes:
        bundles: capsule -> bundle -> :class:`.Bundle`.
        common: weights that connections have in common, see :class:`.Capsules`.

    Raises:
        ValueError: a value is out of its range.

    Reference:
        D. Nepp, On the State of ANN Computation Graphs and the potential of Conditional Neural
        Networks, 2021, chapter 4.

    Example:
        >>> network = RoutedNetwork(Wiring(sizes=(1, 3, 1), dims=(4, 5, 4)))
        >>> x = torch.randn(2, 7, 4)  # two sentences of seven and of three tokens
        >>> network(x, torch.tensor([7, 3])).shape
        torch.Size([2, 6, 4])
        >>> network.route(x).record.shape  # sentences, steps, capsules
        torch.Size([2, 8, 3])
    """

    def __init__(
        self,
        wiring: Wiring | None = None,
        *,
        input_layer: bool = True,
        gate_noise: float = 0.0,
    ):
        super().__init__(Wiring() if wiring is None else wiring)
        check_number("gate_noise", gate_noise, 0, owner="RoutedNetwork")
        self.gate_noise = gate_noise
        dim = self.wiring.dims[0]
        self.input_layer = nn.Linear(dim, dim) if input_layer else None

    @property
    def multiply_adds(self) -> int:
        """The number of multiplications per word in matrix products, without the input layer."""
        return self.wiring.multiply_adds

    def forward(self, x: Tensor, lengths: Tensor | None = None, backend: str = "sweep") -> Tensor:
        """The predicted next token for every token but the last.

        Args:
            x: sentences; tokens after the end of a sentence are not read.
            lengths: number of tokens in each sentence; None if all are as long as x.
            backend: "sweep", or "autograd" for the reference in plain PyTorch, which always runs if
                the tokens are not on a CPU, or of half precision.

        Shapes:
            x ``[sentences, tokens, dims[0]]``, lengths ``[sentences]`` ->
            ``[sentences, tokens - 1, dims[-1]]``

        Raises:
            ValueError: shapes, types or lengths do not fit, or the backend is unknown.
        """
        return self.route(x, lengths, backend).predictions

    def route(self, x: Tensor, lengths: Tensor | None = None, backend: str = "sweep") -> Routed:
        """The predictions of :meth:`forward`, with the path that each sentence took.

        Autocast has no effect: the network computes in the precision of its weights, as rounding
        must not decide on a path.

        Shapes:
            see :meth:`forward` and :class:`Routed`: ``[sentences, steps, capsules]``.

        Raises:
            ValueError: shapes, types or lengths do not fit, or the backend is unknown.
        """
        check_one_of("backend", backend, tuple(BACKENDS), owner="RoutedNetwork")
        if torch.is_autocast_enabled(x.device.type):
            with torch.autocast(x.device.type, enabled=False):
                return self.route(x.to(self.capsule(0)[0].weight.dtype), lengths, backend)
        num_tokens = self._lengths(x, lengths)
        waves = Waves.of(num_tokens)
        sentence, token = (each.to(x.device) for each in waves.cells())
        of_waves = x[sentence, token]
        if self.input_layer is not None:
            of_waves = mish(self.input_layer(of_waves))
        compiled = x.device.type == "cpu" and x.dtype in (torch.float32, torch.float64)
        run = BACKENDS[backend if compiled else "autograd"]
        passed = run(self, of_waves, waves, self._noise(of_waves))
        tokens, depth = x.shape[1], self.wiring.depth
        steps = max(int(num_tokens.max(initial=0)) + depth - 2, 0) if len(token) else 0
        last = waves.predicted().cells()
        predictions = passed.predictions.new_zeros(len(x), max(tokens - 1, 0), self.wiring.dims[-1])
        record, gates = torch.full((len(x), steps, depth), -1, device=x.device), []
        for p, (active, gate) in enumerate(zip(passed.active, passed.gates, strict=True)):
            rows, waves_of = last if p == depth - 1 else (sentence, token)
            record[rows, waves_of + p, p] = active
            whole = gate.new_zeros(len(x), steps, gate.shape[1])
            gates.append(whole.index_put((rows, waves_of + p), gate))
        predictions = predictions.index_put(last, passed.predictions)
        return Routed(predictions, record, gates)

    @property
    def graph(self) -> DGLGraph:
        """The network as a DGL heterograph, see :func:`.message_passing.heterograph`."""
        return message_passing.heterograph(self)

    def to_networkx(self, stats: RoutingStats | None = None) -> nx.DiGraph:
        """The routes in the direction of election, see :func:`.message_passing.to_networkx`."""
        return message_passing.to_networkx(self.wiring, stats)

    def freeze_path(self, path: Sequence[int]) -> None:
        """Freezes the bundles of a path, and what they have in common with others.

        Further training leaves their parameters as they are.

        Args:
            path: bundle of each capsule, such as :meth:`.RoutingStats.main_path` returns.

        Raises:
            ValueError: there is no such path.
        """
        sizes = self.wiring.sizes
        fits = len(path) == len(sizes)
        if not fits or not all(0 <= a < n for a, n in zip(path, sizes, strict=True)):
            raise wrong("path", f"one bundle per capsule, below {list(sizes)}", list(path))
        for p, a in enumerate(path):
            self.capsule(p)[a].requires_grad_(False)
            if str(p) in self.common:
                self.common[str(p)].requires_grad_(False)

    def _noise(self, x: Tensor) -> list[Tensor] | None:
        if not (self.training and self.gate_noise):
            return None
        most = [max(map(len, links)) for links in self.wiring.links]
        return [self.gate_noise * torch.randn(len(x), n).to(x) for n in most]

    def _lengths(self, x: Tensor, lengths: Tensor | None) -> np.ndarray:
        """The number of tokens in each sentence, after all arguments are checked."""
        dim, like = self.wiring.dims[0], self.capsule(0)[0].weight
        if x.dim() != 3 or x.shape[2] != dim:
            raise ValueError(f"x must be [sentences, tokens, {dim}]. Got {list(x.shape)}.")
        if x.dtype != like.dtype:
            raise ValueError(f"x must have {like.dtype}, like the network. Got {x.dtype}.")
        if lengths is None:
            return np.full(len(x), x.shape[1], np.int64)
        numbers = np.asarray(lengths.cpu())
        if numbers.shape != (len(x),) or numbers.dtype.kind not in "iu":
            raise ValueError(
                f"lengths must be {len(x)} whole numbers, one per sentence. Got "
                f"{list(numbers.shape)} of {numbers.dtype}."
            )
        if len(numbers) and not 0 <= numbers.min() <= numbers.max() <= x.shape[1]:
            raise ValueError(
                f"lengths must be from 0 to {x.shape[1]}, the number of tokens in x. Got "
                f"{numbers.min()} to {numbers.max()}."
            )
        return numbers.astype(np.int64)
