"""Neural trees as scikit-learn estimators."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np

from structnet.estimators.checked import Checked
from structnet.estimators.described import described_by
from structnet.estimators.inputs import check_inputs
from structnet.estimators.outliers import warn_of_far_targets
from structnet.estimators.tree_estimator import TreeClassifierMixin, TreeRegressorMixin
from structnet.neural_tree.estimator_base import NeuralTreeEstimator
from structnet.neural_tree.likelihood import Categorical, GaussianMixture, SquaredError
from structnet.neural_tree.settings import NeuralTreeSettings


@described_by(NeuralTreeSettings)
class NeuralTreeClassifier(TreeClassifierMixin, NeuralTreeEstimator):
    """A classifier that is an adaptive neural tree, or the average of several.

    Refinement keeps the epoch with the highest validation accuracy, as in the paper; after it the
    tree also learns from the validation samples, for no more epochs than lowered their loss, unless
    ``fit`` was given some. The log-probabilities of classes are divided by a temperature at which
    the validation samples are likeliest, if that is surely not 1. On a table, the tree starts as a
    linear model with a penalty whose strength is chosen on held-out samples; if it stays one, it is
    not refined. What grows from it has the same penalty, and the loss has a say in the choice of
    the epoch, too, as the accuracies of few samples differ by chance.

    Args:
        loss: "log_loss", the only one (also if None).
        class_weight: class -> weight, 1 for classes that are not named, multiplied by the weight of
            the sample; "balanced" gives all classes the same total weight. The validation samples
            are weighted too.
        validation_fraction: share of the samples that is held out for validation; it has the same
            class proportions.

    Attributes:
        classes_: classes, sorted.
        n_features_in_: columns of the table, or channels of the images.
        sample_shape_: shape of one sample.
        tree_: tree of the first member. It takes standardized inputs, which ``samples(X, y)``
            gives; ``plot(X, y)``, ``export_text(X, y)`` and ``explain(x)`` take the user's own.
        trained_, history_: tree, decisions and records of the first member; see there.
        columns_: columns that the first tree reads, ascending; None if it reads all.
        settings_: settings of the first member's training, with the seed that was drawn for it,
            such as :func:`structnet.neural_tree.train` takes.
        members_: all members, each with ``tree``, ``decisions`` and ``history``.

    Reference:
        Tanno et al., "Adaptive Neural Trees", ICML 2019.

    Example:
        >>> X = np.repeat([[-2.0], [-1.0], [1.0], [2.0]], 20, axis=0)
        >>> y = np.repeat(["out", "in", "in", "out"], 20)
        >>> model = NeuralTreeClassifier(max_leaves=3, random_state=0).fit(X, y)
        >>> model.predict([[-3.0], [-0.5], [3.0]]), model.predict_proba(X).shape
        (array(['out', 'in', 'out'], dtype='<U3'), (80, 2))
    """

    _losses = MappingProxyType({"log_loss": Categorical})


@described_by(NeuralTreeSettings)
class NeuralTreeRegressor(TreeRegressorMixin, NeuralTreeEstimator):
    """A regressor, for one target column or several, that is an adaptive neural tree.

    It is trained and has attributes as :class:`structnet.NeuralTreeClassifier`, except for
    ``classes_``; refinement keeps the epoch with the lowest validation loss.

    Args:
        class_weight: None, as numbers have no classes.
        loss: "squared_error" (also if None) of the mean over all leaves, or "gaussian", the
            negative log-likelihood of a mixture with one Gaussian for each leaf. With fewer than
            ten samples for each column, a tree with "gaussian" does not learn from the validation
            samples at the end.
        min_gain: decrease of the validation loss, of the standardized targets, that a split or a
            deepening must exceed.
        validation_fraction: share of the samples that is held out for validation, drawn at random.

    Warns:
        UserWarning: a few of the numbers are far from all others, such as -999 for a missing value,
            or a number with a misplaced decimal point; they dominate the loss.

    Reference:
        Tanno et al., "Adaptive Neural Trees", ICML 2019.

    Example:
        >>> X = np.linspace(-1, 1, 200)[:, None]
        >>> model = NeuralTreeRegressor(max_leaves=2, random_state=0).fit(X, np.abs(X[:, 0]))
        >>> model.score(X, np.abs(X[:, 0])) > 0.98
        True
    """

    _losses = MappingProxyType({"squared_error": SquaredError, "gaussian": GaussianMixture})

    def _checked(self, *given: Any, reset: bool) -> Checked:
        found = super()._checked(*given, reset=reset)
        if reset:
            warn_of_far_targets(found.y, stacklevel=5)  # the caller of fit, which `whole` wraps
        return found

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The means and, if requested, the standard deviations of the predicted distribution.

        Args:
            X: samples, as for ``fit``.
            return_std: return both; for ``loss="gaussian"`` and all leaves (``path="multi"``).

        Shapes:
            means, deviations: ``[n]`` or ``[n, columns]``, like the targets.

        Raises:
            ValueError: deviations are requested with another loss or path, or the samples are not
                like those of ``fit``.

        Example:
            >>> X = np.linspace(0, 1, 100)[:, None]
            >>> model = NeuralTreeRegressor(loss="gaussian", max_leaves=1, random_state=0).fit(X, X)
            >>> mean, deviation = model.predict(X, return_std=True)
            >>> mean.shape, deviation.shape, bool((deviation > 0).all())
            ((100, 1), (100, 1), True)
        """
        mean = super().predict(X)
        if not return_std:
            return mean
        if self.loss != "gaussian" or self.path != "multi":
            raise ValueError(
                "return_std=True is for mixtures of Gaussians; expected loss='gaussian' and "
                f"path='multi'. Got loss={self.loss or 'squared_error'!r} and path={self.path!r}."
            )
        pairs = zip(self.members_, self._ready(check_inputs(self, X)), strict=True)
        moments = [member.moments(tree, x, self.batch_size) for member, (tree, x) in pairs]
        means, variances = zip(*moments, strict=True)
        spread = np.mean(variances, axis=0) + np.var(means, axis=0)  # within and between members
        return mean, np.sqrt(spread).reshape(mean.shape)
