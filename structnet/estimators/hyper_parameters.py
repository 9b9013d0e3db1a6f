"""The hyper-parameters of an estimator as its family's own settings. Nothing here imports torch."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

S = TypeVar("S", bound="DataclassInstance")


def settings_of(estimator: Any, cls: type[S], **others: Any) -> S:
    """Settings whose fields are an estimator's parameters of the same names, and ``others``.

    Args:
        estimator: estimator, or any object with attributes of these names.
        cls: dataclass of the settings.
        others: fields that the estimator lacks, or whose parameter has another name or meaning.

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
