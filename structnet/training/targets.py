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


def check_classes(targets: Tensor, num_classes: int, where: str = "the batch") -> None:
    """Refuses targets that a loss would skip or fail on: torch silently skips -100.

    Args:
        targets: classes of the examples.
        num_classes: number of the model's classes.
        where: name of the examples, for the error.

    Shapes:
        targets ``[n]``, int64.

    Raises:
        TargetError: a target is out of range.
        ValueError: the targets are not int64, or have another shape.

    Example:
        >>> check_classes(torch.tensor([0, 3]), num_classes=3)
        Traceback (most recent call last):
        structnet.training.targets.TargetError: targets must be classes from 0 to 2; example 1 of
        the batch has 3
    """
    check_form(targets)
    if not len(targets):
        return
    low, high = torch.stack(torch.aminmax(targets)).tolist()  # waits for an accelerator once
    if low < 0 or high >= num_classes:
        wrong = (targets < 0) | (targets >= num_classes)
        first = int(wrong.int().argmax())
        raise TargetError(int(targets[first]), num_classes, first, where)


def check_form(targets: Tensor, number: int | None = None) -> None:
    """Refuses targets that are not one whole number each; does not wait for an accelerator.

    Args:
        targets: classes of the examples.
        number: number of examples; None for any.

    Shapes:
        targets ``[number]``, int64.

    Raises:
        ValueError: the shape or the dtype is another.
    """
    fits = targets.dim() == 1 if number is None else targets.shape == (number,)
    if not fits or targets.dtype != torch.int64:
        got = f"{targets.dtype} {list(targets.shape)}".removeprefix("torch.")
        expected = "n" if number is None else number
        raise ValueError(f"targets must be classes [{expected}], int64. Got {got}.")
