"""The network along one path of a grown tree, trained by itself, to show what branches gain.

Reference:
    Tanno et al., Adaptive Neural Trees, ICML 2019, Table 3.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from structnet.recipes.neural_tree.settings import NeuralTreeRunSettings
from structnet.recipes.protocol import sizes_of
from structnet.recipes.recipe import Say, result_of

if TYPE_CHECKING:
    from structnet.neural_tree import NeuralTree
    from structnet.recipes.run import Run
    from structnet.routing import Samples


def train(settings: NeuralTreeRunSettings, say: Say, grown: Run) -> dict[str, Any]:
    """Trains the network from a tree's root to one leaf, without routers, and returns a result.

    The path is that of :func:`longest_path`, which is our own choice. The weights are new, and are
    trained like those of a root and then in refinement, with the tree's settings.

    Args:
        settings: settings of the tree.
        say: function that prints a line for the user.
        grown: run of the tree.

    Raises:
        CheckpointError: the run's data have changed.
    """
    from structnet.neural_tree import train as trained
    from structnet.recipes.neural_tree.answers import measured
    from structnet.recipes.neural_tree.data import load_data
    from structnet.recipes.neural_tree.runs import root_of, tree_of
    from structnet.training.modules import count_parameters
    from structnet.training.processes import own_device

    data = load_data(settings)
    described = data.describe()
    grown.check_same_data(described)
    tree = tree_of(grown)
    leaf = longest_path(tree, data.train)
    number = tree.num_transformers(leaf)
    say(f"training the network of the path to leaf {leaf} of {grown}, {number} transformers ...")
    structure = {"shape": tree.shape, "children": [()], "transformers": [number]}
    structure |= {"temperatures": (1, 1)}
    begin = time.perf_counter()
    found = trained(
        root_of(settings, described, structure),
        replace(settings.training.to_library(), max_leaves=1, max_transformers=number),
        data.train,
        data.validation,
        data.everything() if settings.rows.finish else None,
        device=own_device(settings.place.device),
    ).tree
    took, tested = time.perf_counter() - begin, measured(found, data.test, described, ["multi"])
    result = result_of("one-path", data.arrays.name, settings, sizes_of(data), tested, took)
    return result | {"details": {"parameters": count_parameters(found), "transformers": number}}


def longest_path(tree: NeuralTree, samples: Samples) -> int:
    """The leaf after the most transformers; at a tie, the one that most samples reach.

    Args:
        tree: grown tree.
        samples: samples, which take their greedy paths.
    """
    from structnet.routing.visits import shares

    leaves, share = tree.topology.leaves.tolist(), shares(tree, samples)
    return max(leaves, key=lambda leaf: (tree.num_transformers(leaf), share[leaf]))
