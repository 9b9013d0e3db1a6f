"""The hyper-parameters of an estimator as its family's own settings. Nothing here imports torch."""

from __future__ import annotations

from collections.abc import Mapping
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


def in_present_names(values: Mapping[str, Any], *sources: type) -> dict[str, Any]:
    """Values from a file by the names of today, if the file is of a time with other names.

    Args:
        values: values by the names that the file has.
        sources: classes of settings. ``FORMER`` of a class has its names of before, each with the
            name of today, and ``FORMER_VALUES`` likewise texts that were values of these.

    Example:
        >>> from structnet.naru.settings import NaruSettings
        >>> in_present_names({"max_cone": 4, "objective": "regression"}, NaruSettings)
        {'max_cone': 4, 'loss': 'squared_error'}
    """
    found = dict(values)
    for each in sources:
        texts = getattr(each, "FORMER_VALUES", {})
        for old, new in getattr(each, "FORMER", {}).items():
            if old in found:
                value = found.pop(old)
                found[new] = texts.get(value, value) if isinstance(value, str) else value
    return found


def settings_of_file(cls: type[S], values: Mapping[str, Any]) -> S:
    """Settings from a file, which may have their names of before.

    Args:
        cls: dataclass of the settings.
        values: all fields by the names that the file has.

    Raises:
        TypeError: a name is unknown.
        ValueError: a value is out of its range.
    """
    return cls(**in_present_names(values, cls))
