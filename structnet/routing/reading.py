"""What reports and pictures need of a model: its tree, samples, names and units.

A tree knows only numbers. An estimator also knows their meaning: the names of columns and classes,
and the units of inputs and targets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from structnet.routing.arrivals import Arrivals
from structnet.routing.explanation import names_of
from structnet.routing.protocol import RoutedTree


class Reading(NamedTuple):
    """A tree with the meaning of its numbers.

    Attributes:
        tree: model tree.
        samples: samples or inputs as the tree takes them, or None; numeric targets are in the
            user's units.
        class_names: names of the classes; None if the tree predicts numbers.
        feature_names: names of the columns of a table; None if unknown.
        units: function from inputs of the tree to the user's units, ``[n, columns]`` -> the same.
        target_units: function from the predicted means to the user's units, likewise.
        target_names: names of the predicted numbers; None if unknown.
        columns: columns of the user's table that the tree reads; None for all.
        arrivals: counts of the samples that the tree was trained on; None if unknown.
        size: number of columns of the user's table; None for as many as the tree reads.
    """

    tree: RoutedTree
    samples: Any = None
    class_names: Sequence[str] | None = None
    feature_names: Sequence[str] | None = None
    units: Callable[[np.ndarray], np.ndarray] | None = None
    target_units: Callable[[np.ndarray], np.ndarray] | None = None
    target_names: Sequence[str] | None = None
    columns: np.ndarray | None = None
    arrivals: Arrivals | None = None
    size: int | None = None


def read(
    model: Any,
    x: Any = None,
    y: Any = None,
    class_names: Sequence[str] | None = None,
    feature_names: Sequence[str] | None = None,
) -> Reading:
    """Collects the tree, samples, names and units of a model.

    Args:
        model: tree, :class:`Reading`, or fitted estimator, which has a method ``read(X, y)``.
        x: samples for a tree, or the user's inputs for an estimator. None keeps the samples of a
            reading.
        y: targets for an estimator; the samples of a tree have their own.
        class_names, feature_names: names to use instead of the model's; those of all columns of the
            user's table.

    Raises:
        TypeError: the model is not made of model trees.
        ValueError: y is given for a tree, or there is not one name for each class or column.

    Example:
        >>> from structnet.neural_tree import NeuralTree, presets
        >>> read(NeuralTree(presets.mlp(num_outputs=2), shape=(3,))).class_names
        ('0', '1')
    """
    if hasattr(model, "read"):
        reading = model.read(x, y)
    elif y is not None:
        raise ValueError(
            "a tree's samples have their own targets; expected y for an estimator alone, and names "
            f"as class_names=... Got y of type {type(y).__name__}."
        )
    elif isinstance(model, Reading):
        reading = model if x is None else model._replace(samples=x)
    elif not hasattr(model, "topology"):
        raise TypeError(
            "expected a model tree, a Reading of one, or a fitted estimator that is made of model "
            f"trees; got {type(model).__name__} (plot_tree draws trees that are data, and "
            "plot_explanation what an estimator of them explains)"
        )
    else:
        reading = Reading(model, x)
    names = names_of(reading.tree, reading.class_names if class_names is None else class_names)
    features = reading.feature_names
    if feature_names is not None:
        features = chosen_names(
            feature_names, reading.size or reading.tree.shape[0], reading.columns
        )
    return reading._replace(class_names=names, feature_names=features)


def chosen_names(
    names: Sequence[str], size: int, columns: np.ndarray | None = None
) -> Sequence[str]:
    """The names of the columns that a tree reads.

    Args:
        names: names of all columns of the table.
        size: number of these columns.
        columns: columns that the tree reads; None for all.

    Shapes:
        columns ``[kept]``.

    Raises:
        ValueError: there is not one name for each column.

    Example:
        >>> chosen_names(["age", "height", "weight"], 3, np.array([0, 2]))
        ['age', 'weight']
    """
    if len(names) != size:
        raise ValueError(
            f"there are {len(names)} feature_names for {size} columns; expected one each"
        )
    return names if columns is None else [names[i] for i in columns.tolist()]
