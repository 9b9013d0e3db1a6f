"""Checks that targets are classes of the model."""

from __future__ import annotations

import torch
from torch import Tensor


class TargetError(ValueError):
    """The target of an example is not a class of the model.

    Args:
        value: target that was given.
        num_classes: number of the model's classes.
        example: place of the example, in its batch or in all data.
        where: name of these data, such as "the batch".
    """

    def __init__(self, value: int, num_classes: int, example: int, where: str):
        self.value, self.num_classes, self.example = value, num_classes, example
        super().__init__(
            f"targets must be classes from 0 to {num_classes - 1}; example {example} of {where} "
            f"has {value}"
        )

    def at(self, example: int, where: str) -> TargetError:
        """The same error with the example's place in all data."""
        return TargetError(self.value, self.num_classes, example, where)


def check_classes(targets: Tensor, num_classes: int) -> None:
    """Refuses targets that a loss would skip or fail on: torch silently skips -100.

    Args:
        targets: classes of a batch.
        num_classes: number of the model's classes.

    Shapes:
        targets ``[n]``, int64.

    Raises:
        TargetError: a target is out of range.
        ValueError: the targets are not int64.

    Example:
        >>> check_classes(torch.tensor([0, 3]), num_classes=3)
        Traceback (most recent call last):
        structnet.training.targets.TargetError: targets must be classes from 0 to 2; example 1 of
        the batch has 3
    """
    if targets.dtype != torch.int64 or targets.dim() != 1:
        got = f"{targets.dtype} {list(targets.shape)}".removeprefix("torch.")
        raise ValueError(f"targets must be classes [n], int64. Got {got}.")
    if not len(targets):
        return
    low, high = torch.stack(torch.aminmax(targets)).tolist()  # waits for an accelerator once
    if low < 0 or high >= num_classes:
        wrong = (targets < 0) | (targets >= num_classes)
        first = int(wrong.int().argmax())
        raise TargetError(int(targets[first]), num_classes, first, "the batch")
