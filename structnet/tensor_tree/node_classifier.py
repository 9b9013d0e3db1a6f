"""Classes of the nodes of trees."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from structnet.checks import check_integer
from structnet.estimators.checked import counting_places, encode_labels, mean_one, numbered
from structnet.estimators.class_weights import weights_by_class
from structnet.estimators.described import described_by
from structnet.estimators.failed_fit import whole
from structnet.estimators.held_out import validation_set
from structnet.estimators.inputs import plain_labels
from structnet.estimators.likeliest import top_of
from structnet.tensor_tree.estimator import TreeLSTMEstimator
from structnet.tensor_tree.explanation import check_place, column_of, log_odds
from structnet.tensor_tree.node_explanation import NodeExplanation, explain_node
from structnet.tensor_tree.samples import node_labels, node_weights
from structnet.tensor_tree.settings import TreeLSTMSettings
from structnet.tensor_tree.targets import Targets
from structnet.trees.forest import Forest
from structnet.trees.label_words import own_nodes


@described_by(TreeLSTMSettings)
class TreeLSTMNodeClassifier(TreeLSTMEstimator):
    """Predicts a class for each node of a tree from the whole tree, as for sentiment treebanks.

    The labels of a tree must not contain the classes of its nodes. With ``top_down=False`` this
    only concerns the labels at and below a node, as nothing else is used to classify it.

    Args:
        class_weight: class -> weight, as for :class:`structnet.TreeLSTMClassifier`; nodes of a
            class that weighs 0 are as if they had none.
        pools: not used.
        bag: linear model on the labels of a node, of those above and beside it and of those below,
            mixed with the Tree-LSTM in the proportion that the held-out examples choose.

    Attributes:
        classes_: the classes, sorted.

    Reference: Socher et al., EMNLP 2013, Sec. 4; Tai et al., ACL 2015, Sec. 4.1; for the context
    that of :class:`~structnet.tensor_tree.TopDownTreeLSTM`.

    Example:
        >>> from structnet import TreeLSTMNodeClassifier
        >>> X, y = ["(+ 1 0)", "(+ 0 0)"], [["odd", "odd", "even"], ["even", "even", "even"]]
        >>> model = TreeLSTMNodeClassifier(epochs=20, random_state=0).fit(X * 20, y * 20)
        >>> model.predict(["(+ 0 1)"])
        [['odd', 'even', 'odd']]
    """

    @whole
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> TreeLSTMNodeClassifier:
        """Learns from trees and the classes of their nodes.

        Args:
            X: trees.
            y: for each tree the classes of its nodes in preorder (``Tree.preorder``: each node
                before those below it), None for a node without one.
            sample_weight: weight of each tree, which all of its nodes have; or for each tree the
                weights of its nodes, in the order of y.
            groups: group of each sample, such as the file it comes from, if new samples will come
                from other groups; samples are then held out in whole groups.
            X_val, y_val, sample_weight_val: trees, classes of their nodes and weights to choose
                the epoch by; by default some of X are held out.

        Raises:
            TypeError: a sample is not a tree.
            ValueError: a tree does not have as many classes as nodes, or data or hyper-parameters
                are wrong or do not match.
        """
        self._begin()
        samples = self._samples(X, least=2, roots=1)
        labels, weights = node_labels(samples, y), node_weights(samples, sample_weight)
        there = np.array([label is not None for each in labels for label in each])
        if not there.any():
            raise ValueError("no node has a class in y; expected at least 2 classes")
        known = [label for each in labels for label in each if label is not None]
        count = np.concatenate(weights)[there]
        classes, places = encode_labels(np.asarray(plain_labels(known)), weights=count)
        by_class = weights_by_class(self.class_weight, places, classes, count)
        each = by_class[places]
        counting_places(each * count, least=2)
        by_class /= np.average(each, weights=count * (each > 0))
        given = _counting(
            Targets(samples, _codes(labels, classes), weights, numbered(groups, len(samples))),
            by_class,
            2,
        )
        held, validation = None, validation_set(X_val, y_val, sample_weight_val)
        if validation is not None:
            others, answers, weights_val = validation
            others = self._samples(others, roots=1)
            found = _codes(node_labels(others, answers), classes)
            held = _counting(Targets(others, found, node_weights(others, weights_val)), by_class, 1)
        learn, held = self._parted(given, held)
        weight = None if self.class_weight is None else by_class.tolist()
        self._fitted("nodes", len(classes), learn, held, validation is None, weight)
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

    def predict_top(self, X: Any, k: int = 5) -> list[tuple[np.ndarray, np.ndarray]]:
        """The k likeliest classes of each node and their probabilities, likeliest first.

        Args:
            X: trees, as for ``predict``.
            k: number of classes, all if there are fewer.

        Shapes:
            for each tree, both ``[nodes, min(k, classes)]``; nodes are in preorder.

        Raises:
            ValueError: k is below 1.
        """
        check_integer("k", k, 1, owner="predict_top")
        return [top_of(each, self.classes_, k) for each in self.predict_proba(X)]

    def explain(self, x: Any, node: int, target: Any = None) -> NodeExplanation:
        """How much each part of a tree matters to the log-odds of a node's class.

        Each part is hidden in turn: a node with all below it, or, of the node itself and those
        above it, its label alone. Each time the whole tree is read again, so that the time grows
        with the square of its size.

        Args:
            x: a tree.
            node: number of the node, in preorder from 0, as in the lists of ``predict``.
            target: class in ``classes_``; by default the likeliest one.

        Raises:
            TypeError: x is not a tree.
            ValueError: the tree has no such node, or the class is unknown.

        Example:
            >>> from structnet import TreeLSTMNodeClassifier
            >>> X, y = ["(+ 1 0)", "(+ 0 0)"], [["odd", "odd", "even"], ["even", "even", "even"]]
            >>> model = TreeLSTMNodeClassifier(epochs=20, random_state=0).fit(X * 20, y * 20)
            >>> model.explain("(+ 1 0)", node=0).top(1)
            [(<Tree 1>, ...)]
        """
        (tree,) = self._sample(x)
        check_place("node", node, len(own_nodes(tree)))
        if target is None:
            target = self.predict([x])[0][node]
        column = column_of(target, self.classes_)
        scored, answer = partial(log_odds, column=column), self.classes_[column]
        vocabulary = self.trained_.vocabulary
        return explain_node(self.model_, vocabulary, tree, int(node), scored, answer)

    def _of_trees(self, X: Any, question: Callable[[Forest], Tensor]) -> list[np.ndarray]:
        """The result of a question about each node, as one array per tree."""
        found = []
        for trees, outputs in self._answers(X, question):
            ends = np.cumsum([tree.size for tree in trees])[:-1]
            found += np.split(outputs.numpy(), ends)
        return found

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The accuracy over all nodes that have a class.

        Args:
            X, y, sample_weight: trees, classes of their nodes and weights, as ``fit`` takes them.

        Raises:
            ValueError: a tree does not have as many classes as nodes, no node has a class, or all
                that have one weigh 0.
        """
        check_is_fitted(self)
        samples = self._samples(X, roots=1)
        labels, weights = node_labels(samples, y), node_weights(samples, sample_weight)
        found = [
            (guess == true, weight)
            for row in zip(self.predict(X), labels, weights, strict=True)
            for guess, true, weight in zip(*row, strict=True)
            if true is not None
        ]
        if not found:
            raise ValueError("no node has a class in y; expected at least 1")
        right, counts = map(np.array, zip(*found, strict=True))
        counting_places(counts, least=1)
        return float(np.average(right, weights=counts))


def _codes(labels: list[list[Any]], classes: np.ndarray) -> list[list[int]]:
    """The places of labels among the classes, -1 for None."""
    place = {label: i for i, label in enumerate(classes.tolist())}
    for each in labels:
        for label in each:
            if label is not None and label not in place:
                encode_labels(np.array([label] * 2), classes)  # its error says what is expected
    return [[-1 if label is None else place[label] for label in each] for each in labels]


def _counting(given: Targets, by_class: np.ndarray, least: int) -> Targets:
    """The trees of which some node weighs more than 0; there must be at least so many of them.

    The class is -1 for nodes that weigh 0, and the weights have the mean 1 over all others.
    """
    kept = counting_places(np.array([each.any() for each in given.weights]), least)
    given = given if kept is None else given.take(kept)
    ends = np.cumsum([len(each) for each in given.y])[:-1]
    places, weights = np.concatenate([*map(np.array, given.y)]), np.concatenate(given.weights)
    counts = (places >= 0) & (by_class[places] > 0) & (weights > 0)
    places[~counts], weights[~counts] = -1, 0
    if not counts.any():
        raise ValueError("no node of these trees has a class that counts; expected at least one")
    weights[counts] = mean_one(weights[counts])
    codes, of_nodes = (
        [each.tolist() for each in np.split(part, ends)] for part in (places, weights)
    )
    equal = (weights[counts] == 1).all()
    return given._replace(y=codes, weights=None if equal else of_nodes)
