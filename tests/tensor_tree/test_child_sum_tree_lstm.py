"""The Child-Sum Tree-LSTM, compiled against plain; ``test_second_oracle`` has its equations."""

from __future__ import annotations

import copy
import random

import numpy as np
import pytest
import torch
from configurations import assert_equal, with_gradients
from random_trees import ARITY, TOKENS, TYPES, VOCABULARY, chain, random_trees, with_texts

from structnet.errors import GraphError
from structnet.tensor_tree import ChildSumTreeLSTM
from structnet.tensor_tree.compiled.child_sum_sweep import _distinct
from structnet.trees.forest import Forest
from structnet.trees.label_words import Text
from structnet.trees.tree import Tree
from structnet.trees.vocabulary import Vocabulary

SEEDS = range(8)


def model(seed: int = 0, **options) -> ChildSumTreeLSTM:
    torch.manual_seed(seed)
    return ChildSumTreeLSTM(5, len(TYPES), len(TOKENS), input_size=4, places=2, **options).double()


def trees_of(seed: int, inner_tokens: bool = False) -> list[Tree]:
    return random_trees(random.Random(seed), inner_tokens)


OPTIONS = [{}, {"order": False}, {"dropout": 0.5}, {"label_dropout": 0.3}]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("inner_tokens", [False, True])
@pytest.mark.parametrize("share", [True, False])
@pytest.mark.parametrize("texts", [False, True])
def test_states_and_gradients_are_those_of_the_reference(
    texts: bool, share: bool, inner_tokens: bool, options: dict
):
    m = model(**options).train()
    m.drop_rare_labels(np.arange(len(TYPES)) + 1, np.arange(len(TOKENS)), 0.5)
    for seed in SEEDS:
        trees = trees_of(seed, inner_tokens)
        if texts:
            trees = [with_texts(tree, random.Random(seed)) for tree in trees]
        forest = Forest.from_trees(trees, VOCABULARY, share=share)
        found = []
        for backend in ("levels", "dgl"):
            torch.manual_seed(seed)  # for what is dropped
            found.append(with_gradients(m, {"h": m.node_states(forest, backend)}))
        assert_equal(*found, 1e-10)


def test_off_the_compiled_path_the_numbers_are_the_same():
    m = model().float()
    forest = Forest.from_trees(trees_of(1), VOCABULARY)
    with torch.autocast("cpu", enabled=False):
        compiled = m(forest)
    torch.testing.assert_close(compiled, m(forest, backend="dgl"))
    with torch.autocast("cpu", torch.bfloat16):
        rough = m(forest)
    torch.testing.assert_close(rough.float(), compiled, atol=0.05, rtol=0.05)


def test_a_text_has_the_vectors_of_its_words():
    m = model()
    text = Text("x", [Tree("y"), Tree("y"), Tree("z")])
    tree = Tree("A", [Tree("x"), text])
    x, y, z = m.token_vectors.weight.detach()
    expected = x + (2 * y + z) / 3**0.5
    forest = Forest.from_trees([tree], VOCABULARY)
    rows = m.inputs(forest)[forest.preorder().nodes]
    torch.testing.assert_close(rows[1:], torch.stack([x, expected]))
    with torch.no_grad():  # the states are those of a word that has this vector
        m.token_vectors.weight[1] = expected
    plain = Forest.from_trees([Tree("A", [Tree("x"), Tree("y")])], VOCABULARY)
    found = model()(forest)
    torch.testing.assert_close(found, m(plain))
    watched = model()
    watched.token_vectors.register_forward_hook(lambda *_: None)
    torch.testing.assert_close(watched(forest), found)


def test_texts_have_second_derivatives():
    m = model().double()
    forest = Forest.from_trees(
        [Tree("A", [Text("x", [Tree("y"), Tree("z"), Tree("y")])])], VOCABULARY
    )
    table = m.token_vectors.weight
    state = m(forest, backend="dgl").square().sum()
    (first,) = torch.autograd.grad(state, table, create_graph=True)
    direction = torch.randn_like(table)
    (second,) = torch.autograd.grad((first * direction).sum(), table)
    gradients = []
    for step in (1e-5, -1e-5):
        moved = copy.deepcopy(m)
        moved.token_vectors.weight.data.add_(direction, alpha=step)
        moved(forest, backend="dgl").square().sum().backward()
        gradients.append(moved.token_vectors.weight.grad)
    torch.testing.assert_close(second, (gradients[0] - gradients[1]) / 2e-5, rtol=1e-4, atol=1e-6)


def test_rare_words_of_texts_are_dropped():
    m = model().train()
    tokens = np.array([np.inf, 0, np.inf])
    m.drop_rare_labels(np.full(len(TYPES), np.inf), tokens, 3.0)
    forest = Forest.from_trees([Text("x", [Tree("y"), Tree("x")])], VOCABULARY)
    x, _, unknown = m.token_vectors.weight
    torch.testing.assert_close(m.inputs(forest), (x + (unknown + x) / 2**0.5)[None])


def test_any_number_of_children():
    wide = Tree("f", [Tree("x")] * (ARITY + 500))
    vocabulary = Vocabulary.from_trees([wide], any_arity=True)
    m = ChildSumTreeLSTM(4, vocabulary.num_types, vocabulary.num_tokens)
    assert m(Forest.from_trees([wide], vocabulary)).isfinite().all()


def test_a_long_chain_forward_and_backward():
    forest = Forest.from_trees([chain(100_000)], VOCABULARY)
    m = ChildSumTreeLSTM(3, len(TYPES), len(TOKENS))
    m(forest).sum().backward()
    assert all(p.grad.isfinite().all() for p in m.parameters())


def test_dropped_labels_stand_as_the_last_one():
    m = model(label_dropout=0.999)
    trees = [Tree("A", [Tree("x"), Tree("y")])] * 50
    forest = Forest.from_trees(trees, VOCABULARY, share=False)
    torch.manual_seed(0)
    x = m.train().inputs(forest)[forest.tokens >= 0]
    last = (x == m.token_vectors.weight[-1]).all(1)
    assert last.double().mean() > 0.9
    x = m.eval().inputs(forest)[forest.tokens >= 0]
    assert not (x == m.token_vectors.weight[-1]).all(1).any()


def test_all_nodes_of_a_rare_label_are_dropped_together():
    m = model().train()
    m.drop_rare_labels(np.full(len(TYPES), np.inf), np.full(len(TOKENS), 3.0), 3.0)
    forest = Forest.from_trees([Tree("A", [Tree("x"), Tree("y")])] * 5, VOCABULARY, share=False)
    torch.manual_seed(0)
    x, y = (forest.tokens == VOCABULARY.token_of(word) for word in "xy")
    seen = set()
    for _ in range(50):
        rows = m.inputs(forest)
        dropped = [(rows[which] == m.token_vectors.weight[-1]).all(1) for which in (x, y)]
        assert all(each.all() or not each.any() for each in dropped)
        seen.add(tuple(each.all().item() for each in dropped))
    assert len(seen) == 4  # each by itself


def test_rare_labels_are_dropped_more():
    m = model()
    types, tokens = np.zeros(len(TYPES)), np.full(len(TOKENS), 3.0)
    tokens[0], tokens[1] = 9.0, np.inf
    m.drop_rare_labels(types, tokens, 3.0)
    assert m.type_dropout.tolist() == [1.0] * len(TYPES)
    assert m.token_dropout.tolist() == [0.25, 0.0] + [0.5] * (len(TOKENS) - 2)
    assert not {"type_dropout", "token_dropout"} & set(m.state_dict())


def test_vectors_that_are_not_trained_have_no_gradient():
    m, forest = model(), Forest.from_trees(trees_of(0), VOCABULARY)
    m.token_vectors.weight.requires_grad_(False)
    trained = [p for p in m.parameters() if p.requires_grad]
    found = [
        torch.autograd.grad(m(forest, backend).square().sum(), trained)
        for backend in ("levels", "dgl")
    ]
    torch.testing.assert_close(*found)
    m(forest).sum().backward()
    assert m.token_vectors.weight.grad is None


def test_who_listens_to_the_vectors_hears_of_each_node():
    m, forest = model(), Forest.from_trees(trees_of(0), VOCABULARY, share=False)
    plain, heard = m(forest), []
    m.token_vectors.register_forward_hook(lambda _, __, output: heard.append(output))
    torch.testing.assert_close(m(forest), plain)
    tokens = forest.tokens[forest.tokens >= 0]
    assert torch.equal(heard[0], m.token_vectors.weight[tokens])


def test_distinct_labels():
    rng = np.random.default_rng(0)
    for _ in range(50):
        leaves, nodes = sorted(rng.integers(1, 30, 2))
        types, tokens = rng.integers(-1, 3, nodes), rng.integers(-1, 4, nodes)
        label, of_types, of_tokens, inner = _distinct(types, tokens, leaves)
        assert np.array_equal(of_types[label], types)
        assert np.array_equal(of_tokens[label], tokens)
        pairs = list(zip(types.tolist(), tokens.tolist(), strict=True))
        assert inner == len(set(pairs[:leaves]))
        assert len(of_types) == len(of_tokens) == inner + len(set(pairs[leaves:]))
        assert set(label[:leaves].tolist()) == set(range(inner))
        assert set(label[leaves:].tolist()) == set(range(inner, len(of_types)))


def test_dropout_in_training_alone():
    m, forest = model(dropout=0.5), Forest.from_trees(trees_of(0), VOCABULARY)
    torch.manual_seed(0)
    assert (m.train()(forest) - m.eval()(forest)).abs().max() > 1e-3
    torch.testing.assert_close(m(forest), m(forest))


def test_second_derivatives_are_those_of_the_reference_or_refused():
    m, forest = model(), Forest.from_trees(trees_of(0), VOCABULARY)
    with pytest.raises(RuntimeError, match="has no second derivatives; backend='dgl' has"):
        torch.autograd.grad(m(forest).sum(), m.bias, create_graph=True)


def test_a_changed_weight_is_noticed():
    m, forest = model(), Forest.from_trees(trees_of(0), VOCABULARY)
    loss = m(forest).sum()
    with torch.no_grad():
        m.children_weight.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_states_that_were_changed_in_place_have_no_gradients():
    forest = Forest.from_trees(trees_of(0), VOCABULARY)
    states = model().node_states(forest)
    states.relu_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        states.sum().backward()


def test_what_the_model_does_not_have_is_refused():
    m = model()
    others = Vocabulary("ABC", "wxyz", ARITY)
    for trees, words in (
        ([Tree("C", [Tree("w")])], "type 2; the model has 2 types"),
        ([Tree("z")], "token 3; the model has 3 tokens"),
    ):
        with pytest.raises(GraphError, match=words):
            m(Forest.from_trees(trees, others))
    with pytest.raises(GraphError, match="the forest is empty"):
        m(Forest.from_trees([], VOCABULARY))
    lonely = Forest.from_trees([Tree("x")], VOCABULARY)
    lonely.tokens = np.array([-1])
    with pytest.raises(GraphError, match="node 0 has neither type nor token"):
        m(lonely)


def test_a_weight_of_another_shape_is_refused():
    m = model()
    m.place_gate = torch.nn.Parameter(torch.ones(1, 5, dtype=torch.float64))
    with pytest.raises(ValueError, match=r"'place_gate' .* must have shape \[2, 5\]; got \[1, 5\]"):
        m(Forest.from_trees([Tree("x")], VOCABULARY))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"hidden_size": 0}, "'hidden_size' .* must be an int in the range"),
        ({"places": 0}, "'places' .* must be an int in the range"),
        ({"input_size": 0}, "'input_size' .* must be an int in the range"),
        ({"dropout": 1}, "'dropout' .* must be a number in the range"),
        ({"label_dropout": -0.1}, "'label_dropout' .* must be a number in the range"),
    ],
)
def test_options_out_of_range_are_refused(options: dict, words: str):
    with pytest.raises(ValueError, match=words):
        ChildSumTreeLSTM(**{"hidden_size": 4, "num_types": 2, "num_tokens": 2, **options})
