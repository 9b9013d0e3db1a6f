"""Adagrad whose step only touches the rows of a batch, not the whole table."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import Tensor
from torch.optim import Adagrad

from structnet.label_tree._sgd_kernels import change_rows


class SparseAdagrad(Adagrad):
    """:class:`torch.optim.Adagrad`, except that sparse gradients change their rows in place.

    ``s_i += g_i^2, w_i -= rate * g_i / (sqrt(s_i) + eps)`` for the rows i of a gradient; the others
    have no gradient and would not change in the dense form either. Torch's own sparse step gives
    the same result through sparse tensors, and takes several times as long.

    Raises:
        RuntimeError: weight decay is set for weights with a sparse gradient, as in torch.

    Reference:
        Duchi, Hazan, Singer, Adaptive subgradient methods for online learning and stochastic
        optimization, JMLR 2011.

    Example:
        >>> table = torch.nn.Embedding(5, 2, sparse=True)
        >>> optimizer = SparseAdagrad(table.parameters(), lr=0.1)
        >>> before = table.weight.detach().clone()
        >>> table(torch.tensor([3])).sum().backward()
        >>> optimizer.step()
        >>> (table.weight - before).abs().sum(1).nonzero().tolist()
        [[3]]
    """

    known_as = "Adagrad"  # in checkpoints: either can resume from the other's state

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """Changes the weights by their gradients.

        Args:
            closure: function that computes the loss anew; its loss is returned.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        sparse = []
        try:
            for group in self.param_groups:
                for weight in group["params"]:
                    grad = weight.grad
                    in_rows = grad is not None and grad.is_sparse and grad.sparse_dim() == 1
                    if in_rows and not group["weight_decay"]:
                        self._change_rows(group, weight, grad.coalesce())
                        sparse.append((weight, grad))
                        weight.grad = None  # torch's step is for the others
            _step_without_hooks(self)
        finally:
            for weight, grad in sparse:
                weight.grad = grad
        return loss

    def _change_rows(self, group: dict[str, Any], weight: Tensor, grad: Tensor) -> None:
        state, weight = self.state[weight], weight.detach()
        rate = float(group["lr"]) / (1 + float(state["step"]) * group["lr_decay"])
        state["step"] += 1
        rows, g, total = grad.indices()[0], grad.values(), state["sum"]
        if not g.numel():
            return
        g = -g if group["maximize"] else g
        compiled = g.device.type == "cpu" and g.dtype in (torch.float32, torch.float64)
        if compiled and all(a.is_contiguous() and a.dtype == g.dtype for a in (weight, total, g)):
            one = g.numpy().dtype.type  # else numba computes in float64
            tables = (a.reshape(len(a), -1).numpy() for a in (weight, total, g))
            change_rows(rows.numpy(), *tables, one(rate), one(group["eps"]))
            return
        new = total[rows].addcmul_(g, g)
        total.index_copy_(0, rows, new)
        weight.index_add_(0, rows, g / new.sqrt_().add_(group["eps"]), alpha=-rate)


def _step_without_hooks(optimizer: Adagrad) -> None:
    """Takes torch's step without the wrapper by the first Adagrad, which would call hooks again."""
    inspect.unwrap(Adagrad.step, stop=lambda step: not hasattr(step, "hooked"))(optimizer)
