"""Trainings that other tests look at from outside, and the programs that run them.

python train_programs.py torchrun FOLDER     what each process of a torchrun does
python train_programs.py kill FOLDER         trains, is killed at many moments, and resumes
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import torch
from alike import untimed
from torch import nn
from train_helpers import Classifier, Noisy, Rows, broken_rows, rows

from structnet.training.checkpoint import save_model, save_state
from structnet.training.fitting import fit
from structnet.training.history import History
from structnet.training.loop import NonFiniteLossError
from structnet.training.metrics import accuracy
from structnet.training.processes import process_rank


class Routed(Classifier):
    """Adds to each row what the expert of its kind says; an expert without rows gets no gradient.

    Rows 20 and 21 alone go to expert 1, row 22 to expert 2, and no row to expert 3.
    """

    def __init__(self) -> None:
        super().__init__(dropout=0.0)
        self.experts = nn.ParameterList(torch.ones(2, dtype=torch.float64) for _ in range(4))

    def forward(self, batch: Rows) -> torch.Tensor:
        logits = super().forward(batch)
        kind = batch.inputs[:, 3].round().long().clamp(0, 2)
        for k in kind.unique().tolist():
            logits = logits + (kind == k)[:, None] * self.experts[k] * batch.inputs[:, :2]
        return logits


class SomeRows(Rows):
    """Rows of which only those whose third number is above 0 count."""

    @property
    def counted(self) -> int:
        return int((self.inputs[:, 2] > 0).sum())

    def __getitem__(self, indices):
        return self.of(super().__getitem__(indices))

    def to(self, device):
        return self.of(super().to(device))

    @classmethod
    def of(cls, rows: Rows) -> SomeRows:
        return cls(rows.inputs, rows.targets)


class OfSome(Routed):
    """The mean loss over the rows that count."""

    def loss(self, batch: SomeRows) -> torch.Tensor:
        counts = batch.inputs[:, 2] > 0
        losses = nn.functional.cross_entropy(
            self(batch)[counts], batch.targets[counts], reduction="sum"
        )
        return losses / max(batch.counted, 1)


def routed_rows() -> Rows:
    data = rows(23, seed=3)
    data.inputs[:, 3] = 0.0
    data.inputs[20:22, 3] = 1.0
    data.inputs[22, 3] = 2.0
    return data


class Recorder(torch.optim.Adam):
    """Adam that keeps the gradients of every step; None stays None."""

    def __init__(self, params):
        super().__init__(params, lr=0.05, weight_decay=0.1)
        self.seen: list[dict] = []
        Recorder.last = self

    def step(self, closure=None):
        gradients = (p.grad for group in self.param_groups for p in group["params"])
        self.seen.append(
            {str(i): None if g is None else g.clone() for i, g in enumerate(gradients)}
        )
        return super().step(closure)


# 23 examples in batches of 11, 11 and 1: slices of 6 and 5, and of 1 and 0.
ROUTED = {"batch_size": 10, "clip_norm": 0.5, "validation_batch_size": 7, "progress": False}


ONE_BY_ONE = {"epochs": 1, "batch_size": 1}  # the second process never has an example


def routed_run(
    epochs: int = 3,
    model: nn.Module | None = None,
    kind: Callable[[Rows], Rows] = lambda rows: rows,
    **options,
) -> dict:
    """Trains a Routed model; what to compare between one process and several."""
    model = Routed() if model is None else model
    history = fit(
        model,
        kind(routed_rows()),
        kind(rows(30, seed=4)),
        epochs=epochs,
        optimizer=Recorder,
        metrics={"accuracy": accuracy},
        **(ROUTED | options),
    )
    return {
        "weights": model.state_dict(),
        "gradients": Recorder.last.seen,
        "loss": history["loss"],
        "validation_loss": history["validation_loss"],
        "validation_accuracy": history["validation_accuracy"],
    }


def of_some() -> dict:
    """A run in which only some rows of each batch count."""
    return routed_run(model=OfSome(), kind=SomeRows.of)


def torchrun_main(folder: Path) -> None:
    rank, _ = process_rank()
    result = {"plain": routed_run(checkpoint=folder / "run")}
    result["one by one"] = routed_run(**ONE_BY_ONE)
    result["of some"] = of_some()
    # Weights that differ between the processes at the start: those of the first one count.
    different = Routed()
    with torch.no_grad():
        different.first.bias += rank
    result["different start"] = routed_run(model=different, keep_start=True)
    routed_run(epochs=1, checkpoint=folder / "resumed")
    result["resumed"] = routed_run(checkpoint=folder / "resumed", resume=True)
    for name, average in (("norm", None), ("averaged", 1.5)):
        model = Classifier(norm=True)
        how = {"epochs": 2, "batch_size": 12, "average": average, "progress": False}
        fit(model, rows(23), rows(9), **how)
        result[name] = dict(model.state_dict())
    try:
        fit(Classifier(), broken_rows(), epochs=1, batch_size=23, progress=False)
    except NonFiniteLossError as error:
        result["error"] = str(error)
    save_state(folder / f"rank{rank}.safetensors", result)


Run = Callable[[Path | None], tuple[nn.Module, dict]]


def killed_run(folder: Path | None) -> tuple[nn.Module, dict]:
    """The training that is killed and resumed; without a folder, the one that is not."""
    model = Noisy(norm=True)
    history = fit(
        model,
        rows(120),
        rows(40, seed=1),
        epochs=12,
        batch_size=8,
        optimizer=partial(torch.optim.Adam, lr=0.02),
        schedule=partial(torch.optim.lr_scheduler.StepLR, step_size=4, gamma=0.5),
        patience=11,
        checkpoint=folder,
        resume=folder is not None,
        progress=False,
    )
    return model, {"history": untimed(history)}


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_in_write(number: int, whole: bool) -> None:
    """Dies in a write of the checkpoint, with half or all of the new file written."""
    fsync, count = os.fsync, 0

    def torn(descriptor):
        nonlocal count
        count += 1
        if count == number:
            if not whole:
                os.ftruncate(descriptor, os.fstat(descriptor).st_size // 2)
            die()
        fsync(descriptor)

    os.fsync = torn


def die_before_line(number: int) -> None:
    """Dies between the checkpoint and its line in the history, or in the middle of the line."""
    append, count = History.append_last_to, 0

    def torn(self, path):
        nonlocal count
        count += 1
        if count == number:
            with path.open("a") as file:
                file.write('{"epoch": ')
            die()
        append(self, path)

    History.append_last_to = torn


def forked(work: Callable[[], None], seconds: float) -> int:
    """Works in a process of its own, which is killed after a time; its exit status."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)  # the rest of the program is the parent's
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1]


def warm_up() -> None:
    """Prepares for children that train."""
    # torch imports much at its first optimizer step; done here, the children need not do it again.
    weight = nn.Parameter(torch.zeros(1))
    weight.grad = torch.zeros(1)
    torch.optim.Adam([weight]).step()
    torch.set_num_threads(1)  # threads would not survive the fork


def attempt(run: Run, folder: Path | None, file: Path, prepare=lambda: None, seconds=60.0) -> int:
    """Runs in a process of its own, kills it after a time; its exit status."""

    def work() -> None:
        random.seed()
        prepare()
        model, facts = run(folder)
        save_model(file, model, facts)

    return forked(work, seconds)


def kill(run: Run, folder: Path, deaths: Sequence[Callable[[], None]]) -> None:
    """Kills a training in some ways and at random moments, and lets it end."""
    warm_up()
    begin = time.monotonic()
    assert attempt(run, None, folder / "whole.safetensors") == 0
    whole = time.monotonic() - begin
    state, killed = folder / "run", folder / "killed.safetensors"
    for prepare in deaths:
        assert attempt(run, state, killed, prepare) == signal.SIGKILL
    for _ in range(6):
        seconds = random.uniform(0.0, 0.3 * whole)
        assert attempt(run, state, killed, seconds=seconds) in (0, signal.SIGKILL)
    assert attempt(run, state, killed) == 0


def kill_main(folder: Path) -> None:
    deaths = [partial(die_in_write, 1, whole=True), partial(die_in_write, 2, whole=False)]
    deaths += [partial(die_before_line, 2), partial(die_in_write, 3, whole=True)]
    kill(killed_run, folder, deaths)


if __name__ == "__main__":
    {"torchrun": torchrun_main, "kill": kill_main}[sys.argv[1]](Path(sys.argv[2]))
