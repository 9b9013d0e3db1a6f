"""What is drawn and told of a model: a tree with its own samples, or an estimator with the user's.

A tree knows numbers alone. An estimator also knows what they stand for: the names of columns and
classes, and the units of inputs and targets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from structnet.routing.explanation import names_of
from structnet.routing.protocol import RoutedTree


class Reading(NamedTuple):
    """A tree, and what its numbers mean.

    Attributes:
        tree: model tree.
        samples: samples or inputs as the tree takes them, or None; targets that are numbers are in
            the user's units.
        class_names: names of the classes; None if the tree predicts numbers.
        feature_names: names of the columns of a table, if they are known.
        units: function from inputs of the tree to the user's, ``[n, columns]`` -> the same.
        target_units: likewise, from means that the tree predicts.
        target_names: names of the numbers that the tree predicts, if they are known.
    """

    tree: RoutedTree
    samples: Any = None
    class_names: Sequence[str] | None = None
    feature_names: Sequence[str] | None = None
    units: Callable[[np.ndarray], np.ndarray] | None = None
    target_units: Callable[[np.ndarray], np.ndarray] | None = None
    target_names: Sequence[str] | None = None


def read(
    model: Any,
    x: Any = None,
    y: Any = None,
    class_names: Sequence[str] | None = None,
    feature_names: Sequence[str] | None = None,
) -> Reading:
    """What there is to tell of a model.

    Args:
        model: a tree, a reading of one, or a fitted estimator, which has ``read(X, y)``.
        x: samples of the tree; for an estimator the user's own inputs. A reading has its own, if
            there are none.
        y: targets of an estimator's inputs; a tree's samples have their own.
        class_names, feature_names: names to use instead of those that are known.

    Raises:
        ValueError: there are targets beside a tree's samples, or there is not one name a class.

    Example:
        >>> from structnet.neural_tree import NeuralTree, presets
        >>> read(NeuralTree(presets.mlp(num_outputs=2), shape=(3,))).class_names
        ('0', '1')
    """
    if hasattr(model, "read"):
        found = model.read(x, y)
    elif y is not None:
        raise ValueError(
            "a tree's samples have their own targets; expected y for an estimator alone, and names "
            f"as class_names=... Got y of type {type(y).__name__}."
        )
    elif isinstance(model, Reading):
        found = model if x is None else model._replace(samples=x)
    else:
        found = Reading(model, x)
    names = names_of(found.tree, found.class_names if class_names is None else class_names)
    given = found.feature_names if feature_names is None else feature_names
    return found._replace(class_names=names, feature_names=given)
