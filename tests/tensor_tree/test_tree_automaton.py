"""The tree automaton: against its equation in recursion, on both backends, and what it learns."""

from __future__ import annotations

import math
import random
from pathlib import Path

import numpy as np
import pytest
import torch
from random_trees import TOKENS, TYPES, VOCABULARY, chain, random_trees
from recursion import assert_follows
from torch import Tensor

from structnet import TreeAutomaton, TreeLSTMClassifier
from structnet.errors import GraphError
from structnet.tensor_tree.small_first import SmallFirst
from structnet.training.history import History
from structnet.trees.examples import TreeExamples
from structnet.trees.forest import Forest
from structnet.trees.tree import Tree

START = 3  # the state of a node that has read nothing


def model() -> TreeAutomaton:
    torch.manual_seed(0)
    return TreeAutomaton(3, len(TYPES), len(TOKENS)).double()


def by_hand(m: TreeAutomaton, tree: Tree) -> Tensor:
    kind, token = VOCABULARY.encode(tree)
    if kind < 0:
        return torch.softmax(20 * m.leaf_table[token], 0)
    rows = torch.softmax(20 * m.transitions[kind], -1)  # [state, child, next state]
    state = by_hand(m, tree[0]) @ rows[START]
    for child in tree.children[1:]:
        state = torch.einsum("j,h,jhk->k", state, by_hand(m, child), rows[:START])
    return state


def test_states_and_gradients_follow_the_equation() -> None:
    m = model()
    assert_follows(m, lambda tree: 20 * by_hand(m, tree))


def test_every_node_has_probabilities() -> None:
    m, forest = model(), Forest.from_trees(random_trees(random.Random(0)), VOCABULARY)
    found = m.node_states(forest)
    torch.testing.assert_close(found[forest.roots], m(forest))
    torch.testing.assert_close(found.sum(1), torch.full((forest.num_nodes,), 20.0).double())
    assert m(Forest.from_trees([chain(5000)], VOCABULARY)).isfinite().all()


def test_what_the_model_does_not_have_is_refused() -> None:
    m = TreeAutomaton(3, len(TYPES), 1)
    with pytest.raises(GraphError, match="the model has 1 tokens"):
        m(Forest.from_trees([Tree(TOKENS[-1])], VOCABULARY))
    with pytest.raises(GraphError, match="either a type or a token"):
        m(Forest.from_trees([Tree("A", [Tree("x")], token="x")], VOCABULARY))
    none, zero = np.zeros(0, np.int64), np.zeros(1, np.int64)
    childless = Forest(zero, zero - 1, zero, np.zeros(2, np.int64), none, none, zero, 1)
    with pytest.raises(GraphError, match="with a type must have children"):
        m(childless)
    with pytest.raises(ValueError, match=r"hidden_size.*\[1, inf\)"):
        TreeAutomaton(0, 1, 1)


def test_a_node_starts_as_its_first_child_and_states_as_classes() -> None:
    m, tree = TreeAutomaton(5, len(TYPES), len(TOKENS)), Tree("A", [Tree("x")])
    with torch.no_grad():
        m.leaf_table[VOCABULARY.token_of("x"), 2] = 1.0
    output = torch.nn.Linear(5, 4)
    torch.nn.init.zeros_(output.weight)
    m.name_states(output)
    found = m(Forest.from_trees([tree], VOCABULARY))
    assert found.argmax() == output(found).argmax() == 2 and found.max() > 10


def sums(number: int, seed: int = 0) -> tuple[list[str], list[int]]:
    """Sums and products of one to three factors modulo 3."""
    rng, texts, values = random.Random(seed), [], []

    def made(depth: int) -> tuple[str, int]:
        if not depth:
            digit = rng.randrange(3)
            return f"d{digit}", digit
        depths = [depth - 1, *(rng.randrange(depth) for _ in range(rng.randrange(3)))]
        below, numbers = zip(*map(made, depths), strict=True)
        name = rng.choice("+*")
        value = sum(numbers) if name == "+" else math.prod(numbers)
        return f"({name} {' '.join(below)})", value % 3

    for _ in range(number):
        text, value = made(rng.randint(1, 3))
        texts.append(text)
        values.append(value)
    return texts, values


def test_it_learns_tables_and_a_training_is_resumed(tmp_path: Path) -> None:
    (X, y), (new, values) = sums(300), sums(200, seed=1)
    told = {"cell": "automaton", "random_state": 0, "folder": tmp_path / "state"}
    fitted = TreeLSTMClassifier(**told, epochs=30).fit(X, y)
    assert fitted.score(new, values) > 0.95
    assert fitted.settings_.pools == ("root",) and fitted.settings_.hidden_size == 20
    again = TreeLSTMClassifier(**told, epochs=30).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(new), fitted.predict_proba(new))


def test_nodes_with_tokens_and_children_have_no_automaton() -> None:
    X = [Tree("f", [Tree("a"), Tree("b")], token="x")] * 20
    with pytest.raises(ValueError, match="not 'automaton' for nodes with tokens"):
        TreeLSTMClassifier(cell="automaton", epochs=1).fit(X, [0, 1] * 10)


def test_numbers_are_labels_of_an_automaton() -> None:
    with pytest.raises(ValueError, match=r"'numbers' .* for the cell 'automaton'\. Got True"):
        TreeLSTMClassifier(cell="automaton", numbers=True).fit(["(f a b)"] * 20, [0, 1] * 10)


def test_patience_waits_until_all_trees_are_seen() -> None:
    X, y = sums(200)
    model = TreeLSTMClassifier(cell="automaton", epochs=12, patience=1, random_state=0)
    model.fit(X[:150], y[:150], X_val=X[150:], y_val=y[150:])
    assert len(model.history_) > 8


def test_small_trees_come_first_and_all_in_the_end() -> None:
    trees = [chain(1 + i % 10) for i in range(200)]
    examples = TreeExamples(Forest.from_trees(trees, VOCABULARY), np.arange(200))
    history = History()
    shown = SmallFirst(examples, 9, history)

    def largest() -> int:
        found = shown[np.arange(200)].targets
        assert len(found) == 200
        return max(int(i) % 10 for i in found)

    assert len(shown) == 200 and largest() == 3  # of 64 examples, as 20 are of each size
    shown.history = History([{"epoch": i} for i in range(6)])
    assert largest() == 9
    assert sorted(shown[np.arange(200)].targets.tolist()) == list(range(200))
