"""The scikit-learn class of label trees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from torch import nn

from structnet.checks import check_bool, check_integer, check_jobs, num_threads
from structnet.estimators.checked import Checked, encode_labels, numbered, seed_from
from structnet.estimators.class_weights import both_weighed
from structnet.estimators.counts import learned_scale, scale_of_lists
from structnet.estimators.described import described_by
from structnet.estimators.failed_fit import whole
from structnet.estimators.inputs import (
    check_inputs,
    check_training,
    check_weights,
    in_single,
    one_label_each,
)
from structnet.estimators.scale import Standardizer
from structnet.estimators.tree_estimator import TreeClassifierMixin, TreeEstimatorMixin
from structnet.label_tree.beginning import begin
from structnet.label_tree.class_parts import choose_parts
from structnet.label_tree.codes import LabelCodes
from structnet.label_tree.examples import Examples
from structnet.label_tree.features import Features
from structnet.label_tree.parted import PartedTree, PartsMixin
from structnet.label_tree.settings import LabelTreeSettings
from structnet.label_tree.stream import Stream
from structnet.label_tree.streaming import StreamMixin
from structnet.label_tree.tokens import bags_of, check_learnable, checked_bags
from structnet.label_tree.training import Training
from structnet.label_tree.tree import LabelTree
from structnet.routing.explanation import Explanation, explain
from structnet.routing.protocol import RoutedTree
from structnet.routing.reading import chosen_names
from structnet.routing.report import Summary
from structnet.routing.visits import leaf_of
from structnet.training.history import History
from structnet.training.progress import Progress

# What nobody has measured a gain of is left to LabelTreeSettings.
OTHERS = ("gain", "prior", "method", "seed")
OWN: dict[str, Any] = {
    each.name: each.default for each in fields(LabelTreeSettings) if each.name not in OTHERS
}


@described_by(LabelTreeSettings)
class LabelTreeClassifier(
    StreamMixin, PartsMixin, TreeClassifierMixin, TreeEstimatorMixin, BaseEstimator
):
    """A classifier for very many classes: a tree of softmaxes whose leaves are the classes.

    Settings that are None are chosen from the data, except for ``max_depth``, without which there
    is no limit.

    Args:
        tree: kind of tree, "learned", "huffman", "clusters", "complete" or "random" (see
            :class:`structnet.label_tree.LabelTreeSettings`; by default the best of three); or your
            own tree, which stays as it is: nested lists of positions in the sorted classes, or
            :class:`structnet.label_tree.LabelCodes`.
        parts: number of parts of each class, found by k-means, so that a class may be several
            clusters, at most a third of its samples. The tree tells parts, and a class is as likely
            as its parts together. By default more than one if that is better on held-out samples,
            of a dense table where a single node may be taken; of a small one, parts are then fitted
            to tell classes, in the columns that tell something.
        class_weight: class -> weight, 1 for classes that are not named, multiplied by the weight of
            the sample; "balanced" gives all classes the same total weight, in ``fit`` alone.
        tokens: take lists of token ids, not rows; ids above those of ``fit`` are left out.
        standardize: scale the columns of a dense table to mean 0 and standard deviation 1, after
            ``fit`` has bent those with heavy tails, see
            :class:`structnet.estimators.tails.BentStandardizer`; sparse rows as a whole to mean
            square 1, a column of far larger numbers separately; and counts by their logarithms
            and to one length for all samples, see
            :class:`structnet.estimators.counts.CountStandardizer`.
        n_jobs: number of threads, -1 for all cores; None is one, and only one gives repeatable
            results.
        random_state: seed; an int makes results repeatable.
        verbose: True to report trials and progress on standard error from time to time.

    Attributes:
        classes_: classes, sorted.
        n_features_in_: number of columns, or the highest token plus one.
        tree_: tree, a :class:`.LabelTree`, which takes standardized inputs.
        part_classes_: place in ``classes_`` of each label of the tree; a class of several parts has
            as many labels.
        settings_: settings, including those that were chosen.
        history_: records of the epochs; none if a single node on a table, or naive Bayes, needed
            none.
        input_scale_: scaler of the inputs; None if they stay as they are.
        trained_: training, with the records of its reassignments, ``rebuilds``.

    Reference:
        Jernite et al., ICML 2017.

    Example:
        >>> X = np.repeat(np.arange(6.0), 20)[:, None] ** [1, 2]
        >>> y = np.repeat(["ant", "bee", "cow", "dog", "eel", "fox"], 20)
        >>> model = LabelTreeClassifier(arity=2, random_state=0).fit(X, y)
        >>> model.predict([[0, 0], [5, 25]])
        array(['ant', 'fox'], dtype='<U3')
    """

    n_features_in_: int

    def __init__(
        self,
        *,
        tree: Any = OWN["tree"],
        arity: int | None = OWN["arity"],
        vector_size: int | None = OWN["vector_size"],
        epochs: int | None = OWN["epochs"],
        learning_rate: float | None = OWN["learning_rate"],
        start: str | None = OWN["start"],
        rebuilds: int = OWN["rebuilds"],
        prior_weight: float = OWN["prior_weight"],
        max_depth: int | None = OWN["max_depth"],
        memory: float = OWN["memory"],
        bias: bool = OWN["bias"],
        temperature: float | None = OWN["temperature"],
        parts: int | None = None,
        class_weight: str | Mapping[Any, float] | None = None,
        tokens: bool = False,
        standardize: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ):
        # scikit-learn requires that every parameter is stored as it was given.
        self.__dict__.update((name, value) for name, value in locals().items() if name != "self")

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
    ) -> LabelTreeClassifier:
        """Trains a tree, and chooses the settings that were not given.

        Args:
            X: samples: a table, a sparse matrix, or lists of token ids.
            y: classes of the samples.
            sample_weight: number of times that each sample counts; 0 leaves it out, but not its
                class.
            groups: group of each sample, such as the patient it comes from, if new samples will
                come from other groups; samples are then held out in whole groups.
            X_val, y_val, sample_weight_val: samples, classes and weights by which settings that
                were not given are chosen, instead of by a part of the samples; ``history_`` tells
                their loss after each epoch.

        Shapes:
            X ``[n, features]``; y, sample_weight, groups ``[n]``.

        Raises:
            ValueError: data from which a classifier cannot learn, or a parameter out of its range.
            CollapseError: the learning rate is too high.
        """
        settings = self._settings()
        data = self._checked(X, y, sample_weight, groups, reset=True)
        validation = self._checked_validation(X_val, y_val, sample_weight_val)
        data, validation = both_weighed(data, validation, self.classes_, self.class_weight)
        self.input_scale_ = self._new_scale(data)
        self._stream = Stream.after(data.weights)
        examples, number = self._examples(data), len(self.classes_)
        codes = self._own_tree()
        if codes is not None:
            settings = replace(settings, tree="huffman", arity=codes.arity)
        progress = Progress.of(self.verbose)
        held_out = validation and self._examples(validation)
        chosen = choose_parts(examples, number, settings, self._parts_of(codes), progress, held_out)
        examples, self.part_classes_, self.settings_, solve = chosen

        def after_epoch(training: Training) -> None:
            if held_out is not None:
                whole = PartedTree(training.tree, self.part_classes_)
                training.epochs[-1]["validation_loss"] = whole.loss_of(held_out)
            training.tell(progress)

        tree = begin(examples, len(self.part_classes_), self.settings_, codes, solve)
        training = Training(tree, self.settings_, threads=num_threads(self.n_jobs))
        self.trained_ = training.run(examples, after_epoch=after_epoch)
        return self

    @property
    def tree_(self) -> LabelTree:
        """The tree."""
        check_is_fitted(self)
        return self.trained_.tree

    @property
    def history_(self) -> History:
        """A record for each epoch, or for each call of ``partial_fit``: its loss and rate."""
        check_is_fitted(self)
        return History(self.trained_.epochs)

    @property
    def seed_(self) -> int:
        """The seed that was drawn from ``random_state``."""
        check_is_fitted(self)
        return self.settings_.seed

    def __sklearn_is_fitted__(self) -> bool:
        return "trained_" in vars(self)

    def explain(self, x: Any, *, feature_names: Sequence[str] | None = None) -> Explanation:
        """Explains the prediction for one sample; see :meth:`.TreeEstimatorMixin.explain`.

        Args:
            x: sample, or a list of token ids.
            feature_names: names of the columns, or of the token ids.

        Shapes:
            x ``[features]`` or ``[1, features]``.

        Raises:
            ValueError: x is not one sample like those of ``fit``, or there is not one name for each
                column or token id.
        """
        if not self.tokens:
            return super().explain(x, feature_names=feature_names)
        check_is_fitted(self)
        size = self.n_features_in_
        names: Sequence[str] = [f"token {i}" for i in range(size)]
        if feature_names is not None:
            names = chosen_names(feature_names, size)
        [(tree, row)] = self._ready(bags_of([x], size))
        return explain(tree, row, self.classes_.tolist(), feature_names=names)

    def summary(self, X: Any = None) -> Summary:
        """The size of the tree, and the cost of a prediction; ``note`` says how classes are told.

        It does so of nodes that are naive Bayes, of classes of several parts, and of a temperature.

        Args:
            X: samples from which to measure how often each leaf is reached.

        Raises:
            ValueError: samples of another shape than in ``fit``.
        """
        note, settings = self._parts_in_words(), self.settings_
        if settings.start == "naive_bayes":
            how = "start as" if self.history_ else "are"
            if settings.epochs and self.trained_.whole:  # not in a stream
                how = "are half trained, half"
            note = f"nodes {how} naive Bayes"
        if settings.temperature not in (None, 1) and self.trained_.whole:
            note += "; " * bool(note) + f"scores divided by {settings.temperature:.3g}"
        return replace(super().summary(X), note=note)

    def apply(self, X: Any) -> np.ndarray:
        """The node of the leaf in which each sample's greedy path ends, ``[n]``."""
        check_is_fitted(self)
        return leaf_of(*self._ready(self._inputs(X))[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.two_d_array = not self.tokens
        tags.no_validation = self.tokens
        tags.non_deterministic = self.n_jobs not in (None, 1)  # threads share weights without locks
        return tags

    def _settings(self) -> LabelTreeSettings:
        check_bool("tokens", self.tokens)
        check_bool("standardize", self.standardize)
        check_integer("parts", self.parts, 1, optional=True)
        check_jobs(self.n_jobs)
        values = {name: getattr(self, name) for name in OWN}
        if not (values["tree"] is None or isinstance(values["tree"], str)):
            values["tree"] = None
        return LabelTreeSettings(**values, seed=seed_from(self.random_state))

    def _own_tree(self) -> LabelCodes | None:
        """The user's own tree, or None."""
        if self.tree is None or isinstance(self.tree, str):
            return None
        codes, most = self.tree, self.max_depth
        if not isinstance(codes, LabelCodes):
            codes = LabelCodes.from_nested(codes, self.arity)
        if codes.num_labels != len(self.classes_):
            raise ValueError(
                f"the tree has {codes.num_labels} labels; expected {len(self.classes_)}, as y has"
            )
        if most is not None and codes.depth.max() > most:
            raise ValueError(
                f"the tree has paths of {codes.depth.max()} decisions; expected at most max_depth, "
                f"{most}"
            )
        return codes

    # Inputs

    def _inputs(self, X: Any) -> Any:
        """Checked samples of a fitted estimator: a table, a sparse matrix, or bags."""
        if not self.tokens:
            return check_inputs(self, X)
        return X if isinstance(X, Features) else bags_of(X, self.n_features_in_)

    def _checked(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        *,
        reset: bool,
        stream: bool = False,
    ) -> Checked:
        # In a stream the classes are known, so that one sample is enough.
        known, least = (None, 2) if reset and not stream else (self.classes_, 1)
        checked: Any
        if self.tokens:
            checked = checked_bags(X, y, None if reset else self.n_features_in_)
            size = len(checked.y)
            weights = check_weights(sample_weight, size)
            checked = checked._replace(weights=weights, groups=numbered(groups, size))
        else:
            y = one_label_each(y)
            checked = check_training(self, X, y, sample_weight, groups, reset=reset, least=least)
        classes, codes = encode_labels(checked.y, known, checked.weights)
        if reset:
            self.classes_ = classes
        if reset and self.tokens:
            check_learnable(checked.x, checked.weights)
            self.n_features_in_ = checked.x.size
            self.sample_shape_ = (checked.x.size,)
        checked = checked._replace(y=codes).counting(least)
        # Of later tokens a sparse matrix, as other methods get.
        return checked._replace(x=checked.x.to_csr()) if self.tokens and not reset else checked

    def _new_scale(self, data: Checked, bends: bool = True) -> Standardizer | None:
        one = len(data.y) == 1 and not issparse(data.x)  # whose columns have no deviation
        if isinstance(data.x, Features) or not self.standardize or one:
            return None
        if not bends:  # by the first samples of a stream, which may be few
            return Standardizer.of_rows(data.x, data.weights)
        return learned_scale(data.x, data.y, data.weights)

    def _features(self, x: Any) -> Features:
        """Checked inputs as the tree takes them."""
        if isinstance(x, Features):
            if self.input_scale_ is None:
                return x
            x = x.to_csr()
        x = self._scaled(x)
        return Features.from_csr(x) if issparse(x) else Features.from_table(x)

    def _scaled(self, x: Any) -> Any:
        """A checked table or sparse matrix, standardized like the training data."""
        return in_single(x if self.input_scale_ is None else self.input_scale_(x))

    def _examples(self, data: Checked) -> Examples:
        shares = self._stream.shares(data.weights, len(data.y))
        return Examples(self._features(data.x), data.y, shares, data.groups)

    # Methods that TreeEstimatorMixin needs

    def _ready(self, x: Any) -> list[tuple[RoutedTree, Any]]:
        x = self._scaled(x.to_csr() if isinstance(x, Features) else x)
        return [(self._trees()[0], x)]

    def _scales(self) -> tuple[Standardizer | None, Standardizer | None]:
        return self.input_scale_, None

    def _state(self) -> tuple[nn.Module, dict[str, Any]]:
        scale = self.input_scale_ and self.input_scale_.to_lists()
        state = {"trained": self.trained_.state(), "settings": asdict(self.settings_)}
        return self.tree_, {**state, "input_scale": scale, "stream": self._stream.state()}

    def _restore(self, config: dict[str, Any]) -> nn.Module:
        self.input_scale_ = scale = scale_of_lists(config["input_scale"])
        self.settings_ = LabelTreeSettings(**config["settings"])
        self._stream = Stream.of(config["stream"])
        [labels] = config["shapes"]["softmax.counts"]
        self._check_parts(labels)
        tree = LabelTree.empty(self.n_features_in_, labels, self.settings_)
        if tree.embedding is None and (scale is None or scale.keeps_zeros):  # sparse rows
            tree.softmax.arrays(by_feature=True, lay=True)
        self.trained_ = Training.of(tree, self.settings_, config["trained"])
        return tree
