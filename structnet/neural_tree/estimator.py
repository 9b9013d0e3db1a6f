"""Neural trees as scikit-learn estimators: fit, predict, and the rest.

Reference:
    Tanno et al., Adaptive Neural Trees, ICML 2019.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.special import logsumexp
from sklearn.base import ClassifierMixin, RegressorMixin

from structnet.estimators.checked import Arrays, encode_labels
from structnet.estimators.inputs import check_training, plain_labels, plain_numbers
from structnet.neural_tree.base import NeuralTreeEstimator
from structnet.neural_tree.likelihood import Categorical, GaussianMixture, Likelihood, SquaredError
from structnet.neural_tree.parameters import check_one_of
from structnet.neural_tree.primitives import Primitives

LOSSES = {"squared_error": SquaredError, "gaussian": GaussianMixture}


class NeuralTreeClassifier(ClassifierMixin, NeuralTreeEstimator):
    """A classifier that is an adaptive neural tree, or several.

    Args:
        primitives: the name of a preset ("mlp", "sarcos", "mnist_a", ..., "cifar10_c"),
            :class:`Primitives`, or a function ``num_outputs -> Primitives``; None takes "mlp" for
            tables and "mnist_b" for images.
        routers, transformers: may the tree have any? One of the two must be True.
        max_depth: routers on a path, at most.
        max_leaves: of the tree, at most.
        max_parameters: of the tree, at most; a root that has more by itself stays as it is.
        max_transformers: on a path, at most. The root's own one counts and is always there (unless
            ``transformers`` is False): 0 leaves that one, as does 1.
        min_gain: by how much more than this a candidate must lower the validation loss (nats).
        min_samples: nothing is tried at a leaf that fewer training samples are expected to reach.
        epochs: at most, for the root and for each candidate.
        refine_epochs: for the whole tree after its growth; the epoch of the highest validation
            accuracy is kept, as in the paper, samples counted by their weights.
        patience: in growth, stop after so many epochs in a row without a new best.
        n_init: how often each candidate is trained, from other beginnings; the best one counts.
        batch_size: samples a step, and at a time in prediction.
        learning_rate: Adam's.
        validation_fraction: of the samples, to choose by; the classes keep their shares.
        standardize: take each column of a table, or channel of an image, to mean 0 and standard
            deviation 1 over the samples to learn from.
        warm_start_solvers: new solvers begin as copies of their leaf's own.
        path: how to predict, as in :meth:`NeuralTree.output`.
        prune: in the end, cut branches to which less than this share of the samples goes.
        n_members: trees, each with its own seed and validation samples; their probabilities are
            averaged.
        random_state: an int makes everything repeatable.
        device: to train and predict on; "cpu", "cuda", ...
        verbose: show a bar for each training.
        folder: keep growth and refinement there, epoch by epoch; an interrupted ``fit`` goes on
            from there, given the same data and parameters; ``random_state`` must be an int.

    Attributes:
        classes_: sorted.
        n_features_in_: columns of the table, or channels of the images.
        sample_shape_: of one sample.
        tree_: of the first member. It takes standardized inputs: ``samples(X, y)`` gives them, as
            in ``plot_neural_tree(model.tree_, model.samples(X, y))``; ``explain(x)`` needs none.
        growth_, history_: of the first member; see there.
        members_: all of them, each with ``tree``, ``decisions`` and ``history``.

    Reference:
        Tanno et al., Adaptive Neural Trees, ICML 2019.

    Example:
        >>> X = np.repeat([[-2.0], [-1.0], [1.0], [2.0]], 10, axis=0)
        >>> y = np.repeat(["out", "in", "in", "out"], 10)
        >>> model = NeuralTreeClassifier(
        ...     transformers=False,
        ...     max_leaves=3,
        ...     learning_rate=0.1,
        ...     refine_epochs=0,
        ...     random_state=0,
        ... )
        >>> model.fit(X, y).predict([[-3.0], [-0.5], [3.0]])
        array(['out', 'in', 'out'], dtype='<U3')
    """

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

    def _checked(self, X: Any, y: Any, sample_weight: Any = None, *, reset: bool) -> Arrays:
        y = plain_labels(y)
        arrays = check_training(self, X, y, sample_weight, reset=reset, least=1 + reset)
        classes, codes = encode_labels(arrays.y, None if reset else self.classes_)
        self.classes_ = classes
        return arrays._replace(y=codes)

    def _strata(self, arrays: Arrays) -> np.ndarray:
        return arrays.y

    def _task(self) -> tuple[Likelihood, int]:
        return Categorical(), len(self.classes_)

    def _fitted_config(self) -> dict[str, Any]:
        classes = {"dtype": self.classes_.dtype.str, "values": self.classes_.tolist()}
        return super()._fitted_config() | {"classes_": classes}

    def _restore_fitted(self, config: dict[str, Any]) -> None:
        super()._restore_fitted(config)
        classes = config["classes_"]
        self.classes_ = np.array(classes["values"], dtype=classes["dtype"])


class NeuralTreeRegressor(RegressorMixin, NeuralTreeEstimator):
    """A regressor, of one column of targets or several, that is an adaptive neural tree.

    Args:
        primitives, routers, transformers, max_depth, max_leaves, max_parameters, max_transformers,
            min_samples, epochs, patience, n_init, batch_size, learning_rate, warm_start_solvers,
            path, prune, random_state, device, verbose, folder: as in
            :class:`NeuralTreeClassifier`.
        loss: "squared_error" of the mean of all leaves, or "gaussian", the negative log-likelihood
            of a mixture of a Gaussian a leaf.
        min_gain: by how much more than this a candidate must lower the validation loss, which is
            that of the standardized targets.
        refine_epochs: as there, but the epoch of the lowest validation loss is kept.
        validation_fraction: of the samples, to choose by, drawn at random.
        standardize: the inputs, as there, and each column of the targets.
        n_members: trees, as there; their means are averaged.

    Attributes:
        n_features_in_, sample_shape_, tree_, growth_, history_, members_: as there.

    Reference:
        Tanno et al., Adaptive Neural Trees, ICML 2019.

    Example:
        >>> X = np.linspace(-1, 1, 200)[:, None]
        >>> model = NeuralTreeRegressor(
        ...     transformers=False, max_leaves=2, learning_rate=0.1, random_state=0
        ... )
        >>> model.fit(X, np.abs(X[:, 0])).score(X, np.abs(X[:, 0])) > 0.98
        True
    """

    def __init__(
        self,
        primitives: str | Primitives | Callable[[int], Primitives] | None = None,
        *,
        loss: str = "squared_error",
        routers: bool = True,
        transformers: bool = True,
        max_depth: int | None = None,
        max_leaves: int | None = None,
        max_parameters: int | None = None,
        max_transformers: int | None = None,
        min_gain: float = 0.0,
        min_samples: float = 2.0,
        epochs: int = 100,
        refine_epochs: int = 100,
        patience: int | None = 5,
        n_init: int = 1,
        batch_size: int = 512,
        learning_rate: float = 1e-3,
        validation_fraction: float = 0.1,
        standardize: bool = True,
        warm_start_solvers: bool = False,
        path: str = "multi",
        prune: float | None = None,
        n_members: int = 1,
        random_state: Any = None,
        device: str | torch.device = "cpu",
        verbose: bool = False,
        folder: str | Path | None = None,
    ):
        self.loss = loss
        super().__init__(
            primitives,
            routers=routers,
            transformers=transformers,
            max_depth=max_depth,
            max_leaves=max_leaves,
            max_parameters=max_parameters,
            max_transformers=max_transformers,
            min_gain=min_gain,
            min_samples=min_samples,
            epochs=epochs,
            refine_epochs=refine_epochs,
            patience=patience,
            n_init=n_init,
            batch_size=batch_size,
            learning_rate=learning_rate,
            validation_fraction=validation_fraction,
            standardize=standardize,
            warm_start_solvers=warm_start_solvers,
            path=path,
            prune=prune,
            n_members=n_members,
            random_state=random_state,
            device=device,
            verbose=verbose,
            folder=folder,
        )

    def predict(self, X: Any) -> np.ndarray:
        """The means, of the shape of the targets: ``[n]`` or ``[n, columns]``."""
        means = self._outputs(X).mean(axis=0)
        return means.reshape(-1, *self.target_shape_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_one_of("loss", self.loss, LOSSES)

    def _checked(self, X: Any, y: Any, sample_weight: Any = None, *, reset: bool) -> Arrays:
        arrays = check_training(
            self,
            X,
            plain_numbers(y),
            sample_weight,
            reset=reset,
            least=1 + reset,
            multi_output=True,
            y_numeric=True,
        )
        if reset:
            self.target_shape_ = arrays.y.shape[1:]
        elif arrays.y.shape[1:] != self.target_shape_:
            raise ValueError(
                f"got targets of shape {list(arrays.y.shape)}; expected "
                f"{[len(arrays.y), *self.target_shape_]}, as of the y to learn from"
            )
        return arrays._replace(y=arrays.y.reshape(len(arrays.y), -1).astype(np.float64))

    def _strata(self, arrays: Arrays) -> None:
        return None

    def _task(self) -> tuple[Likelihood, int]:
        likelihood = LOSSES[self.loss]()
        columns = self.target_shape_[0] if self.target_shape_ else 1
        return likelihood, likelihood.num_outputs(columns)

    def _fitted_config(self) -> dict[str, Any]:
        return super()._fitted_config() | {"target_shape_": list(self.target_shape_)}

    def _restore_fitted(self, config: dict[str, Any]) -> None:
        super()._restore_fitted(config)
        self.target_shape_ = tuple(config["target_shape_"])
