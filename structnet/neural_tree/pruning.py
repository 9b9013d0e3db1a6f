"""Pruning: removes the branches of a tree that hardly any sample takes.

Refinement drives routers towards 0 and 1, which leaves branches that no sample visits. Without
them, a tree is smaller and its greedy predictions on these samples are the same.
"""

from __future__ import annotations

import copy

from torch import Tensor, nn

from structnet.checks import check_number
from structnet.neural_tree.node import module_list
from structnet.neural_tree.tree import NeuralTree
from structnet.routing.samples import Samples
from structnet.routing.visits import shares


def prune(
    tree: NeuralTree, x: Tensor | Samples, threshold: float, path: str = "greedy"
) -> NeuralTree:
    """A copy of a tree without the branches that fewer than a given share of the samples visit.

    The router above a removed branch is removed too; the transformers of the other branch, which
    every sample takes now, are appended to those above. A sample that did not go to a removed
    branch reaches the same leaf through the same modules, so that its prediction along that path is
    the same. If both branches are below the threshold, the one with more visits stays.

    Args:
        tree: tree, which is not changed.
        x: samples whose visits are counted, each with its weight.
        threshold: smallest share of the samples for a branch to stay, from 0, which prunes nothing,
            to 1; any number above 0 prunes branches that no sample visits.
        path: path of the samples, as in :meth:`NeuralTree.output`; with ``"multi"``, each sample
            visits every branch with its probability of going there.

    Shapes:
        x ``[n, *shape]``.

    Raises:
        ValueError: the threshold is out of its range, the path is unknown, the samples have another
            shape, or there are none.

    Example:
        >>> import torch
        >>> from structnet.neural_tree import presets
        >>> tree = NeuralTree(presets.mlp(num_outputs=3, width=8), shape=(4,))
        >>> left, right = tree.split(0)
        >>> _ = nn.init.constant_(tree.nodes[0].router.bias, 100)  # everyone goes left
        >>> prune(tree, torch.rand(10, 4), threshold=0.01).num_leaves
        1
    """
    check_number("threshold", threshold, 0, 1)
    topology, merged = tree.topology.survivors(shares(tree, x, path), threshold)
    pruned = copy.deepcopy(tree)  # without shared weights, as the tree may be trained further
    nodes = [[pruned.nodes[v] for v in chain] for chain in merged]
    for chain in nodes:  # from the root down: all transform, the last one decides or predicts
        chain[-1].transformers = nn.Sequential(*(t for node in chain for t in node.transformers))
    pruned.nodes = module_list(chain[-1] for chain in nodes)
    pruned.topology = topology
    return pruned
