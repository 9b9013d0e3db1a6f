"""The plan of a sweep: who computes with whom, and who reads what, checked row by row."""

from __future__ import annotations

import random
from collections import Counter
from typing import NamedTuple

import numpy as np
import pytest
from forests import children_by_place, exactly
from hypothesis import given
from hypothesis import strategies as st
from random_trees import ARITY, VOCABULARY, chain, random_trees, tree_lists

from structnet.errors import GraphError
from structnet.message_passing.scheduling import Layout, Schedule, Stack, schedule
from structnet.trees.forest import Forest
from structnet.trees.tree import Tree
from structnet.trees.vocabulary import Vocabulary

BOTTOM = -1  # the number of the missing child below
layouts = st.builds(
    Layout,
    num_types=st.sampled_from([2, 3, 40]),
    arity=st.sampled_from([ARITY, ARITY + 2]),
    positional=st.booleans(),
    pads=st.booleans(),
    slack=st.sampled_from([0, 1, 64, 10**6]),
    node_slack=st.sampled_from([None, 0, 64]),
)


class Message(NamedTuple):
    sender: int
    key: int


def keys_of(stack: Stack) -> list[int]:
    """The key of every row."""
    keys = range(stack.runs) if stack.keys is None else stack.keys.tolist()
    assert len(keys) == stack.runs
    return [key for key in keys for _ in range(stack.length)]


def states_by_level(forest: Forest, plan: Schedule) -> list[list[int | None]]:
    """Which node each row of each level holds; None for a padding row."""
    leaves = len(plan.leaf_tokens)
    total = leaves + 1 + plan.num_rows
    node_at: list[int | None] = [None] * total
    node_at[leaves] = BOTTOM
    for node, row in enumerate(plan.row.tolist()):
        assert node_at[row] is None, "two nodes in one row"
        node_at[row] = node
    rows, end = [node_at[: leaves + 1]], leaves + 1
    for level in plan.levels[1:]:
        count = sum(stack.runs * stack.length for stack, *_ in level.nodes)
        rows.append(node_at[end : end + count])
        end += count
    assert end == total
    return rows


def messages_sent(forest: Forest, plan: Schedule) -> list[tuple[Message | None, int]]:
    """Each message row's sender and key, None for padding, and the level it is sent from."""
    states = states_by_level(forest, plan)
    sent: list[tuple[Message | None, int]] = []
    for h, level in enumerate(plan.levels):
        for stack, outbox in level.messages:
            assert stack.first == len(sent)
            ends = [*outbox.offsets.tolist()[1:], len(outbox.slots)]
            for row, (key, source) in enumerate(
                zip(keys_of(stack), outbox.sources.tolist(), strict=True)
            ):
                received = ends[row] > int(outbox.offsets[row])
                sent.append((Message(states[h][source], key) if received else None, h))
                if received:
                    assert states[h][source] is not None, "sent from a padding row"
    assert len(sent) == plan.num_messages
    return sent


def expected_inbox(forest: Forest, layout: Layout, node: int) -> list[Message]:
    """What a node receives, by place, from the forest alone."""
    below = children_by_place(forest, node)
    places = range(layout.arity) if layout.pads else sorted(below)
    kind = int(forest.types[node])
    return [
        Message(below.get(j, BOTTOM), kind * layout.arity + j if layout.positional else kind)
        for j in places
    ]


def check(forest: Forest, layout: Layout) -> None:
    plan = schedule(forest, layout)
    untyped = np.flatnonzero(forest.types < 0)
    assert plan.leaf_tokens.tolist() == forest.tokens[untyped].tolist()
    states = states_by_level(forest, plan)
    sent = messages_sent(forest, plan)

    real = [message for message, _ in sent if message is not None]
    assert len(real) == len(set(real)), "a message is computed twice"

    seen, slots = [], 0
    row_first = 0
    receivers = []  # (message row, slot, node row) by the inboxes
    for h, level in enumerate(plan.levels):
        row_in_level = 0
        for stack, inbox, tokens in level.nodes:
            assert stack.first == row_first
            assert inbox.first == slots
            offsets = [*inbox.offsets.tolist(), len(inbox.messages)]
            assert len(tokens) == stack.runs * stack.length
            for row, key in enumerate(keys_of(stack)):
                node = states[h][row_in_level]
                row_in_level += 1
                places = range(offsets[row], offsets[row + 1])
                assert all(int(inbox.owner[i]) == row for i in places)
                rows = [int(inbox.messages[i]) for i in places]
                if layout.pads:
                    assert len(rows) == layout.arity  # padding rows too
                if node is None:
                    assert stack.real is not None and not stack.real[stack.first + row]
                    assert int(tokens[row]) in forest.tokens[forest.types >= 0]
                    # It may read a message that is not sent yet: the buffer holds zeros there.
                    assert layout.pads or len(rows) == min(plan.num_messages, 1)
                    continue
                seen.append(node)
                assert stack.real is None or stack.real[stack.first + row]
                assert key == forest.types[node]
                assert int(tokens[row]) == forest.tokens[node]
                assert [sent[m][0] for m in rows] == expected_inbox(forest, layout, node)
                assert all(sent[m][1] < h for m in rows), "read before it was sent"
                for m, i in zip(rows, places, strict=True):
                    receivers.append((m, inbox.first + i, stack.first + row))
            row_first = stack.end
            slots += len(inbox.messages)
    assert sorted(seen) == np.flatnonzero(forest.types >= 0).tolist()
    assert (row_first, slots) == (plan.num_rows, plan.num_slots)
    assert sorted(receivers) == sorted(told_by_outboxes(plan))
    check_padding(plan, layout, states, sent)


def told_by_outboxes(plan: Schedule) -> list[tuple[int, int, int]]:
    """(message row, slot, node row), which must be those of the inboxes."""
    told = []
    for level in plan.levels:
        for stack, outbox in level.messages:
            ends = [*outbox.offsets.tolist()[1:], len(outbox.slots)]
            for row, (begin, end) in enumerate(zip(outbox.offsets.tolist(), ends, strict=True)):
                told += [
                    (stack.first + row, int(outbox.slots[i]), int(outbox.rows[i]))
                    for i in range(begin, end)
                ]
    return told


def check_padding(plan: Schedule, layout: Layout, states: list, sent: list) -> None:
    """A stack has at most as many padding rows as real ones and 64, and no more than the slack."""
    node_slack = layout.slack if layout.node_slack is None else layout.node_slack
    for h, level in enumerate(plan.levels):
        node_stacks, message_stacks, at = [], [], 0
        for stack, *_ in level.nodes:
            rows = states[h][at : at + stack.runs * stack.length]
            node_stacks.append((stack, rows, layout.num_types, node_slack))
            at += len(rows)
        for stack, _ in level.messages:
            rows = [message for message, _ in sent[stack.first : stack.end]]
            message_stacks.append((stack, rows, layout.num_keys, layout.slack))
        for stack, held, num_keys, slack in node_stacks + message_stacks:
            real = sum(thing is not None for thing in held)
            rows = stack.runs * stack.length
            assert real >= 1
            assert rows <= 2 * real + 64
            assert rows <= real + slack
            keys = keys_of(stack)[:: stack.length]
            assert len(set(keys)) == len(keys), "a key has two runs in one stack"
            if stack.keys is None:
                assert stack.runs == num_keys
        for stacks in (node_stacks, message_stacks):
            used = Counter(key for stack, *_ in stacks for key in set(keys_of(stack)))
            if all(stack.keys is not None for stack, *_ in stacks):
                assert all(times == 1 for times in used.values()), "a key is in two stacks"


@given(tree_lists, layouts, st.booleans())
def test_plan_of_any_forest(trees: list[Tree], layout: Layout, share: bool):
    check(Forest.from_trees(trees, VOCABULARY, share=share), layout)


@pytest.mark.parametrize("inner", [False, True])
@pytest.mark.parametrize("pads", [False, True])
@pytest.mark.parametrize("positional", [False, True])
def test_plan_of_larger_forests(positional: bool, pads: bool, inner: bool):
    rng = random.Random(3)
    for slack in (0, 8, 64):
        trees = [tree for _ in range(8) for tree in random_trees(rng, inner)]
        forest = Forest.from_trees(trees, VOCABULARY, share=slack != 8)
        check(forest, Layout(2, ARITY, positional, pads, slack))
        check(forest[::3], Layout(2, ARITY, positional, pads, slack))


def test_plan_of_many_types():
    """So many kinds of message that no stack holds all of them."""
    rng = random.Random(0)
    labels = [f"t{i}" for i in range(50)]
    leaves = [Tree(x) for x in "xyz"]
    trees = leaves
    for _ in range(4):
        trees = leaves + [
            Tree(rng.choice(labels), [rng.choice(trees) for _ in range(rng.randint(1, 3))])
            for _ in range(60)
        ]
    forest = Forest.from_trees(trees, Vocabulary(labels, "xyz", 3))
    for slack in (0, 4, 64):
        for pads in (False, True):
            check(forest, Layout(50, 3, True, pads, slack))


def test_runs_of_very_different_lengths():
    """One kind has hundreds of rows and thirty have one each: padding all alike would be waste."""
    labels = [f"t{i}" for i in range(31)]
    rng = random.Random(0)
    rows = [tuple(rng.choices("xyz", k=6)) for _ in range(900)]
    many = [Tree("t0", [Tree(x) for x in row]) for row in sorted(set(rows))]
    few = [Tree(label, [Tree("x")]) for label in labels[1:]]
    forest = Forest.from_trees(many + few, Vocabulary(labels, "xyz", 6))
    assert len(many) > 400
    for slack in (0, 64, 10**6):
        check(forest, Layout(31, 6, True, False, slack))


def test_leaves_with_types_alone():
    """Nothing is sent before the first level with padding rows."""
    leaves = [Tree("A", token="x"), Tree("A", token="y"), Tree("B", token="z")]
    forest = Forest.from_trees([Tree("A", leaves, token="x")], VOCABULARY)
    for pads in (False, True):
        check(forest, Layout(2, ARITY, True, pads))
    check(Forest.from_trees(leaves, VOCABULARY), Layout(2, ARITY, True, False))


def test_plan_keeps_gaps():
    forest = Forest.from_trees([Tree("A", [Tree("x"), Tree("y"), Tree("z")])], VOCABULARY)
    keep = forest.pos != 1
    forest.offsets = np.where(forest.offsets == 3, 2, forest.offsets)
    forest.pos, forest.children = forest.pos[keep], forest.children[keep]
    for pads in (False, True):
        check(forest, Layout(2, ARITY, True, pads))


def test_shared_messages_are_sent_once():
    """The same child in the same place of two parents of one type."""
    x, y = Tree("x"), Tree("y")
    trees = [Tree("A", [x, x]), Tree("A", [x, y]), Tree("B", [x])]
    forest = Forest.from_trees(trees, VOCABULARY)
    by_place = [
        m for m, _ in messages_sent(forest, schedule(forest, Layout(2, 3, True, False))) if m
    ]
    assert len(by_place) == 4  # x in places 0 and 1 of A and 0 of B, y in place 1 of A
    by_type = [
        m for m, _ in messages_sent(forest, schedule(forest, Layout(2, 3, False, False))) if m
    ]
    assert len(by_type) == 3


def test_one_node():
    plan = schedule(Forest.from_trees([Tree("x")], VOCABULARY), Layout(2, 3, True, True))
    assert plan.leaf_tokens.tolist() == [0]
    assert (plan.num_rows, plan.num_slots, plan.num_messages, len(plan.levels)) == (0, 0, 0, 1)


def test_size_of_the_plan_is_linear_in_a_chain():
    forest = Forest.from_trees([chain(5000)], VOCABULARY)
    plan = schedule(forest, Layout(2, ARITY, True, False))
    assert len(plan.levels) == 5001
    assert 4999 <= plan.num_slots < 5 * 5000  # a padding row receives one message
    assert plan.num_rows < 5 * 5000
    assert plan.num_messages < 10 * 5000


def graph_error(message: str):
    return pytest.raises(GraphError, match=exactly(message))


def test_forests_that_do_not_fit():
    forest = Forest.from_trees(
        [Tree("B", [Tree("x"), Tree("y"), Tree("A", [Tree("z")])])], VOCABULARY
    )
    with graph_error("the forest has type 1; the model has 1 types"):
        schedule(forest, Layout(1, 3, True, True))
    for positional, pads in ((True, False), (False, True), (True, True)):
        with graph_error("a node of the forest has 3 places; the model's arity is 2"):
            schedule(forest, Layout(2, 2, positional, pads))
    assert schedule(forest, Layout(2, 2, False, False)).num_rows >= 2
    with graph_error("the forest is empty; a sweep needs at least one node"):
        schedule(forest[[]], Layout(2, 3, True, True))
    forest.types[forest.types == 1] = -1
    with graph_error("node 4 has children but no type; every inner node needs one"):
        schedule(forest, Layout(2, 3, True, True))
