"""Methods that every estimator made of model trees has, whatever family the trees are of.

======================================  ========================================================
:class:`TreeEstimatorMixin`             leaves, paths, explanation, text, networkx, files
:class:`TreeClassifierMixin`            labels, and the mean probabilities of one or more trees
:class:`TreeRegressorMixin`             numbers, in one or more columns
======================================  ========================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

import networkx as nx
import numpy as np
import torch
from scipy.sparse import csr_matrix, hstack, issparse
from scipy.special import logsumexp
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from structnet.estimators.checked import Checked, encode_labels
from structnet.estimators.file import OneFileMixin
from structnet.estimators.held_out import validation_set
from structnet.estimators.inputs import (
    check_inputs,
    check_training,
    one_label_each,
    one_sample,
    plain_numbers,
)
from structnet.estimators.likeliest import LikeliestMixin
from structnet.estimators.scale import Standardizer
from structnet.routing import report
from structnet.routing.arrivals import Arrivals, arrivals_of, path_matrix
from structnet.routing.explanation import Explanation, explain
from structnet.routing.protocol import RoutedTree
from structnet.routing.reading import Reading, chosen_names
from structnet.routing.samples import Samples
from structnet.routing.sides import name_of
from structnet.routing.visits import leaf_of
from structnet.trees.networkx_graph import to_networkx


class TreeEstimatorMixin(OneFileMixin):
    """Methods of a fitted estimator that is made of one or more model trees.

    A family implements the methods at the end, which are only called once it is fitted.

    Attributes:
        arrivals_: counts of the samples of ``fit`` at the nodes of the first tree, the fields of
            :class:`.Arrivals`; None, or absent, if they were not counted.
    """

    arrivals_: dict[str, Any] | None
    n_features_in_: int
    _dense = False  # True if its trees take sparse inputs as dense ones, batch by batch

    def apply(self, X: Any) -> np.ndarray:
        """The leaf at which each sample's greedy path ends, as the number of its node.

        Shapes:
            X as for ``predict`` -> ``[n]``, or ``[n, trees]`` if there are several trees.
        """
        check_is_fitted(self)
        leaves = [leaf_of(tree, x) for tree, x in self._ready(self._inputs(X))]
        return leaves[0] if len(leaves) == 1 else np.stack(leaves, axis=1)

    def decision_path(self, X: Any) -> csr_matrix:
        """The nodes on each sample's greedy path, along the likelier branches, marked by ones.

        Shapes:
            X as for ``predict`` -> ``[n, nodes]``; with several trees, the columns of each tree
            follow those of the tree before it.
        """
        leaves = np.atleast_2d(self.apply(X).T)
        ends = zip(self._trees(), leaves, strict=True)
        return hstack([path_matrix(tree.topology, nodes) for tree, nodes in ends], format="csr")

    def get_n_leaves(self) -> int:
        """The number of leaves of all trees together."""
        check_is_fitted(self)
        return sum(len(tree.topology.leaves) for tree in self._trees())

    def get_depth(self) -> int:
        """The largest number of choices on a path."""
        check_is_fitted(self)
        return max(int(tree.topology.depth.max()) for tree in self._trees())

    def explain(self, x: Any, *, feature_names: Sequence[str] | None = None) -> Explanation:
        """Explains the prediction for one sample: the choices on its path, and where they lead.

        A choice by columns of a table says why: by the value of the column that decides, or by
        those of the columns that count most and what each adds, see :func:`.reasons.reason`. A leaf
        that is a sum over columns tells what each adds to what an average row is predicted to be,
        see :func:`.parts_of`.

        If there are several trees, it explains the first, which is ``tree_``, and says at its end
        what all predict. Classes have their names in ``classes_``, numbers are in the units of the
        training y.

        Args:
            x: one sample, as for ``predict``: a row or an image, or an array of one of them.
            feature_names: names of the columns to use instead of those in ``fit``.

        Shapes:
            x ``[*shape]`` or ``[1, *shape]``.

        Raises:
            ValueError: x is not one sample of the shape used in ``fit``, or contains NaN or
                infinity, or there is not one name for each column.

        Example:
            >>> from structnet import NeuralTreeRegressor
            >>> X, y = np.repeat([[0.0], [1.0]], 10, axis=0), np.repeat([200.0, 300.0], 10)
            >>> model = NeuralTreeRegressor(transformers=False, learning_rate=0.1, random_state=0)
            >>> print(model.fit(X, y).explain([1.0]))
            leaf 0, reached with 100.0 %
            its prediction: 300...
            of all leaves: 300...
              an average row: 26...
              feature 0 = 1: +3...
        """
        check_is_fitted(self)
        batch, columns = one_sample(self, x), self._columns()
        inputs_read = check_inputs(self, batch)
        (tree, sample), *more = self._ready(inputs_read)
        inputs, scale = self._scales()
        units = None if scale is None else scale.inverse
        names = self._names()
        if feature_names is not None:
            names = chosen_names(feature_names, self.n_features_in_, columns)
        classes = getattr(self, "classes_", None)
        explanation = explain(
            tree,
            _alone(sample),
            classes,
            units,
            feature_names=names,
            units=None if inputs is None else inputs.inverse,
            original=_alone(inputs_read if columns is None else inputs_read[:, columns]),
        )
        if not more:
            return explanation
        model: Any = self  # a classifier or a regressor
        whole = (model.predict if classes is None else model.predict_proba)(batch)
        predicted = tuple(np.ravel(whole).tolist())
        return replace(explanation, whole=predicted, whole_of=f"all {1 + len(more)} trees")

    def export_text(
        self,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        *,
        feature_names: Sequence[str] | None = None,
    ) -> str:
        """The first tree as text, one line per node; see :func:`structnet.routing.export_text`.

        Args:
            X: samples; each line says which share of them comes to its node, and which class most
                of these have, or their mean. None for the samples of ``fit``, if the estimator has
                counted them: a label tree has not, whose leaves name their classes.
            y: their classes or numbers, without which X is of no use.
            sample_weight: weight of each sample.
            feature_names: names of the columns to use instead of those in ``fit``.

        Raises:
            TypeError: there are samples without their classes or numbers.
            ValueError: the data do not match those of ``fit``, or there is not one name for each
                column.
        """
        check_is_fitted(self)
        reading = self.read(X, y, sample_weight)
        if feature_names is not None:
            names = chosen_names(feature_names, self.n_features_in_, reading.columns)
            reading = reading._replace(feature_names=names)
        return report.text_of(reading)

    def read(self, X: Any = None, y: Any = None, sample_weight: Any = None) -> Reading:
        """The first tree, samples in the form it takes, and the meaning of its numbers.

        Args:
            X: samples, as for ``fit``.
            y: their classes or numbers; without y the samples are inputs only.
            sample_weight: weight of each sample.

        Raises:
            ValueError: the data do not match those of ``fit``.
        """
        check_is_fitted(self)
        (tree, *_), (inputs, targets), samples = self._trees(), self._scales(), None
        if X is not None and y is None:
            tree, samples = self._ready(self._inputs(X))[0]
        elif X is not None:
            samples = self.samples(X, y, sample_weight)
            if targets is not None:
                in_units = torch.from_numpy(targets.inverse(samples.targets.double().numpy()))
                samples = replace(samples, targets=in_units)
        came = getattr(self, "arrivals_", None)
        if came is not None and len(came["share"]) != tree.topology.num_nodes:
            came = None  # the user has changed the tree
        return Reading(
            tree,
            samples,
            getattr(self, "classes_", None),
            self._names(),
            None if inputs is None else inputs.inverse,
            None if targets is None else targets.inverse,
            getattr(self, "target_names_", None),
            self._columns(),
            None if came is None else Arrivals(**came),
            self.n_features_in_,
        )

    def plot(self, X: Any = None, y: Any = None, sample_weight: Any = None, **options: Any) -> Any:
        """Draws the first tree; see :func:`structnet.plot.plot_model_tree`.

        Args:
            X: samples, as for ``fit``, to send through the tree; without them only its shape is
                drawn.
            y: their classes or numbers, without which X is of no use.
            sample_weight: weight of each sample.
            options: other arguments of that function: ``ax``, ``greedy``, ``max_depth``,
                ``min_share``, ``class_names``, ``feature_names``.

        Returns:
            The axes.

        Raises:
            TypeError: there are samples without their classes or numbers.
            ValueError: the data do not match those of ``fit``.
        """
        plot = import_module("structnet.plot")  # a higher layer, imported only for pictures
        return plot.plot_model_tree(self.read(X, y, sample_weight), **options)

    def summary(self, X: Any = None) -> report.Summary:
        """The size of the first tree, and the cost of a prediction.

        Args:
            X: samples from which to measure how often each leaf is reached.

        Raises:
            ValueError: samples of another shape than in ``fit``.
        """
        check_is_fitted(self)
        if X is None:
            return report.summary(self._trees()[0])
        return report.summary(*self._ready(self._inputs(X))[0])

    def to_networkx(self) -> nx.DiGraph:
        """The first tree as a networkx graph; see :func:`structnet.to_networkx`."""
        check_is_fitted(self)
        return to_networkx(self._trees()[0])

    def samples(self, X: Any, y: Any, sample_weight: Any = None) -> Samples:
        """Samples in the form that ``tree_`` takes, to draw it or measure it with.

        Inputs and numbers are standardized if those of ``fit`` were, classes become their places in
        ``classes_``, and samples of weight 0 are left out.

        Args:
            X: samples, as for ``fit``.
            y: their classes or numbers.
            sample_weight: weight of each sample.

        Raises:
            ValueError: the data do not match those of ``fit``.

        Example:
            >>> from structnet import NeuralTreeClassifier
            >>> X, y = np.repeat([[0.0], [100.0]], 10, axis=0), np.repeat(["no", "yes"], 10)
            >>> model = NeuralTreeClassifier("mlp", max_leaves=2, epochs=2, random_state=0)
            >>> samples = model.fit(X, y).samples(X[::10], y[::10])
            >>> samples.x.round().tolist(), samples.targets.tolist()
            ([[-1.0], [1.0]], [0, 1])
        """
        check_is_fitted(self)
        checked = self._checked(X, y, sample_weight, reset=False)
        return checked.of(self._columns()).samples(*self._scales(), dense=self._dense)

    def _count(self, data: Checked) -> None:
        """Counts the samples of ``fit`` at the nodes of the first tree, for its text."""
        inputs, _ = self._scales()
        x = data.of(self._columns()).samples(inputs, dense=self._dense).x
        self.arrivals_ = arrivals_of(self._trees()[0], x, data.y, data.weights)._asdict()

    def _checked_validation(self, *arguments: Any) -> Checked | None:
        """The user's validation set, checked: of ``X_val``, ``y_val`` and ``sample_weight_val``."""
        validation = validation_set(*arguments)
        return None if validation is None else self._checked(*validation, reset=False)

    def _names(self) -> Sequence[str] | None:
        """The names of the columns that the first tree reads; None if unknown."""
        names, columns = getattr(self, "feature_names_in_", None), self._columns()
        return names if columns is None else [name_of(names, i) for i in columns.tolist()]

    # What a family implements

    def _trees(self) -> Sequence[RoutedTree]:
        """The model trees."""
        raise NotImplementedError

    def _ready(self, x: np.ndarray) -> Sequence[tuple[RoutedTree, Any]]:
        """Each tree, ready to predict, and the checked inputs in the form it takes."""
        raise NotImplementedError

    def _inputs(self, X: Any) -> Any:
        """Checked samples of a fitted estimator."""
        return check_inputs(self, X)

    def _scales(self) -> tuple[Standardizer | None, Standardizer | None]:
        """The scalers of the first tree's inputs and targets; None leaves them as they are."""
        return None, None

    def _columns(self) -> np.ndarray | None:
        """The columns that the first tree reads, ``[kept]``; None for all."""
        return None

    def _outputs(self, X: Any) -> np.ndarray:
        """Log-probabilities or means of each tree. ``[trees, n, classes or columns]``."""
        raise NotImplementedError

    def _checked(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, *, reset: bool
    ) -> Checked:
        """Checked samples; their targets have the form a tree takes, but are not scaled."""
        raise NotImplementedError


def _alone(batch: Any) -> Any:
    """The sample of a batch of one; a sparse row stays a row of a matrix."""
    return batch if issparse(batch) else batch[0]


class TreeClassifierMixin(LikeliestMixin, ClassifierMixin):
    """Predicts classes, with labels of any kind, by the mean of the trees' probabilities."""

    classes_: np.ndarray

    def predict(self, X: Any) -> np.ndarray:
        """The likeliest class of each sample, ``[n]``."""
        places = self.predict_log_proba(X).argmax(axis=1)
        return self.classes_[places]

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class, ``[n, classes]``, in the order of ``classes_``."""
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """The log-probability of each class, ``[n, classes]``, in the order of ``classes_``."""
        # In double precision, so that values that differ still differ after exp.
        logs = self._outputs(X).astype(np.float64)
        logs = logsumexp(logs, axis=0) - np.log(len(logs)) if len(logs) > 1 else logs[0]
        return np.minimum(logs, 0.0)  # what rounding leaves above 1, scikit-learn's losses refuse

    def _checked(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, *, reset: bool
    ) -> Checked:
        labels = one_label_each(y)
        checked = check_training(self, X, labels, sample_weight, groups, reset=reset)
        # Before samples of weight 0 are left out, so that their classes stay known.
        known = None if reset else self.classes_
        self.classes_, codes = encode_labels(checked.y, known, checked.weights)
        return checked._replace(y=codes).counting(1 + reset)


class TreeRegressorMixin(RegressorMixin):
    """Predicts numbers, in one or more columns, by the mean of the trees' means."""

    def predict(self, X: Any) -> np.ndarray:
        """The predicted means, in the shape of the targets: ``[n]`` or ``[n, columns]``."""
        means = self._outputs(X).mean(axis=0)
        return means.reshape(-1, *self.target_shape_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _checked(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, *, reset: bool
    ) -> Checked:
        arguments = self, X, plain_numbers(y), sample_weight, groups
        checked = check_training(*arguments, reset=reset, multi_output=True, y_numeric=True)
        if reset:
            self.target_shape_ = checked.y.shape[1:]
            named = [name for name in getattr(y, "columns", ()) if isinstance(name, str)]
            self.target_names_ = tuple(named) if checked.y.shape[1:] == (len(named),) else None
        elif checked.y.shape[1:] != self.target_shape_:
            raise ValueError(
                f"got targets of shape {list(checked.y.shape)}; expected "
                f"{[len(checked.y), *self.target_shape_]}, as in the y to learn from"
            )
        numbers = checked.y.reshape(len(checked.y), -1).astype(np.float64)
        return checked._replace(y=numbers).counting(1 + reset)
