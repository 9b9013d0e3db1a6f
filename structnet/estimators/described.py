"""Docstrings that explain every parameter of an estimator, though each is described once."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import TypeVar

C = TypeVar("C", bound=type)

_ARGS = re.compile(r"^Args:\n((?: {4}.*\n|\n)+)", re.MULTILINE)
_ENTRY = re.compile(r"^ {4}((?:\w+,\s+)*\w+): .*\n(?: {8}.*\n)*", re.MULTILINE)
_NEXT = re.compile(r"^(?=(?:Attributes|Raises|Warns|Reference|Example):)", re.MULTILINE)


def described_by(*sources: type) -> Callable[[C], C]:
    """A class decorator that gives the docstring an entry for every parameter, in their order.

    What the docstring does not describe itself is taken from its base classes, then from the
    sources. So ``help`` of an estimator says what its settings mean, which are described in their
    own class.

    Args:
        sources: classes of settings.

    Raises:
        TypeError: a parameter is described nowhere.

    Example:
        >>> from structnet import TreeLSTMRegressor
        >>> print(re.search("hidden_size: .*", TreeLSTMRegressor.__doc__)[0])
        hidden_size: length of a node's state; by default ...
    """

    def describe(cls: C) -> C:
        if cls.__doc__ is None:  # python -OO
            return cls
        entry_of: dict[str, str] = {}
        texts = [f"{inspect.cleandoc(each.__doc__ or '')}\n" for each in (*cls.__mro__, *sources)]
        for section in filter(None, map(_ARGS.search, texts)):
            for entry in _ENTRY.finditer(section[1]):
                for name in re.split(r",\s+", entry[1]):
                    entry_of.setdefault(name, entry[0])
        names = inspect.signature(cls).parameters
        if missing := [name for name in names if name not in entry_of]:
            raise TypeError(f"No docstring describes {', '.join(missing)} of {cls.__name__}.")
        entries = "".join(dict.fromkeys(entry_of[name] for name in names))
        about, *rest = _NEXT.split(_ARGS.sub("", texts[0]), 1)
        cls.__doc__ = f"{about.rstrip()}\n\nArgs:\n{entries}\n{''.join(rest)}"
        return cls

    return describe
