"""Classes, or several labels, of trees."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from structnet.checks import wrong
from structnet.estimators.checked import encode_labels
from structnet.estimators.class_weights import both_weighed
from structnet.estimators.described import described_by
from structnet.estimators.failed_fit import whole
from structnet.estimators.held_out import validation_set
from structnet.estimators.inputs import check_weights
from structnet.estimators.likeliest import LikeliestMixin
from structnet.tensor_tree.estimator import TreeLSTMEstimator
from structnet.tensor_tree.explanation import TreeExplanation, column_of, explain, log_odds
from structnet.tensor_tree.predictor import log_probabilities, probabilities
from structnet.tensor_tree.samples import indicators, labels_of, targets_of
from structnet.tensor_tree.settings import TreeLSTMSettings


@described_by(TreeLSTMSettings)
class TreeLSTMClassifier(LikeliestMixin, ClassifierMixin, TreeLSTMEstimator):
    """A classifier of trees, or of pairs of trees.

    By default it is a Child-Sum Tree-LSTM with a vector for each label (or, for trees of operators,
    a Tucker one, if that is better on held-out trees), whose states are read at the root, by their
    maximum and by attention over all nodes. It is mixed with a logistic regression on how often
    each label occurs and, for pairs, on how alike the two trees are; and with decision trees on
    these counts, if held-out trees are predicted better with them.

    A sample is a tree or a tuple of trees, with the same number of trees in all samples. A tree is
    a :class:`structnet.Tree`, bracketed text, or a parse of nltk, spaCy, conllu, networkx or
    tree-sitter. Among other trees, a word without any of ``()<>{}[]`` is one of a single node.

    Attributes:
        classes_: the sorted classes; if samples have several labels, the places of the labels.
        trained_: the model, its vocabulary, and the hyper-parameters that were used.
        settings_: these hyper-parameters, including those that were chosen.
        history_: one record per epoch.

    Reference: Tai, Socher and Manning, ACL 2015, Sec. 3.1 and 4.1; Castellana and Bacciu, IJCNN
    2020, for the other cells.

    Example:
        >>> from structnet import TreeLSTMClassifier
        >>> X = ["(+ 1 2)", "(- 1 2)", "(+ (- 1 2) 3)", "(- (+ 3 1) 2)"] * 10
        >>> y = ["sum", "difference"] * 20
        >>> model = TreeLSTMClassifier(epochs=5, random_state=0).fit(X, y)
        >>> model.predict(["(+ (+ 2 3) 3)"]).tolist(), model.score(X, y)
        (['sum'], 1.0)
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
    ) -> TreeLSTMClassifier:
        """Learns from trees and their classes.

        Args:
            X: trees, or tuples of trees.
            y: one class per sample, text or a number; or one row of 0 and 1 per sample, for
                several labels.
            sample_weight: weight of each sample; 0 leaves it out, but not its class.
            groups: group of each sample, such as the file it comes from, if new samples will come
                from other groups; samples are then held out in whole groups.
            X_val, y_val, sample_weight_val: samples, classes and weights to choose the epoch by; by
                default some of X are held out.

        Raises:
            TypeError: a sample is not a tree.
            ValueError: data or hyper-parameters are wrong or do not match.
        """
        self._begin()
        samples = self._samples(X, least=2)
        labels = labels_of(samples, y)
        several = labels.ndim == 2 and labels.shape[1] > 1
        if several:
            codes = indicators(labels)
            classes = np.arange(codes.shape[1])
        else:
            weights = check_weights(sample_weight, len(samples))
            classes, codes = encode_labels(labels.ravel(), weights=weights)
        given = targets_of(samples, codes, sample_weight, groups, least=2)
        held = None
        validation = validation_set(X_val, y_val, sample_weight_val)
        if validation is not None:
            others, answers, count = validation
            others = self._samples(others, roots=len(samples[0]))
            answers = labels_of(others, answers)
            of = indicators(answers) if several else encode_labels(answers.ravel(), classes)[1]
            held = targets_of(others, of, count)
        if several and isinstance(self.class_weight, dict):
            raise wrong("class_weight", "'balanced' or None for several labels", "a dict")
        of = np.arange(2) if several else classes
        given, held = both_weighed(given, held, of, self.class_weight)
        learn, held = self._parted(given, held, None if several else given.y)
        kind = "labels" if several else "classes"
        self._fitted(kind, len(classes), learn, held, refit=validation is None)
        self.classes_ = classes
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The likeliest class of each sample ``[n]``, or its labels as 0 and 1 ``[n, labels]``."""
        found = self._outputs(X).numpy()
        if self.trained_.question.kind == "labels":
            return (found > 0).astype(np.int64)
        return self.classes_[found.argmax(axis=1)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class or label, ``[n, classes]``, ordered as ``classes_``."""
        check_is_fitted(self)
        return probabilities(self.trained_.question.kind, self._outputs(X).double()).numpy()

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """The logarithms of these probabilities, ``[n, classes]``."""
        check_is_fitted(self)
        return log_probabilities(self.trained_.question.kind, self._outputs(X).double()).numpy()

    def explain(self, x: Any, target: Any = None) -> TreeExplanation | tuple[TreeExplanation, ...]:
        """How much each part of a tree matters to the log-odds of a class, ``log p / (1 - p)``.

        For each node all nodes above it are computed again, so that the time for a chain grows with
        the square of its length.

        Args:
            x: a tree, or a tuple of trees, each of which is explained while the others stay whole.
            target: class in ``classes_``; by default the likeliest one.

        Raises:
            ValueError: the class is unknown, or ``fit`` had another number of trees per sample.

        Example:
            >>> from structnet import TreeLSTMClassifier
            >>> X, y = ["(f a x)", "(f x b)", "(f b x)", "(f x a)"] * 20, ["a", "b", "b", "a"] * 20
            >>> model = TreeLSTMClassifier(epochs=5, random_state=0).fit(X, y)
            >>> model.explain("(f x b)").top(1)[0][0]
            <Tree b>
        """
        sample = self._sample(x)
        if target is None:
            target = self.classes_[self._outputs([sample])[0].argmax()]
        column = column_of(target, self.classes_)
        several = self.trained_.question.kind == "labels"

        def scored(outputs: Tensor) -> Tensor:
            return outputs[:, column] if several else log_odds(outputs, column)

        answer = self.classes_[column]
        return explain(self.model_, self.trained_.vocabulary, sample, scored, answer)
