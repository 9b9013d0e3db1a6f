"""What every estimator made of model trees can do, whatever family the trees are of.

======================================  ========================================================
:class:`TreeEstimatorMixin`             leaves, paths, explanation, text, networkx, files
:class:`TreeClassifierMixin`            labels, and probabilities of one tree or several
:class:`TreeRegressorMixin`             numbers, of one column or several
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
from structnet.estimators.inputs import (
    check_inputs,
    check_sample,
    check_training,
    plain_labels,
    plain_numbers,
)
from structnet.estimators.scale import Standardizer
from structnet.routing import report
from structnet.routing.explanation import Explanation, explain
from structnet.routing.protocol import RoutedTree
from structnet.routing.reading import Reading
from structnet.routing.samples import Samples
from structnet.routing.topology import Topology
from structnet.routing.visits import leaf_of
from structnet.trees.networkx_graph import to_networkx


class TreeEstimatorMixin(OneFileMixin):
    """What a fitted estimator of one model tree, or several, can be asked.

    A family gives the methods at the end; before its estimator is fitted, they are not called.
    """

    _dense = False  # do its trees take sparse inputs as dense ones, batch by batch?

    def apply(self, X: Any) -> np.ndarray:
        """The node of the leaf that each sample's greedy path ends in.

        Shapes:
            X as for ``predict`` -> ``[n]``, or ``[n, trees]`` if there are several.
        """
        check_is_fitted(self)
        leaves = [leaf_of(tree, x) for tree, x in self._asked(check_inputs(self, X))]
        return leaves[0] if len(leaves) == 1 else np.stack(leaves, axis=1)

    def decision_path(self, X: Any) -> csr_matrix:
        """Which nodes each sample passes on its greedy path.

        Shapes:
            X as for ``predict`` -> ``[n, nodes]``; of several trees, the nodes of each after those
            of the one before.
        """
        ends = zip(self._trees(), np.atleast_2d(self.apply(X).T), strict=True)
        return hstack([path_matrix(tree.topology, nodes) for tree, nodes in ends], format="csr")

    def get_n_leaves(self) -> int:
        """The leaves of all trees."""
        check_is_fitted(self)
        return sum(len(tree.topology.leaves) for tree in self._trees())

    def get_depth(self) -> int:
        """The most choices on a path."""
        check_is_fitted(self)
        return max(int(tree.topology.depth.max()) for tree in self._trees())

    def explain(self, x: Any) -> Explanation:
        """Why one sample is predicted as it is: the choices on its path, and where they lead.

        Of several trees it explains the first, as ``tree_`` is; classes have the names of
        ``classes_``, numbers are in the units of the y to learn from.

        Args:
            x: sample, as for ``predict``: a row or an image, or a table or images of that one.

        Shapes:
            x ``[*shape]`` or ``[1, *shape]``.

        Raises:
            ValueError: x is not one sample of the shape of those of ``fit``, or has NaN or
                infinity.

        Example:
            >>> from structnet import NeuralTreeRegressor
            >>> X, y = np.repeat([[0.0], [1.0]], 10, axis=0), np.repeat([200.0, 300.0], 10)
            >>> model = NeuralTreeRegressor(transformers=False, learning_rate=0.1, random_state=0)
            >>> print(model.fit(X, y).explain([1.0]))
            leaf 0, reached with 100.0 %
            its prediction: 300...
            of all leaves: 300...
        """
        check_is_fitted(self)
        tree, sample = self._asked(check_sample(self, x))[0]
        _, scale = self._scales()
        units = None if scale is None else scale.inverse
        return explain(tree, sample[0], getattr(self, "classes_", None), units)

    def export_text(self, X: Any = None, y: Any = None, sample_weight: Any = None) -> str:
        """The first tree as text, one line a node; see :func:`structnet.routing.export_text`.

        Args:
            X: samples; with them, each line says what share of them comes there, and which.
            y: their classes or numbers.
            sample_weight: count of each of them.

        Raises:
            ValueError: data that do not fit those of ``fit``.
        """
        check_is_fitted(self)
        return report.text_of(self.read(X, y, sample_weight))

    def read(self, X: Any = None, y: Any = None, sample_weight: Any = None) -> Reading:
        """The first tree, samples as it takes them, and what its numbers mean.

        Args:
            X: samples, as for ``fit``.
            y: their classes or numbers; without them the samples are inputs alone.
            sample_weight: count of each of them.

        Raises:
            ValueError: data that do not fit those of ``fit``.
        """
        check_is_fitted(self)
        (tree, *_), (inputs, targets), samples = self._trees(), self._scales(), None
        if X is not None and y is None:
            tree, samples = self._asked(check_inputs(self, X))[0]
        elif X is not None:
            samples = self.samples(X, y, sample_weight)
            if targets is not None:
                in_units = torch.from_numpy(targets.inverse(samples.targets.double().numpy()))
                samples = replace(samples, targets=in_units)
        return Reading(
            tree,
            samples,
            getattr(self, "classes_", None),
            getattr(self, "feature_names_in_", None),
            None if inputs is None else inputs.inverse,
            None if targets is None else targets.inverse,
            getattr(self, "target_names_", None),
        )

    def plot(self, X: Any = None, y: Any = None, **options: Any) -> Any:
        """Draws the first tree; see :func:`structnet.plot.plot_neural_tree`.

        Args:
            X: samples, as for ``fit``, to send through it; without them only its shape is drawn.
            y: their classes or numbers.
            options: others of that function: ``ax``, ``greedy``, ``max_depth``, ``min_share``,
                ``class_names``, ``feature_names``.

        Returns:
            The axes.

        Raises:
            ValueError: data that do not fit those of ``fit``.
        """
        # Pictures lie in a layer above, which nothing here needs before one is asked for.
        return import_module("structnet.plot").plot_neural_tree(self, X, y, **options)

    def summary(self, X: Any = None) -> report.Summary:
        """The size of the first tree, and what a prediction costs.

        Args:
            X: samples that say how often each leaf is reached.

        Raises:
            ValueError: samples of another shape than those of ``fit``.
        """
        check_is_fitted(self)
        if X is None:
            return report.summary(self._trees()[0])
        return report.summary(*self._asked(check_inputs(self, X))[0])

    def to_networkx(self) -> nx.DiGraph:
        """The first tree as a networkx graph; see :func:`structnet.to_networkx`."""
        check_is_fitted(self)
        return to_networkx(self._trees()[0])

    def samples(self, X: Any, y: Any, sample_weight: Any = None) -> Samples:
        """Samples as ``tree_`` takes them, to draw or to measure it with.

        Inputs and numbers are standardized if those of ``fit`` were; classes become their places in
        ``classes_``; samples of weight 0 are left out.

        Args:
            X: samples, as for ``fit``.
            y: their classes or numbers.
            sample_weight: count of each of them.

        Raises:
            ValueError: data that do not fit those of ``fit``.

        Example:
            >>> from structnet import NeuralTreeClassifier
            >>> X, y = np.repeat([[0.0], [100.0]], 10, axis=0), np.repeat(["no", "yes"], 10)
            >>> model = NeuralTreeClassifier("mlp", max_leaves=2, epochs=2, random_state=0)
            >>> samples = model.fit(X, y).samples(X[::10], y[::10])
            >>> samples.x.round().tolist(), samples.targets.tolist()
            ([[-1.0], [1.0]], [0, 1])
        """
        check_is_fitted(self)
        found = self._checked(X, y, sample_weight, reset=False)
        return found.samples(*self._scales(), dense=self._dense)

    def _checked_validation(self, validation: tuple) -> Checked:
        """A validation set of the user's, ``(X, y)`` or ``(X, y, sample_weight)``."""
        if not isinstance(validation, tuple) or len(validation) not in (2, 3):
            size = f" of {len(validation)}" if isinstance(validation, tuple) else ""
            raise ValueError(
                "the validation set must be (X, y) or (X, y, sample_weight). Got "
                f"{type(validation).__name__}{size}."
            )
        if not (validation[0].shape[0] if issparse(validation[0]) else len(validation[0])):
            raise ValueError("the validation set has 0 samples; expected at least 1")
        return self._checked(*validation, reset=False)

    # What a family gives

    def _trees(self) -> Sequence[RoutedTree]:
        """The model trees."""
        raise NotImplementedError

    def _asked(self, x: np.ndarray) -> Sequence[tuple[RoutedTree, Any]]:
        """Each tree, ready to answer, and checked inputs as it takes them."""
        raise NotImplementedError

    def _scales(self) -> tuple[Standardizer | None, Standardizer | None]:
        """The scalers of the first tree's inputs and targets; None leaves them as they are."""
        return None, None

    def _outputs(self, X: Any) -> np.ndarray:
        """Log-probabilities or means of each tree. ``[trees, n, classes or columns]``."""
        raise NotImplementedError

    def _checked(self, X: Any, y: Any, sample_weight: Any = None, *, reset: bool) -> Checked:
        """Samples checked, their targets as a tree takes them, but for their scale."""
        raise NotImplementedError


class TreeClassifierMixin(ClassifierMixin):
    """Classes: labels of any kind, and the mean of the trees' probabilities."""

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
        outputs = self._outputs(X).astype(np.float64)  # so that what differs, differs after exp too
        return logsumexp(outputs, axis=0) - np.log(len(outputs)) if len(outputs) > 1 else outputs[0]

    def _checked(self, X: Any, y: Any, sample_weight: Any = None, *, reset: bool) -> Checked:
        labels = plain_labels(y)
        found = check_training(self, X, labels, sample_weight, reset=reset)
        self.classes_, codes = encode_labels(found.y, None if reset else self.classes_)
        return found._replace(y=codes)


class TreeRegressorMixin(RegressorMixin):
    """Numbers, of one column or several, and the mean of the trees' means."""

    def predict(self, X: Any) -> np.ndarray:
        """The means, of the shape of the targets: ``[n]`` or ``[n, columns]``."""
        means = self._outputs(X).mean(axis=0)
        return means.reshape(-1, *self.target_shape_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _checked(self, X: Any, y: Any, sample_weight: Any = None, *, reset: bool) -> Checked:
        kinds = {"multi_output": True, "y_numeric": True}
        found = check_training(self, X, plain_numbers(y), sample_weight, reset=reset, **kinds)
        if reset:
            self.target_shape_ = found.y.shape[1:]
            named = [name for name in getattr(y, "columns", ()) if isinstance(name, str)]
            self.target_names_ = tuple(named) if found.y.shape[1:] == (len(named),) else None
        elif found.y.shape[1:] != self.target_shape_:
            raise ValueError(
                f"got targets of shape {list(found.y.shape)}; expected "
                f"{[len(found.y), *self.target_shape_]}, as of the y to learn from"
            )
        return found._replace(y=found.y.reshape(len(found.y), -1).astype(np.float64))


def path_matrix(topology: Topology, nodes: np.ndarray) -> csr_matrix:
    """Which nodes each sample passes on its way from the root to where it ends.

    Shapes:
        nodes ``[n]`` -> ``[n, num_nodes]``, ones of int64.

    Example:
        >>> path_matrix(Topology([(1, 2), (), ()]), np.array([2, 1])).toarray()
        array([[1, 0, 1],
               [1, 1, 0]])
    """
    ends, place = np.unique(nodes, return_inverse=True)
    paths = [topology.path(node) for node in ends]
    starts = np.cumsum([0, *map(len, paths)])
    columns = np.array([node for path in paths for node in path], np.int64)
    ones = np.ones(len(columns), np.int64)
    return csr_matrix((ones, columns, starts), shape=(len(ends), topology.num_nodes))[place]
