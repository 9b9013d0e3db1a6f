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
        >>> from structnet import TreeLSTMClassifier
        >>> from structnet.tensor_tree.settings import TreeLSTMSettings
        >>> found = settings_of(TreeLSTMClassifier(hidden_size=8), TreeLSTMSettings, seed=3)
        >>> found.hidden_size, found.seed
        (8, 3)
    """
    names = (each.name for each in fields(cls) if each.name not in others)
    return cls(**{name: getattr(estimator, name) for name in names}, **others)
