"""Softmax trees as scikit-learn estimators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from torch import nn

from structnet.checks import check_bool, check_number
from structnet.estimators.checked import Checked, encode_labels, seed_from
from structnet.estimators.class_weights import both_weighed
from structnet.estimators.described import described_by
from structnet.estimators.failed_fit import whole
from structnet.estimators.held_out import parted
from structnet.estimators.hyper_parameters import settings_of
from structnet.estimators.inputs import check_inputs, check_training, in_single, one_label_each
from structnet.estimators.scale import Standardizer
from structnet.estimators.tree_estimator import TreeClassifierMixin, TreeEstimatorMixin
from structnet.softmax_tree.measures import Measures, measured
from structnet.softmax_tree.settings import ChosenSettings, GrowthSettings, SoftmaxTreeSettings
from structnet.softmax_tree.training import Trained, train
from structnet.softmax_tree.tree import Choices, Predictor, SoftmaxTree
from structnet.training.history import History


class SoftmaxTreeEstimator(TreeClassifierMixin, TreeEstimatorMixin, BaseEstimator):
    """The common part of both classifiers.

    Args:
        class_weight: class -> weight, 1 for classes that are not named, multiplied by the weight of
            the sample; "balanced" gives all classes the same total weight. The validation samples
            are weighted too.
        standardize: scaling of each column to mean 0 and standard deviation 1 over the training
            samples; sparse data, which stay sparse, are scaled as a whole to mean square 1, except
            that a column of far larger numbers is scaled separately.
        random_state: seed; an int makes results repeatable.
        verbose: True to report trials and progress on standard error from time to time.

    The others are those of :class:`structnet.softmax_tree.SoftmaxTreeSettings`.
    """

    trained_: Trained
    input_scale_: Standardizer | None
    standardize: bool
    random_state: Any
    verbose: bool
    validation_fraction: float
    class_weight: Any
    _asking: Predictor | None
    _lacks: ClassVar[dict[str, Any]] = {}  # settings of the tree that are no parameters

    @whole
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> SoftmaxTreeEstimator:
        """Trains the tree.

        Args:
            X: samples: a table, dense or sparse.
            y: classes of the samples.
            sample_weight: number of times that each sample counts; 0 leaves it out, not its class.
            X_val, y_val, sample_weight_val: samples, classes and weights by which the settings of a
                fixed tree that were not given are chosen, instead of by a part of X; or the round
                of growth, while settings are chosen by a part of X. ``history_`` tells their error.

        Shapes:
            X ``[n, D]``; y, sample_weight ``[n]``.

        Raises:
            ValueError: the data or a parameter is invalid; the message says which.
        """
        settings, growth = self._settings(), self._growth()
        given = self._checked(X, y, sample_weight, reset=True)
        held_out = self._checked_validation(X_val, y_val, sample_weight_val)
        given, held_out = both_weighed(given, held_out, self.classes_, self.class_weight)
        self.seed_ = seed_from(self.random_state)
        settings, learn = settings.of_at_most(len(self.classes_), seed=self.seed_), given
        aside = growth is not None and held_out is None
        if aside:
            learn, held_out = self._parted(given)
        scale = Standardizer.of_rows(learn.x, learn.weights) if self.standardize else None
        self.input_scale_ = scale
        self.trained_ = train(
            self._scaled(learn.x),
            learn.y,
            settings,
            growth,
            num_classes=len(self.classes_),
            weights=learn.weights,  # unscaled, as a weight of 2 is a row that occurs twice
            validation=held_out and (self._scaled(held_out.x), *held_out[1:]),
            refit=aside,
            progress=self.verbose,
        )
        self._asking = None
        return self

    @property
    def tree_(self) -> SoftmaxTree:
        """The tree; it takes scaled inputs, and its classes are positions in ``classes_``."""
        check_is_fitted(self)
        return self.trained_.tree

    @property
    def history_(self) -> History:
        """A record for each iteration; see :class:`structnet.softmax_tree.Trained`."""
        check_is_fitted(self)
        return self.trained_.history

    @property
    def settings_(self) -> ChosenSettings:
        """The settings of the training, including those that were chosen."""
        check_is_fitted(self)
        return self.trained_.settings

    @property
    def n_iter_(self) -> int:
        """The number of iterations over all nodes, in all rounds; at least 1."""
        return max(1, len(self.history_) - 1)

    # Prediction

    def predict(self, X: Any) -> np.ndarray:
        """The likeliest class of each sample, ``[n]``."""
        tree, x = self._asked_alone(X)
        return self.classes_[tree.classes_of(x)]

    def predict_proba(self, X: Any, sparse: bool = False) -> np.ndarray | csr_matrix:
        """The probability of each class, in the order of ``classes_``.

        Args:
            X: samples.
            sparse: True returns a CSR matrix with only the classes of each sample's leaf; the
                others share what is missing from 1 by their frequency.

        Shapes:
            ``[n, classes]``.
        """
        choices = self._choices(X)
        if sparse:
            return choices.matrix(len(self.classes_))
        found = choices.dense(len(self.classes_))
        return np.exp(found, out=found)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Log-probabilities, -inf for classes of no sample. ``[n, classes]``."""
        return self._choices(X).dense(len(self.classes_))

    def _top(self, X: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
        places, prob = self._choices(X).top(min(k, len(self.classes_)))
        return self.classes_[places], prob

    def predict_one(self, x: np.ndarray) -> Any:
        """The class of one row, whose values are not checked, for low latency.

        Shapes:
            x ``[D]``, an array of numbers.

        Raises:
            ValueError: x is of another type or shape.
        """
        return self.classes_[self._predictor().class_of(x)]

    def predict_proba_one(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The classes in one unchecked row's leaf, and their probabilities. ``[D] -> [k], [k]``."""
        places, prob = self._predictor().probabilities(x)
        return self.classes_[places], prob

    def measure(self, X: Any, y: Any, sample_weight: Any = None) -> Measures:
        """Error, size and cost of the tree on samples; ``print`` shows them.

        Samples of a class that did not occur in training are wrong and not covered.

        Raises:
            ValueError: the data do not fit those of ``fit``, or have none of its classes.
        """
        check_is_fitted(self)
        found = check_training(self, X, one_label_each(y), sample_weight, reset=False).counting(1)
        known = np.isin(found.y, self.classes_)
        asked = known if known.any() else ~known  # if none is known, encode_labels raises
        codes = np.full(len(known), -1)
        codes[asked] = encode_labels(found.y[asked], self.classes_)[1]
        return measured(self.tree_, found._replace(y=codes).samples(*self._scales()))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return "trained_" in vars(self)

    # Fitting

    def _settings(self) -> SoftmaxTreeSettings:
        """The hyper-parameters, whose ranges are checked."""
        check_bool("standardize", self.standardize)
        return settings_of(self, SoftmaxTreeSettings, seed=0, **self._lacks)

    def _growth(self) -> GrowthSettings | None:
        """The hyper-parameters of growth; None if the tree does not grow."""
        return None

    def _parted(self, given: Checked) -> tuple[Checked, Checked | None]:
        """Samples to learn from, and those that choose the round; None if there are too few."""
        learn, held = parted(len(given.y), self.validation_fraction, self.seed_, given.y)
        return given.take(learn), None if held is None else given.take(held)

    # Called by the mixins

    def __getstate__(self) -> dict[str, Any]:
        """The state without the predictor for single rows, which is made again when needed."""
        return {**super().__getstate__(), "_asking": None}

    def _predictor(self) -> Predictor:
        asking = getattr(self, "_asking", None)
        if asking is None:
            asking = self._asking = Predictor(self.tree_, self.input_scale_)
        return asking

    def _scaled(self, x: Any) -> Any:
        x = x if self.input_scale_ is None else self.input_scale_(x)
        return in_single(x)

    def _choices(self, X: Any) -> Choices:
        tree, x = self._asked_alone(X)
        return tree.choices(x)

    def _asked_alone(self, X: Any) -> tuple[SoftmaxTree, Any]:
        check_is_fitted(self)
        return self._asked(check_inputs(self, X))[0]

    def _trees(self) -> Sequence[SoftmaxTree]:
        return [self.tree_]

    def _asked(self, x: Any) -> list[tuple[SoftmaxTree, Any]]:
        return [(self.tree_, self._scaled(x))]

    def _scales(self) -> tuple[Standardizer | None, None]:
        return self.input_scale_, None

    # On disk

    def _state(self) -> tuple[nn.Module, dict[str, Any]]:
        scale = self.input_scale_ and self.input_scale_.to_lists()
        return self.tree_, {"trained": self.trained_.config(), "input_scale": scale}

    def _restore(self, config: dict[str, Any]) -> nn.Module:
        self.trained_ = Trained.from_config(config["trained"])
        self.input_scale_ = Standardizer.from_lists(config["input_scale"])
        return self.tree_


@described_by(SoftmaxTreeSettings)
class SoftmaxTreeClassifier(SoftmaxTreeEstimator):
    """A classifier that is a softmax tree of a fixed depth, for few classes or very many.

    Each decision is a sparse hyperplane, each leaf a sparse softmax over a few of the classes, so
    that a prediction costs at most ``D (depth + k)`` multiplications. Settings that are None are
    chosen by the error on held-out samples; an ordinary decision tree is among the choices if that
    does not take long.

    Args:
        depth: number of decisions on each path; 0 is a flat softmax.
        k: largest number of classes in a leaf, at most all that there are. The others share the
            probability that they have together at the leaf.

    Attributes:
        classes_: classes, sorted.
        n_features_in_: number of columns of the table.
        tree_: tree, which takes scaled inputs; ``samples(X, y)`` gives them.
        settings_: settings, including those that were chosen, among them ``leaf_ridge`` and
            ``temperature``. To train again with all that was chosen, pass them to
            :func:`structnet.softmax_tree.train`.
        history_: records of the iterations.
        trained_: tree with its settings, its history and its trials of growth.
        input_scale_: scaler of the inputs; None if they are not scaled.

    Reference:
        Zharmagambetov, Gabidolla, Carreira-Perpinan, "Softmax Tree", EMNLP 2021.

    Example:
        >>> X = np.repeat([[-2.0], [-1.0], [1.0], [2.0]], 10, axis=0)
        >>> y = np.repeat(["a", "b", "c", "d"], 10)
        >>> model = SoftmaxTreeClassifier(depth=1, k=2, random_state=0).fit(X, y)
        >>> model.predict([[-3.0], [1.1]]), model.predict_one(np.array([-1.0]))
        (array(['a', 'c'], dtype='<U1'), np.str_('b'))
        >>> print(model.export_text())
        |--- node 0: 1 of 1 weights (left: feature 0 ...)
        |   |--- left, node 1: 2 classes, 2 of 2 weights
        |   |--- right, node 2: 2 classes, 2 of 2 weights
    """

    def __init__(
        self,
        depth: int | None = SoftmaxTreeSettings.depth,
        k: int | None = SoftmaxTreeSettings.k,
        *,
        decision_penalty: float | None = SoftmaxTreeSettings.decision_penalty,
        leaf_penalty: float | None = SoftmaxTreeSettings.leaf_penalty,
        missing_loss: float | None = SoftmaxTreeSettings.missing_loss,
        max_iter: int = SoftmaxTreeSettings.max_iter,
        tol: float = SoftmaxTreeSettings.tol,
        solver_steps: int = SoftmaxTreeSettings.solver_steps,
        start: str | None = SoftmaxTreeSettings.start,
        n_jobs: int | None = SoftmaxTreeSettings.n_jobs,
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

    Its attributes are those of :class:`structnet.SoftmaxTreeClassifier`.

    Args:
        validation_fraction: share of the samples by which the round of growth and the temperature
            are chosen; the tree of that round then learns from them too.

    Reference:
        Kairgeldin, Gabidolla, Carreira-Perpinan, "Adaptive Softmax Trees for Many-Class
        Classification", UAI 2024.

    Example:
        >>> X = np.repeat([[-2.0], [-1.0], [1.0], [2.0]], 20, axis=0)
        >>> y = np.repeat(["a", "b", "c", "d"], 20)
        >>> model = AdaptiveSoftmaxTreeClassifier(random_state=0).fit(X, y)
        >>> model.score(X, y), model.predict_proba(X).shape
        (1.0, (80, 4))
    """

    _lacks: ClassVar = {"depth": None, "k": None}

    def __init__(
        self,
        alpha: float | None = GrowthSettings.alpha,
        rho: float | None = GrowthSettings.rho,
        start_depth: int | None = GrowthSettings.start_depth,
        *,
        start_k: int | None = GrowthSettings.start_k,
        step: int = GrowthSettings.step,
        ratio_of: str = GrowthSettings.ratio_of,
        k_from: str = GrowthSettings.k_from,
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
