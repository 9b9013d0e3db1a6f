"""A fit that either completes or leaves no trace."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

Fit = TypeVar("Fit", bound=Callable)


def whole(fit: Fit) -> Fit:
    """Decorates a ``fit`` method: if it fails or is interrupted, the estimator stays as it was.

    Otherwise an interrupted fit could leave the classes of the new data beside the tree of the old.

    Args:
        fit: method that only sets attributes, and does not change the objects they held before.

    Example:
        >>> class Model:
        ...     classes_ = ["no", "yes"]
        ...
        ...     @whole
        ...     def fit(self, classes):
        ...         self.classes_ = classes
        ...         raise KeyboardInterrupt
        >>> model = Model()
        >>> try:
        ...     model.fit(["a", "b", "c"])
        ... except KeyboardInterrupt:
        ...     print(model.classes_)
        ['no', 'yes']
    """

    @wraps(fit)
    def fit_or_undo(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(self))
        try:
            return fit(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return fit_or_undo  # type: ignore[return-value]  # it has the signature of fit
