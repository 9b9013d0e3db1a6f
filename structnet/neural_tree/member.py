"""One tree of a neural tree estimator: trained on numpy arrays, and asked with them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from structnet.estimators.checked import Arrays, Standardizer, mean_one
from structnet.neural_tree.growth.decision import Decision, Limits
from structnet.neural_tree.likelihood import Categorical, Likelihood
from structnet.neural_tree.primitives import Primitives
from structnet.neural_tree.settings import NeuralTreeSettings
from structnet.neural_tree.training import train as train_tree
from structnet.neural_tree.tree import NeuralTree
from structnet.routing.batches import ask
from structnet.routing.explanation import Explanation, explain
from structnet.routing.samples import Samples
from structnet.training.history import History
from structnet.training.seeding import random_states_kept


@dataclass
class Member:
    """A trained tree, and what stands between its numbers and the user's.

    Attributes:
        tree: on the CPU.
        inputs, targets: what standardizes them; None leaves them as they are.
        decisions: of the growth.
        history: a record an epoch, its ``phase`` one of "root", "split", "deepen" and "refine".
    """

    tree: NeuralTree
    inputs: Standardizer | None
    targets: Standardizer | None
    decisions: list[Decision]
    history: History

    def output(self, x: np.ndarray, path: str, generator: torch.Generator, **how: Any) -> Tensor:
        """Log-probabilities of classes, or means in the units of the user's targets.

        Args:
            x: as the user gave them.
            path, generator: as in :meth:`NeuralTree.output`.
            how: ``batch_size`` and ``device``.

        Shapes:
            ``[n, *shape] -> [n, classes or columns]``, on the CPU, in the precision of x.
        """
        found = self._each(x, lambda tree, part: tree.output(part, path, generator), **how)
        found = found.numpy().astype(x.dtype, copy=False)
        return found if self.targets is None else self.targets.inverse(found)

    def apply(self, x: np.ndarray, **how: Any) -> np.ndarray:
        """The leaf at the end of each sample's greedy path. ``[n, *shape] -> [n]``, int64."""
        return self._each(x, NeuralTree.apply_path, **how).numpy()

    def explain(
        self, x: np.ndarray, class_names: Sequence[str] | None, device: str | torch.device
    ) -> Explanation:
        """Why the tree predicts what it predicts for one sample, in the user's units.

        Args:
            x: the sample, as the user gave it.
            class_names: as in :func:`.explain.explain`.
            device: where to compute.

        Shapes:
            x ``[1, *shape]``.
        """
        tree, sample = self._ready(x, device)
        units = None if self.targets is None else self.targets.inverse
        return explain(tree, sample[0], class_names, units)

    def samples(self, arrays: Arrays) -> Samples:
        """What the tree takes, of samples as the user gave them."""
        return _samples(arrays, self.tree.likelihood, self.inputs, self.targets)

    def _each(
        self,
        x: np.ndarray,
        question: Callable[[NeuralTree, Tensor], Tensor],
        batch_size: int,
        device: str | torch.device,
    ) -> Tensor:
        tree, x = self._ready(x, device)
        return ask(tree, x, partial(question, tree), batch_size)

    def _ready(self, x: np.ndarray, device: str | torch.device) -> tuple[NeuralTree, Tensor]:
        """A copy of the tree on the device, and what it takes."""
        x = x if self.inputs is None else self.inputs(x)
        # In the precision of x, so that float64 gives the same whatever else is in the batch. An
        # accelerator, where double precision is slow or missing, stays with single.
        double = x.dtype == np.float64 and torch.device(device).type == "cpu"
        dtype = torch.float64 if double else torch.float32
        return copy.deepcopy(self.tree).to(device, dtype), torch.tensor(x, dtype=dtype)

    def config(self) -> dict[str, Any]:
        """All but the weights, as JSON."""
        scales = {"inputs": self.inputs, "targets": self.targets}
        return {
            "tree": self.tree.config(),
            "decisions": [asdict(decision) for decision in self.decisions],
            "history": list(self.history),
            **{
                name: scale and [scale.mean.tolist(), scale.scale.tolist()]
                for name, scale in scales.items()
            },
        }

    @classmethod
    def from_config(
        cls, config: dict[str, Any], primitives: Primitives, likelihood: Likelihood
    ) -> Member:
        """The same again, with new weights."""
        with random_states_kept(torch.device("cpu")):
            tree = NeuralTree.from_config(config["tree"], primitives, likelihood)
        scales = [
            config[name] and Standardizer(*map(np.array, config[name]))
            for name in ("inputs", "targets")
        ]
        decisions = [Decision(**decision) for decision in config["decisions"]]
        return cls(tree, *scales, decisions, History(config["history"]))


@dataclass(frozen=True)
class Training:
    """How to train a member; see :class:`NeuralTreeClassifier` for what is not said here.

    Args:
        primitives, likelihood: of the tree.
        outputs: that a solver must have.
        limits: of the growth.
        folder: where to keep the state, and go on from.
        progress: show a bar for each training.
    """

    primitives: Primitives
    likelihood: Likelihood
    outputs: int
    limits: Limits
    epochs: int
    refine_epochs: int
    patience: int | None
    n_init: int
    batch_size: int
    learning_rate: float
    standardize: bool
    warm_start: bool
    prune: float | None
    device: str | torch.device
    folder: Path | None
    progress: bool

    def run(self, train: Arrays, validation: Arrays, seed: int) -> Member:
        """Grows a tree, refines and prunes it.

        Args:
            train, validation: samples to learn from and to choose by; y are codes of classes, or
                numbers ``[n, columns]``.
            seed: everything random follows from it.

        Raises:
            ValueError: the primitives do not fit the samples or the task.
        """
        inputs, targets = self._scales(train)
        samples = [
            _samples(arrays, self.likelihood, inputs, targets) for arrays in (train, validation)
        ]
        tree = self._tree(train.x.shape[1:], seed)
        limits = asdict(self.limits)
        settings = NeuralTreeSettings(
            **limits,
            epochs=self.epochs,
            refine_epochs=self.refine_epochs,
            patience=self.patience,
            n_init=self.n_init,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            warm_start_solvers=self.warm_start,
            prune=self.prune,
            seed=seed,
        )
        trained = train_tree(
            tree, settings, *samples, device=self.device, folder=self.folder, progress=self.progress
        )
        return Member(trained.tree.to("cpu"), inputs, targets, trained.decisions, trained.history)

    def _scales(self, train: Arrays) -> tuple[Standardizer | None, Standardizer | None]:
        if not self.standardize:
            return None, None
        inputs = Standardizer.fitted(train.x, train.weights)
        if isinstance(self.likelihood, Categorical):
            return inputs, None
        return inputs, Standardizer.fitted(train.y, train.weights)

    def _tree(self, shape: tuple[int, ...], seed: int) -> NeuralTree:
        with random_states_kept(torch.device("cpu")):
            torch.manual_seed(seed)
            tree = NeuralTree(self.primitives, shape, self.likelihood)
        if tree.num_outputs != self.outputs:
            raise ValueError(
                f"the primitives' solver gives {tree.num_outputs} outputs; expected {self.outputs} "
                f"for these targets and {type(self.likelihood).__name__}"
            )
        return tree


def _samples(
    arrays: Arrays,
    likelihood: Likelihood,
    inputs: Standardizer | None,
    targets: Standardizer | None,
) -> Samples:
    x, y, weights = arrays.x, arrays.y, mean_one(arrays.weights)
    x = x if inputs is None else inputs(x)
    y = y if targets is None else targets(y)
    of_y = torch.int64 if isinstance(likelihood, Categorical) else torch.float32
    return Samples(
        torch.tensor(x, dtype=torch.float32),
        torch.tensor(y, dtype=of_y),
        None if weights is None else torch.tensor(weights, dtype=torch.float32),
    )
