"""The hyper-parameters of an estimator as its family's own settings. Nothing here imports torch."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

S = TypeVar("S", bound="DataclassInstance")


def settings_of(estimator: Any, cls: type[S], **others: Any) -> S:
    """The settings whose fields an estimator has as parameters, and some that are given.

    Args:
        estimator: estimator, or whatever has attributes of their names.
        cls: dataclass of the settings.
        others: fields that are named or meant otherwise there.

    Raises:
        ValueError: a value is out of its range.

    Example:
        >>> from types import SimpleNamespace
        >>> from structnet.naru import Wiring
        >>> own = SimpleNamespace(sizes="1,2,1", dims=(3, 4, 3), max_cone=2, targets=None)
        >>> settings_of(own, Wiring, sizes=(1, 2, 1)).sizes
        (1, 2, 1)
    """
    names = (each.name for each in fields(cls) if each.name not in others)
    return cls(**{name: getattr(estimator, name) for name in names}, **others)
