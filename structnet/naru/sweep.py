"""The batched network on a CPU, with hand-written passes forward and backward through time.

A step of a capsule is a compiled loop over its rows, one product per active bundle, and another
loop. The backward pass does the same in the opposite order; it computes the gradients of the
weights at the end, by one product per bundle over all its steps. A bundle that was never visited
gets no gradient at all, so that Adam leaves it as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function

from structnet.naru import _kernels as kernels
from structnet.naru.autograd_backend import Passed
from structnet.naru.capsules import Capsules
from structnet.naru.waves import Waves
from structnet.training.backward import by_hand
from structnet.trees._kernels import grouped


class Capsule:
    """The state of one capsule during a sweep. Tensors and arrays share their memory.

    Args:
        network: network.
        p: number of the capsule.
        weights: weights of its bundles.
        waves: waves that pass the capsule.
        bonus: noise that is added to the gates of its routes for the election; no rows for none.

    Attributes:
        active: active bundle at each place.
        places, own_places: place where each neighbour, and the bundle itself, was last written.
        gates, mean, state: results at each place; without an activation, mean is also the state.
        last: place where each bundle of each row was last written so far.
        weighed, product, arrays: both sides of a wave's matrix products, as tensors and arrays.

    Shapes:
        bonus ``[places, most routes]``; results at places ``[places, ...]``, of rows
        ``[rows, ...]``.
    """

    def __init__(
        self, network: Capsules, p: int, weights: list[Tensor], waves: Waves, bonus: np.ndarray
    ):
        self.waves, self.bonus = waves, bonus
        self.others, self.num_routes, self.num_foreign, self.num_reads = network.connections(p)
        self.weights = [weight.detach().contiguous() for weight in weights]
        self.addresses = np.array([weight.data_ptr() for weight in self.weights])
        self.dims = network.dims_around(p)
        self.read_gate, self.own_gate = (each.numpy() for each in network.gates_of(p))
        self.curved = 0 < p < network.wiring.depth - 1
        (bundles, most), dim = self.others.shape, network.wiring.dims[p]
        size, rows, like = waves.size, len(waves.order), self.weights[0]
        self.active = np.zeros(size, np.int64)
        self.places = np.empty((size, most), np.int64)
        self.own_places = np.empty(size, np.int64)
        self.gates = like.new_zeros(size, most).numpy()
        self.mean = like.new_empty(size, dim).numpy()
        self.state = like.new_empty(size, dim).numpy() if self.curved else self.mean
        self.last = np.full((rows, bundles), -1)
        self.weighed = like.new_empty(rows, self.read_gate.shape[1])
        self.product = like.new_empty(rows, dim)
        self.arrays = self.weighed.numpy(), self.product.numpy()

    def products(self, here: slice, rows: np.ndarray, starts: np.ndarray, back: bool) -> None:
        """Computes a wave's products, all rows of a bundle at once, or their gradients; ``[n]``."""
        left = kernels.small_products(
            here.start, rows, starts, self.places, self.num_routes, self.num_foreign,
            self.num_reads, *self.dims, self.addresses, *self.arrays, back,
        )  # fmt: skip
        for b in left.nonzero()[0].tolist():
            i, j, weight = starts[b], starts[b + 1], self.weights[b]
            weighed = self.weighed[i:j, : len(weight)]
            if back:
                torch.mm(self.product[i:j], weight.T, out=weighed)
            else:
                torch.mm(weighed, weight, out=self.product[i:j])


class Sweep:
    """The pass of a batch through a network, forward and backward.

    Args:
        network: network; its parameters are read, not changed.
        x: tokens in the order of :class:`.Waves`, ``[places, dims[0]]``.
        waves: waves of the tokens.
        noise: noise for the elections, see :func:`.autograd_backend.run`.
    """

    def __init__(
        self,
        network: Capsules,
        x: Tensor,
        waves: Waves,
        noise: Sequence[Tensor] | None = None,
    ):
        self.x = x.detach().contiguous().numpy()
        self.nothing = self.x[:0]  # no rows: there is no such neighbour, or no noise
        self.depth = network.wiring.depth
        self.num_steps = len(waves.counts) + self.depth - 2 if len(waves.counts) else 0
        self.weights = [network.weights(p) for p in range(self.depth)]
        self.capsules = []
        for p in range(self.depth):
            inner = p < self.depth - 1
            bonus = noise[p].numpy() if inner and noise is not None else self.nothing
            steps = waves if inner else waves.predicted()
            self.capsules.append(Capsule(network, p, self.weights[p], steps, bonus))
        self.readers = [  # of capsules that are elected by those who read
            tuple(each.numpy() for each in network.readers(p))
            for p in range(self.depth - 1)
            if network.wiring.memory is not None
        ]
        self.last = [each.last for each in self.capsules]
        self.states = [each.state for each in self.capsules]

    def forward(self) -> None:
        """Computes all steps in order."""
        for step in range(self.num_steps):
            done = [(p, here, *self._read(p, here, step - p)) for p, here in self._living(step)]
            for p, here, active, rows in done:  # only after all bundles have read
                capsule, x = self.capsules[p], self.nothing if p else self.x
                kernels.write(
                    here.start, rows, active, capsule.num_reads, capsule.arrays[1], x,
                    capsule.curved, capsule.last, capsule.mean, capsule.state,
                )  # fmt: skip

    def backward(
        self, grad: np.ndarray, grad_gates: Sequence[np.ndarray]
    ) -> tuple[np.ndarray, list[list[Tensor | None]]]:
        """The gradients of the tokens, and of each bundle's weight, read_gate and own_gate.

        Args:
            grad: gradient of the predictions.
            grad_gates: gradient of the gates of each capsule; no rows for none.

        Shapes:
            grad ``[places, dims[-1]]``; grad_gates ``[places, most connections]`` each; gradient of
            the tokens ``[places, dims[0]]``.
        """
        grads = [np.zeros_like(capsule.mean) for capsule in self.capsules]
        grads[-1] = grad.copy()
        of_gates = [
            (np.zeros_like(each.read_gate), np.zeros_like(each.own_gate)) for each in self.capsules
        ]
        for step in reversed(range(self.num_steps)):
            for p, here in self._living(step):
                self._spread(p, here, grads, grad_gates[p], of_gates[p])
        of_bundles = []
        for p, capsule in enumerate(self.capsules):
            order, starts = grouped(capsule.active, len(capsule.others))
            for b, (i, j) in enumerate(pairwise(starts.tolist())):
                of_bundles.append(self._of_bundle(p, b, order[i:j], grads[p], *of_gates[p]))
        return grads[0], of_bundles

    def _living(self, step: int) -> Iterator[tuple[int, slice]]:
        """The capsules that compute something in a step, and their places."""
        for p, capsule in enumerate(self.capsules):
            here = capsule.waves.slice(step - p)
            if here.start < here.stop:
                yield p, here

    def _around(self, p: int, of: Any) -> tuple[Any, Any]:
        """The arrays of the next and the previous capsule, given those of all capsules."""
        none = of[p][:0]
        return of[p + 1] if p + 1 < self.depth else none, of[p - 1] if p else none

    def _read(self, p: int, here: slice, wave: int) -> tuple[np.ndarray, np.ndarray]:
        capsule, elected = self.capsules[p], np.empty(0, np.int64)
        active, fresh = capsule.active[here], 0
        if self.readers and p:
            behind = self.capsules[p - 1]
            fresh = behind.waves.slice(wave).start
            kernels.elect(
                fresh, behind.active[fresh:], behind.state, capsule.last, capsule.state,
                *self.readers[p - 1], behind.bonus, active,
            )  # fmt: skip
        rows, starts = grouped(active, len(capsule.others))
        if p + 1 < self.depth:
            ahead = self.capsules[p + 1]
            elected = ahead.active[ahead.waves.slice(wave)]
        kernels.read(
            here.start, rows, active,
            capsule.last, *self._around(p, self.last),
            capsule.state, *self._around(p, self.states), fresh,
            capsule.others, capsule.num_routes, capsule.num_foreign, capsule.num_reads,
            capsule.read_gate, capsule.own_gate, capsule.bonus, capsule.places,
            capsule.own_places, capsule.gates, capsule.arrays[0], elected,
        )  # fmt: skip
        capsule.products(here, rows, starts, back=False)
        return active, rows

    def _spread(
        self,
        p: int,
        here: slice,
        grads: list[np.ndarray],
        grad_gates: np.ndarray,
        of_gates: tuple[np.ndarray, np.ndarray],
    ) -> None:
        """Adds the gradients of a wave's states to those of the earlier states that it read."""
        capsule = self.capsules[p]
        active = capsule.active[here]
        rows, starts = grouped(active, len(capsule.others))
        kernels.arrive(
            here.start, rows, active, capsule.num_reads, capsule.curved, capsule.mean, grads[p],
            capsule.arrays[1],
        )  # fmt: skip
        capsule.products(here, rows, starts, back=True)
        kernels.spread(
            here.start, rows, active,
            capsule.state, *self._around(p, self.states),
            capsule.num_routes, capsule.num_foreign, capsule.num_reads, capsule.read_gate,
            capsule.own_gate, capsule.places, capsule.own_places, capsule.gates, grad_gates,
            capsule.arrays[0], grads[p], *self._around(p, grads), *of_gates,
        )  # fmt: skip

    def _of_bundle(
        self,
        p: int,
        b: int,
        chosen: np.ndarray,
        grad: np.ndarray,
        of_read_gate: np.ndarray,
        of_own_gate: np.ndarray,
    ) -> list[Tensor | None]:
        """The gradients of one bundle's parameters, given the places where it was active."""
        capsule = self.capsules[p]
        width, n = len(capsule.weights[b]), int(capsule.num_reads[b])
        if not len(chosen):
            return [None, None, None]
        weighed = np.empty((len(chosen), width), grad.dtype)
        kernels.gather(
            chosen, capsule.active, capsule.num_routes, capsule.num_foreign, capsule.num_reads,
            capsule.state, *self._around(p, self.states), capsule.places,
            capsule.gates, weighed,
        )  # fmt: skip
        of_weight = torch.from_numpy(weighed).T @ torch.from_numpy(grad[chosen])
        return [
            of_weight,
            torch.from_numpy(of_read_gate[b, :width]),
            torch.from_numpy(of_own_gate[b, :n]),
        ]


class Swept(Function):
    """A sweep as an autograd function, from tokens and parameters to predictions and gates."""

    @staticmethod
    def forward(ctx: Any, sweep: Sweep, x: Tensor, *parameters: Tensor) -> tuple[Tensor, ...]:
        """See :class:`Sweep`; x ``[places, dims[0]]``."""
        sweep.forward()
        ctx.sweep = sweep
        ctx.save_for_backward(*parameters)  # so that torch notices changes in place
        ctx.set_materialize_grads(False)
        predictions = torch.from_numpy(sweep.capsules[-1].state)
        # Copies: a caller who changes a result must not change what the backward pass reads.
        return predictions.clone(), *(torch.from_numpy(c.gates.copy()) for c in sweep.capsules)

    @staticmethod
    @by_hand("the sweep backend", "backend='autograd'")
    def backward(ctx: Any, grad: Tensor | None, *grad_gates: Tensor | None) -> tuple[Any, ...]:
        """See :meth:`Sweep.backward`; grad ``[places, dims[-1]]``."""
        sweep: Sweep = ctx.sweep
        _ = ctx.saved_tensors  # raises if they were changed in place
        nothing = sweep.nothing
        grad_x, of_bundles = sweep.backward(
            np.zeros_like(sweep.capsules[-1].mean) if grad is None else grad.numpy(),
            [nothing if grad is None else grad.contiguous().numpy() for grad in grad_gates],
        )
        flat = [each for three in of_bundles for each in three]
        return None, torch.from_numpy(grad_x), *flat


def run(
    network: Capsules, x: Tensor, waves: Waves, noise: Sequence[Tensor] | None = None
) -> Passed:
    """Does the same as :func:`.autograd_backend.run`, but faster, and only on a CPU.

    Shapes:
        x ``[places, dims[0]]``, noise ``[places, most routes]`` each.
    """
    sweep = Sweep(network, x, waves, noise)
    parameters = [
        parameter
        for p in range(network.wiring.depth)
        for weight, bundle in zip(sweep.weights[p], network.capsule(p), strict=True)
        for parameter in (weight, bundle.read_gate, bundle.own_gate)
    ]
    predictions, *gates = Swept.apply(sweep, x, *parameters)
    return Passed(predictions, gates, [torch.from_numpy(each.active) for each in sweep.capsules])
