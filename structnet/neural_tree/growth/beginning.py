"""Checks what a growth starts with: a single root, and samples for training and validation."""

from __future__ import annotations

from typing import Any

from structnet.neural_tree.tree import NeuralTree
from structnet.routing.samples import Samples, as_samples


def check_beginning(tree: NeuralTree, train: Any, validation: Any) -> tuple[Samples, Samples]:
    """The training and the validation samples, also if given as Datasets or DataLoaders.

    Args:
        tree: tree to grow.
        train: training samples; or a torch Dataset or a DataLoader of them, see
            :meth:`.Samples.from_dataset`.
        validation: validation samples, likewise.

    Raises:
        TypeError: an argument is none of these.
        ValueError: the tree has grown already, there are no training or validation samples, there
            are fewer training samples than classes, or the tree has no output for a class.
    """
    if tree.num_leaves > 1:
        raise ValueError(f"growth starts from a single root; the tree has {tree.num_leaves} leaves")
    train, validation = (as_samples(each, tree.num_classes) for each in (train, validation))
    if not len(train) or not len(validation):
        raise ValueError(
            "growth needs samples for training and others for validation; got "
            f"{len(train)} for training and {len(validation)} for validation"
        )
    if tree.num_classes is not None and len(train) < tree.num_classes:
        raise ValueError(
            f"there are {len(train)} samples to learn {tree.num_classes} classes from; expected at "
            "least one for each"
        )
    return train, validation
