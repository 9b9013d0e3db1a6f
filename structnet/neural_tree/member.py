"""A trained tree of an estimator, with the scalers between its units and the user's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from torch import Tensor

from structnet.estimators.scale import Standardizer
from structnet.neural_tree.likelihood import GaussianMixture
from structnet.neural_tree.training import Trained
from structnet.neural_tree.tree import NeuralTree
from structnet.routing.batches import ask
from structnet.routing.on_demand import DenseRows


@dataclass(frozen=True)
class Member(Trained):
    """A trained tree, on the CPU, with the scalers between its units and the user's.

    Attributes:
        inputs: scaler of the inputs; None leaves them as they are.
        targets: scaler of the targets; None leaves them as they are.
    """

    inputs: Standardizer | None = None
    targets: Standardizer | None = None

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
