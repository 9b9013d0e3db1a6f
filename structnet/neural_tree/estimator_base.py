"""The common part of the scikit-learn estimators of neural trees: fit, predict, save and load."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from structnet.checks import check_bool, check_integer, check_number, check_one_of, wrong
from structnet.estimators import file
from structnet.estimators.checked import Checked, facts_of_both, seed_from
from structnet.estimators.class_weights import both_weighed
from structnet.estimators.failed_fit import whole
from structnet.estimators.held_out import hold_out
from structnet.estimators.hyper_parameters import settings_of
from structnet.estimators.inputs import check_inputs
from structnet.estimators.scale import Standardizer
from structnet.estimators.tree_estimator import TreeEstimatorMixin
from structnet.neural_tree import presets
from structnet.neural_tree.likelihood import Likelihood
from structnet.neural_tree.member import Form, Member
from structnet.neural_tree.primitives import Primitives
from structnet.neural_tree.settings import NeuralTreeSettings
from structnet.neural_tree.training import Trained, go_on, train
from structnet.neural_tree.tree import PATHS, NeuralTree
from structnet.routing.batches import ask
from structnet.routing.on_demand import DenseRows
from structnet.training.history import History
from structnet.training.processes import own_device
from structnet.training.seeding import seeded

# Parameters that may differ when an interrupted fit resumes.
FREE = ("path", "refine_epochs", "warm_start", "device", "verbose", "folder")
GROWN_WITH = ("primitives", "routers", "transformers", "loss")  # may not differ in a warm start


class NeuralTreeEstimator(TreeEstimatorMixin, BaseEstimator):
    """The common part of the classifier and the regressor.

    Args:
        primitives: name of a preset ("table", "mlp", "sarcos", "mnist_a", ..., "cifar10_c"),
            :class:`Primitives`, or a function ``num_outputs -> Primitives``; None takes "table" for
            tables and "mnist_b" for images.
        routers: permission for the tree to have routers. Routers or transformers must be allowed.
        transformers: permission for the tree to have transformers.
        standardize: scaling of each column of a table, channel of an image, or column of targets
            to mean 0 and standard deviation 1 over the training samples. Columns of a table with
            heavy tails are bent first, so that their numbers are spread like those of a normal
            distribution, see :class:`structnet.estimators.tails.BentStandardizer`; what is told of
            a tree is in your units.
        select_columns: leave out the columns of a table that only add noise, see
            :func:`.telling_columns` and :func:`.few_columns`, for primitives that start as a linear
            model ("table").
        path: way to predict, as in :meth:`NeuralTree.output`, ``batch_size`` samples at a time.
        n_members: number of trees, each with its own seed and validation samples; their
            probabilities, or means, are averaged.
        warm_start: continue with the existing trees when ``fit`` is called again: all their
            parameters are trained for ``refine_epochs`` more on the given samples, and the epoch is
            kept that is best on those held out of them, or on ``X_val``. Pass ``X_val`` if samples
            occur again: those that a tree has learned from say little about it.
            Branches, classes and scales are kept, and held-out samples are not learned from at the
            end; if ``n_members`` is larger than before, new trees are grown. There is no
            ``partial_fit``, as a tree grows by comparing losses on all samples.
        random_state: seed; an int makes results repeatable.
        device: device for training and prediction; "cpu", "cuda", ...
        verbose: True to show a progress bar for each training.
        folder: folder in which growth and refinement are saved, epoch by epoch; an interrupted
            ``fit`` resumes from it, given the same data and parameters; ``random_state`` must be an
            int.

    The others are those of :class:`structnet.neural_tree.NeuralTreeSettings`.
    """

    members_: list[Member]
    settings_: NeuralTreeSettings
    _dense = True
    _losses: Mapping[str, type[Likelihood]]  # by name; the first one is the default

    def __init__(
        self,
        primitives: str | Primitives | Callable[[int], Primitives] | None = None,
        *,
        loss: str | None = None,
        routers: bool = True,
        transformers: bool = True,
        max_depth: int | None = NeuralTreeSettings.max_depth,
        max_leaves: int | None = NeuralTreeSettings.max_leaves,
        max_transformers: int | None = NeuralTreeSettings.max_transformers,
        min_gain: float = NeuralTreeSettings.min_gain,
        gain_errors: float = NeuralTreeSettings.gain_errors,
        prefer_split: bool = NeuralTreeSettings.prefer_split,
        min_samples: float = NeuralTreeSettings.min_samples,
        epochs: int = NeuralTreeSettings.epochs,
        refine_epochs: int = NeuralTreeSettings.refine_epochs,
        patience: int | None = NeuralTreeSettings.patience,
        stop_refinement: bool = NeuralTreeSettings.stop_refinement,
        n_init: int = NeuralTreeSettings.n_init,
        batch_size: int | None = NeuralTreeSettings.batch_size,
        learning_rate: float = NeuralTreeSettings.learning_rate,
        weight_decay: float = NeuralTreeSettings.weight_decay,
        warm_start_solvers: bool = NeuralTreeSettings.warm_start_solvers,
        balance_routers: bool = NeuralTreeSettings.balance_routers,
        lookahead: int = NeuralTreeSettings.lookahead,
        cache_bytes: float = NeuralTreeSettings.cache_bytes,
        prune: float | None = NeuralTreeSettings.prune,
        strength: float | None = NeuralTreeSettings.strength,
        class_weight: str | Mapping[Any, float] | None = None,
        validation_fraction: float = 0.2,
        standardize: bool = True,
        select_columns: bool = True,
        path: str = "multi",
        n_members: int = 1,
        warm_start: bool = False,
        random_state: Any = None,
        device: str | torch.device = "cpu",
        verbose: bool = False,
        folder: str | Path | None = None,
    ):
        # scikit-learn requires that every parameter is stored unchanged.
        self.__dict__.update((name, value) for name, value in locals().items() if name != "self")

    @whole
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> NeuralTreeEstimator:
        """Grows the trees, refines and prunes them; with ``warm_start``, refines existing ones.

        Args:
            X: samples: a table, dense or sparse, or images. A sparse table is made dense batch by
                batch; the cache of the samples at a leaf is dense, of at most ``cache_bytes``.
            y: classes or numbers of the samples.
            sample_weight: number of times that each sample counts; 0 leaves it out, but not its
                class.
            groups: group of each sample, such as the patient it comes from, if new samples will
                come from other groups; samples are then held out in whole groups.
            X_val, y_val, sample_weight_val: samples, targets and weights used for validation,
                instead of a part of the samples.

        Shapes:
            X ``[n, features]`` or ``[n, channels, height, width]``; y ``[n]``, or ``[n, columns]``
            for regression; sample_weight, groups ``[n]``.

        Raises:
            TypeError: X is a torch Dataset or a DataLoader.
            ValueError: the data or a parameter is invalid; the message says which.
            CheckpointError: the state in ``folder`` belongs to another training.
        """
        if isinstance(X, Dataset | DataLoader):
            raise TypeError(
                "X must be an array or a sparse matrix, as an estimator keeps all samples in "
                f"memory. Got a {type(X).__name__}. To read samples batch by batch, pass Datasets "
                "or DataLoaders to structnet.neural_tree.train(tree, settings, train, validation)."
            )
        self._check_parameters()
        before = list(self.members_) if self.warm_start and self.__sklearn_is_fitted__() else []
        if before:
            self._check_going_on()
        given = self._checked(X, y, sample_weight, groups, reset=not before)
        held_out = self._checked_validation(X_val, y_val, sample_weight_val)
        seen = given
        if is_classifier(self):
            given, held_out = both_weighed(given, held_out, self.classes_, self.class_weight)
        elif self.class_weight is not None:
            raise wrong("class_weight", "None where the targets are numbers", self.class_weight)
        self.seed_ = seed_from(self.random_state)
        if self.folder is not None:
            named = isinstance(self.primitives, str)
            facts = {"primitives": self.primitives if named else "own", "random_state": self.seed_}
            facts |= {"loss": self.loss or next(iter(self._losses))}
            facts |= facts_of_both(given, held_out)
            file.claim(self.folder, self, FREE, **facts)
        warm = zip_longest(range(self.n_members), before[: self.n_members])
        self.members_ = [self._fit_member(i, given, held_out, each) for i, each in warm]
        self._grown_with = {name: getattr(self, name) for name in GROWN_WITH}
        self._count(seen)
        return self

    @property
    def tree_(self) -> NeuralTree:
        """The tree of the first member.

        It takes standardized inputs, of ``columns_``, and its classes are numbers from 0: pass it
        the result of :meth:`samples`. :meth:`explain` takes the user's own data.
        """
        return self._first.tree

    @property
    def trained_(self) -> Trained:
        """The first member's tree with the ``decisions`` and the ``history`` of its training."""
        return self._first

    @property
    def history_(self) -> History:
        """A record for each epoch of the first member's growth and refinement.

        Its fields are those of ``structnet.fit``, and ``phase`` ("root", "split", "deepen",
        "refine" or "finish"), ``node`` and ``decision``, the number of the decision for which the
        epoch was trained.
        """
        return self._first.history

    @property
    def columns_(self) -> np.ndarray | None:
        """The columns that the first tree reads, ascending, ``[kept]``; None if it reads all."""
        return self._first.columns

    @property
    def _first(self) -> Member:
        check_is_fitted(self)
        return self.members_[0]

    def __sklearn_is_fitted__(self) -> bool:
        return "members_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # Fitting

    def _settings(self, seed: int, strength: float | None) -> NeuralTreeSettings:
        """The hyper-parameters of a member, whose ranges are checked."""
        return settings_of(self, NeuralTreeSettings, seed=seed, strength=strength)

    def _check_going_on(self) -> None:
        """Refuses parameters that differ from those of the existing trees."""
        if self.folder is not None:
            raise wrong("folder", "None where 'warm_start' continues with a tree", self.folder)
        for name, kept in self._grown_with.items():
            value = getattr(self, name)
            if value is not kept and value != kept:
                raise wrong(name, f"{kept!r}, as for the trees that are trained further", value)

    def _check_parameters(self) -> None:
        self._settings(0, self.strength)
        check_number("validation_fraction", self.validation_fraction, 0, 1, open=True)
        check_integer("n_members", self.n_members, 1)
        for name in ("routers", "transformers", "standardize", "select_columns", "warm_start"):
            check_bool(name, getattr(self, name))
        if not (self.routers or self.transformers):
            raise ValueError(
                "routers=False and transformers=False together leave nothing to grow; expected at "
                "least one of them to be True"
            )
        check_one_of("path", self.path, PATHS)
        if self.loss is not None:
            check_one_of("loss", self.loss, self._losses)
        own_device(self.device)
        file.check_seed(self.folder, self.random_state)

    def _fit_member(
        self, number: int, given: Checked, held_out: Checked | None, before: Member | None
    ) -> Member:
        held_by, seed = map(int, np.random.SeedSequence([self.seed_, number]).generate_state(2))
        if held_out is None:
            strata = given.y if is_classifier(self) else None
            how = self.validation_fraction, held_by, strata
            try:
                places = hold_out(len(given.y), *how, groups=given.groups)
            except ValueError as error:
                also = ", or X_val and y_val" if given.groups is None else ""  # else it says so
                raise ValueError(f"{error}{also}") from None
            learn, validation = map(given.take, places)
        else:
            learn, validation = given, held_out
        # A tree that is trained further keeps the columns and scales that it was trained on.
        form, strength = (before.form, before.strength) if before else self._form(learn, seed)
        # Validation samples from the user are not learned from, nor those that a later warm start
        # may hold out again.
        own = held_out is None and not self.warm_start
        parts = [form.samples(each) for each in (learn, validation, *[given][:own])]
        run: dict[str, Any] = {"device": self.device, "progress": bool(self.verbose)}
        settings = self._settings(seed, self.strength or strength or None)
        if number == 0:
            self.settings_ = settings
        if before is not None:
            member = go_on(before, settings, *parts[:2], **run)
        else:
            run["folder"] = None if self.folder is None else Path(self.folder, f"member_{number}")
            trained = train(self._root(seed, form), settings, *parts, **run)
            member = Member(**vars(trained), **form._asdict())
        member.tree.to("cpu")
        return member

    def _form(self, learn: Checked, seed: int) -> tuple[Form, float | None]:
        plain = self._primitives(self._task()[1]).plain_root
        select = self.select_columns and plain
        return Form.learned(learn, seed, select=select, standardize=self.standardize)

    def _root(self, seed: int, form: Form) -> NeuralTree:
        likelihood, outputs = self._task()
        shape = self.sample_shape_ if form.columns is None else form.columns.shape
        with seeded(seed):
            tree = NeuralTree(self._primitives(outputs), shape, likelihood).float()
        if tree.num_outputs != outputs:
            raise ValueError(
                f"the primitives' solver gives {tree.num_outputs} outputs; expected {outputs} "
                f"for these targets and {type(likelihood).__name__}"
            )
        return tree

    def _task(self) -> tuple[Likelihood, int]:
        """The likelihood, and the number of outputs that a solver must have."""
        likelihood = self._losses[self.loss or next(iter(self._losses))]()
        if is_classifier(self):
            return likelihood, len(self.classes_)
        return likelihood, likelihood.num_outputs(*self.target_shape_ or (1,))

    def _primitives(self, outputs: int) -> Primitives:
        """The user's primitives, for solvers with this number of outputs."""
        chosen = self.primitives
        if chosen is None:
            chosen = "table" if len(self.sample_shape_) == 1 else "mnist_b"
        made = presets.made_of(chosen, outputs)
        return made.without(routers=not self.routers, transformers=not self.transformers)

    # Prediction

    def _trees(self) -> list[NeuralTree]:
        return [member.tree for member in self.members_]

    def _ready(self, x: np.ndarray) -> Sequence[tuple[NeuralTree, Tensor | DenseRows]]:
        # In the precision of x, as in float64 a prediction does not depend on the rest of its
        # batch. Accelerators, whose double precision is slow or missing, use single.
        device = own_device(self.device)
        double = x.dtype == np.float64 and device.type == "cpu"
        dtype = torch.float64 if double else torch.float32
        return [member.ready(x, device, dtype) for member in self.members_]

    def _outputs(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        check_one_of("path", self.path, PATHS)
        generator = torch.Generator(own_device(self.device)).manual_seed(self.seed_)
        x, size, found = check_inputs(self, X), self.batch_size, []
        for (tree, ready), member in zip(self._ready(x), self.members_, strict=True):
            question = partial(tree.output, path=self.path, generator=generator)
            answers = ask(tree, ready, question, size)
            outputs = answers.numpy().astype(x.dtype, copy=False)
            found.append(outputs if member.targets is None else member.targets.inverse(outputs))
        return np.stack(found)

    def _scales(self) -> tuple[Standardizer | None, Standardizer | None]:
        return self._first.inputs, self._first.targets

    def _columns(self) -> np.ndarray | None:
        return self.columns_

    # On disk

    def __getstate__(self) -> dict[str, Any]:
        # Without the functions that make modules: those defined inside a function cannot be
        # pickled, and the parameter `primitives` makes them again.
        state = dict(super().__getstate__())
        if "members_" in state:
            bare = [copy.copy(member.tree) for member in self.members_]
            for tree in bare:
                tree.__dict__["primitives"] = None
            both = zip(self.members_, bare, strict=True)
            state["members_"] = [replace(member, tree=tree) for member, tree in both]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for tree in self._trees() if "members_" in state else ():
            tree.primitives = self._primitives(self._task()[1])

    def _state(self) -> tuple[nn.Module, dict[str, Any]]:
        members = [member.described() for member in self.members_]
        chosen = presets.described(self.primitives)
        config = {"members": members, "primitives": chosen, "settings": asdict(self.settings_)}
        return nn.ModuleList(self._trees()), config

    def _restore(self, config: dict[str, Any]) -> nn.Module:
        self.primitives = presets.restored(config["primitives"])
        self._grown_with = {name: getattr(self, name) for name in GROWN_WITH}
        self.settings_ = NeuralTreeSettings(**config["settings"])
        likelihood, outputs = self._task()
        how = self._primitives(outputs), likelihood
        self.members_ = [Member.restored(member, *how) for member in config["members"]]
        return nn.ModuleList(self._trees())
