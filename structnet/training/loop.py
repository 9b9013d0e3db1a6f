"""The epochs and steps of ``fit``, once its arguments are checked."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau

from structnet.training.averaging import Average
from structnet.training.checkpoint import (
    MALFORMED,
    CheckpointError,
    check_settings,
    copy_state,
    load_optimizer,
    load_state,
    save_state,
)
from structnet.training.files import locked
from structnet.training.gradients import gradient_size
from structnet.training.history import History, Monitor
from structnet.training.metrics import (
    Metric,
    batch_scores,
    batch_starts,
    counted,
    evaluating,
    in_order,
    mean_scores,
    to_device,
)
from structnet.training.processes import Processes
from structnet.training.progress import Progress
from structnet.training.seeding import epoch_order, random_states_kept, seed_epoch
from structnet.training.targets import TargetError
from structnet.training.threads import Threads

NAMED = 5  # examples that an error names
Callback = Callable[[nn.Module, History], Any]


class NonFiniteLossError(RuntimeError):
    """The loss or its gradient became infinite or not a number; the step was not taken.

    Args:
        what: "loss" or "gradient".
        epoch: number of the epoch, from 1.
        batch: number of the batch within the epoch, from 1.
        indices: examples of the batch, as places in the training data.
        culprits: up to five of these whose loss is not finite in a batch of their own.
    """

    def __init__(
        self, what: str, epoch: int, batch: int, indices: Iterable[int], culprits: Sequence[int]
    ):
        self.epoch, self.batch = epoch, batch
        self.indices, self.culprits = [int(i) for i in indices], list(culprits)
        named = self.culprits or self.indices
        examples = ", ".join(map(str, named[:NAMED]))
        if len(named) > NAMED:
            examples += f" and {len(named) - NAMED} more"
        super().__init__(
            f"the {what} is not finite in epoch {epoch}, batch {batch}: examples {examples} "
            f"{'by themselves' if self.culprits else 'together'}. No step was taken with this "
            "batch; look at these examples, or try a lower learning rate or clip_norm=1.0."
        )


class StepError(RuntimeError):
    """The optimizer failed while it changed the weights, some of which may have changed.

    Args:
        epoch: number of the epoch, from 1.
        batch: number of the batch within the epoch, from 1.
        learning_rate: learning rate of the first group of parameters.
        why: text of the optimizer's own error.
    """

    def __init__(self, epoch: int, batch: int, learning_rate: float, why: str):
        self.epoch, self.batch, self.learning_rate = epoch, batch, learning_rate
        super().__init__(
            f"the optimizer failed in epoch {epoch}, batch {batch}, at learning rate "
            f"{learning_rate:g}: {why}; try a lower learning rate"
        )


@dataclass
class Loop:
    """One run of ``fit``: its arguments, and what changes from epoch to epoch."""

    model: Any  # an nn.Module with loss(batch)
    data: Any
    validation: Any
    epochs: int
    batch_size: int
    optimizer: Optimizer
    schedule: LRScheduler | None
    schedule_per: str
    patience: int | None
    monitor: Monitor
    metrics: Mapping[str, Metric]
    validation_batch_size: int
    seed: int
    device: torch.device
    folder: Path | None
    clip_norm: float | None
    amp: bool
    callbacks: Sequence[Callback]
    progress: Progress
    history: History
    settings: Mapping[str, Any]  # what a resumed run must share with the interrupted one
    average: Average  # of the weights, which is validated and kept in their place
    keep_start: bool = False
    best: dict[str, Any] | None = None  # the state of the model in the best epoch
    best_scores: dict[str, float] | None = None  # its validation scores
    parameters: list[nn.Parameter] = field(init=False)
    processes: Processes = field(init=False)
    threads: Threads = field(init=False)
    note: str = ""  # what is shown of the last validation

    def run(self, resume: bool) -> History:
        """Trains to the end, from the checkpoint if asked to."""
        self.processes = Processes(self.device)
        self.parameters = list(self.model.parameters())
        alone = self.folder is not None and self.processes.rank == 0
        lock = locked(cast(Path, self.folder)) if alone else nullcontext()
        # The threads last: another thread's training has put their number back by then.
        with lock, random_states_kept(self.device), Threads(self.device).kept() as self.threads:
            self._start(resume)
            size = len(self.data)
            self.progress.open(self.epochs * size, done=len(self.history) * size)
            try:
                while not self._finished():
                    self._epoch(len(self.history) + 1)
            finally:
                self.progress.close()
                self.model.eval()
                self.average.exchange()
                if self.best is not None:
                    self.model.load_state_dict(self.best)
        return self.history

    def _finished(self) -> bool:
        if len(self.history) >= self.epochs:
            return True
        return self.patience is not None and self.history.epochs_since_best >= self.patience

    def _epoch(self, number: int) -> None:
        begin = time.perf_counter()
        seed_epoch(self.seed, number, self.processes.rank)
        learning_rate = float(self.optimizer.param_groups[0]["lr"])
        record = {"epoch": number, "loss": self._train(number)}
        trained = time.perf_counter() - begin
        record |= self._validate()
        record |= {
            "learning_rate": learning_rate,
            "seconds": time.perf_counter() - begin,
            "examples_per_second": len(self.data) / trained,
        }
        self.history.append(record)
        self.progress.advance(self._loss_text(record["loss"]), 0)
        line = f"{self._name(number)}, {self._loss_text(record['loss'])}, {record['seconds']:.3g} s"
        self.progress.say_when_due(line, last=self._finished())
        if self.schedule is not None and self.schedule_per == "epoch":
            self._step_schedule(self.schedule, record)
        # Before the checkpoint: what a callback does to the model is part of the epoch.
        for callback in self.callbacks:
            callback(self.model, self.history)
        self._save()

    def _train(self, epoch: int) -> float:
        """One pass through the data in an order of its own; the mean loss."""
        order = epoch_order(len(self.data), self.seed, epoch)
        self.progress.begin(self._name(epoch))
        self.model.train()
        total = seen = 0.0
        steps = steps_per_epoch(len(order), self.batch_size)
        batches = np.split(order, self.batch_size * np.arange(1, steps))
        mine = [self.processes.share(indices) for indices in batches]
        read = in_order(self.data, [part for part in mine if len(part)])
        for batch, (indices, part) in enumerate(zip(batches, mine, strict=True), 1):
            with self.threads.measured():
                total += self._step(indices, part, read, epoch, batch) * len(indices)
            seen += len(indices)
            self.progress.advance(self._loss_text(total / seen), len(indices))
        return total / len(order)

    def _step(
        self, indices: np.ndarray, mine: np.ndarray, read: Iterator, epoch: int, batch: int
    ) -> float:
        """A step with a batch, of which ``mine`` are this process's, the next to be ``read``."""
        self._forget_gradients()
        try:
            examples = next(read) if len(mine) else None
            share = self.processes.part(counted(examples, len(mine)))
            part = self._backward(examples, share) if len(mine) else None
        except TargetError as error:
            where = f"the training data (epoch {epoch}, batch {batch})"
            raise error.at(int(mine[error.example]), where) from None
        total = self.processes.add_gradients(self.parameters, part)
        # Here an accelerator is waited for, once a step: the price of never taking one that cannot
        # be taken back.
        # A loss may be on another device.
        size = gradient_size(self.parameters, self.clip_norm).to(total.device)
        loss, size = torch.stack([total, size]).tolist()
        if not math.isfinite(loss):
            self._stop("loss", epoch, batch, indices)
        if not math.isfinite(size):
            self._stop("gradient", epoch, batch, indices)
        try:
            self.optimizer.step()
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:  # a rate that no float can hold
            rate = float(self.optimizer.param_groups[0]["lr"])
            raise StepError(epoch, batch, rate, str(error)) from error
        self.average.update()
        if self.schedule is not None and self.schedule_per == "batch":
            self.schedule.step()
        return loss

    def _forget_gradients(self) -> None:
        # The optimizer's own function takes as long as a small model's loss: for its profiler.
        for group in self.optimizer.param_groups:
            for parameter in group["params"]:
                parameter.grad = None

    def _backward(self, batch: Any, share: float) -> Tensor:
        batch = to_device(batch, self.device)
        with torch.autocast(self.device.type, torch.bfloat16) if self.amp else nullcontext():
            loss = _checked_loss(self.model.loss(batch))
        if share != 1.0:
            loss = loss * share
        loss.backward()
        return loss.detach().reshape(())

    def _stop(self, what: str, epoch: int, batch: int, indices: np.ndarray) -> NoReturn:
        self._forget_gradients()
        raise NonFiniteLossError(what, epoch, batch, indices, self._culprits(indices))

    def _culprits(self, indices: np.ndarray) -> list[int]:
        """The first examples whose loss is not finite in a batch of their own, by bisection."""
        culprits: list[int] = []
        parts = [indices]
        with evaluating(self.model):
            while parts and len(culprits) < NAMED:
                part = parts.pop()
                if self.model.loss(to_device(self.data[part], self.device)).isfinite():
                    continue
                if len(part) == 1:
                    culprits.append(int(part[0]))
                else:
                    parts += [part[len(part) // 2 :], part[: len(part) // 2]]
        return culprits

    def _validate(self) -> dict[str, Any]:
        """The validation part of an epoch's record; keeps the model if it is the best so far."""
        self.processes.share_buffers(self.model)
        if self.validation is None:
            return {}
        with self.average.in_place():
            self.processes.broadcast(list(self.model.buffers()))  # the means of their own
            scores = self._scores()
            improved = self.monitor.improves(scores, self.best_scores)
            if improved:
                self.best, self.best_scores = copy_state(self.model), scores
        self.note = f", val {self.monitor.name} {scores[self.monitor.name]:.3g}"
        return {f"validation_{name}": score for name, score in scores.items()} | {"best": improved}

    def _scores(self) -> dict[str, float]:
        """The validation scores; the same, to the bit, in all processes."""
        size, rank, world = self.validation_batch_size, self.processes.rank, self.processes.world
        starts = batch_starts(self.validation, size)
        scores = np.zeros((len(starts), 2 + len(self.metrics)))
        scores[rank::world] = batch_scores(
            self.model, self.validation, starts[rank::world], size, self.metrics
        )
        scores = self.processes.sum(scores)
        return mean_scores(scores, self.metrics)

    def _step_schedule(self, schedule: LRScheduler, record: Mapping[str, Any]) -> None:
        watched = record.get(f"validation_{self.monitor.name}", record["loss"])
        schedule.step(*([watched] if isinstance(schedule, ReduceLROnPlateau) else []))

    def _start(self, resume: bool) -> None:
        resumes = resume and self.folder is not None and self._file.exists()
        if resumes:
            self._restore()
        if not self.processes.agree(len(self.history) if resumes else -1):
            raise CheckpointError(
                f"the processes found different checkpoints in {self.folder}; expected a folder "
                "that all of them share"
            )
        self.processes.broadcast([*self.parameters, *self.model.buffers()])
        if self.keep_start and not resumes:
            self._keep_start()
        if self.folder is not None and self.processes.rank == 0:
            # A fresh run leaves its mark at once: after a kill in its first epoch, nobody can
            # resume from what an older run left there.
            if not resumes:
                save_state(self._file, self._state())
            self.history.save(self.folder / "history.jsonl")

    def _keep_start(self) -> None:
        seed_epoch(self.seed, 0, self.processes.rank)  # for what is random in validation
        scores = self._scores()
        self.best = copy_state(self.model)
        self.best_scores = scores if self.monitor.improves(scores, None) else None

    @property
    def _file(self) -> Path:
        assert self.folder is not None  # there is no file without one
        return self.folder / "checkpoint.safetensors"

    def _save(self) -> None:
        if self.folder is not None and self.processes.rank == 0:
            save_state(self._file, self._state())
            self.history.append_last_to(self.folder / "history.jsonl")
        self.processes.wait()  # else one of them could read the files before they are written

    def _state(self) -> dict[str, Any]:
        # No random states: they are a function of the seed and the epoch.
        return {
            "settings": self.settings,
            "history": self.history.records,
            "model": self.model.state_dict(),
            "best": self.best,
            "best_scores": self.best_scores,
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule and self.schedule.state_dict(),
            "threads": self.threads.number,
            "average": self.average.state(),
        }

    def _restore(self) -> None:
        state = load_state(self._file)
        missing = {"settings", "history", "model", "best", "best_scores", "optimizer"} - set(state)
        if missing:
            raise CheckpointError(f"{self._file} lacks {', '.join(sorted(missing))}")
        try:
            check_settings(self._file, state["settings"], self.settings)
            self.history.records[:] = state["history"]
            self.best, self.best_scores = state["best"], state["best_scores"]
            if self.best is not None:  # what does not fit is not found at the end of a training
                self.model.load_state_dict(self.best)
            self.model.load_state_dict(state["model"])
            load_optimizer(self.optimizer, state["optimizer"])
            self.average.restore(**state["average"])
            if self.schedule is not None:
                self.schedule.load_state_dict(state["schedule"])
            self.threads.choose(state["threads"])
        except CheckpointError:
            raise
        except (RuntimeError, *MALFORMED) as error:
            raise CheckpointError(f"{self._file} does not hold such a training: {error}") from error

    def _name(self, epoch: int) -> str:
        return f"epoch {epoch}/{self.epochs}"

    def _loss_text(self, loss: float) -> str:
        return f"loss {loss:.3g}{self.note}{self.threads.note}"


def _checked_loss(loss: Any) -> Tensor:
    """The loss ``[]`` or ``[1]`` of a model, checked to be one number with a gradient."""
    got = type(loss).__name__
    if isinstance(loss, Tensor):
        if loss.numel() == 1 and loss.requires_grad and loss.is_floating_point():
            return loss
        without = "" if loss.requires_grad else ", without a gradient"
        got = f"{list(loss.shape)} of {str(loss.dtype).removeprefix('torch.')}{without}"
    raise TypeError(f"a model's loss(batch) must be one number with a gradient. Got {got}.")


def steps_per_epoch(examples: int, batch_size: int) -> int:
    """The number of batches in an epoch.

    A last example that would be alone joins the batch before it, as batch normalisation cannot
    learn from a single example.

    Example:
        >>> steps_per_epoch(8, 4), steps_per_epoch(9, 4), steps_per_epoch(10, 4)
        (2, 2, 3)
    """
    whole, rest = divmod(examples, batch_size)
    return whole + (rest > 1 or (rest == 1 and whole == 0))
