"""Predictions of classes by a tree whose labels are parts of classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from structnet.checks import wrong
from structnet.estimators.likeliest import top_of
from structnet.estimators.parted_tree import PartedTree
from structnet.estimators.parts import of_classes
from structnet.label_tree.codes import LabelCodes
from structnet.label_tree.examples import Examples
from structnet.label_tree.features import Features
from structnet.label_tree.tree import LabelTree
from structnet.routing.protocol import RoutedTree


def class_log_prob(tree: LabelTree, features: Features, part_classes: np.ndarray) -> np.ndarray:
    """The log-probabilities of the classes whose parts are the labels of a tree.

    Args:
        tree: tree.
        features: features of the examples.
        part_classes: class of each label, ascending.

    Shapes:
        part_classes ``[labels]``; output ``[n, classes]``.
    """
    if _is_one(part_classes):
        return tree.log_prob_of_all(features)
    arrays = tree.arrays(features)
    return of_classes(lambda rows: arrays.scored_all(features[rows]), len(features), part_classes)


def _is_one(part_classes: np.ndarray) -> bool:
    """Has each class one part?"""
    return len(part_classes) == part_classes[-1] + 1


class PartsMixin:
    """What :class:`.LabelTreeClassifier` predicts; only this part of it knows parts of classes."""

    classes_: np.ndarray
    part_classes_: np.ndarray
    parts: int | None
    _inputs: Callable[[Any], Any]
    _features: Callable[[Any], Features]

    if TYPE_CHECKING:

        @property
        def tree_(self) -> LabelTree: ...

    def predict(self, X: Any) -> np.ndarray:
        """The likeliest class of each sample, ``[n]``, by branch and bound if classes are whole."""
        return self._top(X, 1)[0][:, 0]

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class, ``[n, classes]``, in the order of ``classes_``."""
        log_prob = self.predict_log_proba(X)
        return np.exp(log_prob, out=log_prob)  # which may take most of the memory

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """The log-probability of each class, ``[n, classes]``, in the order of ``classes_``."""
        check_is_fitted(self)
        return class_log_prob(self.tree_, self._features(self._inputs(X)), self.part_classes_)

    def _top(self, X: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
        check_is_fitted(self)
        if not _is_one(self.part_classes_):  # the likeliest parts need not be of likely classes
            return top_of(self.predict_proba(X), self.classes_, k)
        # By branch and bound, without the probabilities of all other classes.
        log_prob, places, _ = self.tree_.top_k(self._features(self._inputs(X)), k)
        return self.classes_[places], np.exp(log_prob)

    def _trees(self) -> list[RoutedTree]:
        tree = cast(RoutedTree, self.tree_)
        one = _is_one(self.part_classes_)
        return [tree if one else cast(RoutedTree, PartedTree(tree, self.part_classes_))]

    def _parts_of(self, codes: LabelCodes | None) -> int | None:
        """The number of parts that is given; 1 with a tree of the user's own."""
        if codes is not None and self.parts not in (None, 1):
            raise wrong("parts", "1 or None with a tree of your own, of whole classes", self.parts)
        return self.parts if codes is None else 1

    def _whole(self) -> None:
        """Begins a stream, whose first samples cannot be divided, with whole classes."""
        if self.parts not in (None, 1):
            raise wrong("parts", "1 or None, if partial_fit comes before fit", self.parts)
        self.part_classes_ = np.arange(len(self.classes_))

    def _by_part(self, examples: Examples) -> Examples:
        """Examples, labelled with the likeliest parts of their classes."""
        if _is_one(self.part_classes_):
            return examples
        log_prob = self.tree_.log_prob_of_all(examples.features)
        log_prob[self.part_classes_ != examples.labels[:, None]] = -np.inf
        return replace(examples, labels=log_prob.argmax(1))

    def _held_out_loss(self, tree: LabelTree, held_out: Examples) -> float:
        """The mean loss of a tree in training on held-out examples."""
        if _is_one(self.part_classes_):
            log_p = tree.log_prob_of(held_out.features, held_out.labels)
        else:
            every = class_log_prob(tree, held_out.features, self.part_classes_)
            log_p = every[np.arange(len(held_out)), held_out.labels]
        return -held_out.weighed(log_p) / held_out.weight
