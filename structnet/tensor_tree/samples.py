"""Checks of what users give: samples that are trees, and their answers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.sparse import issparse

from structnet.estimators.checked import numbered
from structnet.estimators.inputs import check_weights, off_torch, plain_labels, plain_numbers
from structnet.parse.conversion import as_tree
from structnet.tensor_tree.targets import Targets
from structnet.trees.label_words import without_words
from structnet.trees.tree import Tree

SHOWN = 60  # characters of a wrong sample in a sentence
WORD = re.compile(r"[^\s()<>{}\[\]]+")


def check_lengths(samples: Any, y: Any) -> None:
    """Checks that there are as many answers as samples.

    Raises:
        ValueError: the numbers differ.
    """
    shape = getattr(y, "shape", None)  # sparse rows have no length
    if shape == () or not (shape or hasattr(y, "__len__")):
        raise ValueError(f"y must be one answer for each sample. Got {type(y).__name__}.")
    number = shape[0] if shape else len(y)
    if len(samples) != number:
        columns = all(isinstance(each, tuple) and len(each) == number for each in samples)
        raise ValueError(
            f"got {len(samples)} samples and {number} answers in y; expected one answer per sample"
            + "; columns of trees become samples by list(zip(*X))" * (columns and number > 1)
        )


def are_trees(samples: Iterable[Any]) -> bool:
    """True if any sample is more than words: words alone may be labels, or texts to be parsed."""
    rows = (x if _is_several(x) else (x,) for x in samples)
    return any(not isinstance(each, str) or "(" in each for row in rows for each in row)


def as_sample(x: Any, place: int, alone: bool = False) -> tuple[Tree, ...]:
    """A sample as a tuple of trees, whose labels are not split into words; the model decides that.

    Args:
        x: tree or trees, as the user gave them.
        place: place of the sample, for the error.
        alone: True to read a word as a tree of one node, as ``str`` writes it.

    Raises:
        TypeError: the sample is not a tree.
        ValueError: it is text that does not describe a tree.
    """
    several = _is_several(x)
    trees = x if several else (x,)
    try:
        # A tuple within is named before the text beside it, which is a label and no tree.
        for each in filter(_is_several, trees):
            as_tree(each)
        return tuple(without_words(as_tree(_bracketed(each) if alone else each)) for each in trees)
    except (TypeError, ValueError) as error:
        shown = repr(x) if len(repr(x)) <= SHOWN else repr(x)[:SHOWN] + "..."
        read = f", read as {len(x)} trees side by side" if several and len(x) > 1 else ""
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"sample {place}, {shown}{read}: {error}") from None


def _bracketed(tree: Any) -> Any:
    return f"({tree})" if isinstance(tree, str) and WORD.fullmatch(tree) else tree


def _is_several(x: Any) -> bool:
    """Is it a row of trees? A tree of nltk, which has a label, is a list too."""
    row = isinstance(x, (tuple, list)) or (isinstance(x, np.ndarray) and x.ndim == 1)
    return row and not callable(getattr(x, "label", None))


def labels_of(samples: list, y: Any) -> np.ndarray:
    """Classes, or several labels as rows, ``[n]`` or ``[n, labels]``.

    Raises:
        ValueError: they are of different kinds, or there is not one answer per sample.
    """
    check_lengths(samples, y)
    return np.asarray(plain_labels(y.toarray() if issparse(y) else y))


def indicators(y: Any) -> np.ndarray:
    """Several labels per sample as rows of 0 and 1, ``[n, labels]``.

    Raises:
        ValueError: y contains other values.
    """
    found = np.asarray(off_torch(y))
    if found.ndim != 2 or not np.isin(found, (0, 1)).all():
        raise ValueError("several labels per sample must be rows of 0 and 1. Got other values.")
    return found.astype(np.int64)


def numbers_of(samples: list, y: Any) -> np.ndarray:
    """Targets as finite numbers, ``[n, ..]``.

    Raises:
        ValueError: a target is not a finite number, or there is not one target per sample.
    """
    check_lengths(samples, y)
    try:
        found = np.asarray(plain_numbers(y), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{error}; for classes there is TreeLSTMClassifier") from None
    if not np.isfinite(found).all():
        first = np.argwhere(~np.isfinite(found))[0][0]
        raise ValueError(f"y must be finite numbers. Got {found[first]} for sample {first}.")
    return found


def targets_of(
    samples: list[tuple[Tree, ...]],
    y: np.ndarray,
    sample_weight: Any,
    groups: Any = None,
    least: int = 1,
) -> Targets:
    """The samples whose weight is above 0, with their answers.

    Shapes:
        y ``[n, ..]``.

    Raises:
        ValueError: the weights or groups are invalid, or fewer than ``least`` samples count.
    """
    weights = check_weights(sample_weight, len(samples))
    return Targets(samples, y, weights, numbered(groups, len(samples))).counting(least)


def node_weights(samples: list[tuple[Tree, ...]], given: Any) -> list[np.ndarray]:
    """The weights of all nodes, an array ``[nodes]`` per tree.

    Args:
        samples: samples of one tree each.
        given: weight of each tree, which all of its nodes have; or weights of its nodes as a list
            per tree; None for a weight of 1.

    Raises:
        ValueError: there is not one weight per tree, nor one per node, or one is below 0 or not
            finite.
    """
    given = 1 if given is None else off_torch(given)
    sizes = [tree.size for (tree,) in samples]
    if not hasattr(given, "__iter__") or not any(map(np.ndim, given)):
        each = check_weights(given, len(samples))
        assert each is not None  # as some are given
        return np.split(np.repeat(each, sizes), np.cumsum(sizes)[:-1])
    if len(given) != len(samples):
        raise ValueError(
            f"sample_weight must have weights for each tree, {len(samples)}. Got {len(given)} "
            "lists of them."
        )
    found = []
    for i, (row, size) in enumerate(zip(given, sizes, strict=True)):
        each = check_weights(np.ravel(row), size, "node", f" of tree {i}")
        assert each is not None
        found.append(each)
    return found


def node_labels(samples: list[tuple[Tree, ...]], y: Any) -> list[list[Any]]:
    """The labels of all nodes, one list per tree, as plain values or None.

    Raises:
        ValueError: there is not one row per tree, or not one label per node, or one is NaN.
    """
    check_lengths(samples, y)
    rows = []
    for i, ((tree,), row) in enumerate(zip(samples, y, strict=True)):
        row = off_torch(row)
        if isinstance(row, str) or not hasattr(row, "__iter__"):
            raise ValueError(
                f"y must have a row of labels for each tree. Got {row!r} for tree {i}."
            )
        labels = row.tolist() if hasattr(row, "tolist") else list(row)
        labels = [label.item() if hasattr(label, "item") else label for label in labels]
        if len(labels) != tree.size:
            raise ValueError(
                f"tree {i} has {tree.size} nodes; got {len(labels)} labels, expected one per node, "
                "None for nodes without a label"
            )
        nan = next((node for node, label in enumerate(labels) if label != label), None)
        if nan is not None:
            raise ValueError(
                f"node {nan} of tree {i} has the class {labels[nan]}; expected None for nodes "
                "without a class"
            )
        rows.append(labels)
    return rows
