"""What growth decides: how far a tree may grow, and what became of each node."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any


@dataclass(frozen=True)
class Limits:
    """How far a tree may grow; None is without limit.

    Args:
        max_depth: routers on a path.
        max_leaves: leaves.
        max_parameters: numbers to learn in the whole tree; the root, which is always there, may
            have more.
        max_transformers: transformers on a path; the root's own is always there.
        min_gain: a candidate must lower the validation loss by more than this.
        min_samples: at a leaf that fewer of the training samples are expected to reach, nothing is
            tried: no gain there is more than noise, and each split would lead to others.

    Raises:
        ValueError: a number is out of its range.

    Example:
        >>> Limits(max_leaves=8).max_leaves
        8
        >>> Limits(min_gain=float("nan"))
        Traceback (most recent call last):
        ValueError: The 'min_gain' parameter of Limits must be a finite number. Got nan instead.
    """

    max_depth: int | None = None
    max_leaves: int | None = None
    max_parameters: int | None = None
    max_transformers: int | None = None
    min_gain: float = 0.0
    min_samples: float = 2.0

    def __post_init__(self) -> None:
        for name, least in (
            ("max_depth", 0),
            ("max_leaves", 1),
            ("max_parameters", 0),
            ("max_transformers", 0),
        ):
            if getattr(self, name) is not None:
                check_integer("Limits", name, getattr(self, name), least, also="None or ")
        for name, least, kind in (
            ("min_gain", -math.inf, "a finite number"),
            ("min_samples", 0, "a finite number of at least 0"),
        ):
            value = getattr(self, name)
            if not isinstance(value, Real) or not math.isfinite(value) or value < least:
                raise ValueError(
                    f"The '{name}' parameter of Limits must be {kind}. Got {value!r} instead."
                )


@dataclass(frozen=True)
class Decision:
    """What became of one node.

    Attributes:
        number: from 0, the training of the root.
        node: which node.
        action: ``"root"``, ``"split"``, ``"deepen"`` or ``"keep"``.
        loss: the tree's validation loss afterwards.
        candidates: the validation loss of each candidate.
        leaves, parameters: of the tree afterwards.
        seconds: that it took.
    """

    number: int
    node: int
    action: str
    loss: float
    candidates: dict[str, float]
    leaves: int
    parameters: int
    seconds: float

    def __str__(self) -> str:
        return (
            f"decision {self.number}, {self.action} at node {self.node}, val loss {self.loss:.3g}, "
            f"{self.leaves} leaves, {self.parameters:,} parameters, {self.seconds:.3g} s"
        )


def check_integer(owner: str, name: str, value: Any, least: int, also: str = "") -> None:
    """Refuses a parameter that is no integer, or too small."""
    if not isinstance(value, Integral) or value < least:
        raise ValueError(
            f"The '{name}' parameter of {owner} must be {also}an int in the range [{least}, inf). "
            f"Got {value!r} instead."
        )
