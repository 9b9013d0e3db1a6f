"""Measures of a model on data it has not trained on."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from torch import nn

from structnet.checks import check_integer
from structnet.training.modules import device_of
from structnet.training.targets import TargetError


@dataclass(frozen=True)
class OfScores:
    """A metric that follows from the other scores of a batch, so that the model is not run for it.

    Args:
        function: function of the scores of a batch, by their names: the loss, and the metrics that
            stand before this one.

    Example:
        >>> both = {"accuracy": accuracy, "doubled": OfScores(lambda found: 2 * found["accuracy"])}
    """

    function: Callable[[Mapping[str, float]], float]


Metric = Callable[[nn.Module, Any], float] | OfScores


def accuracy(model: Any, batch: Any) -> float:
    """The share of a batch that the model predicts correctly.

    Args:
        model: any object with ``predict(batch)``, which returns the predicted classes.
        batch: any object with ``targets``, the true classes, and optionally ``weights``, the
            weight of each example, of mean 1.

    Shapes:
        predictions and targets ``[n]``, integers; weights ``[n]``.

    Raises:
        ValueError: the predictions do not have the shape of the targets.

    Example:
        >>> from types import SimpleNamespace
        >>> model = SimpleNamespace(predict=lambda batch: torch.tensor([1, 2, 3, 4]))
        >>> accuracy(model, SimpleNamespace(targets=torch.tensor([1, 2, 3, 0])))
        0.75
    """
    predicted, targets = model.predict(batch), batch.targets
    if predicted.shape != targets.shape:
        # Broadcasting would turn [n] against [n, 1] into a plausible wrong number.
        raise ValueError(
            f"model.predict gave shape {list(predicted.shape)} for targets of shape "
            f"{list(targets.shape)}; expected the same shape"
        )
    right = (predicted == targets).double()
    weights = getattr(batch, "weights", None)
    return (right if weights is None else right * weights).mean().item()


def accuracy_by(predictions: Any, targets: Any, groups: Any) -> dict[Hashable, tuple[float, int]]:
    """The accuracy of every group of examples, for example by depth or number of operators.

    Args:
        predictions: predicted classes.
        targets: true classes.
        groups: group of each example; any values that can be sorted.

    Shapes:
        all three ``[n]``; tensors, arrays or lists.

    Returns:
        For each group, in sorted order, its accuracy and its number of examples.

    Raises:
        ValueError: the three differ in length.

    Example:
        >>> accuracy_by([1, 0, 1, 1], targets=[1, 1, 1, 0], groups=[3, 3, 2, 3])
        {2: (1.0, 1), 3: (0.3333333333333333, 3)}
    """
    predictions, targets, groups = (_array(values) for values in (predictions, targets, groups))
    if not len(predictions) == len(targets) == len(groups):
        raise ValueError(
            f"got {len(predictions)} predictions, {len(targets)} targets and {len(groups)} groups; "
            f"expected the same number of each"
        )
    names, place = np.unique(groups, return_inverse=True)
    count = np.bincount(place, minlength=len(names))  # [groups]
    right = np.bincount(place, weights=predictions == targets, minlength=len(names))
    return {
        name: (float(share), int(total))
        for name, share, total in zip(
            names.tolist(), right / np.maximum(count, 1), count, strict=True
        )
    }


def evaluate(
    model: nn.Module,
    data: Any,
    *,
    batch_size: int = 1000,
    metrics: Mapping[str, Metric] | None = None,
) -> dict[str, float]:
    """The mean loss and metrics of a model over data, in evaluation mode and without gradients.

    Batches are weighted by their number of examples (:func:`counted`), so that the result does not
    depend on the batch size. The mode of each of the model's modules is restored afterwards.

    Args:
        model: module with ``loss(batch)``, the mean loss over the batch.
        data: object with ``len(data)``, of which ``data[indices]`` is a batch for an int64 array;
            batches are moved to the model's device.
        batch_size: examples per batch.
        metrics: name -> ``metric(model, batch)``, the mean of a measure over the batch; or
            :class:`OfScores`.

    Returns:
        ``{"loss": ..., name: ...}``.

    Raises:
        ValueError: there are no data, the batch size is below 1, or a metric is called "loss".

    Example:
        >>> class Constant(nn.Module):
        ...     def loss(self, batch):
        ...         return (batch - 1.0).square().mean()
        >>> evaluate(Constant(), torch.tensor([0.0, 1.0, 3.0]), batch_size=2)
        {'loss': 1.6666666666666667}
    """
    metrics = dict(metrics or {})
    if "loss" in metrics:
        raise ValueError("a metric cannot be called 'loss'; that name is the model's own loss")
    batch_size = most_at_once(data, batch_size)
    starts = batch_starts(data, batch_size)
    return mean_scores(batch_scores(model, data, starts, batch_size, metrics), metrics)


def predict_all(model: nn.Module, data: Any, *, batch_size: int = 1000) -> torch.Tensor:
    """The predictions of a model for all data, in order, on the CPU.

    Args:
        model: module with ``predict(batch)``.
        data, batch_size: arguments of :func:`evaluate`.

    Shapes:
        ``[len(data), ...]``, where ``predict`` gives ``[len(batch), ...]``.

    Example:
        >>> class Sign(nn.Module):
        ...     def predict(self, batch):
        ...         return (batch > 0).long()
        >>> predict_all(Sign(), torch.tensor([0.5, -1.0, 2.0]), batch_size=2)
        tensor([1, 0, 1])
    """
    with evaluating(model):
        size = most_at_once(data, batch_size)
        batches = batches_from(data, batch_starts(data, size), size, device_of(model))
        parts = [cast(Any, model).predict(batch).cpu() for batch in batches]
    return torch.cat(parts)


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """A context of evaluation mode without gradients; each module's mode is restored at its end."""
    trained = [module for module in model.modules() if module.training]
    if trained:  # else, to set the mode of each takes longer than to predict a row
        model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        # Module by module: a part that the caller froze in evaluation mode stays frozen.
        for module in trained:
            module.training = True


def batch_starts(data: Any, batch_size: int) -> range:
    """Where the batches of the data begin.

    Raises:
        ValueError: there are no data, or the batch size is below 1.
    """
    check_integer("batch_size", batch_size, 1)
    if len(data) == 0:
        raise ValueError("there are no data to evaluate: got 0 examples, expected at least 1")
    return range(0, len(data), batch_size)


def most_at_once(data: Any, batch_size: int) -> int:
    """The batch size, limited to ``data.at_once`` if the data have such a limit."""
    most = getattr(data, "at_once", None)
    return batch_size if most is None else min(batch_size, most)


def in_order(data: Any, batches: Sequence[Any]) -> Iterator[Any]:
    """Yields batches in order; data with ``read_ahead`` get the indices of all of them at once.

    Args:
        batches: indices of each batch, in the form that the data take.

    Raises:
        TypeError: the data give items one by one.
    """
    if hasattr(data, "read_ahead"):
        return data.read_ahead(batches)
    return (_batch(data, each) for each in batches)


def _batch(data: Any, indices: Any) -> Any:
    try:
        return data[indices]
    except (TypeError, ValueError) as error:
        if not _one_by_one(data):
            raise
        raise TypeError(
            "data must give a batch for an array of numbers, data[np.array([0, 1])], as "
            "TreeExamples do, or Samples.from_dataset(data). "
            f"Got {type(data).__name__}, which gives items one by one."
        ) from error


def _one_by_one(data: Any) -> bool:
    """True if data give single items but no batches, as torch's Datasets do."""
    # Not of one number alone: what is made for items may take an array of one for a number.
    if _gives(data, np.array([0, 0])):
        return False
    return not hasattr(data, "__getitem__") or _gives(data, 0)


def _gives(data: Any, index: Any) -> bool:
    try:
        data[index]
    except Exception:  # what the data raise is their own affair
        return False
    return True


def batches_from(
    data: Any, starts: Sequence[int], batch_size: int, device: str | torch.device
) -> Iterator[Any]:
    """Batches of consecutive examples, on the device, each of which begins at one of the starts."""
    ends = (min(start + batch_size, len(data)) for start in starts)
    batches = [np.arange(start, end) for start, end in zip(starts, ends, strict=True)]
    return (to_device(batch, device) for batch in in_order(data, batches))


def to_device(batch: Any, device: str | torch.device) -> Any:
    """The batch on the device, if it is something that can be moved."""
    return batch.to(device) if hasattr(batch, "to") else batch


def counted(batch: Any, number: int) -> float:
    """The number of examples over which the loss and the metrics of a batch are means.

    It is ``batch.counted`` if the batch has that, as where examples are trees of which only the
    labelled nodes count; else the given number of examples.
    """
    return float(getattr(batch, "counted", number))


def batch_scores(
    model: nn.Module,
    data: Any,
    starts: range,
    batch_size: int,
    metrics: Mapping[str, Metric],
) -> np.ndarray:
    """The number of examples, the loss and the metrics of each batch that begins at a start.

    Shapes:
        ``[len(starts), 2 + len(metrics)]``, float64.

    Raises:
        TargetError: a target is not a class of the model.
    """
    rows = np.empty((len(starts), 2 + len(metrics)))
    with evaluating(model):
        batches = batches_from(data, starts, batch_size, device_of(model))
        for row, start, batch in zip(rows, starts, batches, strict=True):
            row[0] = counted(batch, min(batch_size, len(data) - start))
            try:
                row[1] = float(cast(Any, model).loss(batch))
            except TargetError as error:
                raise error.at(start + error.example, "the data to evaluate on") from None
            found = {"loss": float(row[1])}
            for name, metric in metrics.items():
                score = (
                    metric.function(found) if isinstance(metric, OfScores) else metric(model, batch)
                )
                found[name] = float(score)
            row[1:] = [*found.values()]
    return rows


def mean_scores(scores: np.ndarray, metrics: Mapping[str, Metric]) -> dict[str, float]:
    """The means over all examples, from :func:`batch_scores` of all batches.

    Shapes:
        scores ``[batches, 2 + len(metrics)]``.
    """
    sizes, scores = scores[:, :1], scores[:, 1:]
    if not sizes.any():  # nothing counts: each batch says what it answers then
        sizes = np.ones_like(sizes)
    means = (scores * sizes).sum(axis=0) / sizes.sum()
    return dict(zip(["loss", *metrics], means.tolist(), strict=True))


def _array(values: Any) -> np.ndarray:
    return values.detach().cpu().numpy() if isinstance(values, torch.Tensor) else np.asarray(values)
