"""What the classifier and the regressor of neural trees share: fitting, leaves, paths, files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.sparse import csr_matrix, hstack
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from torch import nn

from structnet.estimators.checked import Arrays, path_matrix, seed_from, split
from structnet.estimators.inputs import check_inputs, check_sample
from structnet.neural_tree import estimator_file
from structnet.neural_tree.growth.growth import Decision, Limits
from structnet.neural_tree.likelihood import Likelihood
from structnet.neural_tree.member import Member, Training
from structnet.neural_tree.parameters import NAMED, as_text, check_one_of, check_parameters
from structnet.neural_tree.primitives import Primitives
from structnet.neural_tree.tree import PATHS, NeuralTree
from structnet.routing.explanation import Explanation
from structnet.routing.samples import Samples
from structnet.training.checkpoint import check_settings, load_model, save_model
from structnet.training.history import History
from structnet.training.processes import own_device

FREE = ("path", "refine_epochs", "device", "verbose", "folder", "prune")  # what resuming may change


class Grown(NamedTuple):
    """How a tree grew: what was decided, and a record an epoch of all its trainings."""

    decisions: list[Decision]
    history: History


class NeuralTreeEstimator(BaseEstimator):
    """What the classifier and the regressor share."""

    members_: list[Member]

    def __init__(
        self,
        primitives: str | Primitives | Callable[[int], Primitives] | None = None,
        *,
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
        self.primitives = primitives
        self.routers = routers
        self.transformers = transformers
        self.max_depth = max_depth
        self.max_leaves = max_leaves
        self.max_parameters = max_parameters
        self.max_transformers = max_transformers
        self.min_gain = min_gain
        self.min_samples = min_samples
        self.epochs = epochs
        self.refine_epochs = refine_epochs
        self.patience = patience
        self.n_init = n_init
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.validation_fraction = validation_fraction
        self.standardize = standardize
        self.warm_start_solvers = warm_start_solvers
        self.path = path
        self.prune = prune
        self.n_members = n_members
        self.random_state = random_state
        self.device = device
        self.verbose = verbose
        self.folder = folder

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, validation: tuple | None = None
    ) -> NeuralTreeEstimator:
        """Grows the trees, refines and prunes them.

        Args:
            X: the samples, a table or images.
            y: their classes or numbers.
            sample_weight: what each sample counts; 0 leaves it out.
            validation: ``(X, y)`` or ``(X, y, sample_weight)`` to choose by, instead of a part of
                the samples.

        Shapes:
            X ``[n, features]`` or ``[n, channels, height, width]``; y ``[n]``, or ``[n, columns]``
            for regression; sample_weight ``[n]``.

        Raises:
            ValueError: data or parameters that do not fit; the message says which.
            CheckpointError: the folder belongs to another training.
        """
        self._check_parameters()
        arrays = self._checked(X, y, sample_weight, reset=True)
        held_out = None if validation is None else self._checked_validation(validation)
        self.seed_ = seed_from(self.random_state)
        if self.folder is not None:
            self._claim_folder(arrays, held_out)
        self.members_ = [
            self._fit_member(number, arrays, held_out) for number in range(self.n_members)
        ]
        return self

    def decision_path(self, X: Any) -> csr_matrix:
        """Which nodes each sample passes on its greedy path.

        Shapes:
            ``[n, nodes]``; of several members, the nodes of each after those of the one before.
        """
        leaves = self.apply(X).reshape(-1, len(self.members_))
        parts = [
            path_matrix(member.tree.topology, ends)
            for member, ends in zip(self.members_, leaves.T, strict=True)
        ]
        return parts[0] if len(parts) == 1 else hstack(parts, format="csr")

    def apply(self, X: Any) -> np.ndarray:
        """The node of the leaf that each sample's greedy path ends in.

        Shapes:
            ``[n]``, or ``[n, members]`` if there are several.
        """
        check_is_fitted(self)
        x = check_inputs(self, X)
        leaves = [member.apply(x, **self._how) for member in self.members_]
        return leaves[0] if len(leaves) == 1 else np.stack(leaves, axis=1)

    def explain(self, x: Any) -> Explanation:
        """Why one sample is predicted as it is: the routers' choices and the leaf they lead to.

        Of several members it explains the first, as ``tree_`` is; classes have the names of
        ``classes_``, numbers are in the units of the y to learn from.

        Args:
            x: the sample, as for ``predict``: a row or an image, or a table or images of that one.

        Shapes:
            x ``[*shape]`` or ``[1, *shape]``.

        Raises:
            ValueError: x is not one sample of the shape of those of :meth:`fit`, or has NaN or
                infinity.

        Example:
            >>> from structnet import NeuralTreeRegressor
            >>> X, y = np.repeat([[0.0], [1.0]], 10, axis=0), np.repeat([200.0, 300.0], 10)
            >>> model = NeuralTreeRegressor(transformers=False, learning_rate=0.1, random_state=0)
            >>> print(model.fit(X, y).explain([1.0]))
            leaf 0, reached with 100.0 %
            its prediction: 300
            of all leaves: 300
        """
        first = self._first
        names = getattr(self, "classes_", None)
        return first.explain(check_sample(self, x), names, own_device(self.device))

    @property
    def tree_(self) -> NeuralTree:
        """The tree; of several members the first.

        It takes standardized inputs, and knows classes by their numbers: give it what
        :meth:`samples` gives, not the user's own. :meth:`explain` takes the user's own.
        """
        return self._first.tree

    @property
    def growth_(self) -> Grown:
        """How the tree grew, ``(decisions, history)``; of several members the first."""
        records = [record for record in self._first.history if record["phase"] != "refine"]
        return Grown(self._first.decisions, History(records))

    @property
    def history_(self) -> History:
        """A record an epoch of growth and refinement; of several members the first's.

        The fields are those of ``structnet.fit``, and ``phase`` ("root", "split", "deepen" or
        "refine"), ``node`` and ``decision``, the number of the decision that it was for.
        """
        return self._first.history

    def samples(self, X: Any, y: Any, sample_weight: Any = None) -> Samples:
        """Samples as ``tree_`` takes them, to draw or to measure it with.

        Inputs and numbers are standardized, unless ``standardize`` was False; classes become their
        places in ``classes_``; samples of weight 0 are left out.

        Args:
            X, y, sample_weight: as for :meth:`fit`.

        Raises:
            ValueError: data that do not fit those of :meth:`fit`.

        Example:
            >>> from matplotlib.figure import Figure
            >>> from structnet import NeuralTreeClassifier
            >>> from structnet.plot import plot_neural_tree
            >>> X, y = np.repeat([[0.0], [100.0]], 10, axis=0), np.repeat(["no", "yes"], 10)
            >>> model = NeuralTreeClassifier("mlp", max_leaves=2, epochs=2, random_state=0)
            >>> samples = model.fit(X, y).samples(X[::10], y[::10])
            >>> samples.x.round().tolist(), samples.targets.tolist()
            ([[-1.0], [1.0]], [0, 1])
            >>> ax = plot_neural_tree(model.tree_, samples, ax=Figure().add_subplot())
        """
        first = self._first
        return first.samples(self._checked(X, y, sample_weight, reset=False))

    def get_n_leaves(self) -> int:
        """The leaves of all members."""
        check_is_fitted(self)
        return sum(member.tree.num_leaves for member in self.members_)

    def get_depth(self) -> int:
        """The most routers on a path."""
        check_is_fitted(self)
        return max(int(member.tree.topology.depth.max()) for member in self.members_)

    @property
    def _first(self) -> Member:
        check_is_fitted(self)
        return self.members_[0]

    def __sklearn_is_fitted__(self) -> bool:
        return "members_" in vars(self)

    def _outputs(self, X: Any) -> np.ndarray:
        """What each member predicts. ``[members, n, classes or columns]``"""
        check_is_fitted(self)
        check_one_of("path", self.path, PATHS)
        x = check_inputs(self, X)
        how = self._how
        generator = torch.Generator(how["device"]).manual_seed(self.seed_)
        return np.stack([m.output(x, self.path, generator, **how) for m in self.members_])

    @property
    def _how(self) -> dict[str, Any]:
        return {"batch_size": self.batch_size, "device": own_device(self.device)}

    # Fitting

    def _check_parameters(self) -> None:
        check_parameters(self)

    def _checked_validation(self, validation: tuple) -> Arrays:
        if not isinstance(validation, tuple) or len(validation) not in (2, 3):
            raise ValueError(
                "the validation set must be (X, y) or (X, y, sample_weight). Got "
                f"{type(validation).__name__}"
                + (f" of {len(validation)}." if isinstance(validation, tuple) else ".")
            )
        if not len(validation[0]):
            raise ValueError("the validation set has 0 samples; expected at least 1")
        return self._checked(*validation, reset=False)

    def _fit_member(self, number: int, arrays: Arrays, held_out: Arrays | None) -> Member:
        seeds = np.random.SeedSequence([self.seed_, number]).generate_state(2)
        train, validation = arrays, held_out
        if held_out is None:
            parts = split(
                len(arrays.x), self.validation_fraction, int(seeds[0]), self._strata(arrays)
            )
            train, validation = map(arrays.take, parts)
        return self._training(number).run(train, validation, int(seeds[1]))

    def _training(self, number: int) -> Training:
        likelihood, outputs = self._task()
        return Training(
            primitives=self._primitives(outputs),
            likelihood=likelihood,
            outputs=outputs,
            limits=Limits(
                self.max_depth,
                self.max_leaves,
                self.max_parameters,
                self.max_transformers,
                self.min_gain,
                self.min_samples,
            ),
            epochs=self.epochs,
            refine_epochs=self.refine_epochs,
            patience=self.patience,
            n_init=self.n_init,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            standardize=self.standardize,
            warm_start=self.warm_start_solvers,
            prune=self.prune,
            device=self.device,
            folder=None if self.folder is None else Path(self.folder, f"member_{number}"),
            progress=bool(self.verbose),
        )

    def _primitives(self, outputs: int) -> Primitives:
        """The primitives that the user chose, for solvers with so many outputs."""
        chosen = self.primitives
        if chosen is None:
            chosen = "mlp" if len(self.sample_shape_) == 1 else "mnist_b"
        if isinstance(chosen, str):
            check_one_of("primitives", chosen, NAMED)
            chosen = NAMED[chosen]
        made = chosen if isinstance(chosen, Primitives) or not callable(chosen) else chosen(outputs)
        if not isinstance(made, Primitives):
            raise TypeError(
                "The 'primitives' parameter must be the name of a preset, Primitives, or a "
                f"function num_outputs -> Primitives. Got {type(made).__name__}."
            )
        return made.without(routers=not self.routers, transformers=not self.transformers)

    def _claim_folder(self, arrays: Arrays, held_out: Arrays | None) -> None:
        """Marks a new folder as that of this training, or makes sure that it is."""
        file = Path(self.folder, "fit.safetensors")
        settings = {
            "data": arrays.digest(),
            "validation data": held_out and held_out.digest(),
            **{name: as_text(name, value) for name, value in self.get_params(deep=False).items()},
            "primitives": self.primitives if isinstance(self.primitives, str) else "own",
            "random_state": self.seed_,
        }
        settings = {name: value for name, value in settings.items() if name not in FREE}
        if file.exists():
            check_settings(file, load_model(file)[1], settings)
        else:
            save_model(file, nn.Identity(), settings)

    # On disk

    def save(self, path: str | Path) -> None:
        """Writes the fitted estimator to one safetensors file, without pickle.

        Args:
            path: the file.

        Raises:
            TypeError: ``primitives`` is no name, or another parameter or a class is no plain value.
        """
        check_is_fitted(self)
        estimator_file.save(self, path)

    @classmethod
    def load(cls, path: str | Path) -> NeuralTreeEstimator:
        """The estimator that :meth:`save` wrote.

        Args:
            path: the file.

        Raises:
            CheckpointError: there is no such file, or it holds something else.
        """
        return estimator_file.load(cls, path)

    def _fitted_config(self) -> dict[str, Any]:
        names = getattr(self, "feature_names_in_", None)
        return {
            "n_features_in_": self.n_features_in_,
            "sample_shape_": list(self.sample_shape_),
            "seed_": self.seed_,
            "feature_names_in_": None if names is None else names.tolist(),
        }

    def _restore_fitted(self, config: dict[str, Any]) -> None:
        self.n_features_in_, self.seed_ = config["n_features_in_"], config["seed_"]
        self.sample_shape_ = tuple(config["sample_shape_"])
        if config["feature_names_in_"] is not None:
            self.feature_names_in_ = np.array(config["feature_names_in_"], dtype=object)

    # What the task decides

    def _checked(self, X: Any, y: Any, sample_weight: Any = None, *, reset: bool) -> Arrays:
        """The arrays, with the targets as a tree takes them."""
        raise NotImplementedError

    def _strata(self, arrays: Arrays) -> np.ndarray | None:
        """Classes whose shares the split keeps."""
        raise NotImplementedError

    def _task(self) -> tuple[Likelihood, int]:
        """The likelihood, and the outputs that a solver must have."""
        raise NotImplementedError
