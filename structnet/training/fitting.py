"""The training loop of every model in the library, of which it only needs the loss.

``fit`` trains, ``evaluate`` measures. Structure learning is done elsewhere and calls them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from numbers import Real
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau

from structnet.checks import check_integer, check_number, check_one_of, wrong
from structnet.training.averaging import Average
from structnet.training.checkpoint import describe
from structnet.training.history import History, Monitor
from structnet.training.loop import Callback, Loop, steps_per_epoch
from structnet.training.metrics import Metric, most_at_once
from structnet.training.processes import own_device
from structnet.training.progress import Progress

ADAM = partial(torch.optim.Adam, lr=1e-3)
_wrong = partial(wrong, owner="fit")


def fit(
    model: nn.Module,
    data: Any,
    validation: Any = None,
    *,
    epochs: int,
    batch_size: int,
    optimizer: Callable[[Iterator[nn.Parameter]], Optimizer] = ADAM,
    schedule: Callable[[Optimizer], LRScheduler] | None = None,
    schedule_per: str = "epoch",
    patience: int | None = None,
    monitor: str = "loss",
    mode: str | None = None,
    metrics: Mapping[str, Metric] | None = None,
    validation_batch_size: int = 1000,
    seed: int = 0,
    device: str | torch.device = "cpu",
    checkpoint: str | Path | None = None,
    resume: bool = False,
    clip_norm: float | None = None,
    amp: bool = False,
    keep_start: bool = False,
    average: float | None = None,
    callbacks: Sequence[Callback] = (),
    progress: bool | Progress = True,
    history: History | None = None,
) -> History:
    """Trains a model on minibatches, and leaves the weights of its best epoch in it.

    However the training ends, also by ``KeyboardInterrupt`` or another error, the model is left in
    evaluation mode with the weights (and buffers) of the best epoch so far on the validation data,
    or with the last weights if there are no validation data. The random generators of Python, numpy
    and torch are seeded anew for each epoch, and restored at the end. As all threads of a process
    share them, trainings in several threads take turns, as do models that are loaded meanwhile; a
    callback must not wait for another thread that trains or loads one.

    Under ``torchrun`` each process takes a share of every batch, and the gradients are those of a
    single process on the whole batch; only the first process writes files and shows the bar.

    On a CPU, training uses one thread, unless the products in the first step are so large that all
    of torch's threads are faster even beside a busy program; afterwards the number is restored.
    Sweeps over some hundred trees use all threads in any case. A number of threads that was set is
    kept: by ``set_threads``, ``OMP_NUM_THREADS`` or ``MKL_NUM_THREADS``, or by
    ``torch.set_num_threads`` to other than the number of cores or of hardware threads, one of which
    is torch's default (where the system does not say which of these share a core, half of them).

    Args:
        model: module with a method ``loss(batch)`` that returns the mean loss over the batch, a
            scalar. It is moved to the device.
        data: object with ``len(data)``, of which ``data[indices]`` is a batch for an int64 array. A
            batch may have ``counted``, the number of examples over which its loss is a mean; else
            all count. If data have ``read_ahead(list of indices)``, an iterator of batches, this
            is called with all batches of an epoch at once.
        validation: data of the same kind, to evaluate on after every epoch.
        epochs: largest number of passes through the data.
        batch_size: examples per step, over all processes; the last batch may be smaller, or larger
            by one example that would otherwise be alone.
        optimizer: function that returns the optimizer for the parameters.
        schedule: function that returns the learning rate scheduler for the optimizer.
            ``ReduceLROnPlateau`` gets the monitored value, or the training loss without validation
            data.
        schedule_per: "epoch" or "batch", after each of which the schedule makes a step.
        patience: number of consecutive epochs without a new best after which training stops; None
            to never stop early.
        monitor: validation value that decides which epoch is best, "loss" or the name of a metric;
            among epochs with the same value, the lower loss decides.
        mode: "min" or "max", the direction of the best value; None for "min" if the monitor's name
            ends in loss, error, perplexity, mse, mae or nll, and for "max" if it ends in accuracy,
            precision, recall, f1, auc, r2 or likelihood. Any other name needs one.
        metrics: name -> ``metric(model, batch)``, the mean of a measure over a validation batch; or
            :class:`.OfScores`.
        validation_batch_size: examples per batch in validation.
        seed: seed which, with the number of the epoch, determines the order of the examples and all
            random numbers.
        device: device to train on: "cpu", "cuda", ...
        checkpoint: folder for ``checkpoint.safetensors`` and ``history.jsonl``, which are replaced
            after every epoch.
        resume: True to continue from the checkpoint, to the same weights and records (except times)
            as without the break, or to begin if there is none yet. Only ``epochs`` and ``patience``
            may differ from the interrupted call. False to begin anew and replace the checkpoint.
        clip_norm: norm to which larger gradients are scaled down; None to leave them.
        amp: True to compute the loss in bfloat16 where torch considers that safe.
        keep_start: True to keep the weights that the training starts with if no epoch is better on
            the validation data.
        average: number of epochs whose steps a running mean of the weights covers. The mean is
            validated and left in the model, while training continues with the weights themselves.
        callbacks: functions that are called as ``callback(model, history)`` after every epoch.
        progress: True for a bar in a terminal or notebook, elsewhere a line per epoch, at most
            every ten seconds; False for no output. A larger training passes its ``Progress``.
        history: empty ``History`` to fill, for a caller who needs the records after an error too.

    Returns:
        One record per epoch; see ``History`` for the fields.

    Raises:
        TypeError: the model has no loss, its loss is not one number with a gradient for its
            parameters, or a function does not return an optimizer or scheduler.
        ValueError: an argument is out of its range, or two arguments exclude each other.
        NonFiniteLossError: the loss or the gradient is infinite or not a number.
        StepError: the optimizer fails, for example at a learning rate that overflows.
        TargetError: an example's target is not a class of the model.
        CheckpointError: the checkpoint cannot be read, or belongs to another training.

    Example:
        >>> class Line(nn.Linear):
        ...     def loss(self, batch):
        ...         return (self(batch) - 3 * batch).square().mean()
        >>> data = torch.linspace(-1, 1, 100)[:, None]
        >>> sgd = partial(torch.optim.SGD, lr=0.5)
        >>> history = fit(Line(1, 1), data, epochs=5, batch_size=10, optimizer=sgd)
        >>> len(history), history["loss"][-1] < 1e-6
        (5, True)
    """
    if not callable(getattr(model, "loss", None)):
        raise TypeError(
            f"a model to fit must have a method loss(batch). Got {type(model).__name__}."
        )
    metrics = dict(metrics or {})
    history = History() if history is None else history
    check_integer("epochs", epochs, 0, owner="fit")
    check_integer("batch_size", batch_size, 1, owner="fit")
    check_integer("validation_batch_size", validation_batch_size, 1, owner="fit")
    check_integer("seed", seed, 0, owner="fit")
    check_integer("patience", patience, 1, optional=True, owner="fit")
    check_one_of("schedule_per", schedule_per, ("epoch", "batch"), owner="fit")
    if clip_norm is not None and not (isinstance(clip_norm, Real) and clip_norm > 0):
        raise _wrong("clip_norm", "a number above 0, or None", clip_norm)
    check_number("average", average, 0, open=True, optional=True, owner="fit")
    if resume and checkpoint is None:
        raise ValueError("resume=True needs checkpoint=FOLDER, to resume from; got None.")
    if len(history):
        raise _wrong("history", "empty", history)
    _check_data(data, validation, patience, monitor, metrics, keep_start)
    validation_batch_size = most_at_once(validation, validation_batch_size)
    device = own_device(device)
    model.to(device)
    built = _build("optimizer", optimizer, model.parameters(), Optimizer)
    if isinstance(built, torch.optim.LBFGS):  # its steps call the loss themselves, several times
        raise _wrong("optimizer", "one whose step needs no closure", type(built).__name__)
    settings = describe("optimizer", built)  # now, as a schedule changes the learning rate
    scheduler = None
    if schedule is not None:
        scheduler = _build("schedule", schedule, built, LRScheduler)
        settings |= {"schedule_per": schedule_per, **describe("schedule", scheduler)}
        if schedule_per == "batch" and isinstance(scheduler, ReduceLROnPlateau):
            raise ValueError("ReduceLROnPlateau goes by epochs; got schedule_per='batch'.")
    plain: dict[str, Any] = {
        "batch_size": batch_size,
        "validation_batch_size": validation_batch_size,
        "seed": seed,
        "clip_norm": clip_norm,
        "amp": amp,
        "keep_start": keep_start,
    }
    settings |= {
        **plain,
        "examples": len(data),
        "validation_examples": 0 if validation is None else len(validation),
        "monitor": monitor,
        "mode": mode,
        "metrics": list(metrics),
        **{f"model.{name}": _kind(value) for name, value in model.state_dict().items()},
    }
    steps = None
    if average is not None:
        settings["average"] = average
        steps = max(1, round(average * steps_per_epoch(len(data), batch_size)))
    loop = Loop(
        model=model,
        data=data,
        validation=validation,
        epochs=epochs,
        optimizer=built,
        schedule=scheduler,
        schedule_per=schedule_per,
        patience=patience,
        monitor=Monitor(monitor, mode),
        metrics=metrics,
        device=device,
        folder=None if checkpoint is None else Path(checkpoint),
        callbacks=callbacks,
        progress=Progress.of(progress),
        history=history,
        settings=settings,
        average=Average(model, steps),
        **plain,
    )
    return loop.run(resume)


def _kind(value: Any) -> str:
    if not isinstance(value, torch.Tensor):
        return type(value).__name__
    return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"


def _build(name: str, make: Callable, argument: Any, expected: type) -> Any:
    built = make(argument) if callable(make) else None
    if isinstance(built, expected):
        return built
    takes = "the parameters" if expected is Optimizer else "the optimizer"
    returned = f", which returned a {type(built).__name__}" if callable(make) else ""
    raise TypeError(
        f"The '{name}' parameter of fit must be a function that takes {takes} and returns a "
        f"{expected.__name__}. Got {make!r}{returned}."
    )


def _check_data(
    data: Any,
    validation: Any,
    patience: int | None,
    monitor: str,
    metrics: Mapping[str, Metric],
    keep_start: bool,
) -> None:
    if len(data) == 0:
        raise _wrong("data", "at least 1 example", "0 examples")
    if validation is not None and len(validation) == 0:
        raise _wrong("validation", "None or at least 1 example", "0 examples")
    if "loss" in metrics:
        raise _wrong("metrics", "named otherwise than 'loss', the model's own", list(metrics))
    if monitor != "loss" and monitor not in metrics:
        raise _wrong("monitor", f"one of {['loss', *metrics]}", monitor)
    needing = {"patience": patience, "metrics": metrics, "keep_start": keep_start}
    for name, value in needing.items() if validation is None else ():
        if value:
            raise _wrong(name, "left out without validation data", value)
