"""The plan of one compiled sweep: which rows are computed with which weights, level by level."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structnet.message_passing import _kernels as indices
from structnet.message_passing.scheduling import Layout
from structnet.tensor_tree.compiled.kernels import steps
from structnet.trees.forest import Forest


class Plan(NamedTuple):
    """Rows and runs of rows; a run is of one level and uses one set of weights.

    The state of node v stands in row v, that of the bottom after all nodes. Level 0 is the untyped
    leaves, which are no run, and the bottom; level h + 1 the typed nodes of height h. A level's
    nodes are computed, then its messages.

    Attributes:
        types: the type of each node.
        offsets, inbox: the messages that each node receives, one a slot.
        sources: the state that each message is computed from.
        nodes, messages: the first row of each run, and the end.
        node_keys, message_keys: number of the weights that each run uses.
        node_levels, message_levels: the first run of each level, and the end.

    Shapes:
        types ``[num_nodes]``; offsets ``[num_nodes + 1]``; inbox ``[slots]``; sources
        ``[num_messages]``; the others ``[runs + 1]``, ``[runs]``, ``[levels + 1]``.
    """

    types: np.ndarray
    offsets: np.ndarray
    inbox: np.ndarray
    sources: np.ndarray
    nodes: np.ndarray
    node_keys: np.ndarray
    node_levels: np.ndarray
    messages: np.ndarray
    message_keys: np.ndarray
    message_levels: np.ndarray


def make_plan(forest: Forest, layout: Layout) -> Plan:
    """Plan a sweep over ``forest``, which the layout has checked; linear in its nodes."""
    offsets, source, key = indices.slots(
        forest.types, forest.offsets, forest.children, forest.pos, layout.arity,
        layout.positional, layout.pads,
    )  # fmt: skip
    # Nodes are numbered by height, then type, and only those of height 0 may have none.
    level = np.append(np.where(forest.types < 0, 0, forest.height + 1), 0)
    message_level, sources, message_key, inbox = indices.distinct_messages(
        source, key, level, layout.num_keys
    )
    leaves, levels = int(np.searchsorted(forest.types[forest.height == 0], 0)), level.max() + 1
    nodes = steps.runs(level[leaves:-1], forest.types[leaves:], levels, leaves)
    messages = steps.runs(message_level, message_key, levels, 0)
    return Plan(forest.types, offsets, inbox, sources, *nodes, *messages)
