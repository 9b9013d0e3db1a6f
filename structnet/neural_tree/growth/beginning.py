"""What a growth begins with: a root alone, samples of both kinds, as many as there are classes."""

from __future__ import annotations

from typing import Any

from structnet.neural_tree.tree import NeuralTree
from structnet.routing.samples import Samples, as_samples


def check_beginning(tree: NeuralTree, train: Any, validation: Any) -> tuple[Samples, Samples]:
    """The samples that a tree is grown with, of Datasets and DataLoaders too.

    Args:
        tree: tree to grow.
        train: samples to learn from, or what :meth:`.Samples.from_dataset` takes.
        validation: samples to decide by, likewise.

    Raises:
        TypeError: they are no samples.
        ValueError: the tree has grown already, there are no samples of either kind or fewer than
            classes, or a class has no output of the tree.
    """
    if tree.num_leaves > 1:
        raise ValueError(f"growth begins with a root alone; the tree has {tree.num_leaves} leaves")
    train, validation = (as_samples(each, tree.num_classes) for each in (train, validation))
    if not len(train) or not len(validation):
        raise ValueError(
            "growth needs samples to learn from and others to decide by; got "
            f"{len(train)} for training and {len(validation)} for validation"
        )
    if tree.num_classes is not None and len(train) < tree.num_classes:
        raise ValueError(
            f"there are {len(train)} samples to learn {tree.num_classes} classes from; expected at "
            "least one for each"
        )
    return train, validation
