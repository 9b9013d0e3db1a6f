"""A neural tree that starts as a network which is trained already."""

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
    """A root that computes what a network computes, from which a tree can grow.

    The last module of the network becomes the solver, each other one a transformer: put modules
    into an ``nn.Sequential`` if several are to count as one transformer, which affects where the
    primitives pool. The tree has copies; the network is not changed.

    Args:
        sequential: the network.
        primitives: functions that make the modules that are grown below.
        shape: shape of one sample.
        likelihood: rule by which the leaves predict together, and the loss.

    Raises:
        TypeError: the network is not an ``nn.Sequential``.
        ValueError: it is empty, does not run on such samples, or has another number of outputs than
            the solvers that the primitives make.

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
    *transformers, solver = copy.deepcopy(sequential)  # at once: what shares weights goes on so
    root, shapes = tree.nodes[0], [tree.shape]
    for place, module in enumerate([*transformers, solver]):
        name = f"module {place} of the nn.Sequential"
        shapes.append(shape_after(module, shapes[-1], name))
    if shapes[-1] != (tree.num_outputs,):
        raise ValueError(
            f"the nn.Sequential gives {list(shapes[-1])} for each sample; expected "
            f"[{tree.num_outputs}], as the primitives' solvers give"
        )
    root.transformers, root.solver = nn.Sequential(*transformers), solver
    root.shape = shapes[-2]
    return tree
