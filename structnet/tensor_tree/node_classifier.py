"""Classes of the nodes of trees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from structnet.estimators.checked import counting_places, encode_labels
from structnet.estimators.class_weights import weights_by_class
from structnet.estimators.failed_fit import whole
from structnet.estimators.held_out import validation_set
from structnet.estimators.inputs import plain_labels
from structnet.tensor_tree.building import Targets
from structnet.tensor_tree.estimator import TreeLSTMEstimator
from structnet.tensor_tree.samples import node_labels, numbered
from structnet.tensor_tree.settings import TreeLSTMSettings
from structnet.trees.forest import Forest


class TreeNodeClassifier(TreeLSTMEstimator):
    """Predicts a class for each node of a tree from the whole tree, as for sentiment treebanks.

    The labels of a tree must not contain the classes of its nodes. With ``context=False`` this
    only concerns the labels at and below a node, as nothing else is used to classify it.

    Args: those of :class:`structnet.TreeLSTMClassifier`; but ``pools`` is not used,
        ``bag`` is a table of how often nodes with a label, and with a token, have each class, and
        nodes of a class that ``class_weight`` gives 0 are as if they had none.

    Attributes:
        classes_: the classes, sorted.

    Reference: Socher et al., EMNLP 2013, Sec. 4; Tai et al., ACL 2015, Sec. 4.1; for the context
    that of :class:`~structnet.tensor_tree.TopDownTreeLSTM`.

    Example:
        >>> from structnet import TreeNodeClassifier
        >>> X, y = ["(+ 1 0)", "(+ 0 0)"], [["odd", "odd", "even"], ["even", "even", "even"]]
        >>> model = TreeNodeClassifier(epochs=20, random_state=0).fit(X * 20, y * 20)
        >>> model.predict(["(+ 0 1)"])
        [['odd', 'even', 'odd']]
    """

    classes_: np.ndarray

    def __init__(
        self,
        *,
        class_weight: Any = None,
        cell: str | None = TreeLSTMSettings.cell,
        hidden_size: int = TreeLSTMSettings.hidden_size,
        rank: int | None = TreeLSTMSettings.rank,
        pools: Sequence[str] | None = TreeLSTMSettings.pools,
        bag: bool = TreeLSTMSettings.bag,
        context: bool | None = TreeLSTMSettings.context,
        words: bool | None = TreeLSTMSettings.words,
        numbers: bool | None = TreeLSTMSettings.numbers,
        min_count: int | None = TreeLSTMSettings.min_count,
        dropout: float = TreeLSTMSettings.dropout,
        label_dropout: float | None = TreeLSTMSettings.label_dropout,
        epochs: int | None = TreeLSTMSettings.epochs,
        batch_size: int | None = TreeLSTMSettings.batch_size,
        learning_rate: float = TreeLSTMSettings.learning_rate,
        weight_decay: float | None = TreeLSTMSettings.weight_decay,
        patience: int | None = TreeLSTMSettings.patience,
        vectors: str | Path | None = None,
        train_vectors: bool = True,
        validation_fraction: float = 0.1,
        random_state: Any = None,
        device: str = "cpu",
        folder: str | Path | None = None,
        verbose: bool = False,
    ):
        given = {
            k: v for k, v in locals().items() if k not in ("self", "class_weight", "__class__")
        }
        super().__init__(**given)
        self.class_weight = class_weight

    @whole
    def fit(
        self, X: Any, y: Any, *, groups: Any = None, X_val: Any = None, y_val: Any = None
    ) -> TreeNodeClassifier:
        """Learns from trees and the classes of their nodes.

        Args:
            X: trees.
            y: for each tree the classes of its nodes in preorder (``Tree.preorder``: each node
                before those below it), None for a node without one.
            groups: group of each sample, such as the file it comes from, if new samples will come
                from other groups; samples are then held out in whole groups.
            X_val, y_val: trees and classes of their nodes to choose the epoch by; by default some
                of X are held out.

        Raises:
            TypeError: a sample is not a tree.
            ValueError: a tree does not have as many classes as nodes, or data or hyper-parameters
                are wrong or do not match.
        """
        self._begin()
        samples = self._samples(X, least=2, roots=1)
        labels = node_labels(samples, y)
        known = [label for each in labels for label in each if label is not None]
        if not known:
            raise ValueError("no node has a class in y; expected at least 2 classes")
        classes, places = encode_labels(np.asarray(plain_labels(known)))
        codes, by_class = _codes(labels, classes), None
        if self.class_weight is not None:
            by_class = weights_by_class(self.class_weight, places, classes)
            counting_places(by_class[places], least=2)
            by_class /= np.average(by_class[places], weights=by_class[places] > 0)
            codes = _counting(codes, by_class)
        held, validation = None, validation_set(X_val, y_val)
        if validation is not None:
            others, answers, _ = validation
            others = self._samples(others, roots=1)
            found = _codes(node_labels(others, answers), classes)
            held = Targets(others, found if by_class is None else _counting(found, by_class))
        learn, held = self._parted(
            Targets(samples, codes, groups=numbered(groups, len(samples))), held
        )
        weights = None if by_class is None else by_class.tolist()
        self._fitted("nodes", len(classes), learn, held, validation is not None, weights)
        self.classes_ = classes
        return self

    def predict(self, X: Any) -> list[list[Any]]:
        """The likeliest class of each node of each tree, in preorder."""
        check_is_fitted(self)
        found = self._of_trees(X, self.model_.predict)
        return [self.classes_[each].tolist() for each in found]

    def predict_proba(self, X: Any) -> list[np.ndarray]:
        """The probability of each class at each node: for each tree an array ``[nodes, classes]``.

        Nodes are in preorder, classes in the order of ``classes_``.
        """
        check_is_fitted(self)
        return self._of_trees(X, self.model_.predict_proba)

    def predict_log_proba(self, X: Any) -> list[np.ndarray]:
        """The logarithms of these probabilities, for each tree ``[nodes, classes]``."""
        check_is_fitted(self)
        return self._of_trees(X, self.model_.predict_log_proba)

    def _of_trees(self, X: Any, question: Callable[[Forest], Tensor]) -> list[np.ndarray]:
        """The result of a question about each node, as one array per tree."""
        found = []
        for trees, said in self._answers(X, question):
            ends = np.cumsum([tree.size for tree in trees])[:-1]
            found += np.split(said.numpy(), ends)
        return found

    def score(self, X: Any, y: Any) -> float:
        """The accuracy over all nodes that have a class.

        Raises:
            ValueError: a tree does not have as many classes as nodes, or no node has a class.
        """
        check_is_fitted(self)
        labels = node_labels(self._samples(X, roots=1), y)
        right = [
            guess == true
            for guesses, trues in zip(self.predict(X), labels, strict=True)
            for guess, true in zip(guesses, trues, strict=True)
            if true is not None
        ]
        if not right:
            raise ValueError("no node has a class in y; expected at least 1")
        return float(np.mean(right))


def _codes(labels: list[list[Any]], classes: np.ndarray) -> list[list[int]]:
    """The places of labels among the classes, -1 for None."""
    place = {label: i for i, label in enumerate(classes.tolist())}
    for each in labels:
        for label in each:
            if label is not None and label not in place:
                encode_labels(np.array([label] * 2), classes)  # its error says what is expected
    return [[-1 if label is None else place[label] for label in each] for each in labels]


def _counting(codes: list[list[int]], by_class: np.ndarray) -> list[list[int]]:
    """The same places, -1 for those of classes that weigh 0."""
    return [[i if i >= 0 and by_class[i] > 0 else -1 for i in each] for each in codes]
