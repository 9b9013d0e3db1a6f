"""Predictions of classes by a tree whose labels are parts of classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from structnet.checks import wrong
from structnet.estimators.columns_of_parts import columns_in_words
from structnet.estimators.likeliest import top_of
from structnet.estimators.parts import numbers_of, of_classes
from structnet.label_tree.codes import LabelCodes
from structnet.label_tree.examples import Examples
from structnet.label_tree.features import Features
from structnet.label_tree.tree import LabelTree
from structnet.routing.protocol import Facts, RoutedTree


class PartedTree:
    """A tree whose labels are parts of classes, as one of the classes: asked, explained and drawn.

    It has all that the tree has; see :class:`.RoutedTree`.

    Args:
        tree: tree.
        part_classes: class of each label, ascending.

    Shapes:
        part_classes ``[labels]``.
    """

    def __init__(self, tree: LabelTree, part_classes: np.ndarray):
        self.tree, self.part_classes = tree, part_classes

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "tree":  # as when it is copied
            raise AttributeError(name)
        return getattr(self.tree, name)

    @property
    def num_classes(self) -> int:
        """The number of classes."""
        return int(self.part_classes[-1]) + 1

    @property
    def is_one(self) -> bool:
        """True if each class has one part."""
        return _is_one(self.part_classes)

    def names(self, classes: Sequence[str]) -> list[str]:
        """The names of the labels: those of the classes, with the number of the part of several."""
        parts = zip(self.part_classes, numbers_of(self.part_classes), strict=True)
        several = np.bincount(self.part_classes) > 1
        return [classes[k] + f", part {number}" * bool(several[k]) for k, number in parts]

    def log_prob_of_all(self, features: Features) -> np.ndarray:
        """The log-probabilities of the classes, ``[n, classes]``."""
        if self.is_one:
            return self.tree.log_prob_of_all(features)
        arrays = self.tree.arrays(features)
        return of_classes(
            lambda rows: arrays.scored_all(features[rows]), len(features), self.part_classes
        )

    def log_prob_of(self, features: Features, classes: np.ndarray) -> np.ndarray:
        """The log-probability of one class for each example. ``[n] -> [n]``."""
        if self.is_one:
            return self.tree.log_prob_of(features, classes)
        return self.log_prob_of_all(features)[np.arange(len(classes)), classes]

    def loss_of(self, examples: Examples) -> float:
        """The mean loss on some examples, whose labels are classes."""
        return -examples.mean(self.log_prob_of(examples.features, examples.labels))

    def top_k(
        self, features: Features, k: int = 1, beam: int | None = None, threshold: float = 0.0
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """The likeliest classes, as :meth:`.LabelTree.top_k` finds labels.

        Of classes of several parts all are computed, as the likeliest parts need not be of likely
        classes, whatever the beam.
        """
        if self.is_one:
            return self.tree.top_k(features, k, beam, threshold)
        every = self.log_prob_of_all(features)
        places, log_prob = top_of(every, np.arange(self.num_classes), k)
        with np.errstate(divide="ignore"):
            less = log_prob < np.log(threshold)
        log_prob[less], places[less] = -np.inf, -1
        return log_prob, places, float(self.tree.codes.num_nodes)

    # As a tree that is explained and drawn

    def predicted(self, x: Any) -> np.ndarray:
        """The log-probabilities of the classes. ``[n, *shape] -> [n, classes]``."""
        log_p = self.tree.predicted(x)
        return of_classes(lambda rows: log_p[rows], len(log_p), self.part_classes)

    def predicted_at(self, x: Any, leaf: int) -> np.ndarray:
        """The prediction of one leaf: its class is certain. ``[n, *shape] -> [n, classes]``."""
        log_p = np.full((x.shape[0], self.num_classes), -np.inf)
        log_p[:, self.classes_at(leaf)] = 0.0
        return log_p

    def classes_at(self, leaf: int) -> list[int]:
        """The class of a leaf."""
        return self.part_classes[self.tree.classes_at(leaf)].tolist()

    def class_plane(self, label: int) -> None:
        """None: a class of several parts is not linear in the columns."""

    def branch_classes(self, node: int) -> list[int | None]:
        """The class of each of an inner node's branches that is a leaf, else None."""
        parts = self.tree.branch_classes(node)
        return [None if part is None else int(self.part_classes[part]) for part in parts]

    def facts(self, node: int) -> Facts:
        """What a node consists of; of a leaf, which part of its class it is."""
        facts: Facts = self.tree.facts(node)
        if self.tree.topology.children_of(node):
            return facts
        part = self.tree.classes_at(node)[0]
        number = numbers_of(self.part_classes)[part]
        return facts._replace(words=f"label {self.part_classes[part]}, part {number}")


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
        return self._classes.log_prob_of_all(self._features(self._inputs(X)))

    def _top(self, X: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
        check_is_fitted(self)
        log_prob, places, _ = self._classes.top_k(self._features(self._inputs(X)), k)
        return self.classes_[places], np.exp(log_prob)

    @property
    def _classes(self) -> PartedTree:
        return PartedTree(self.tree_, self.part_classes_)

    def _trees(self) -> list[RoutedTree]:
        return [cast(RoutedTree, self.tree_ if self._classes.is_one else self._classes)]

    def _parts_of(self, codes: LabelCodes | None) -> int | None:
        """The number of parts that is given; 1 with a tree of the user's own."""
        if codes is not None and self.parts not in (None, 1):
            raise wrong("parts", "1 or None with a tree of your own, of whole classes", self.parts)
        return self.parts if codes is None else 1

    def _parts_in_words(self) -> str:
        """How many parts classes have, and how many columns tell them; empty for whole classes."""
        if self._classes.is_one:
            return ""
        told = self.tree_.softmax.weight.detach().flatten(0, -2).any(0)
        said = f"classes of up to {np.bincount(self.part_classes_).max()} parts each"
        return said + columns_in_words(int(told.sum()), len(told))

    def _whole(self) -> None:
        """Begins a stream, whose first samples cannot be divided, with whole classes."""
        if self.parts not in (None, 1):
            raise wrong("parts", "1 or None, if partial_fit comes before fit", self.parts)
        self.part_classes_ = np.arange(len(self.classes_))

    def _check_parts(self, labels: int) -> None:
        """Refuses parts of a file that its tree has not."""
        classes, parts = np.arange(len(self.classes_)), self.part_classes_
        fit = parts.dtype.kind == "i" and parts.shape == (labels,)
        if not (fit and (np.diff(parts) >= 0).all() and np.array_equal(np.unique(parts), classes)):
            raise ValueError(
                f"part_classes_ must be {labels} ascending ints, one for each label of the tree, "
                f"among which are all from 0 to {len(classes) - 1}"
            )

    def _by_part(self, examples: Examples) -> Examples:
        """Examples, labelled with the likeliest parts of their classes."""
        if self._classes.is_one:
            return examples
        log_prob = self.tree_.log_prob_of_all(examples.features)
        log_prob[self.part_classes_ != examples.labels[:, None]] = -np.inf
        return replace(examples, labels=log_prob.argmax(1))
