"""The processes of one ``torchrun``: their ranks, and the sum of their gradients.

Each process takes its share of every batch and scales its loss by that share, so that the sum of
the processes' gradients is the gradient of one process on the whole batch. torch's
``DistributedDataParallel`` gives neither unequal shares nor empty ones, and knows ``forward`` only.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Sequence

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn


def process_rank() -> tuple[int, int]:
    """The number of this process and the number of processes: (0, 1) outside ``torchrun``."""
    if dist.is_available() and dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    return int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))


def are_connected() -> bool:
    """Whether there are several processes, in a process group, so that they can add up numbers."""
    return dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1


def is_first_process() -> bool:
    """Whether this process is the one that writes files and shows progress."""
    return process_rank()[0] == 0


def own_device(device: str | torch.device) -> torch.device:
    """The device this process trains on: under ``torchrun``, "cuda" means one GPU per process.

    Raises:
        ValueError: there is no such device here.
    """
    try:
        chosen = torch.device(device)
        if chosen.type == "cuda" and chosen.index is None and "LOCAL_RANK" in os.environ:
            chosen = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.empty(0, device=chosen)
    except (AssertionError, NotImplementedError, RuntimeError, TypeError) as error:
        reason = str(error).strip().splitlines()[0]
        raise ValueError(
            f"The 'device' parameter must name a device of this machine, such as 'cpu'. "
            f"Got {str(device)!r} ({reason})."
        ) from None
    return chosen


class Processes:
    """All processes that train together; the methods have no effect if there is only one.

    Args:
        device: device of this process; "cuda" communicates by NCCL, others by gloo.
    """

    def __init__(self, device: torch.device):
        self.device = device
        self.rank, self.world = process_rank()
        if self.world > 1 and device.type == "cuda":
            torch.cuda.set_device(device)
        if self.world > 1 and not dist.is_initialized():
            dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
            # It lives as long as the process: a group that is closed and opened again can meet
            # the addresses that the old one left in torchrun's store.
            atexit.register(dist.destroy_process_group)

    def share(self, indices: np.ndarray) -> np.ndarray:
        """This process's part of a batch ``[n]``, possibly empty; sizes differ by at most one."""
        return indices if self.world == 1 else np.array_split(indices, self.world)[self.rank]

    def sum(self, values: np.ndarray) -> np.ndarray:
        """The sum over all processes of an array ``[...]`` of float64, equally shaped in each."""
        if self.world == 1:
            return values
        total = torch.as_tensor(values, dtype=torch.float64).to(self.device)
        dist.all_reduce(total)
        return total.cpu().numpy()

    def part(self, number: float) -> float:
        """A number divided by the sum of the numbers of all processes; 0 if all are 0."""
        if self.world == 1:
            return 1.0
        total = float(self.sum(np.array([number]))[0])
        return number / total if total else 0.0

    def wait(self) -> None:
        """Waits until all processes have come this far."""
        self.sum(np.zeros(1))

    def agree(self, number: int) -> bool:
        """Whether all processes have the same number; waits until all have asked."""
        total, squares = self.sum(np.array([number, number**2], dtype=np.float64))
        return squares * self.world == total**2  # only equal numbers have no variance

    def broadcast(self, tensors: Sequence[torch.Tensor]) -> None:
        """Gives every process the values of process 0; tensors ``[...]`` of any shape."""
        for tensor in tensors if self.world > 1 else ():
            values = tensor.detach().contiguous()
            dist.broadcast(values, 0)
            tensor.detach().copy_(values)

    def share_buffers(self, model: nn.Module) -> None:
        """Gives every process the buffers of process 0, after all of them are added up that can be.

        Each process keeps its own running statistics. Those of a module with ``sum_statistics()``,
        as of a tree that is learned, are added up; of the others, those of process 0 count.
        """
        if self.world > 1:
            for module in model.modules():
                if callable(add_up := getattr(module, "sum_statistics", None)):
                    add_up()
            self.broadcast(list(model.buffers()))

    def add_gradients(self, parameters: Sequence[nn.Parameter], loss: Tensor | None) -> Tensor:
        """Sums the gradients, and the loss, over all processes; returns the loss.

        A parameter that no process used keeps the gradient None, so that the optimizer passes it
        over exactly as it does in one process. A process without examples takes part with zeros.
        Sparse gradients are summed as dense ones, and are sparse in their first axis afterwards.

        Args:
            parameters: parameters that have gradients, ``[...]`` each.
            loss: loss of this process, ``[]``; None if it had no examples.

        Shapes:
            output: ``[]``.
        """
        if loss is None:
            loss = torch.zeros((), device=self.device)
        if self.world == 1:
            return loss
        grads = [parameter.grad for parameter in parameters]
        used = [grad is not None for grad in grads]
        in_rows = [grad is not None and grad.is_sparse for grad in grads]
        total, *counts = self.sum(np.array([loss.item(), *used, *in_rows], float)).tolist()
        uses, sparse = counts[: len(parameters)], counts[len(parameters) :]
        live = [parameter for parameter, count in zip(parameters, uses, strict=True) if count]
        for dtype in dict.fromkeys(parameter.dtype for parameter in live):
            self._add([parameter for parameter in live if parameter.dtype == dtype])
        for parameter, count, rows in zip(parameters, uses, sparse, strict=True):
            if parameter.grad is not None and rows == count:  # as its optimizer may need it
                parameter.grad = parameter.grad.to_sparse(1)
        return torch.tensor(total, dtype=torch.float64, device=self.device)

    def _add(self, parameters: Sequence[nn.Parameter]) -> None:
        # One message for all of them: most of the time of a small one is its way, not its size.
        gradients = [
            torch.zeros_like(parameter) if parameter.grad is None else parameter.grad.to_dense()
            for parameter in parameters
        ]
        flat = torch.cat([gradient.reshape(-1) for gradient in gradients])
        dist.all_reduce(flat)
        sizes = [parameter.numel() for parameter in parameters]
        for parameter, part in zip(parameters, flat.split(sizes), strict=True):
            parameter.grad = part.view_as(parameter)
