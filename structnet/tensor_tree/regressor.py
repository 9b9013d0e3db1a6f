"""Numbers for trees."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from torch import nn

from structnet.checks import wrong
from structnet.estimators.described import described_by
from structnet.estimators.failed_fit import whole
from structnet.estimators.held_out import validation_set
from structnet.estimators.outliers import warn_of_far_targets
from structnet.estimators.scale import Standardizer
from structnet.tensor_tree.estimator import TreeLSTMEstimator
from structnet.tensor_tree.explanation import TreeExplanation, check_place, explain
from structnet.tensor_tree.samples import numbers_of, targets_of
from structnet.tensor_tree.settings import TreeLSTMSettings


@described_by(TreeLSTMSettings)
class TreeLSTMRegressor(RegressorMixin, TreeLSTMEstimator):
    """Predicts numbers for trees, or for pairs of trees.

    By default it is a ridge regression on how often each label occurs, or on a form of these
    counts, plus a Child-Sum Tree-LSTM that learns what this leaves unexplained. The Tree-LSTM has a
    vector for each label; its states are read at the root, and by their maximum, attention and sum
    over all nodes. Its weights decay more than those of the classifier. Decision trees on the
    counts are mixed in if held-out trees are predicted better with them.

    The loss is the squared error, so that targets far from the others dominate it. For sizes,
    prices and the like learn the logarithm, with scikit-learn's
    ``TransformedTargetRegressor(TreeLSTMRegressor(), func=np.log1p, inverse_func=np.expm1)``.
    Leave out samples whose number is unknown and marked, for example, by -999.

    Args:
        class_weight: None, as numbers have no classes.

    Reference: that of :class:`TreeLSTMClassifier`.

    Example:
        >>> from structnet import TreeLSTMRegressor
        >>> X = ["(+ 1 1)", "(+ 1 (+ 1 1))", "(+ (+ 1 1) (+ 1 1))"] * 20
        >>> model = TreeLSTMRegressor(epochs=10, random_state=0).fit(X, [2, 3, 4] * 20)
        >>> model.predict(["(+ 1 (+ 1 1))"]).round(1).tolist()
        [3.0]
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
    ) -> TreeLSTMRegressor:
        """Learns from trees and numbers.

        Args:
            X: trees, or tuples of trees.
            y: one number, or one row of numbers, per sample.
            sample_weight: weight of each sample; 0 leaves it out.
            groups: group of each sample, such as the file it comes from, if new samples will come
                from other groups; samples are then held out in whole groups.
            X_val, y_val, sample_weight_val: samples, numbers and weights to choose the epoch by; by
                default some of X are held out.

        Raises:
            TypeError: a sample is not a tree.
            ValueError: data or hyper-parameters are wrong or do not match.

        Warns:
            UserWarning: a few numbers lie far from all others, such as -999 for a missing one, or
                one with a misplaced decimal point; they dominate the loss.
        """
        self._begin()
        if self.class_weight is not None:
            raise wrong("class_weight", "None where the targets are numbers", self.class_weight)
        samples = self._samples(X, least=2)
        given = targets_of(samples, numbers_of(samples, y), sample_weight, groups, least=2)
        warn_of_far_targets(given.y, stacklevel=4)  # the caller of fit, which `whole` wraps
        shape, held = given.y.shape[1:], None
        validation = validation_set(X_val, y_val, sample_weight_val)
        if validation is not None:
            others, answers, count = validation
            others = self._samples(others, roots=len(samples[0]))
            held = targets_of(others, numbers_of(others, answers), count)
            if held.y.shape[1:] != shape:
                raise ValueError(
                    f"the validation targets have shape {list(held.y.shape)}; expected "
                    f"{[len(held.y), *shape]}, as in the y to learn from"
                )
        learn, held = self._parted(given, held)
        rows = learn.y.reshape(len(learn.y), -1)
        scale = Standardizer.fitted(rows, learn.weights)
        learn = learn._replace(y=scale(rows))
        held = held and held._replace(y=scale(held.y.reshape(len(held.y), -1)))
        self._fitted("numbers", rows.shape[1], learn, held, refit=validation is None)
        self.target_scale_, self.target_shape_ = scale, shape
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The predicted numbers, in the shape of the targets: ``[n]`` or ``[n, columns]``."""
        found = self._outputs(X).double().numpy()
        return self.target_scale_.inverse(found).reshape(len(found), *self.target_shape_)

    def explain(self, x: Any, target: int = 0) -> TreeExplanation | tuple[TreeExplanation, ...]:
        """How much each part of a tree matters to a number.

        For each node all nodes above it are computed again, so that the time for a chain grows with
        the square of its length.

        Args:
            x: a tree, or a tuple of trees, each of which is explained while the others stay whole.
            target: place of the number, if there are several.

        Raises:
            ValueError: there is no such number, or ``fit`` had another number of trees per sample.
        """
        sample, columns = self._sample(x), len(self.target_scale_.mean)
        check_place("target", target, columns)
        mean, sd = float(self.target_scale_.mean[target]), float(self.target_scale_.sd[target])
        return explain(
            self.model_,
            self.trained_.vocabulary,
            sample,
            lambda outputs: outputs[:, target].double() * sd + mean,
            None,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _state(self) -> tuple[nn.Module, dict[str, Any]]:
        module, state = super()._state()
        return module, {**state, "target_scale": self.target_scale_.to_lists()}

    def _restore(self, config: dict[str, Any]) -> nn.Module:
        scale = Standardizer.from_lists(config["target_scale"])
        assert scale is not None  # as it was saved
        self.target_scale_ = scale
        return super()._restore(config)
