"""The plain recursive network: against its equation in recursion, on both backends."""

from __future__ import annotations

import random

import pytest
import torch
from configurations import AGGREGATORS
from random_trees import ARITY, TOKENS, TYPES, VOCABULARY, chain, random_trees
from recursion import assert_follows
from reference import tensor_tree as reference
from torch import Tensor, nn

from structnet.errors import GraphError
from structnet.tensor_tree import RecursiveNetwork, TreeReadout
from structnet.trees.forest import Forest
from structnet.trees.tree import Tree


def model(aggregator: str, inner: bool = False) -> RecursiveNetwork:
    torch.manual_seed(0)
    inputs = nn.Embedding(len(TOKENS), 2)
    made = RecursiveNetwork(3, len(TYPES), ARITY, inputs, AGGREGATORS[aggregator], inner)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.normal_(std=0.5)
    return made.double()


def by_hand(m: RecursiveNetwork, tree: Tree) -> Tensor:
    kind, token = VOCABULARY.encode(tree)
    x = m.embedding.weight[token] if token >= 0 else torch.zeros(2, dtype=torch.float64)
    if kind < 0:
        return torch.tanh(x @ m.leaf_weight + m.leaf_bias)
    below: list[Tensor | None] = [by_hand(m, child) for child in tree.children]
    missing = torch.zeros(3, dtype=torch.float64) if m.aggregator.pads else None
    below += [missing] * (ARITY - len(below))
    return torch.tanh(
        reference.aggregate(m.aggregator, kind, 0, x if m.inner_inputs else None, below)
    )


@pytest.mark.parametrize("inner", [False, True])
@pytest.mark.parametrize("aggregator", list(AGGREGATORS))
def test_states_and_gradients_follow_the_equation(aggregator: str, inner: bool):
    m = model(aggregator, inner)
    assert_follows(m, lambda tree: by_hand(m, tree), inner)


def test_all_nodes_can_be_read():
    m, forest = model("sum"), Forest.from_trees(random_trees(random.Random(0)), VOCABULARY)
    torch.testing.assert_close(m.node_states(forest)[forest.roots], m(forest))
    assert TreeReadout(m, 2, ["mean"]).double()(forest).shape == (len(forest), 2)


def test_a_long_chain():
    assert model("tucker")(Forest.from_trees([chain(5000)], VOCABULARY)).isfinite().all()


def test_what_the_model_does_not_have_is_refused():
    m = model("sum")
    with pytest.raises(GraphError, match="build it with inner_inputs=True"):
        m(Forest.from_trees([Tree("A", [Tree("x")], token="y")], VOCABULARY))
    with pytest.raises(ValueError, match=r"inputs must be an nn.Embedding or a tensor"):
        RecursiveNetwork(3, 2, 2, [1, 2])
