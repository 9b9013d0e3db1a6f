"""A neural tree that starts as a trained network."""

from __future__ import annotations

import copy
from collections.abc import Sequence

from torch import nn

from structnet.neural_tree.likelihood import Likelihood
from structnet.neural_tree.primitives import Primitives, shape_after
from structnet.neural_tree.tree import NeuralTree


def from_sequential(
    sequential: nn.Sequential,
    primitives: Primitives,
    shape: Sequence[int],
    likelihood: Likelihood | None = None,
) -> NeuralTree:
    """A root that computes the same as a network, from which a tree can grow.

    The last module of the network becomes the solver, every other one a transformer. To make
    several modules count as one transformer, which affects where the primitives pool, put them into
    an ``nn.Sequential``. The tree has copies of the modules; the network is not changed.

    Args:
        sequential: network.
        primitives: functions that make the modules that are grown below.
        shape: shape of one sample.
        likelihood: rule by which the leaves predict together, and the loss.

    Raises:
        TypeError: the network is not an ``nn.Sequential``.
        ValueError: the network is empty, does not run on such samples, or does not have as many
            outputs as the solvers that the primitives make.

    Example:
        >>> import torch
        >>> from structnet.neural_tree import presets
        >>> network = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
        >>> tree = from_sequential(network, presets.mlp(num_outputs=3), shape=(4,))
        >>> tree.num_transformers(0)
        2
        >>> x = torch.rand(5, 4)
        >>> torch.equal(tree.output(x), network(x).log_softmax(-1))
        True
    """
    if not isinstance(sequential, nn.Sequential):
        raise TypeError(f"expected an nn.Sequential. Got {type(sequential).__name__}.")
    if not len(sequential):
        raise ValueError("expected an nn.Sequential that ends in a solver. Got an empty one.")
    tree = NeuralTree(primitives, shape, likelihood)
    *transformers, solver = copy.deepcopy(sequential)  # as a whole: shared weights stay shared
    root, shapes = tree.nodes[0], [tree.shape]
    for place, module in enumerate([*transformers, solver]):
        name = f"module {place} of the nn.Sequential"
        shapes.append(shape_after(module, shapes[-1], name))
    if shapes[-1] != (tree.num_outputs,):
        raise ValueError(
            f"the nn.Sequential gives {list(shapes[-1])} for each sample; expected "
            f"[{tree.num_outputs}], as from the primitives' solvers"
        )
    root.transformers, root.solver = nn.Sequential(*transformers), solver
    root.shape = shapes[-2]
    return tree
