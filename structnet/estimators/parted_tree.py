"""A model tree whose leaves are parts of classes, as one that predicts classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from structnet.estimators.parts import numbers_of, of_classes
from structnet.routing.protocol import Facts


class PartedTree:
    """A tree of parts, to be explained, told and drawn by their classes.

    It has all that the tree has; see :class:`.RoutedTree`.

    Args:
        tree: tree each of whose leaves is one part.
        part_classes: class of each part, ascending.

    Shapes:
        part_classes ``[parts]``.
    """

    def __init__(self, tree: Any, part_classes: np.ndarray):
        self._tree, self._part_classes = tree, part_classes

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_tree":  # as when it is copied
            raise AttributeError(name)
        return getattr(self._tree, name)

    @property
    def num_classes(self) -> int:
        """The number of classes."""
        return int(self._part_classes[-1]) + 1

    def predicted(self, x: Any) -> np.ndarray:
        """The log-probabilities of the classes. ``[n, *shape] -> [n, classes]``."""
        log_p = self._tree.predicted(x)
        return of_classes(lambda rows: log_p[rows], len(log_p), self._part_classes)

    def predicted_at(self, x: Any, leaf: int) -> np.ndarray:
        """The prediction of one leaf: its class is certain. ``[n, *shape] -> [n, classes]``."""
        log_p = np.full((x.shape[0], self.num_classes), -np.inf)
        log_p[:, self.classes_at(leaf)] = 0.0
        return log_p

    def classes_at(self, leaf: int) -> list[int]:
        """The class of a leaf."""
        return self._part_classes[self._tree.classes_at(leaf)].tolist()

    def class_plane(self, label: int) -> None:
        """None: a class of several parts is not linear in the columns."""

    def branch_classes(self, node: int) -> list[int | None]:
        """The class of each of an inner node's branches that is a leaf, else None."""
        parts = self._tree.branch_classes(node)
        return [None if part is None else int(self._part_classes[part]) for part in parts]

    def facts(self, node: int) -> Facts:
        """What a node consists of; of a leaf, which part of its class it is."""
        facts: Facts = self._tree.facts(node)
        if self._tree.topology.children_of(node):
            return facts
        part = self._tree.classes_at(node)[0]
        number = numbers_of(self._part_classes)[part]
        return facts._replace(words=f"label {self._part_classes[part]}, part {number}")
