"""Cells that users write: on both backends, against plain recursion."""

from __future__ import annotations

import gc
import random
from contextlib import nullcontext

import pytest
import torch
from configurations import both_backends, gradients
from random_trees import VOCABULARY, chain, random_dependency_tree, random_tree, random_trees
from torch import Tensor, nn
from user_cells import Concatenate, Counter, Gated, Mean, Sum, by_recursion, times

from structnet.message_passing.propagation import propagate
from structnet.message_passing.scheduling import Layout, schedule
from structnet.trees.forest import Forest
from structnet.trees.tree import Tree

CELLS = {"sum": Sum, "gated": Gated, "concatenate": Concatenate}


@pytest.mark.parametrize("name", CELLS)
def test_user_cells(name: str):
    cell = CELLS[name]().double()
    for seed in range(10):
        trees = random_trees(random.Random(seed))
        forest = Forest.from_trees(trees, VOCABULARY)
        truth = torch.stack([by_recursion(cell, tree) for tree in trees])
        wanted = gradients(truth.square().sum(), cell)
        for backend in ("levels", "dgl"):
            h = propagate(forest, cell, backend=backend)["h"]
            torch.testing.assert_close(h, truth, rtol=1e-10, atol=1e-10)
            found = gradients(h.square().sum(), cell)
            torch.testing.assert_close(found, wanted, rtol=1e-10, atol=1e-10)


class Worded(Sum):
    """A cell that looks up the token of each node, and notes how many nodes and children it saw."""

    layout = Layout(2, 3, positional=True, pads=False)

    def __init__(self) -> None:
        super().__init__()
        self.nodes, self.rows, self.edges = 0, 0, 0

    def message(self, edges) -> dict[str, Tensor]:
        assert edges.real.shape == edges.src["h"].shape[:1]
        self.edges += int(edges.real.sum())
        return super().message(edges)

    def reduce(self, nodes) -> dict[str, Tensor]:
        assert nodes.real.shape == nodes.tokens.shape
        self.nodes, self.rows = self.nodes + int(nodes.real.sum()), self.rows + len(nodes.tokens)
        own = nn.functional.embedding(nodes.tokens, self.embedding)  # refuses -1
        return {"h": torch.tanh(own + nodes.mailbox["h"])}

    def inner(self, t: int, below: list[Tensor]) -> Tensor:
        raise NotImplementedError


@pytest.mark.parametrize("seed", range(5))
def test_a_cell_that_reads_the_token_of_each_node(seed: int):
    rng = random.Random(seed)
    trees = [random_dependency_tree(rng) for _ in range(20)]
    forest = Forest.from_trees(trees, VOCABULARY)
    cell = Worded().double()
    wanted = propagate(forest, cell, backend="dgl")["h"]
    typed = int((forest.types >= 0).sum())
    assert cell.nodes == cell.rows == typed
    wanted_gradients = gradients(wanted.square().sum(), cell)
    cell.nodes = cell.rows = cell.edges = 0
    found = propagate(forest, cell)["h"]
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(gradients(found.square().sum(), cell), wanted_gradients)
    plan = schedule(forest, cell.layout)
    assert cell.nodes == typed < cell.rows == plan.num_rows  # some rows are padding
    assert 0 < cell.edges <= plan.num_messages


class Normalised(Worded):
    """A cell with a batch normalisation, which sees all nodes of a height, and nothing else."""

    layout = Layout(2, 3, positional=False, pads=False)

    def reduce(self, nodes) -> dict[str, Tensor]:
        x, real = nodes.mailbox["h"], nodes.real
        mean = x[real].mean(0)
        return {"h": torch.tanh(x - mean)}


def test_a_mean_over_rows_without_those_of_padding():
    """Of two A and one B of height 1, which stand in two runs of two rows."""
    words = [Tree("A", [Tree("x")]), Tree("A", [Tree("y")]), Tree("B", [Tree("z")])]
    forest = Forest.from_trees(words, VOCABULARY)
    cell = Normalised().double()
    x = torch.tanh(cell.embedding)
    torch.testing.assert_close(propagate(forest, cell)["h"], torch.tanh(x - x.mean(0)))
    assert schedule(forest, cell.layout).num_rows == 4


@both_backends
def test_counting_cell(backend: str):
    trees = [random_tree(random.Random(seed), 6) for seed in range(20)]
    for share in (True, False):
        forest = Forest.from_trees(trees, VOCABULARY, share=share)
        states = propagate(forest, Counter(torch.float64), backend=backend)
        assert states["size"].squeeze(1).tolist() == [tree.size for tree in trees]
        assert states["leaves"].squeeze(1).tolist() == [
            sum(1 for _ in tree.leaves()) for tree in trees
        ]
        assert states["depth"].squeeze(1).tolist() == [tree.height for tree in trees]


def test_deep_chain():
    """Three times deeper than Python recurses, against the same chain written as a loop."""
    length = 3_000
    forest = Forest.from_trees([chain(length)], VOCABULARY)
    cell = Sum(size=2).double()
    h = propagate(forest, cell, nodes=range(length))["h"]
    x = torch.tanh(cell.embedding[0])
    steps = [x]
    for node in range(length - 1):
        x = torch.tanh(x @ cell.weight[node % 2])
        steps.append(x)
    truth = torch.stack(steps)
    torch.testing.assert_close(h, truth)
    torch.testing.assert_close(gradients(h.sum(), cell), gradients(truth.sum(), cell))


class Collected(Sum):
    """A cell that notes whether the garbage collector runs, and may fail."""

    def __init__(self, fails: bool):
        super().__init__()
        self.fails, self.runs = fails, []

    def reduce(self, nodes) -> dict[str, Tensor]:
        self.runs.append(gc.isenabled())
        if self.fails:
            raise ArithmeticError
        return super().reduce(nodes)


@pytest.mark.parametrize("fails", [False, True])
def test_the_garbage_collector_pauses_for_a_sweep(fails: bool):
    """It would visit the whole graph of a deep tree again and again."""
    cell = Collected(fails)
    with pytest.raises(ArithmeticError) if fails else nullcontext():
        propagate(FOREST, cell)
    assert gc.isenabled() and cell.runs and not any(cell.runs)


FOREST = Forest.from_trees(random_trees(random.Random(0)), VOCABULARY)


def test_second_derivatives_are_right_or_refused():
    cell = Sum().double()

    def second(backend: str) -> Tensor:
        h = propagate(FOREST, cell, backend=backend)["h"]
        (first,) = torch.autograd.grad(h.square().sum(), cell.weight, create_graph=True)
        return torch.autograd.grad(first.square().sum(), cell.weight)[0]

    truth = second("dgl")
    try:
        ours = second("levels")
    except RuntimeError:
        return  # refused, as torch's once_differentiable does
    torch.testing.assert_close(ours, truth)


def test_second_derivatives_of_a_linear_loss_are_not_dropped():
    """A gradient penalty added to a loss would otherwise do nothing."""
    cell = Sum().double()
    h = propagate(FOREST, cell)["h"]
    try:
        (first,) = torch.autograd.grad(h.sum(), cell.weight, create_graph=True)
    except RuntimeError:
        return  # refused
    assert first.requires_grad


class Blind(Sum):
    """Nodes of the second type take no gradient from below."""

    layout = Layout(2, 3, False, False, slack=0)  # one run a stack

    def reduce(self, nodes) -> dict[str, Tensor]:
        h = super().reduce(nodes)["h"]
        return {"h": h.detach() if nodes.select(torch.arange(2)).tolist() == [1] else h}


def test_a_cell_that_stops_gradients(poisoned_memory: None):
    tree = Tree("A", [Tree("A", [Tree("B", [Tree("A", [Tree("z")])])]), Tree("x"), Tree("y")])
    forest = Forest.from_trees([tree], VOCABULARY)
    cell = Blind().double()
    wanted = gradients(propagate(forest, cell, backend="dgl")["h"].sum(), cell)
    found = gradients(propagate(forest, cell)["h"].sum(), cell)
    torch.testing.assert_close(found, wanted)


def test_a_cell_that_takes_means():
    cell = Mean().double()
    wanted = gradients(propagate(FOREST, cell, backend="dgl")["h"].sum(), cell)
    found = gradients(propagate(FOREST, cell)["h"].sum(), cell)
    torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("grad", [True, False])
def test_a_cell_that_counts_in_integers(grad: bool):
    with torch.set_grad_enabled(grad):
        truth = propagate(FOREST, Counter(torch.int64), backend="dgl")
        torch.testing.assert_close(propagate(FOREST, Counter(torch.int64)), truth)


def test_a_cell_whose_state_is_one_number_a_node():
    cell = Counter(torch.float64, shape=())
    truth = propagate(FOREST, cell, backend="dgl")
    torch.testing.assert_close(propagate(FOREST, cell), truth)


def test_a_cell_that_names_its_fields_in_another_order():
    cell = Counter(torch.float64)
    truth = propagate(FOREST, cell)
    sent, calls = cell.message, []

    def message(edges) -> dict[str, Tensor]:
        calls.append(edges)
        items = list(sent(edges).items())
        return dict(items[::-1] if len(calls) % 2 else items)

    cell.message = message
    torch.testing.assert_close(propagate(FOREST, cell), truth)


class Complex(Sum):
    """A cell whose states and weights are complex; messages are summed, or not."""

    def __init__(self, sums: frozenset[str], size: int = 3):
        super().__init__(size)
        self.sums = sums
        self.embedding = nn.Parameter(torch.randn(3, size, dtype=torch.complex128))
        self.weight = nn.Parameter(torch.randn(2, size, size, dtype=torch.complex128) / size)

    def reduce(self, nodes) -> dict[str, Tensor]:
        h = nodes.mailbox["h"]
        return {"h": times(nodes, h if self.sums else nodes.sum(h), self.weight)}


@pytest.mark.parametrize("sums", [frozenset(["h"]), frozenset()])
@pytest.mark.parametrize("size", [3, 65])  # with small weights, and with large ones
def test_a_cell_with_complex_states(sums: frozenset[str], size: int):
    cell = Complex(sums, size)
    truth, found = (propagate(FOREST, cell, backend=name)["h"] for name in ("dgl", "levels"))
    torch.testing.assert_close(found, truth)
    wanted = gradients(truth.abs().square().sum(), cell)
    torch.testing.assert_close(gradients(found.abs().square().sum(), cell), wanted)


class Reshaped(Sum):
    """A cell that reads the same weight as one matrix, and as a row of matrices."""

    def __init__(self) -> None:
        super().__init__(3)
        self.weight = nn.Parameter(torch.randn(2, 3, 3, 3) / 9)

    def reduce(self, nodes) -> dict[str, Tensor]:
        x = nodes.split(nodes.mailbox["h"])  # [runs, length, 3]
        one = nodes.product(x, self.weight).unflatten(-1, (3, 3)).sum(-1)
        row = nodes.product(x.unsqueeze(1).expand(-1, 3, -1, -1), self.weight).sum(1)
        return {"h": torch.tanh(nodes.join(one + row))}


def test_a_weight_that_is_read_in_two_shapes():
    cell = Reshaped().double()
    wanted = gradients(propagate(FOREST, cell, backend="dgl")["h"].sum(), cell)
    found = gradients(propagate(FOREST, cell)["h"].sum(), cell)
    torch.testing.assert_close(found, wanted)


class Pair(Sum):
    """A cell that multiplies by two weights at once; one is laid out by columns, one is wider."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(self.weight.detach().mT)
        self.wider = nn.Parameter(torch.randn(2, 4, 8))

    def reduce(self, nodes) -> dict[str, Tensor]:
        y = nodes.product(nodes.split(nodes.mailbox["h"]), self.weight, self.wider)
        return {"h": torch.tanh(nodes.join(y.unflatten(-1, (3, 4)).sum(-2)))}


@pytest.mark.parametrize("frozen", [None, "weight", "wider"])
def test_two_weights_at_once(frozen: str | None):
    cell = Pair().double()
    if frozen:
        getattr(cell, frozen).requires_grad_(False)
    h = propagate(FOREST, cell)["h"]
    wanted = gradients(propagate(FOREST, cell, backend="dgl")["h"].sum(), cell)
    torch.testing.assert_close(gradients(h.sum(), cell), wanted)
    torch.testing.assert_close(gradients(h.sum(), cell), wanted)  # nothing is left of the first


@both_backends
def test_nodes_are_chosen_like_trees_of_a_forest(backend: str):
    cell = Sum().double()
    every = propagate(FOREST, cell, nodes=range(FOREST.num_nodes), backend=backend)["h"]
    inner = FOREST.height > 0
    for nodes in (inner, torch.from_numpy(inner)):
        found = propagate(FOREST, cell, nodes=nodes, backend=backend)["h"]
        torch.testing.assert_close(found, every[nodes])
    for nodes in ([0.7], [[0, 1]], [True]):
        with pytest.raises(IndexError):
            propagate(FOREST, cell, nodes=nodes, backend=backend)


class Named(Sum):
    """A cell whose states and messages are named like fields of the schema."""

    sums = frozenset(["pos"])

    def leaf(self, nodes) -> dict[str, Tensor]:
        return {"type": super().leaf(nodes)["h"], "token": self.embedding[nodes.tokens, :1]}

    def bottom(self) -> dict[str, Tensor]:
        return {"type": torch.zeros_like(self.embedding[:1]), "token": self.embedding[:1, :1] * 0}

    def message(self, edges) -> dict[str, Tensor]:
        return {"pos": edges.src["type"], "key": edges.src["token"]}

    def reduce(self, nodes) -> dict[str, Tensor]:
        h = torch.tanh(times(nodes, nodes.mailbox["pos"], self.weight))
        return {"type": h, "token": nodes.sum(nodes.mailbox["key"])}


def test_fields_may_have_the_names_of_the_schema():
    cell = Named().double()
    truth, found = (propagate(FOREST, cell, backend=name) for name in ("dgl", "levels"))
    torch.testing.assert_close(found, truth)


def test_what_is_written_into_the_graph_does_not_change_the_reference():
    forest = Forest.from_trees(random_trees(random.Random(0)), VOCABULARY)
    cell = Sum().double()
    forest.graph.ndata["h"] = torch.zeros(forest.num_nodes, 7)
    forest.graph.ndata["type"][:] = 0
    forest.graph.add_edges(0, forest.num_nodes - 1)
    found = propagate(forest, cell, backend="dgl")["h"]
    torch.testing.assert_close(found, propagate(FOREST, cell)["h"])


@both_backends
@pytest.mark.parametrize("function", ["leaf", "message", "reduce"])
@pytest.mark.parametrize(
    "change",
    [
        lambda h: {"h": h[:1]},  # which would be broadcast to all rows
        lambda h: {"h": h[:, :1]},
        lambda h: {"g": h},
        lambda h: {"h": h, "g": h},
    ],
)
def test_what_a_cell_returns_has_a_row_for_each_that_it_gets(function: str, change, backend: str):
    cell = Sum()
    right, calls = getattr(cell, function), []

    def wrong(rows) -> dict[str, Tensor]:
        calls.append(rows)
        found = right(rows)["h"]
        # The first message is the example, which says what the others must be.
        return {"h": found} if function == "message" and len(calls) == 1 else change(found)

    setattr(cell, function, wrong)
    with pytest.raises(ValueError, match=rf"^{function}\(\) of a cell must return .*'h': .*; got"):
        propagate(FOREST, cell, backend=backend)
