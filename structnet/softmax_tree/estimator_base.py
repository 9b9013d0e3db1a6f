"""The common part of the scikit-learn classes: fit, predict, save, load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import networkx as nx
import numpy as np
from scipy.sparse import csr_matrix, issparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from torch import nn

from structnet.checks import check_bool, check_integer
from structnet.estimators.checked import Checked, encode_labels, seed_from
from structnet.estimators.class_weights import both_weighed
from structnet.estimators.counts import learned_scale, scale_of_lists
from structnet.estimators.failed_fit import whole
from structnet.estimators.held_out import check_several, parted
from structnet.estimators.hyper_parameters import settings_of
from structnet.estimators.inputs import (
    check_inputs,
    check_training,
    in_single,
    one_label_each,
    one_sample,
)
from structnet.estimators.scale import Standardizer
from structnet.estimators.tree_estimator import TreeClassifierMixin, TreeEstimatorMixin
from structnet.routing import report
from structnet.softmax_tree.measures import Measures, measured
from structnet.softmax_tree.members import (
    choices_about,
    further,
    likeliest,
    mean_choices,
    mean_log_proba,
)
from structnet.softmax_tree.networkx_tree import with_weights
from structnet.softmax_tree.settings import ChosenSettings, GrowthSettings, SoftmaxTreeSettings
from structnet.softmax_tree.solved_leaf import leaf_in_words
from structnet.softmax_tree.training import ONE_LEAF, Trained, train
from structnet.softmax_tree.tree import Choices, Predictor, SoftmaxTree
from structnet.training.history import History


class SoftmaxTreeEstimator(TreeClassifierMixin, TreeEstimatorMixin, BaseEstimator):
    """The common part of both classifiers.

    Args:
        n_members: number of trees, whose probabilities are averaged: more accurate than one, and
            slower in proportion. The first, ``tree_``, is the same as a single one; the others are
            trained with its settings, each on a bootstrap sample.
        class_weight: class -> weight, 1 for classes that are not named, multiplied by the weight of
            the sample; "balanced" gives all classes the same total weight. The validation samples
            are weighted too.
        standardize: scaling of each column to mean 0 and standard deviation 1 over the training
            samples; columns with heavy tails are bent first, see
            :class:`structnet.estimators.tails.BentStandardizer`. Sparse data, which stay sparse,
            are scaled as a whole to mean square 1, except that a column of far larger numbers is
            scaled separately; of counts, mostly ones, the logarithms are scaled, more where few
            samples have a column, and samples get one length, see
            :class:`structnet.estimators.counts.CountStandardizer`.
        random_state: seed; an int makes results repeatable.
        verbose: True to report trials and progress on standard error from time to time.

    The others are those of :class:`structnet.softmax_tree.SoftmaxTreeSettings`.
    """

    members_: list[Trained]
    input_scale_: Standardizer | None
    standardize: bool
    random_state: Any
    verbose: bool
    validation_fraction: float
    class_weight: Any
    n_members: int
    _asking: list[Predictor] | None
    _lacks: ClassVar[dict[str, Any]] = {}  # settings of the tree that are no parameters

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
    ) -> SoftmaxTreeEstimator:
        """Trains the tree.

        Args:
            X: samples: a table, dense or sparse.
            y: classes of the samples.
            sample_weight: number of times that each sample counts; 0 leaves it out, not its class.
            groups: group of each sample, such as the patient it comes from, if new samples will
                come from other groups; samples are then held out in whole groups.
            X_val, y_val, sample_weight_val: samples, classes and weights by which the settings of a
                fixed tree that were not given are chosen, instead of by a part of X; or the round
                of growth, while settings are chosen by a part of X. ``history_`` tells their error.

        Shapes:
            X ``[n, D]``; y, sample_weight, groups ``[n]``.

        Raises:
            ValueError: the data or a parameter is invalid; the message says which.
        """
        settings, growth = self._settings(), self._growth()
        given = seen = self._checked(X, y, sample_weight, groups, reset=True)
        held_out = self._checked_validation(X_val, y_val, sample_weight_val)
        if held_out is None:
            check_several(given.groups)
        elif given.groups is not None and not np.ptp(given.groups):
            given = given._replace(groups=None)  # of one group, trials hold out rows
        given, held_out = both_weighed(given, held_out, self.classes_, self.class_weight)
        self.seed_ = seed_from(self.random_state)
        settings, learn = settings.of_at_most(len(self.classes_), seed=self.seed_), given
        aside = growth is not None and held_out is None
        if aside:
            learn, held_out = self._parted(given)
        self.input_scale_ = self._new_scale(learn)
        x, y, weights = self._scaled(learn.x), learn.y, learn.weights
        how: dict[str, Any] = {
            "groups": learn.groups,
            "num_classes": len(self.classes_),
            "validation": held_out and (self._scaled(held_out.x), *held_out[1:]),
            "refit": aside,
            "progress": self.verbose,
        }
        # Weights are unscaled, as a weight of 2 is a row that occurs twice.
        first = train(x, y, settings, growth, weights=weights, **how)
        self.members_ = [first, *further(first, self.n_members - 1, x, y, weights, **how)]
        self._asking = None
        self._count(seen)
        return self

    @property
    def trained_(self) -> Trained:
        """The first tree with its settings, its history and its trials of growth."""
        check_is_fitted(self)
        return self.members_[0]

    @property
    def tree_(self) -> SoftmaxTree:
        """The tree; it takes scaled inputs, and its classes are positions in ``classes_``."""
        return self.trained_.tree

    @property
    def history_(self) -> History:
        """A record for each iteration; see :class:`structnet.softmax_tree.Trained`."""
        return self.trained_.history

    @property
    def settings_(self) -> ChosenSettings:
        """The settings of the training, including those that were chosen."""
        return self.trained_.settings

    @property
    def n_iter_(self) -> int:
        """The number of iterations over all nodes, in all rounds; at least 1."""
        return max(1, len(self.history_) - 1)

    # Prediction

    def predict(self, X: Any) -> np.ndarray:
        """The likeliest class of each sample, ``[n]``."""
        places = likeliest(*self._all_ready(X))
        return self.classes_[places]

    def predict_proba(self, X: Any, sparse: bool = False) -> np.ndarray | csr_matrix:
        """The probability of each class, in the order of ``classes_``.

        Args:
            X: samples.
            sparse: True returns a CSR matrix with only the classes of the leaves that each sample
                reaches; the others share what is missing from 1 by their frequency.

        Shapes:
            ``[n, classes]``.
        """
        if sparse:
            return self._choices(X).matrix(len(self.classes_))
        found = self.predict_log_proba(X)
        return np.exp(found, out=found)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Log-probabilities, -inf for classes of no sample. ``[n, classes]``."""
        return mean_log_proba(*self._all_ready(X))

    def _top(self, X: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
        places, prob = self._choices(X).top(min(k, len(self.classes_)))
        return self.classes_[places], prob

    def predict_one(self, x: np.ndarray) -> Any:
        """The class of one row, whose values are not checked, for low latency.

        A row of a data frame, or of a sparse matrix, is checked, which takes longer.

        Shapes:
            x ``[D]``, an array of numbers, or ``[1, D]`` if it is sparse.

        Raises:
            ValueError: x is of another type or shape.
        """
        predictors, x = self._predictors(), self._unnamed(x)
        if len(predictors) > 1:
            return self.classes_[choices_about(predictors, x).likeliest()[0]]
        return self.classes_[predictors[0].class_of(x)]

    def predict_proba_one(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The classes in one unchecked row's leaf, or leaves, and their probabilities.

        Shapes:
            ``[D] -> [k], [k]``.
        """
        found = choices_about(self._predictors(), self._unnamed(x))
        return self.classes_[found.classes], np.exp(found.log_prob)

    def _unnamed(self, x: Any) -> Any:
        """A row of a data frame or sparse matrix as an array, ``[D]``, checked; others as is."""
        if isinstance(x, np.ndarray) or not (hasattr(x, "to_numpy") or issparse(x)):
            return x
        checked: Any = check_inputs(self, one_sample(self, x))
        return checked.toarray()[0] if issparse(checked) else checked[0]

    def measure(self, X: Any, y: Any, sample_weight: Any = None) -> Measures:
        """Error, size and cost of all trees together on samples; ``print`` shows them.

        Samples of a class that did not occur in training are wrong and not covered.

        Raises:
            ValueError: the data do not fit those of ``fit``, or have none of its classes.
        """
        check_is_fitted(self)
        found = check_training(self, X, one_label_each(y), sample_weight, reset=False).counting(1)
        known = np.isin(found.y, self.classes_)
        judged = known if known.any() else ~known  # if none is known, encode_labels raises
        codes = np.full(len(known), -1)
        codes[judged] = encode_labels(found.y[judged], self.classes_)[1]
        return measured(self._trees(), found._replace(y=codes).samples(*self._scales()))

    def summary(self, X: Any = None) -> report.Summary:
        """The size of the first tree, and the cost of a prediction.

        Of a single leaf that was chosen, ``note`` says what to set for a tree.

        Args:
            X: samples from which to measure how often each leaf is reached.

        Raises:
            ValueError: samples of another shape than in ``fit``.
        """
        found = super().summary(X)
        name = "depth" if self._growth() is None else "start_depth"
        alone = found.leaves == 1 and getattr(self, name) is None
        note = ONE_LEAF.format(leaf_in_words(self.settings_, self.n_features_in_), name)
        return replace(found, note=note) if alone else found

    def to_networkx(self) -> nx.DiGraph:
        """The tree as a networkx graph with all weights; see :func:`.tree_from_networkx`."""
        return with_weights(self.tree_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return "members_" in vars(self)

    # Fitting

    def _settings(self) -> SoftmaxTreeSettings:
        """The hyper-parameters, whose ranges are checked."""
        check_bool("standardize", self.standardize)
        check_integer("n_members", self.n_members, 1)
        return settings_of(self, SoftmaxTreeSettings, seed=0, **self._lacks)

    def _growth(self) -> GrowthSettings | None:
        """The hyper-parameters of growth; None if the tree does not grow."""
        return None

    def _parted(self, given: Checked) -> tuple[Checked, Checked | None]:
        """Samples to learn from, and those that choose the round; None if there are too few."""
        of = given.y, given.groups
        learn, held = parted(len(given.y), self.validation_fraction, self.seed_, *of)
        return given.take(learn), None if held is None else given.take(held)

    # Called by the mixins

    def __getstate__(self) -> dict[str, Any]:
        """The state without the predictor for single rows, which is made again when needed."""
        return {**super().__getstate__(), "_asking": None}

    def _predictors(self) -> list[Predictor]:
        asking = getattr(self, "_asking", None)
        if asking is None:
            asking = self._asking = [tree.predictor(self.input_scale_) for tree in self._trees()]
        return asking

    def _new_scale(self, learn: Checked) -> Standardizer | None:
        return learned_scale(learn.x, learn.y, learn.weights) if self.standardize else None

    def _scaled(self, x: Any) -> Any:
        x = x if self.input_scale_ is None else self.input_scale_(x)
        return in_single(x)

    def _choices(self, X: Any) -> Choices:
        return mean_choices(*self._all_ready(X))

    def _all_ready(self, X: Any) -> tuple[Sequence[SoftmaxTree], Any]:
        return self._trees(), self._scaled(check_inputs(self, X))

    def _trees(self) -> Sequence[SoftmaxTree]:
        check_is_fitted(self)
        return [member.tree for member in self.members_]

    def _ready(self, x: Any) -> list[tuple[SoftmaxTree, Any]]:
        scaled = self._scaled(x)
        return [(tree, scaled) for tree in self._trees()]

    def _scales(self) -> tuple[Standardizer | None, None]:
        return self.input_scale_, None

    # On disk

    def _state(self) -> tuple[nn.Module, dict[str, Any]]:
        scale = self.input_scale_ and self.input_scale_.to_lists()
        members = [member.config() for member in self.members_]
        return nn.ModuleList(self._trees()), {"members": members, "input_scale": scale}

    def _restore(self, config: dict[str, Any]) -> nn.Module:
        self.input_scale_ = scale_of_lists(config["input_scale"])
        self.members_ = [Trained.from_config(member) for member in config["members"]]
        return nn.ModuleList(self._trees())
