"""Pruning: without the branches that hardly any sample takes.

Refinement drives routers towards 0 and 1, which leaves branches that nobody visits; without them a
tree is smaller and its greedy predictions are the same.
"""

from __future__ import annotations

import copy
from numbers import Real

import numpy as np
from torch import Tensor, nn

from structnet.neural_tree.tree import PATHS, NeuralTree
from structnet.routing.batches import answers
from structnet.routing.samples import Samples, counted
from structnet.routing.topology import Topology


def prune(
    tree: NeuralTree, x: Tensor | Samples, threshold: float, path: str = "greedy"
) -> NeuralTree:
    """A copy of a tree without the branches that less than a share of the samples visits.

    With a branch goes the router above it; the transformers of the other branch, which everybody
    takes now, are appended to those above. A sample that never went to a pruned branch comes to the
    same leaf through the same modules: its prediction along that path is the same. Of two branches
    that are both below the threshold the one with more visits stays.

    Args:
        tree: stays as it is.
        x: samples that say how often each branch is taken, each counted by its weight.
        threshold: the least share of the samples for a branch to stay, from 0, which prunes
            nothing, to 1; any number above 0 prunes what no sample visits.
        path: how the samples go, as in :meth:`NeuralTree.output`; with ``"multi"`` each visits a
            branch as much as it is likely to go there.

    Shapes:
        x ``[n, *shape]``.

    Raises:
        ValueError: another threshold or path, or samples of another shape, or none.

    Example:
        >>> import torch
        >>> from structnet.neural_tree import presets
        >>> tree = NeuralTree(presets.mlp(num_outputs=3, width=8), shape=(4,))
        >>> left, right = tree.split(0)
        >>> _ = nn.init.constant_(tree.nodes[0].router.bias, 100)  # everyone goes left
        >>> prune(tree, torch.rand(10, 4), threshold=0.01).num_leaves
        1
    """
    if not isinstance(threshold, Real) or not 0 <= threshold <= 1:
        raise ValueError(
            f"The 'threshold' parameter must be a number in the range [0, 1]. Got {threshold!r}."
        )
    shares = visit_shares(tree, x, path)
    whole = [_down(tree, shares, threshold, 0)]  # each new node: the old ones that it consists of
    children: list[tuple[int, ...]] = []
    while len(children) < len(whole):
        below = tree.topology.children[whole[len(children)][-1]]
        children.append(tuple(len(whole) + place for place in range(len(below))))
        whole += [_down(tree, shares, threshold, child) for child in below]
    pruned = copy.deepcopy(tree)
    nodes = [[pruned.nodes[v] for v in chain] for chain in whole]
    for chain in nodes:
        chain[-1].transformers = nn.Sequential(*(t for node in chain for t in node.transformers))
    pruned.nodes = nn.ModuleList(chain[-1] for chain in nodes)
    pruned.topology = Topology(children)
    return pruned


def _down(tree: NeuralTree, shares: np.ndarray, threshold: float, node: int) -> list[int]:
    """A node and those below it that become one with it, because they lose their siblings."""
    chain = [node]
    while tree.topology.children[chain[-1]]:
        branches = sorted(tree.topology.children[chain[-1]], key=lambda v: -shares[v])
        if shares[branches[-1]] >= threshold:
            break
        chain.append(branches[0])
    return chain


def visit_shares(tree: NeuralTree, x: Tensor | Samples, path: str = "greedy") -> np.ndarray:
    """The share of the samples' weight that visits each node; arguments as in :func:`prune`.

    Shapes:
        x ``[n, *shape]`` -> ``[num_nodes]``, float64.
    """
    if path not in PATHS:
        raise ValueError(f"The 'path' parameter must be one of {list(PATHS)}. Got {path!r}.")
    x, counts = counted(x)
    visits = np.zeros(tree.topology.num_nodes)
    for rows, reached in answers(tree, x, lambda batch: _at_leaves(tree, batch, path)):
        visits[tree.topology.leaves] += counts[rows] @ reached
    return tree.topology.sums_below(visits) / counts.sum()


def _at_leaves(tree: NeuralTree, x: Tensor, path: str) -> np.ndarray:
    """How much each sample of a batch visits each leaf. ``[n, leaves]``."""
    if path == "multi":
        return tree.leaf_log_prob(x).exp().double().cpu().numpy()
    return tree.apply_path(x, path).cpu().numpy()[:, None] == tree.topology.leaves
