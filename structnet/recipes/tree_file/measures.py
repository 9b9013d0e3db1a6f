"""The quality of predictions of trees, over all examples, compared with constant predictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from structnet.datasets import TreeFile
from structnet.datasets.tree_file_formats import Place
from structnet.recipes.tree_file.data import in_order

LISTED = 100  # mistakes listed in the result


def of_classes(true: Sequence[str], predicted: Sequence[str], usual: str) -> dict[str, Any]:
    """The accuracy, the macro F1 and the confusion matrix.

    Args:
        true, predicted: class of each example, or of each node.
        usual: most frequent class in the training data.

    Returns:
        The macro F1 is the mean over all classes that occur among the true or the predicted ones.
        The rows of the matrix are true classes, its columns predicted ones.

    Example:
        >>> found = of_classes(["a", "a", "a", "b"], ["a", "a", "b", "b"], "a")
        >>> found["accuracy"], found["accuracy_of_most_frequent"], round(found["macro_f1"], 3)
        (0.75, 0.75, 0.733)
        >>> found["confusion"]
        {'classes': ['a', 'b'], 'counts': [[2, 1], [0, 1]]}
    """
    names = in_order({*true, *predicted})
    place = {name: i for i, name in enumerate(names)}
    counts = np.zeros((len(names), len(names)), int)
    np.add.at(counts, tuple([place[name] for name in each] for each in (true, predicted)), 1)
    right = np.diag(counts)
    f1 = 2 * right / (counts.sum(axis=0) + counts.sum(axis=1))  # never 0 / 0: each class occurs
    return {
        "accuracy": float(right.sum() / counts.sum()),
        "accuracy_of_most_frequent": float(np.mean([name == usual for name in true])),
        "macro_f1": float(f1.mean()),
        "confusion": {"classes": names, "counts": counts.tolist()},
    }


def of_nodes(
    true: Sequence[Sequence[str | None]], predicted: Sequence[Sequence[str]], usual: str
) -> dict[str, Any]:
    """The measures of :func:`of_classes` over the nodes of all trees that have a class.

    Args:
        true, predicted: classes of the nodes of each tree; None for nodes without one.
        usual: most frequent class in the training data.
    """
    pairs = [
        (label, str(other))
        for labels, each in zip(true, predicted, strict=True)
        for label, other in zip(labels, each, strict=True)
        if label is not None
    ]
    return of_classes([label for label, _ in pairs], [other for _, other in pairs], usual)


def mistakes(
    places: Sequence[Place], true: Sequence[str], predicted: Sequence[str]
) -> dict[str, Any]:
    """The places of the first wrong predictions, with the true and the predicted class of each.

    Args:
        places: place of each example in its file or folder; empty if they are unknown.
        true, predicted: class of each example.

    Example:
        >>> mistakes([Place(line=i) for i in (1, 2, 3)], ["a", "b", "b"], ["a", "a", "b"])
        {'mistakes': [{'line': 2, 'true': 'b', 'predicted': 'a'}]}
    """
    pairs = zip(places, true, predicted, strict=True) if places else ()
    wrong = [place.as_dict | {"true": a, "predicted": b} for place, a, b in pairs if a != b]
    return {"mistakes": wrong[:LISTED]} if wrong else {}


def left_out(examples: TreeFile, classes: Sequence[str] | None) -> dict[str, Any]:
    """What other metrics leave out: examples that could not be read, and classes without training.

    Args:
        examples: trees that a model is tested on.
        classes: classes that it was trained on; None if it predicts numbers.
    """
    unknown = in_order(set(examples.each_target) - set(classes)) if classes else []
    faults = [place.as_dict | {"fault": fault} for place, fault in examples.unreadable]
    skipped = {"unreadable": faults, "unknown_classes": unknown}
    return {name: value for name, value in skipped.items() if value}


def of_numbers(true: Sequence[float], predicted: Sequence[float], mean: float) -> dict[str, Any]:
    """The errors in the units of the numbers, and the share of their variance that is explained.

    Args:
        true, predicted: number of each example.
        mean: mean of the training data.

    Returns:
        The root mean squared error and the mean absolute error, both also of predicting the mean;
        and R2, if the true numbers differ.

    Example:
        >>> found = of_numbers([1.0, 3.0], [1.0, 2.0], mean=2.0)
        >>> found["mae"], found["mae_of_mean"], round(found["r2"], 6)
        (0.5, 1.0, 0.5)
    """
    y, guess = np.asarray(true, float), np.asarray(predicted, float).reshape(-1)
    variance = float(y.var())
    errors = {
        "rmse": float(np.sqrt(np.mean((y - guess) ** 2))),
        "rmse_of_mean": float(np.sqrt(np.mean((y - mean) ** 2))),
        "mae": float(np.mean(np.abs(y - guess))),
        "mae_of_mean": float(np.mean(np.abs(y - mean))),
    }
    return errors | ({"r2": 1 - errors["rmse"] ** 2 / variance} if variance > 0 else {})
