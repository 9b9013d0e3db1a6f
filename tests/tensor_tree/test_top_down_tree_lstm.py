"""The top-down Tree-LSTM against its equations, and what nodes learn of what stands above them."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
import torch
from random_trees import TOKENS, TYPES, VOCABULARY, random_trees
from torch import Tensor, nn

from structnet import Tree, TreeLSTMNodeClassifier
from structnet.errors import GraphError
from structnet.tensor_tree import ChildSumTreeLSTM, NodePredictor, TopDownTreeLSTM
from structnet.tensor_tree.compiled import child_sum_sweep
from structnet.trees.examples import NodeExamples
from structnet.trees.forest import Forest
from structnet.trees.label_words import Text

C = 5


def by_hand(m: TopDownTreeLSTM, forest: Forest, z: Tensor) -> Tensor:
    """The states of all nodes in preorder, from the equations in the docstring."""
    found: list[Tensor] = []

    def visit(node: int, place: int, own: Tensor, above: tuple[Tensor, Tensor] | None) -> None:
        s, kept = torch.zeros(C, dtype=z.dtype), torch.zeros(C, dtype=z.dtype)
        if above is not None:
            h, c = above
            p = min(place, m.places - 1)
            s = m.place_gate[p] * h + m.place_bias[p]
            f = own @ m.forget_weight + h @ m.child_forget_weight + m.forget_bias
            kept = torch.sigmoid(f) * c
        i, o, n = (own @ m.weight + s @ m.children_weight + m.bias).chunk(3)
        c = torch.sigmoid(i) * torch.tanh(n) + kept
        h = torch.sigmoid(o) * torch.tanh(c)
        found.append(h)
        children = [int(v) for v in forest.children[slice(*forest.offsets[node : node + 2])]]
        for j, child in enumerate(children):
            x = z[child]
            x = x + (z[children[j - 1]] @ m.left_weight if j else 0)
            x = x + (z[children[j + 1]] @ m.right_weight if j + 1 < len(children) else 0)
            visit(child, j, x, (h, c))

    for root in forest.roots:
        visit(int(root), 0, z[root], None)
    return torch.stack(found)


@pytest.mark.parametrize("backend", ["levels", "dgl"])
def test_states_and_gradients_follow_the_equations(backend: str):
    torch.manual_seed(0)
    m = TopDownTreeLSTM(C, places=2).double()
    for seed in range(8):
        forest = Forest.from_trees(random_trees(random.Random(seed)), VOCABULARY)
        z = torch.randn(forest.num_nodes, C, dtype=torch.float64, requires_grad=True)
        expected, found = by_hand(m, forest, z), m(forest, z, backend)
        torch.testing.assert_close(found, expected)
        factors, of = torch.randn_like(found), (z, *m.parameters())
        for one, other in zip(
            torch.autograd.grad((found * factors).sum(), of),
            torch.autograd.grad((expected * factors).sum(), of),
            strict=True,
        ):
            torch.testing.assert_close(one, other)


def predictor(top_down: bool) -> NodePredictor:
    torch.manual_seed(0)
    encoder = ChildSumTreeLSTM(C, len(TYPES), len(TOKENS))
    return NodePredictor(encoder, 3, top_down=top_down).double().eval()


@pytest.mark.parametrize("top_down", [True, False])
def test_a_node_is_judged_by_all_others_in_its_context(top_down: bool):
    model = predictor(top_down)

    def said(tree: Tree) -> Tensor:
        return model(Forest.from_trees([tree], VOCABULARY))

    x, y, z = map(Tree, "xyz")
    one = said(Tree("A", [Tree("B", [x, y]), z]))  # A, B, x, y, z
    assert torch.equal(one[2], said(Tree("A", [Tree("B", [x, z]), z]))[2]) is not top_down
    assert torch.equal(one[2], said(Tree("A", [Tree("B", [x, y]), y]))[2]) is not top_down
    assert torch.equal(one[2], said(Tree("B", [Tree("B", [x, y]), z]))[2]) is not top_down
    assert torch.equal(one[2], said(Tree("A", [Tree("B", [y, x]), z]))[3]) is not top_down
    assert not torch.equal(one[1], said(Tree("A", [Tree("B", [x, z]), z]))[1])


@pytest.mark.parametrize("top_down", [True, False])
def test_how_trees_are_stored_changes_nothing(top_down: bool):
    model = predictor(top_down)
    for seed in range(8):
        trees = random_trees(random.Random(seed))
        apart = torch.cat([model(Forest.from_trees([tree], VOCABULARY)) for tree in trees])
        for share in (True, False):
            torch.testing.assert_close(model(Forest.from_trees(trees, VOCABULARY, share)), apart)


def test_large_batches_are_swept_in_pieces(monkeypatch: pytest.MonkeyPatch):
    model = predictor(top_down=True)
    trees = [tree for seed in range(60) for tree in random_trees(random.Random(seed))] * 3
    forest = Forest.from_trees(trees, VOCABULARY)
    cut, numbers = child_sum_sweep.cut, []
    monkeypatch.setattr(
        child_sum_sweep, "cut", lambda *of: numbers.append(len(cut(*of))) or cut(*of)
    )
    model(forest)
    assert min(numbers) > 1
    parts = [trees[i : i + 50] for i in range(0, len(trees), 50)]
    apart = [model(Forest.from_trees(each, VOCABULARY)) for each in parts]
    torch.testing.assert_close(model(forest), torch.cat(apart))


def test_the_nodes_of_all_trees_are_walked_once(monkeypatch: pytest.MonkeyPatch):
    walks, walk = [], Forest.preorder
    monkeypatch.setattr(Forest, "preorder", lambda forest: walks.append(forest) or walk(forest))
    forest = Forest.from_trees([Tree("A", [Tree("x"), Tree("y")])], VOCABULARY)
    predictor(top_down=True)(forest)
    assert walks == [forest]


def test_nodes_without_a_class_do_not_count():
    model = predictor(top_down=True)
    forest = Forest.from_trees([Tree("A", [Tree("x"), Tree("y")])], VOCABULARY)
    loss = model.loss(NodeExamples(forest, [[-1, 2, -1]]))
    torch.testing.assert_close(loss, -model(forest).log_softmax(1)[1, 2])


def below_not(number: int, seed: int) -> tuple[list[Tree], list[list]]:
    """Trees whose leaves' classes say under how many "not" they stand, even or odd."""
    rng, trees, classes = random.Random(seed), [], []

    def grow(depth: int, odd: bool, of: list) -> Tree:
        if depth == 0 or rng.random() < 0.2:
            of.append(odd)
            return Tree(rng.choice("abc"))
        label = rng.choice(["not", "and", "or"])
        of.append(None)
        count = 1 if label == "not" else 2
        return Tree(label, [grow(depth - 1, odd ^ (label == "not"), of) for _ in range(count)])

    for _ in range(number):
        classes.append([])
        trees.append(grow(5, False, classes[-1]))
    return trees, classes


def test_what_stands_above_is_learnt(tmp_path: Path):
    X, y = below_not(400, 0)
    few = {"hidden_size": 16, "epochs": 12, "random_state": 0}
    model = TreeLSTMNodeClassifier(**few).fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) > 0.95
    assert "reads what is above and beside a node, too" in model.summary()
    alone = TreeLSTMNodeClassifier(top_down=False, **few).fit(X[:300], y[:300])
    assert alone.score(X[300:], y[300:]) < 0.75
    assert "reads what is above" not in alone.summary()
    model.save(tmp_path / "model.safetensors")
    assert TreeLSTMNodeClassifier.load(tmp_path / "model.safetensors").predict(X) == model.predict(
        X
    )


def test_states_of_other_trees_are_refused():
    forest = Forest.from_trees([Tree("A", [Tree("x"), Tree("y")])], VOCABULARY)
    model = TopDownTreeLSTM(C)
    for shape in ((2, C), (4, C), (3, C + 1)):
        with pytest.raises(
            ValueError, match=r"z must have one state per node, \[3, 5\]; got shape"
        ):
            model(forest, torch.zeros(shape))
    with pytest.raises(ValueError, match=r"one of 2 rows, or -1, for each of 3 nodes; got 3 num"):
        model.states_from(
            forest, (np.arange(3), np.full(3, -1)), (torch.zeros(2, C), torch.zeros(0, C))
        )
    model.left_weight = nn.Parameter(torch.zeros(2, 2))
    with pytest.raises(ValueError, match=r"'left_weight' of TopDownTreeLSTM must have shape"):
        model(forest, torch.zeros(3, C))
    with pytest.raises(GraphError, match="the forest is empty"):
        model(Forest.from_trees([], VOCABULARY), torch.zeros(0, C))


@pytest.mark.parametrize("backend", ["levels", "dgl"])
def test_autocast(backend: str):
    torch.manual_seed(0)
    forest = Forest.from_trees(random_trees(random.Random(1)), VOCABULARY)
    encoder = ChildSumTreeLSTM(C, len(TYPES), len(TOKENS))
    model = NodePredictor(encoder, 2, top_down=True)
    wanted = model(forest, backend)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = model(forest, backend)
    torch.testing.assert_close(found.float(), wanted, atol=0.05, rtol=0.05)
    found.float().square().sum().backward()
    assert all(each.grad.isfinite().all() for each in model.parameters())


def test_autocast_while_words_are_in_another_precision():
    """An embedding of one's own, whose last step is a product."""
    torch.manual_seed(0)
    encoder = ChildSumTreeLSTM(C, len(TYPES), len(TOKENS))
    turn = torch.eye(C)
    encoder.token_vectors.register_forward_hook(lambda _, __, output: output @ turn)
    tree = Tree("A", [Text("x", [Tree("y"), Tree("z")]), Tree("x")])
    forest = Forest.from_trees([tree], VOCABULARY)
    wanted = encoder(forest)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = encoder(forest)
    torch.testing.assert_close(found.float(), wanted, atol=0.05, rtol=0.05)
