"""A trained tree of an estimator, with the columns it reads and the scalers of its units."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor

from structnet.estimators.checked import Checked, as_dense
from structnet.estimators.scale import Standardizer
from structnet.estimators.tails import BentStandardizer
from structnet.neural_tree.columns import telling_columns
from structnet.neural_tree.few_rows import few_columns
from structnet.neural_tree.likelihood import GaussianMixture, Likelihood
from structnet.neural_tree.primitives import Primitives
from structnet.neural_tree.training import Trained
from structnet.neural_tree.tree import NeuralTree
from structnet.routing.batches import ask
from structnet.routing.on_demand import DenseRows
from structnet.routing.samples import Samples


class Form(NamedTuple):
    """The form in which a tree takes a user's samples.

    Attributes:
        columns: columns of the table that it reads; None for all.
        inputs: scaler of these; None leaves them as they are.
        targets: scaler of the targets; None leaves them as they are.
    """

    columns: np.ndarray | None = None
    inputs: Standardizer | None = None
    targets: Standardizer | None = None

    @classmethod
    def learned(
        cls, learn: Checked, seed: int, *, select: bool, standardize: bool
    ) -> tuple[Form, float | None]:
        """The form fitted to samples, and the strength of the penalty that the columns need.

        Args:
            learn: samples to learn from.
            seed: seed of the choice of columns.
            select: leave out columns of a table that only add noise.
            standardize: scale the inputs, and targets that are numbers.
        """
        inputs = targets = columns = strength = None
        if standardize and learn.y.dtype.kind != "i":
            targets = Standardizer.fitted(learn.y, learn.weights)
            learn = learn._replace(y=targets(learn.y))
        if select and learn.x.ndim == 2:
            columns, strength = telling(learn, seed, standardize=standardize)
        if standardize:
            inputs = BentStandardizer.learned(*learn.of(columns)[:3])
        return cls(columns, inputs, targets), strength

    def samples(self, given: Checked) -> Samples:
        """Samples in this form; sparse ones become dense batch by batch."""
        return given.of(self.columns).samples(self.inputs, self.targets, dense=True)


@dataclass(frozen=True)
class Member(Trained):
    """A trained tree, on the CPU, with the scalers between its units and the user's.

    Attributes:
        inputs: scaler of the inputs; None leaves them as they are.
        targets: scaler of the targets; None leaves them as they are.
        columns: columns of the table that the tree reads; None for all.
    """

    inputs: Standardizer | None = None
    targets: Standardizer | None = None
    columns: np.ndarray | None = None
    # By device and precision: a copy of the tree, its tensors, and those that they are copies of.
    _copies: dict[Any, tuple[NeuralTree, list[Tensor], list[Tensor]]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def form(self) -> Form:
        """The form in which the tree takes samples."""
        return Form(self.columns, self.inputs, self.targets)

    def ready(
        self, x: np.ndarray | csr_matrix, device: torch.device, dtype: torch.dtype
    ) -> tuple[NeuralTree, Tensor | DenseRows]:
        """A copy of the tree on a device and in a precision, and the inputs as it takes them.

        Args:
            x: checked inputs in the user's units.
            device: device to predict on.
            dtype: precision to predict in.

        Shapes:
            x ``[n, *shape]``.
        """
        some = x if self.columns is None else x[:, self.columns]
        return self._copied(device, dtype), as_dense(some, self.inputs, dtype)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_copies": {}}

    @torch.inference_mode(False)  # else its tensors could not be changed outside of that mode
    @torch.no_grad()
    def _copied(self, device: torch.device, dtype: torch.dtype) -> NeuralTree:
        """A copy of the tree in evaluation mode, with its present weights.

        Its modules are kept, as to make them takes longer than to predict a row;
        what else than weights is changed in the tree, they do not follow.
        """
        now = [*self.tree.parameters(), *self.tree.buffers()]
        tree, own, before = self._copies.get((device, dtype), (None, [], []))
        if tree is None or list(map(id, now)) != list(map(id, before)):
            tree = copy.deepcopy(self.tree).to(device, dtype).eval()
            own = [*tree.parameters(), *tree.buffers()]
            self._copies[device, dtype] = tree, own, now
        elif now:
            torch._foreach_copy_(own, now)
        return tree

    def described(self) -> dict[str, Any]:
        """Everything except the weights, as JSON; :meth:`restored` builds it again."""
        return self.config() | {
            "inputs": self.inputs and self.inputs.to_lists(),
            "targets": self.targets and self.targets.to_lists(),
            "columns": None if self.columns is None else self.columns.tolist(),
        }

    @classmethod
    def restored(
        cls, config: Mapping[str, Any], primitives: Primitives, likelihood: Likelihood
    ) -> Member:
        """The member of a description, with new weights."""
        trained = Trained.from_config(config, primitives, likelihood)
        inputs = BentStandardizer.from_lists(config["inputs"])
        targets = Standardizer.from_lists(config["targets"])
        columns = config["columns"]
        columns = None if columns is None else np.array(columns, np.int64)
        return cls(**vars(trained), inputs=inputs, targets=targets, columns=columns)

    def moments(
        self, tree: NeuralTree, x: Tensor | DenseRows, batch_size: int | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The means and variances of a mixture of Gaussians, in the targets' units.

        Args:
            tree: copy of this member's tree, on the device and in the precision to compute in.
            x: scaled inputs.
            batch_size: number of samples at a time; None for 1000.

        Shapes:
            x ``[n, *shape]`` -> both ``[n, columns]``, float64.
        """
        likelihood = cast(GaussianMixture, tree.likelihood)

        def question(batch: Tensor) -> Tensor:
            found = tree(batch)
            return torch.stack([likelihood.mixture(*found), likelihood.second_moment(*found)], 1)

        mean, square = ask(tree, x, question, batch_size).double().numpy().swapaxes(0, 1)
        variance = np.maximum(square - mean**2, 0)
        if self.targets is None:
            return mean, variance
        return self.targets.inverse(mean), variance * self.targets.sd**2


def telling(
    rows: Checked, seed: int, *, standardize: bool
) -> tuple[np.ndarray | None, float | None]:
    """The columns that are enough, or None for all; and the penalty chosen with them, if any.

    A forest finds what a line misses, and needs fewer rows; but it takes long for many columns.

    Args:
        rows: rows to learn from, whose targets are classes or standardized numbers.
        seed: seed of the choice.
        standardize: scale the columns first.

    Shapes:
        output[0] ``[kept]``, ascending.
    """
    columns = telling_columns(*rows[:3], seed, rows.groups)
    if columns is None and (line := few_columns(rows, seed, standardize=standardize)):
        return line.columns, line.strength
    return columns, None
