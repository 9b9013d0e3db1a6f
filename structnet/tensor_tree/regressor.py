"""Numbers of trees."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from torch import nn

from structnet.checks import wrong
from structnet.estimators.outliers import warn_of_far_targets
from structnet.estimators.scale import Standardizer
from structnet.tensor_tree.building import Targets
from structnet.tensor_tree.estimator import TreeLSTMEstimator
from structnet.tensor_tree.explanation import TreeExplanation, explain
from structnet.tensor_tree.samples import counting, numbers_of


class TreeLSTMRegressor(RegressorMixin, TreeLSTMEstimator):
    """Numbers from trees, or from pairs of trees.

    With the defaults it is a Child-Sum Tree-LSTM with a vector for each label, read at the root
    and by its maximum and sum over all nodes, which says what a ridge regression on how often
    each label occurs, or on what share of a tree it is, leaves open. Its weights decay more than
    those of classes. A target far out counts as much as its square; of sizes, prices
    and the like learn the logarithm, by scikit-learn's
    ``TransformedTargetRegressor(TreeLSTMRegressor(), func=np.log1p, inverse_func=np.expm1)``;
    samples whose number is unknown, and stands as -999, say, are to be left out.

    Args: those of :class:`TreeLSTMEstimator`.

    Reference: as of :class:`TreeLSTMClassifier`.

    Example:
        >>> from structnet import TreeLSTMRegressor
        >>> X = ["(+ 1 1)", "(+ 1 (+ 1 1))", "(+ (+ 1 1) (+ 1 1))"] * 20
        >>> model = TreeLSTMRegressor(epochs=10, random_state=0).fit(X, [2, 3, 4] * 20)
        >>> model.predict(["(+ 1 (+ 1 1))"]).round(1).tolist()
        [3.0]
    """

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        validation: tuple | None = None,
        groups: Any = None,
    ) -> TreeLSTMRegressor:
        """Learns from trees and numbers.

        Args:
            X: trees, or tuples of trees.
            y: a number each, or a row of numbers each.
            sample_weight: count of each sample.
            validation: samples ``(X, y)`` to choose the epoch by, in place of some of these.
            groups: group of each sample, such as the file that it is of, where new samples will be
                of other groups; what is held out to choose by is then held out by whole groups.

        Raises:
            TypeError: a sample is no tree.
            ValueError: data or hyper-parameters that do not fit.

        Warns:
            UserWarning: a few of the numbers lie far from all others, as -999 for a missing one
                does, or one with a slipped point; the loss sees little else.
        """
        self._begin()
        samples = self._samples(X, least=2)
        samples, numbers, weights, of_groups = counting(
            samples, numbers_of(samples, y), sample_weight, groups
        )
        warn_of_far_targets(numbers, stacklevel=3)
        rows, held = numbers.reshape(len(numbers), -1), None
        if validation is not None:
            others, answers = self._validation(validation, samples)
            of = numbers_of(others, answers)
            if of.shape[1:] != numbers.shape[1:]:
                raise ValueError(
                    f"the validation targets have shape {list(of.shape)}; expected "
                    f"{[len(others), *numbers.shape[1:]]}, as of the y to learn from"
                )
            held = Targets(others, of.reshape(len(others), -1))
        learn, held = self._parted(Targets(samples, rows, weights, of_groups), held)
        scale = Standardizer.fitted(learn.answers, learn.weights)
        learn = replace(learn, answers=scale(learn.answers))
        held = held and replace(held, answers=scale(held.answers))
        self._fitted("numbers", rows.shape[1], learn, held, validation is not None)
        self.scale_, self.target_shape_ = scale, numbers.shape[1:]
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The numbers, of the shape of the targets: ``[n]`` or ``[n, columns]``."""
        found = self._outputs(X).double().numpy()
        return self.scale_.inverse(found).reshape(len(found), *self.target_shape_)

    def explain(self, x: Any, column: int = 0) -> TreeExplanation | tuple[TreeExplanation, ...]:
        """How much each part of a tree matters to a number.

        Args:
            x: a tree; or the trees of a sample, each of which is explained while the others stay.
            column: place of the number, where there are several.

        Raises:
            ValueError: no such column, or samples are of another number of trees.
        """
        sample, columns = self._sample(x), len(self.scale_.mean)
        if column not in range(columns):
            raise wrong("column", f"an int from 0 to {columns - 1}", column, "explain")
        mean, sd = float(self.scale_.mean[column]), float(self.scale_.sd[column])
        return explain(
            self.model_,
            self.trained_.vocabulary,
            sample,
            lambda outputs: outputs[:, column].double() * sd + mean,
            None,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _state(self) -> tuple[nn.Module, dict[str, Any]]:
        module, state = super()._state()
        return module, {**state, "scale": self.scale_.to_lists()}

    def _restore(self, config: dict[str, Any]) -> nn.Module:
        scale = Standardizer.from_lists(config["scale"])
        assert scale is not None  # as it was saved
        self.scale_ = scale
        return super()._restore(config)
