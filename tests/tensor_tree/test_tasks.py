"""The tasks of a sweep on a GPU."""

from __future__ import annotations

import random

import numpy as np
import pytest
from random_trees import VOCABULARY, chain, random_trees

from structnet.message_passing.scheduling import Layout
from structnet.tensor_tree.compiled.plan import make_plan
from structnet.tensor_tree.gpu.tasks import BLOCK, make_tasks
from structnet.trees.forest import Forest


@pytest.mark.parametrize("seed", range(10))
def test_every_row_once_and_after_all_that_it_needs(seed: int):
    rng = random.Random(seed)
    trees = [tree for _ in range(20) for tree in random_trees(rng)] + [chain(30)]
    plan = make_plan(Forest.from_trees(trees, VOCABULARY, share=False), Layout(2, 3, True, True))
    kinds = (
        (plan.nodes, plan.node_keys, plan.node_levels),
        (plan.messages, plan.message_keys, plan.message_levels),
    )
    keys = [np.repeat(of_kind[1], np.diff(of_kind[0])) for of_kind in kinds]
    up, down = make_tasks(*kinds)
    for tasks, sign in ((up, 1), (down, -1)):
        phase_of = [np.full(len(own), -1) for own in keys]
        for phase, before, kind, first, end, key in tasks.tolist():
            assert 0 < end - first <= BLOCK
            assert (phase_of[kind][first:end] == -1).all()
            assert (keys[kind][first:end] == key).all()
            assert before == (tasks[:, 0] == phase - 1).sum()
            phase_of[kind][first:end] = phase
        assert all((own >= 0).all() for own in phase_of)
        assert (np.diff(tasks[:, 0]) >= 0).all()
        nodes, messages = (sign * own for own in phase_of)
        sent = plan.sources < len(nodes)  # the bottom's state is there from the start
        assert (messages[sent] > nodes[plan.sources[sent]]).all()
        receivers = np.repeat(np.arange(len(nodes)), np.diff(plan.offsets))
        assert (nodes[receivers] > messages[plan.inbox]).all()
