"""Softmax trees as scikit-learn estimators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from structnet.checks import check_number
from structnet.estimators.described import described_by
from structnet.estimators.hyper_parameters import settings_of
from structnet.softmax_tree.estimator_base import SoftmaxTreeEstimator
from structnet.softmax_tree.settings import GrowthSettings, SoftmaxTreeSettings


@described_by(SoftmaxTreeSettings)
class SoftmaxTreeClassifier(SoftmaxTreeEstimator):
    """A classifier that is a softmax tree of a fixed depth, for few classes or very many.

    Each decision is a sparse hyperplane, each leaf a sparse softmax over a few of the classes, so
    that a prediction costs at most ``D (depth + k)`` multiplications. Settings that are None are
    chosen by the error on held-out samples; an ordinary decision tree is among the choices if that
    does not take long. Where a softmax over all classes is as good, there is one leaf, and a
    prediction costs ``D K``: ``summary()`` says so, and ``depth=4``, for example, gives a tree.

    Args:
        depth: number of decisions on each path; 0 is a flat softmax.
        max_leaf_classes: largest number k of classes in a leaf, at most all that there are. The
            others share the probability that they have together at the leaf.

    Attributes:
        classes_: classes, sorted.
        n_features_in_: number of columns of the table.
        tree_: tree, which takes scaled inputs; ``samples(X, y)`` gives them.
        settings_: settings, including those that were chosen, among them ``leaf_ridge`` and
            ``temperature``. To train again with all that was chosen, pass them to
            :func:`structnet.softmax_tree.train`.
        history_: records of the iterations.
        trained_: tree with its settings, its history and its trials of growth.
        members_: the same of each member; the first is ``trained_``.
        input_scale_: scaler of the inputs; None if they are not scaled.

    Reference:
        Zharmagambetov, Gabidolla, Carreira-Perpinan, "Softmax Tree", EMNLP 2021.

    Example:
        >>> import numpy as np
        >>> X = np.repeat([[-2.0], [-1.0], [1.0], [2.0]], 10, axis=0)
        >>> y = np.repeat(["a", "b", "c", "d"], 10)
        >>> model = SoftmaxTreeClassifier(depth=1, max_leaf_classes=2, random_state=0).fit(X, y)
        >>> model.predict([[-3.0], [1.1]]), model.predict_one(np.array([-1.0]))
        (array(['a', 'c'], dtype='<U1'), np.str_('b'))
        >>> print(model.export_text())
        |--- node 0: 1 of 1 weights (left: feature 0 ...), 100.0 % of training samples, ...
        |   |--- left, node 1: 2 classes, 2 of 2 weights (...), 50.0 % of training samples, ...
        |   |--- right, node 2: 2 classes, 2 of 2 weights (...), 50.0 % of training samples, ...
    """

    def __init__(
        self,
        depth: int | None = SoftmaxTreeSettings.depth,
        max_leaf_classes: int | None = SoftmaxTreeSettings.max_leaf_classes,
        *,
        decision_penalty: float | None = SoftmaxTreeSettings.decision_penalty,
        leaf_penalty: float | None = SoftmaxTreeSettings.leaf_penalty,
        missing_loss: float | None = SoftmaxTreeSettings.missing_loss,
        max_iter: int = SoftmaxTreeSettings.max_iter,
        tol: float = SoftmaxTreeSettings.tol,
        solver_steps: int = SoftmaxTreeSettings.solver_steps,
        start: str | None = SoftmaxTreeSettings.start,
        n_jobs: int | None = SoftmaxTreeSettings.n_jobs,
        n_members: int = 1,
        class_weight: str | Mapping[Any, float] | None = None,
        standardize: bool = True,
        random_state: Any = None,
        verbose: bool = False,
    ):
        # scikit-learn requires that every parameter is stored unchanged.
        self.__dict__.update((name, value) for name, value in locals().items() if name != "self")


@described_by(GrowthSettings, SoftmaxTreeSettings)
class AdaptiveSoftmaxTreeClassifier(SoftmaxTreeEstimator):
    """A classifier that is a softmax tree which grows where that lowers the loss enough.

    Where nothing is gained, it stays a single leaf, a softmax over all classes: ``summary()`` says
    so, and ``start_depth=4``, for example, begins with a tree.

    Its attributes are those of :class:`structnet.SoftmaxTreeClassifier`.

    Args:
        validation_fraction: share of the samples by which the round of growth and the temperature
            are chosen; the tree of that round then learns from them too.

    Reference:
        Kairgeldin, Gabidolla, Carreira-Perpinan, "Adaptive Softmax Trees for Many-Class
        Classification", UAI 2024.

    Example:
        >>> import numpy as np
        >>> X = np.repeat([[-2.0], [-1.0], [1.0], [2.0]], 20, axis=0)
        >>> y = np.repeat(["a", "b", "c", "d"], 20)
        >>> model = AdaptiveSoftmaxTreeClassifier(random_state=0).fit(X, y)
        >>> model.score(X, y), model.predict_proba(X).shape
        (1.0, (80, 4))
    """

    _lacks: ClassVar = {"depth": None, "max_leaf_classes": None}

    def __init__(
        self,
        alpha: float | None = GrowthSettings.alpha,
        rho: float | None = GrowthSettings.rho,
        start_depth: int | None = GrowthSettings.start_depth,
        *,
        start_leaf_classes: int | None = GrowthSettings.start_leaf_classes,
        step: int = GrowthSettings.step,
        ratio_of: str = GrowthSettings.ratio_of,
        alpha_of: str = GrowthSettings.alpha_of,
        max_depth: int | None = GrowthSettings.max_depth,
        max_leaves: int | None = GrowthSettings.max_leaves,
        max_rounds: int = GrowthSettings.max_rounds,
        min_samples: int = GrowthSettings.min_samples,
        decision_penalty: float | None = SoftmaxTreeSettings.decision_penalty,
        leaf_penalty: float | None = SoftmaxTreeSettings.leaf_penalty,
        missing_loss: float | None = SoftmaxTreeSettings.missing_loss,
        max_iter: int = SoftmaxTreeSettings.max_iter,
        tol: float = SoftmaxTreeSettings.tol,
        solver_steps: int = SoftmaxTreeSettings.solver_steps,
        start: str | None = SoftmaxTreeSettings.start,
        n_jobs: int | None = SoftmaxTreeSettings.n_jobs,
        n_members: int = 1,
        class_weight: str | Mapping[Any, float] | None = None,
        validation_fraction: float = 0.1,
        standardize: bool = True,
        random_state: Any = None,
        verbose: bool = False,
    ):
        self.__dict__.update((name, value) for name, value in locals().items() if name != "self")

    def _growth(self) -> GrowthSettings:
        check_number("validation_fraction", self.validation_fraction, 0, 1, open=True)
        return settings_of(self, GrowthSettings)
