"""Trainings of a tree that is learned, in one process and, as a program, in two.

The two know each other as those of a torchrun do, but import the library once where they can fork.

python tree_processes.py FOLDER
"""

from __future__ import annotations

import os
import socket
import sys
from functools import partial
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.multiprocessing import start_processes
from torch.nn.parallel import DistributedDataParallel

from structnet.label_tree import TreeSoftmaxLoss
from structnet.label_tree.sparse_adagrad import SparseAdagrad
from structnet.training.checkpoint import save_state
from structnet.training.fitting import fit
from structnet.training.processes import process_rank

LABELS, SIZE, BATCH = 64, 8, 32
SGD = partial(torch.optim.SGD, lr=0.5, momentum=0.5)


class Head(nn.Module):
    def __init__(self, sparse: bool = False) -> None:
        super().__init__()
        self.tree = TreeSoftmaxLoss(SIZE, LABELS, 4, sparse=sparse).double()

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return self.tree(x, target).loss

    def loss(self, batch: Tensor) -> Tensor:
        return self(batch[:, :SIZE], batch[:, SIZE].long())


def examples(number: int) -> Tensor:
    """Rows and, in the last column, their labels."""
    generator = torch.Generator().manual_seed(0)
    centres = torch.randn(LABELS, SIZE, generator=generator, dtype=torch.float64)
    target = torch.randint(LABELS, (number,), generator=generator)
    return torch.cat([centres[target], target[:, None]], 1)


def fitted() -> dict[str, Tensor]:
    """A tree that is reassigned after each epoch of ``fit`` but the last."""
    model = Head()
    again = [lambda model, history: model.tree.reassign() if len(history) < 4 else None]
    data = examples(20 * BATCH - 1)  # the last batch is smaller, with unequal shares
    fit(model, data, epochs=4, batch_size=BATCH, optimizer=SGD, callbacks=again, progress=False)
    return dict(model.state_dict())


def in_rows(batch_size: int) -> dict[str, Tensor]:
    """A tree whose gradients are sparse; of batches of one, one process never has an example."""
    model = Head(sparse=True)
    how = {"batch_size": batch_size, "optimizer": SparseAdagrad, "progress": False}
    fit(model, examples(3 * BATCH), epochs=2, **how)
    return dict(model.state_dict())


def wrapped(broadcast: bool) -> dict[str, Tensor]:
    """A tree that is reassigned twice, in DistributedDataParallel if processes are several."""
    rank, world = process_rank()
    model, share = Head(), BATCH // world
    called = model
    if world > 1:
        called = DistributedDataParallel(model, broadcast_buffers=broadcast)
    optimizer = SGD(model.parameters())
    for number, batch in enumerate(examples(30 * BATCH).split(BATCH), 1):
        part = batch[rank * share : (rank + 1) * share]
        optimizer.zero_grad()
        called(part[:, :SIZE], part[:, SIZE].long()).backward()
        optimizer.step()
        if number in (10, 20):
            model.tree.reassign(optimizer)
    model.tree.sum_statistics()
    return dict(model.state_dict())


def different_trees() -> str:
    """What is said if the processes begin with different trees."""
    rank, _ = process_rank()
    loss = TreeSoftmaxLoss(SIZE, LABELS, tree="random", seed=rank)
    loss(torch.zeros(1, SIZE), torch.tensor([0]))
    try:
        loss.reassign()
    except RuntimeError as error:
        return str(error)
    return ""


def train(rank: int, port: int, folder: Path) -> None:
    where = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    os.environ |= where | {"RANK": str(rank), "WORLD_SIZE": "2"}
    result = {"fitted": fitted()}  # which connects the processes
    result |= {f"in rows {size}": in_rows(size) for size in (1, BATCH)}
    result |= {f"wrapped {both}": wrapped(both) for both in (True, False)}
    save_state(folder / f"rank{rank}.safetensors", result | {"different": different_trees()})
    dist.barrier()


def main(folder: Path) -> None:
    """Trains in two processes; if one fails, the other ends, and its error is raised."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    start_processes(train, (port, folder), nprocs=2, start_method="fork")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
