"""Why a neural tree predicts what it predicts for one sample."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from structnet.neural_tree.likelihood import Categorical
from structnet.neural_tree.tree import NeuralTree
from structnet.training.metrics import evaluating


@dataclass(frozen=True)
class Choice:
    """One router's decision: its node, the side ("left" or "right") and that side's probability."""

    node: int
    side: str
    probability: float


@dataclass(frozen=True)
class Explanation:
    """How one sample is predicted; ``str`` tells it.

    Attributes:
        choices: on the greedy path, from the root down.
        probability: of the whole path.
        leaf: the node it ends in.
        prediction: of that leaf alone: the probability of each class, or the means, in the units
            that were asked for.
        mixture: of all leaves together, likewise.
        class_names: what the classes are called; None if the prediction is of numbers.
    """

    choices: tuple[Choice, ...]
    probability: float
    leaf: int
    prediction: tuple[float, ...]
    mixture: tuple[float, ...]
    class_names: tuple[str, ...] | None

    def __str__(self) -> str:
        return "\n".join(
            [
                *(f"node {c.node}: {c.side}, {percent(c.probability)}" for c in self.choices),
                f"leaf {self.leaf}, reached with {percent(self.probability)}",
                f"its prediction: {self._says(self.prediction)}",
                f"of all leaves: {self._says(self.mixture)}",
            ]
        )

    def _says(self, prediction: tuple[float, ...]) -> str:
        if self.class_names is None:
            return ", ".join(f"{mean:.4g}" for mean in prediction)
        best = int(np.argmax(prediction))
        return f"class {self.class_names[best]}, {percent(prediction[best])}"


def explain(
    tree: NeuralTree,
    x: Tensor,
    class_names: Sequence[str] | None = None,
    to_units: Callable[[np.ndarray], np.ndarray] | None = None,
) -> Explanation:
    """The decisions on one sample's greedy path, and what they lead to.

    Args:
        tree: the tree.
        x: one sample.
        class_names: what the classes are called; their numbers by default.
        to_units: takes means from the tree's units to those to tell them in, as
            ``Standardizer.inverse`` does; by default they stay as the tree gives them.

    Shapes:
        x ``[*shape]``, without a batch; to_units ``[1, columns] -> [1, columns]``.

    Raises:
        ValueError: the sample has another shape, there is not one name a class, or there are units
            for classes.

    Example:
        >>> import torch
        >>> from structnet.neural_tree import presets
        >>> tree = NeuralTree(presets.mlp(num_outputs=2, width=8), shape=(4,))
        >>> _ = tree.split(0)
        >>> for parameter in tree.parameters():
        ...     _ = torch.nn.init.zeros_(parameter)
        >>> print(explain(tree, torch.ones(4), class_names=["cat", "dog"]))
        node 0: left, 50.0 %
        leaf 1, reached with 50.0 %
        its prediction: class cat, 50.0 %
        of all leaves: class cat, 50.0 %
    """
    if tuple(x.shape) != tree.shape:
        raise ValueError(
            f"x must be {list(tree.shape)}, one sample of the tree's shape. Got {list(x.shape)}."
        )
    names, logits = names_of(tree, class_names), []
    if names is not None and to_units is not None:
        raise ValueError("there are to_units for a tree that predicts classes, not numbers")
    batch = x.unsqueeze(0).to(next(tree.parameters(), x).device)

    def greedy(logit: Tensor) -> Tensor:
        logits.append(float(logit))
        return logit >= 0

    with evaluating(tree):
        leaf, outputs = tree.follow(batch, greedy)
        prediction, mixture = tree.likelihood.single(outputs), tree.output(batch)
    log_prob = [-math.log1p(math.exp(-abs(logit))) for logit in logits]  # of the likelier side
    path = tree.topology.path(int(leaf))
    if names is not None:
        prediction, mixture = prediction.exp(), mixture.exp()
    if to_units is not None:
        prediction, mixture = (to_units(part.cpu().numpy()) for part in (prediction, mixture))
    return Explanation(
        tuple(
            Choice(v, "left" if logit >= 0 else "right", math.exp(p))
            for v, logit, p in zip(path[:-1], logits, log_prob, strict=True)
        ),
        math.exp(sum(log_prob)),
        path[-1],
        tuple(prediction[0].tolist()),
        tuple(mixture[0].tolist()),
        names,
    )


def names_of(tree: NeuralTree, class_names: Sequence[str] | None) -> tuple[str, ...] | None:
    """The names of the classes; None if the tree predicts numbers."""
    if not isinstance(tree.likelihood, Categorical):
        if class_names is not None:
            raise ValueError("there are class_names for a tree that predicts numbers, not classes")
        return None
    names = tuple(map(str, range(tree.num_outputs) if class_names is None else class_names))
    if len(names) != tree.num_outputs:
        raise ValueError(
            f"there are {len(names)} class_names for {tree.num_outputs} classes; expected one each"
        )
    return names


def percent(share: float) -> str:
    """A share as people read it."""
    return f"{100 * share:.1f} %"
