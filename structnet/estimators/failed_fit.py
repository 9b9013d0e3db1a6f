"""A fit that either completes or leaves no trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar

Fit = TypeVar("Fit", bound=Callable)


def whole(fit: Fit) -> Fit:
    """Decorates a ``fit`` method: if it fails or is interrupted, the estimator stays as it was.

    Otherwise an interrupted fit could leave the classes of the new data beside the tree of the old.
    Ctrl-C is always ``KeyboardInterrupt``, see :func:`interruptible`.

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
            with interruptible():
                return fit(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return fit_or_undo  # type: ignore[return-value]  # it has the signature of fit


@contextmanager
def interruptible() -> Iterator[None]:
    """Work that Ctrl-C ends with ``KeyboardInterrupt``, also while a compiled loop is called.

    Raises:
        KeyboardInterrupt: in place of the error that Python raises in such a loop.

    Example:
        >>> try:
        ...     with interruptible():
        ...         raise SystemError("a result with an exception set") from KeyboardInterrupt()
        ... except KeyboardInterrupt:
        ...     print("interrupted")
        interrupted
    """
    try:
        yield
    except SystemError as error:  # what Python makes of an interruption in compiled code ...
        cause: BaseException | None = error
        while isinstance(cause, SystemError):  # ... and again in each call that it returns from
            cause = cause.__cause__
        if isinstance(cause, KeyboardInterrupt):
            raise KeyboardInterrupt from error
        raise
